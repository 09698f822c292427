package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// Inputs describe the arguments of a function's calls, from one benchmark or in production.
type Inputs struct {
	Distinct int                // different arguments
	Bytes    int                // of them all, once each
	Groups   map[string]float64 // shares of the calls, by what the arguments have in common
}

// RecordedRules are the rules of [CompareInputs].
var RecordedRules = []Rule{
	{ID: "few-inputs", Text: "The benchmark calls the function with few inputs, and production with many."},
	{ID: "single-value", Text: "The benchmark calls the function with the same arguments each time."},
	{ID: "unlike-corpus", Text: "The benchmark's inputs are of other kinds than production's."},
	{ID: "warm-only", Text: "The benchmark's inputs stay in the nearest cache, and production's do not."},
}

// Bounds of the rules. Each asks for a difference that no sampling makes.
const (
	fewInputs   = 16       // a benchmark with fewer
	manyTimes   = 10       // as many in production
	maxUnlike   = 0.25     // total variation of the shares of groups
	nearestSize = 32 << 10 // bytes of a core's first cache
	beyondSize  = 1 << 20  // bytes that its second cache does not hold
	toldGroups  = 3        // of the differences
)

// CompareInputs finds how a benchmark's inputs mislead, beside those that production was seen to
// have. at is the benchmark's place.
func CompareInputs(at Mistake, bench, production Inputs) (all []Mistake) {
	found := func(rule, reason, remedy string) {
		f := at
		f.Rule, f.Reason, f.Remedy = rule, reason, remedy
		all = append(all, f)
	}
	const remedy = "let 'beagle bench --corpus' write a benchmark of the recorded calls"
	switch {
	case production.Distinct < manyTimes*bench.Distinct || bench.Distinct >= fewInputs:
	case bench.Distinct == 1:
		found("single-value", fmt.Sprintf("each call has the same arguments; %d recorded calls of production differ",
			production.Distinct), remedy)
	default:
		found("few-inputs", fmt.Sprintf("its calls have %d different arguments; production's have %d, so branches are "+
			"predicted and caches hit that are not there", bench.Distinct, production.Distinct), remedy)
	}
	if bench.Bytes <= nearestSize && production.Bytes >= beyondSize {
		found("warm-only", fmt.Sprintf("its inputs have %d KiB and stay in the nearest cache; the recorded ones have "+
			"%d", (bench.Bytes+1023)>>10, production.Bytes>>10), remedy+" with --state cold")
	}
	if unlike := distance(bench.Groups, production.Groups); unlike >= maxUnlike {
		found("unlike-corpus", fmt.Sprintf("%.0f %% of its calls are of other kinds than production's: %s", 100*unlike,
			differences(bench.Groups, production.Groups)), remedy)
	}
	return all
}

// distance returns the total variation distance.
func distance(a, b map[string]float64) (sum float64) {
	for _, name := range keysOfBoth(a, b) {
		sum += math.Abs(a[name]-b[name]) / 2
	}
	return sum
}

// differences names the largest ones.
func differences(bench, production map[string]float64) string {
	list := keysOfBoth(bench, production)
	inorder.By(list, func(x, y string) int {
		return cmp.Compare(math.Abs(bench[y]-production[y]), math.Abs(bench[x]-production[x]))
	})
	var out []string
	for _, name := range list[:min(len(list), toldGroups)] {
		out = append(out, fmt.Sprintf("%s: %.3g %% here, %.3g %% there", name, 100*bench[name], 100*production[name]))
	}
	return strings.Join(out, "; ")
}

func keysOfBoth(a, b map[string]float64) []string {
	both := maps.Clone(a)
	if both == nil {
		both = map[string]float64{}
	}
	maps.Copy(both, b)
	return inorder.Keys(both)
}
