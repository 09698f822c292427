package flow

import (
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
)

// What the store keeps of a long stage, with the run that found it out: a report
// must not pass off another run's measurement as its own.
type kept[T any] struct {
	Origin beagle.Origin `json:"origin"`
	Value  T             `json:"value"`
}

// origin is that of what this run finds out now.
func (x *session) origin() beagle.Origin {
	return beagle.Origin{Run: x.run, At: time.Now().UTC().Format(time.DateTime)}
}

// once does a long stage of the judgement unless the store has its result: a
// process that was killed need not repeat what it had done.
func once[T any](x *session, stage, candidate, in string, do func() (T, error)) (T, error) {
	out, _, err := traced(x, stage, candidate, in, do)
	return out, err
}

// traced is once, and says which earlier run the result is of: nil for this run.
func traced[T any](x *session, stage, candidate, in string, do func() (T, error)) (T, *beagle.Origin, error) {
	key := x.key(stage, candidate, in)
	var known kept[T]
	if x.store.Cached(key, &known) {
		return known.Value, x.elsewhere(known.Origin), nil
	}
	out, err := do()
	if err != nil {
		return out, nil, err
	}
	return out, nil, x.store.Cache(key, kept[T]{x.origin(), out})
}

// elsewhere is an origin unless it is this run.
func (x *session) elsewhere(o beagle.Origin) *beagle.Origin {
	if o.Run == x.run {
		return nil
	}
	return &o
}

// known is a judgement that the store had. The time of this run is its own: what
// an earlier one took is no part of it.
func (x *session) known(k kept[Judged], start time.Time) *Judged {
	j, from := &k.Value, x.elsewhere(k.Origin)
	if from == nil {
		return j
	}
	if j.Measured == nil {
		j.Measured = from
	}
	if j.Verdict != nil && j.Verified == nil {
		j.Verified = from
	}
	j.Seconds = time.Since(start).Seconds()
	x.tellReused("measure", j.Measured)
	x.tellReused("verify", j.Verified)
	return j
}

// tellReused says that a stage is not done because an earlier run did it.
func (x *session) tellReused(stage string, from *beagle.Origin) {
	if from != nil {
		x.watch.Stage(stage, fmt.Sprintf("not again: run %s did it on %s UTC; --anew does it again", from.Run, from.At))
	}
}
