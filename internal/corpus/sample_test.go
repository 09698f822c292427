package corpus

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// TestSampleKeepsTheRare draws 1,000 of 20,000 records, of which 12 hold text that is no UTF-8:
// 0.06 % of the calls. All of them stay, they stand for as many calls as before, and they are a
// class that is timed on its own.
func TestSampleKeepsTheRare(t *testing.T) {
	type args struct{ A0 string }
	var all []beagle.Record
	for i := range 20_000 {
		text := fmt.Sprintf("tag:%05d", i)
		if i%1700 == 0 {
			text += "\xff"
		}
		all = append(all, record(t, &args{text}, 3))
	}
	shape := rt.ShapeOf(reflect.TypeFor[args](), "")
	kept := sample(Merge(all), 1000, shape, nil)
	if len(kept) < 1000 || len(kept) > 1100 {
		t.Errorf("%d records are kept, want about 1000", len(kept))
	}
	rare, weight, sum := 0, 0.0, 0.0
	for _, r := range kept {
		v, err := rt.ParseValue(r.Args)
		if err != nil {
			t.Fatal(err)
		}
		sum += r.Weight
		if !utf8.ValidString(v.Elems[0].Str) {
			rare, weight = rare+1, weight+r.Weight
		}
	}
	if rare != 12 || math.Abs(weight-36) > 1e-6 || math.Abs(sum-60_000) > 1e-3 {
		t.Errorf("%d rare records for %g calls of %g, want 12 for 36 of 60000", rare, weight, sum)
	}
	c := &beagle.Corpus{Train: kept}
	var err error
	if c.Facets.Params, err = paramFacets(kept, shape, nil); err != nil {
		t.Fatal(err)
	}
	if p := c.Facets.Params[0]; math.Abs(p.Invalid-0.0006) > 1e-9 {
		t.Errorf("%g of the texts are no UTF-8, want 0.0006", p.Invalid)
	}
	classes, err := InputClasses(c)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, x := range classes {
		found = found || x.Name == "A0: invalid UTF-8" && len(x.Records) == 12 && math.Abs(x.Share-0.0006) < 1e-9
	}
	if !found {
		t.Errorf("no class of invalid UTF-8: %+v", names(classes))
	}
}

func names(classes []InputClass) (out []string) {
	for _, c := range classes {
		out = append(out, fmt.Sprintf("%s %.4f %d", c.Name, c.Share, len(c.Records)))
	}
	return out
}
