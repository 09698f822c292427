package flow

import (
	"context"

	"github.com/beagle-go/beagle"
)

// ReadSource does the part of [Activities.JudgeSource] that needs no inputs. It runs before they
// are recorded, so it refuses a text that cannot be a version within a second. Prepare takes over
// its session.
func (a *Activities) ReadSource(
	ctx context.Context, run string, spec Spec, text, name string,
) (*beagle.Verdict, error) {
	x, err := a.begin(ctx, run, spec)
	if err != nil {
		return nil, err
	}
	x.waiting = true
	return x.verifier.survive(text, func() (*beagle.Verdict, error) {
		arrived := x.door.admit(text, partial)
		v, err := x.door.static(ctx, arrived, x.lab.inPlace || spec.mayGoInPlace())
		if err != nil {
			return nil, err
		}
		return arrived.mapLines(v, name), nil
	})
}

// JudgeSource gives a hand-written version the verdict that a search would
// give its winner.
func (a *Activities) JudgeSource(ctx context.Context, run, text, name string) (*beagle.Verdict, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.verifier.survive(text, func() (*beagle.Verdict, error) { return x.judge.judgeSource(ctx, text, name) })
}
