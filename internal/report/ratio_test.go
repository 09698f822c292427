package report

import (
	"math"
	"testing"

	"github.com/beagle-go/beagle"
)

func TestRatio(t *testing.T) {
	for r, want := range map[beagle.Ratio]string{
		{Point: 2.4, Low: 1.81, High: 3.184}:          "2.40x (95 %: 1.81 to 3.18)",
		{Point: 1.012, Low: 0, High: math.MaxFloat64}: "1.01x (95 %: from 0.00 up, without end)",
	} {
		if got := Ratio(r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
