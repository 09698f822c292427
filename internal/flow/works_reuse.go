package flow

import (
	"time"

	"github.com/beagle-go/beagle"
)

// A keptResult is the result of a long stage in the store, with the run that measured it: a report
// must not pass off another run's measurement as its own.
type keptResult[T any] struct {
	Origin beagle.Origin `json:"origin"`
	Value  T             `json:"value"`
}

// origin names this run as the origin of a result.
func (w *works) origin() beagle.Origin {
	return beagle.Origin{Run: w.run, At: time.Now().UTC().Format(time.DateTime)}
}

// keepStage does a long stage of the judgement unless the store has its result: a process that was
// killed need not repeat its finished stages.
func keepStage[T any](w *works, stage, candidate, in string, do func() (T, error)) (T, error) {
	out, _, err := traced(w, stage, candidate, in, do)
	return out, err
}

// traced does what once does, and returns the earlier run that made the result: nil for this run.
func traced[T any](w *works, stage, candidate, in string, do func() (T, error)) (T, *beagle.Origin, error) {
	key := w.key(stage, candidate, in)
	var known keptResult[T]
	if w.store.Cached(key, &known) {
		return known.Value, w.otherRun(known.Origin), nil
	}
	out, err := do()
	if err != nil {
		return out, nil, err
	}
	return out, nil, w.store.Cache(key, keptResult[T]{w.origin(), out})
}

// otherRun returns an origin, or nil if it is this run.
func (w *works) otherRun(o beagle.Origin) *beagle.Origin {
	if o.Run == w.run {
		return nil
	}
	return &o
}
