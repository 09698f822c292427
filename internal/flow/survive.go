package flow

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/verify"
)

// survive judges a text. A panic of the judge's own is no end of a run: it
// makes a verdict that accepts nothing, a warning, and a file with the stack.
func (x *session) survive(text string, judge func() (*beagle.Verdict, error)) (v *beagle.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil { // outside of the checks
			v, err = x.failed(&verify.JudgePanic{Check: "judge", Candidate: beagle.HashOf("candidate", text), Value: p, Stack: debug.Stack()})
		}
	}()
	v, err = judge()
	var failed *verify.JudgePanic
	if errors.As(err, &failed) {
		return x.failed(failed)
	}
	return v, err
}

// failed is the verdict on a candidate on which the judge panicked.
func (x *session) failed(p *verify.JudgePanic) (*beagle.Verdict, error) {
	path := filepath.Join(x.store.RunDir(x.run), "judge-failed-"+p.Candidate+".txt")
	said := fmt.Sprintf("%v\n\n%s", p, p.Stack)
	if err := x.store.WriteFile(path, []byte(said)); err != nil {
		return nil, err
	}
	x.watch.Warn(fmt.Sprintf("%v. This is a mistake in Beagle, not in the version, which is not accepted. The stack is in %s", p, path))
	return &beagle.Verdict{Candidate: p.Candidate, Status: beagle.Failed, Stage: p.Check, Reason: p.Error()}, nil
}
