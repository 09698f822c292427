package corpus

import (
	"math"
	"testing"

	"github.com/beagle-go/beagle"
)

const observed = `
-- go.mod --
module example.com/m

go 1.26
-- m.go --
package m

func Size(s string) int { return len(s) }
`

// TestObservedDescribesAll checks that the facets of captured calls count those that are held out.
// A few texts stand for nearly all calls: which of them are held out is chance.
func TestObservedDescribesAll(t *testing.T) {
	u := load(t, module(t, observed), "Size")
	type args struct{ A0 string }
	var all []beagle.Record
	total, short := 0.0, 0.0
	for i := range 26 {
		weight := float64(1 + i*i)
		text := string(rune('a' + i))
		if i%3 == 0 {
			text += "\xff"
		} else {
			short += weight
		}
		total += weight
		all = append(all, record(t, &args{text}, weight))
	}
	c, err := Observed(u, all, Observations{Calls: total})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Holdout) == 0 || len(c.Train)+len(c.Holdout) != len(all) {
		t.Errorf("%d records to train with, %d held out", len(c.Train), len(c.Holdout))
	}
	p := c.Facets.Params[0]
	if p.Distinct != len(all) || c.Facets.Records != len(all) || math.Abs(p.ASCII-short/total) > 1e-9 {
		t.Errorf("%d distinct texts, %.3f ASCII: want %d, %.3f", p.Distinct, p.ASCII, len(all), short/total)
	}
}
