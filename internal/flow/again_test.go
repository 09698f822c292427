package flow

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

func TestSecondMeasurement(t *testing.T) {
	quoted := beagle.Ratio{Point: 1.06, Low: 1.04, High: 1.08}
	for _, c := range []struct {
		name            string
		again           beagle.Ratio
		refuted, warned bool
	}{
		{"not timed again", beagle.Ratio{}, false, false},
		{"the same again", beagle.Ratio{Point: 1.05, Low: 1.03, High: 1.07}, false, false},
		{"more", beagle.Ratio{Point: 1.13, Low: 1.11, High: 1.15}, false, false},
		{"too coarse to say", beagle.Ratio{Point: 1, Low: 0.95, High: 1.05}, false, false},
		{"surely less, and surely something", beagle.Ratio{Point: 1.02, Low: 1.01, High: 1.03}, false, true},
		{"nothing", beagle.Ratio{Point: 1, Low: 0.98, High: 1.02}, true, true},
		{"slower", beagle.Ratio{Point: 0.95, Low: 0.94, High: 0.96}, true, true},
	} {
		why := refuted(quoted, c.again)
		if (why != "") != c.refuted {
			t.Errorf("%s: refuted because %q", c.name, why)
		}
		if c.refuted && !(strings.Contains(why, "1.06x (1.04 to 1.08)") && strings.Contains(why, "where the first")) {
			t.Errorf("%s: the reason lacks the first measurement: %s", c.name, why)
		}
		if w := againWarnings(quoted, c.again); (len(w) > 0) != c.warned {
			t.Errorf("%s: warned of %q", c.name, w)
		}
	}
}
