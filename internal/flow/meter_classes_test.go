package flow

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestPaid checks that a common class may not become slower, a rare one is warned of, none may be
// ruined; what is within the noise is no loss.
func TestPaid(t *testing.T) {
	r := func(low, point, high float64) beagle.Ratio { return beagle.Ratio{Low: low, Point: point, High: high} }
	for _, c := range []struct {
		name    string
		class   beagle.InputClassRatio
		refused bool
		warned  bool
	}{
		{"faster", beagle.InputClassRatio{Name: "s: ASCII", Share: 0.9, Ratio: r(1.8, 2, 2.2)}, false, false},
		{"noise", beagle.InputClassRatio{Name: "s: non-ASCII", Share: 0.5, Ratio: r(0.9, 0.97, 1.03)}, false, false},
		{"a common class", beagle.InputClassRatio{Name: "s: non-ASCII", Share: 0.3, Ratio: r(0.8, 0.85, 0.9)}, true, true},
		{"a rare class", beagle.InputClassRatio{Name: "s: non-ASCII", Share: 0.03, Ratio: r(0.8, 0.85, 0.9)}, false, true},
		{"a rare class, ruined", beagle.InputClassRatio{Name: "s: non-ASCII", Share: 0.03, Ratio: r(0.1, 0.12, 0.2)}, true, true},
		{"killed", beagle.InputClassRatio{Name: "s: empty", Share: 0.03}, true, true},
	} {
		why := payingClass([]beagle.InputClassRatio{c.class})
		if (why != "") != c.refused || c.refused && !strings.Contains(why, c.class.Name) {
			t.Errorf("%s: %q", c.name, why)
		}
		if warned := lossWarnings([]beagle.InputClassRatio{c.class}); (len(warned) > 0) != c.warned {
			t.Errorf("%s: %q", c.name, warned)
		}
	}
}
