package sandbox

import (
	"testing"
	"time"
)

// TestSupervisorEndsAll checks that what left its group while its parent lives, and so comes to the
// supervisor only when that is killed, ends with the program too.
func TestSupervisorEndsAll(t *testing.T) {
	s, err := New(Options{Fallback: true})
	if err != nil {
		t.Fatal(err)
	}
	asleep := "/bin/sleep " + ownTime()
	r, err := s.Run(t.Context(), Command{
		Profile: Build, Path: "/bin/sh", Args: []string{"-c", "setsid " + asleep + " & echo away; " + asleep},
		Limits: Limits{Wall: time.Second},
	})
	if err != nil || r.Ended != Wall {
		t.Errorf("%s %s %v", r.Ended, r.Stdout, err)
	}
	if left := sleepers(asleep); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}
