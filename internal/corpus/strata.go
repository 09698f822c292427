package corpus

import (
	"cmp"
	"fmt"
	bitlen "math/bits"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

const (
	leastStratum = 0.0001 // of the calls; smaller strata are one
	maxStrata    = 48     // the smallest beyond that are one
	restStratum  = "the rest"
)

// Strata divides records into groups of alike inputs, the largest first. Unlike the classes of
// [InputClasses], strata do not overlap, and they keep rare inputs: 0.01 % of the calls. Records
// are alike when they share all traits of all parameters (ASCII, empty, long, sorted) and the
// power of two in which each length lies.
func Strata(facets *beagle.Facets, records []beagle.Record) ([]InputClass, error) {
	total := 0.0
	by := map[string]*InputClass{}
	for _, r := range records {
		total += r.Weight
		name, err := stratum(facets, r)
		if err != nil {
			return nil, err
		}
		if by[name] == nil {
			by[name] = &InputClass{Name: name}
		}
		by[name].Records = append(by[name].Records, r)
	}
	var out []InputClass
	for _, s := range by {
		for _, r := range s.Records {
			s.Share += ratio(r.Weight, total)
		}
		out = append(out, *s)
	}
	inorder.By(out, func(a, b InputClass) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Name, b.Name))
	})
	return joinSmall(out), nil
}

// joinSmall makes one stratum of those that are too small or too many. The strata are sorted.
func joinSmall(strata []InputClass) []InputClass {
	n := 0
	for n < len(strata) && n < maxStrata && strata[n].Share >= leastStratum {
		n++
	}
	if len(strata)-n < 2 {
		return strata
	}
	rest := InputClass{Name: restStratum}
	for _, s := range strata[n:] {
		rest.Share += s.Share
		rest.Records = append(rest.Records, s.Records...)
	}
	return append(slices.Clip(strata[:n]), rest)
}

// stratum names the group of a record.
func stratum(facets *beagle.Facets, r beagle.Record) (string, error) {
	v, err := rt.ParseValue(r.Args)
	if err != nil {
		return "", err
	}
	backs := map[int]*rt.Back{}
	collectBacks(&v, backs)
	var words []string
	for p := range facets.Params {
		if p >= len(v.Elems) {
			break
		}
		if text := traitsOf(&v.Elems[p], backs, facets.Params[p].Len[1]); text != "" {
			words = append(words, facets.Params[p].Name+": "+text)
		}
	}
	return cmp.Or(strings.Join(words, "; "), "all inputs"), nil
}

// traitsOf names what an argument is.
func traitsOf(v *rt.Value, backs map[int]*rt.Back, median int) string {
	at := target(v, backs)
	if at == nil {
		return "nil"
	}
	var elems []rt.Value
	switch at.Kind {
	case rt.KindList, rt.KindArray, rt.KindSliceRef:
		elems = elements(at, backs)
	}
	var words []string
	for _, t := range traits {
		is, known := t.classify(at, elems, median)
		switch {
		case !known:
		case is:
			words = append(words, t.yes)
		case t.no == "non-ASCII" || t.no == "unsorted":
			words = append(words, t.no)
		}
	}
	if n := size(at, elems); sized(at) && n > 0 {
		low := 1 << (bitlen.Len(uint(n)) - 1)
		words = append(words, fmt.Sprintf("%d to %d long", low, 2*low-1))
	}
	return strings.Join(words, ", ")
}
