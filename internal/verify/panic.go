package verify

import (
	"context"
	"fmt"
	"runtime/debug"
)

// A JudgePanic is a check that panicked on a candidate: a mistake of the judge's
// own. Nothing is known of the candidate then, and so it must not be accepted;
// whoever judges others goes on with them.
type JudgePanic struct {
	Check     string
	Candidate string // its ID
	Value     any    // what the check panicked with
	Stack     []byte
}

func (p *JudgePanic) Error() string {
	return fmt.Sprintf("the judge failed: the check %q panicked on candidate %s: %v", p.Check, p.Candidate, p.Value)
}

// run runs a check, and returns a [JudgePanic] when it panics.
func (c *Check) run(ctx context.Context, j *Job) (_ *Finding, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &JudgePanic{Check: c.Name, Candidate: j.Candidate.ID, Value: v, Stack: debug.Stack()}
		}
	}()
	return c.Run(ctx, j)
}
