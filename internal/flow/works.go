package flow

import (
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/parallel"
	"github.com/beagle-go/beagle/internal/store"
)

// The works are a run's candidates and their verdicts. No other part knows their keys in the
// store.
type works struct {
	run     string
	store   *store.Store
	anew    bool      // nothing of earlier runs counts
	ready   *Prepared // the prepared state, once it is known
	root    beagle.Candidate
	machine beagle.Machine // machine that measured the results
	making  string         // identifies who makes and judges candidates; see making
	score   string         // identifies the ranking; see scoreKey
	memory  memory
}

// key returns the cache key of a stage's result for a candidate.
func (w *works) key(stage, candidate, extra string) store.Key {
	if w.anew { // its own results count when it is resumed
		extra += w.run
	}
	return store.Key{
		Kind: stage, Candidate: candidate, Corpus: w.ready.Corpus, Toolchain: w.machine.Go, Machine: kind(w.machine),
		Extra: w.ready.Target + w.ready.Around + w.making + w.score + extra,
	}
}

// putCandidates makes candidates available to every activity of the run. The first way to a text
// counts: otherwise a candidate's origin would change while others build on it.
func (w *works) putCandidates(cs ...beagle.Candidate) error {
	var fresh []beagle.Candidate
	met := map[string]bool{}
	for _, c := range cs {
		if _, err := w.candidate(c.ID); err != nil && !met[c.ID] {
			fresh, met[c.ID] = append(fresh, c), true
		}
	}
	return parallel.Do(len(fresh), func(i int) error {
		if err := w.store.Shelve(w.candidateKey(fresh[i].ID), fresh[i]); err != nil {
			return err
		}
		if c, ok := roundTrip(fresh[i]); ok {
			w.memory.keepCandidate(c)
		}
		return nil
	})
}

func (w *works) candidateKey(id string) store.Key {
	return store.Key{Kind: "candidate", Candidate: id, Extra: w.run}
}

// candidate returns a candidate by its ID.
func (w *works) candidate(id string) (beagle.Candidate, error) {
	if id == w.root.ID {
		return w.root, nil
	}
	c, ok := w.memory.candidate(id)
	if ok {
		return c, nil
	}
	if !w.store.Shelved(w.candidateKey(id), &c) {
		return c, fmt.Errorf("candidate %s is not in the store", id)
	}
	w.memory.keepCandidate(c)
	return c, nil
}

// evaluation returns a candidate's evaluation from the store, by this run or an earlier one.
func (w *works) evaluation(id string) (o StoredVerdict, ok bool) {
	ok = w.store.Shelved(w.evaluatedKey(id), &o)
	return o, ok
}

// insight returns where a version's time goes, from the store; nil if nothing was profiled.
func (w *works) insight(id string) *bench.Insight {
	if in, ok := w.memory.insight(id); ok {
		return in
	}
	o, ok := w.evaluation(id)
	if !ok {
		return nil // a profile may still arrive
	}
	w.memory.keepInsight(id, o.Insight)
	return o.Insight
}

func (w *works) evaluatedKey(id string) store.Key { return w.key("evaluated", id, "") }

// verdict returns the verdict of a candidate's evaluation. It may come from memory.
func (w *works) verdict(id string) (beagle.Verdict, bool) {
	if v, ok := w.memory.verdict(id); ok {
		return v, true
	}
	o, ok := w.evaluation(id)
	if ok {
		w.memory.keepVerdict(id, o.Verdict)
	}
	return o.Verdict, ok
}

// putVerdict puts a candidate's evaluation into the store.
func (w *works) putVerdict(e Evaluation) error {
	if err := w.store.Shelve(w.evaluatedKey(e.Candidate), e.StoredVerdict); err != nil {
		return err
	}
	if v, ok := roundTrip(e.Verdict); ok {
		w.memory.keepVerdict(e.Candidate, v)
	}
	return nil
}

// finalists returns the candidates that a search leaves to the full measurement.
func (w *works) finalists(list []evolve.Finalist) ([]beagle.Candidate, error) {
	out := make([]beagle.Candidate, len(list))
	for i, f := range list {
		c, err := w.candidate(f.ID)
		if err != nil {
			return nil, err
		}
		if f.Steps != nil {
			c.Steps = f.Steps
		}
		out[i] = c
	}
	return out, nil
}

// fileUnder files results under the kind of machine that the run measures on. Programs are built
// here and run there, so the toolchains must be the same.
func (w *works) fileUnder() error {
	m := w.ready.Machine
	if m == nil {
		return nil
	}
	here := w.machine
	if m.Go != here.Go || m.OS != here.OS || m.Arch != here.Arch {
		return fmt.Errorf("run %s is for %s on %s/%s, and this machine has %s on %s/%s: a worker must have the same "+
			"toolchain",
			w.run, m.Go, m.OS, m.Arch, here.Go, here.OS, here.Arch)
	}
	w.machine = *m
	return nil
}

// kind identifies the toolchain and the machine in cache keys.
func kind(m beagle.Machine) string { return beagle.HashOf("machine", m) }
