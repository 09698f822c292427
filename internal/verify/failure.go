package verify

import (
	"context"
	"fmt"
	"runtime/debug"
)

// A JudgeFailure reports a check that failed on a candidate, which is a defect of the judge or of
// the machine. The candidate stays unknown, so nothing may accept it. The judge can continue with
// other candidates.
type JudgeFailure struct {
	Check     string
	Candidate string // its ID
	What      string // it did
	Value     any    // of the panic, or how a program ended
	Stack     []byte // of a panic
}

func (f *JudgeFailure) Error() string {
	return fmt.Sprintf("the judge failed: the check %q %s on candidate %s: %v", f.Check, f.What, f.Candidate, f.Value)
}

// Panicked is the failure of a check that panicked.
func Panicked(check, candidate string, value any) *JudgeFailure {
	return &JudgeFailure{Check: check, Candidate: candidate, What: "panicked", Value: value, Stack: debug.Stack()}
}

// run runs a check, and returns a [JudgeFailure] if it panics.
func (c *Check) run(ctx context.Context, j *Job) (_ *Rejection, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Panicked(c.Name, j.Candidate.ID, v)
		}
	}()
	return c.Run(ctx, j)
}
