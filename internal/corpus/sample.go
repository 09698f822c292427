package corpus

import (
	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// leastKept is the number of records of a stratum that stay in a sample, if it has as many: enough
// to be timed on its own.
const leastKept = 4 * classRecords

// sample keeps about n records: the first by hash, which is how Merge sorts them, a fair sample of
// the distinct ones. Records of a file come before others, and there may be four times as many.
func sample(records []beagle.Record, n int, args *rt.Shape, types func(string) *rt.Shape) []beagle.Record {
	if len(records) <= n {
		return records
	}
	var file, rest []beagle.Record
	for _, r := range records {
		if r.Source == "file" {
			file = append(file, r)
		} else {
			rest = append(rest, r)
		}
	}
	file = stratified(file, 4*n, args, types)
	return append(file, stratified(rest, max(0, n-len(file)), args, types)...)
}

// stratified keeps the first n records, and of each stratum enough to look at a rare one. The
// records kept of a stratum stand for all of its calls.
func stratified(records []beagle.Record, n int, args *rt.Shape, types func(string) *rt.Shape) []beagle.Record {
	if len(records) <= n || n == 0 {
		return records[:min(len(records), n)]
	}
	params, err := paramFacets(records, args, types)
	if err != nil {
		return records[:n] // unreadable records are dropped when records are tried
	}
	type group struct {
		kept        int
		calls, stay float64 // of all its records, and of those that are kept
	}
	facets, groups, at := &beagle.Facets{Params: params}, map[string]*group{}, make([]*group, len(records))
	stays := make([]bool, len(records))
	for i, r := range records {
		name, err := stratum(facets, r)
		if err != nil {
			return records[:n]
		}
		g := groups[name]
		if g == nil {
			g = new(group)
			groups[name] = g
		}
		at[i], stays[i] = g, i < n || g.kept < leastKept
		g.calls += r.Weight
		if stays[i] {
			g.kept, g.stay = g.kept+1, g.stay+r.Weight
		}
	}
	var out []beagle.Record
	for i, r := range records {
		if g := at[i]; stays[i] {
			r.Weight *= g.calls / g.stay
			out = append(out, r)
		}
	}
	return out
}
