package harness

import (
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// TestStarved: a program that waited for a processor gets more time. One that worked until its time
// was over does not, and neither does one that its own watchdog ended.
func TestStarved(t *testing.T) {
	const wall = 10 * time.Second
	for _, c := range []struct {
		what string
		r    sandbox.Result
		want bool
	}{
		{"waited", sandbox.Result{Ended: sandbox.Wall, Wall: wall, User: wall / 20}, true},
		{"worked", sandbox.Result{Ended: sandbox.Wall, Wall: wall, User: wall / 2, System: wall / 4}, false},
		{"gave up", sandbox.Result{Ended: sandbox.Exited, Code: 97, Wall: wall, User: wall / 20}, false},
		{"used its processor time up", sandbox.Result{Ended: sandbox.CPU, Wall: wall, User: wall}, false},
	} {
		exit := endOf(&c.r, nil)
		if exit == nil || exit.Kind != Hang && c.r.Code == 0 || exit.Starved != c.want || exit.Wall != wall {
			t.Errorf("a program that %s: %+v", c.what, exit)
		}
	}
}
