package verify

import (
	"context"
	"fmt"
	"runtime/debug"
)

// A JudgePanic reports a check that panicked on a candidate, which is a defect of the judge.
// Nothing is known of the candidate, so nobody may accept it. The judge can continue with other
// candidates.
type JudgePanic struct {
	Check     string
	Candidate string // its ID
	Value     any    // the value of the panic
	Stack     []byte
}

func (p *JudgePanic) Error() string {
	return fmt.Sprintf("the judge failed: the check %q panicked on candidate %s: %v", p.Check, p.Candidate, p.Value)
}

// run runs a check, and returns a [JudgePanic] if it panics.
func (c *Check) run(ctx context.Context, j *Job) (_ *Finding, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &JudgePanic{Check: c.Name, Candidate: j.Candidate.ID, Value: v, Stack: debug.Stack()}
		}
	}()
	return c.Run(ctx, j)
}
