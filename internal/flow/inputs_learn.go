package flow

import (
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/store"
)

// learn keeps the inputs on which candidates failed, to verify later candidates on them.
func learn(s *store.Store, run string, out []Evaluation) error {
	found, err := learned(s, run)
	if err != nil {
		return err
	}
	before := len(found)
	for _, o := range out {
		if ce := o.Verdict.Counterexample; ce != nil && len(ce.Args) > 0 && !hasArgs(found, ce.Args) {
			found = append(found, beagle.Record{Args: ce.Args, Weight: 1, Source: counterexample})
		}
	}
	if len(found) == before {
		return nil
	}
	return s.Save(run, "counterexamples", found)
}

// counterexample is the source of such records.
const counterexample = "counterexample"

// learned returns the records that a run has found.
func learned(s *store.Store, run string) ([]beagle.Record, error) {
	var found []beagle.Record
	_, err := s.Load(run, "counterexamples", &found)
	return found, err
}

func hasArgs(records []beagle.Record, args []byte) bool {
	return slices.ContainsFunc(records, func(r beagle.Record) bool { return string(r.Args) == string(args) })
}

// refresh takes the inputs that the run has found since into the corpus, for
// verification only, so that candidates are tried on them first. The corpus is
// replaced and not changed: another activity may be reading it.
func (n *inputs) refresh() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	found, err := learned(n.works.store, n.works.run)
	if err != nil || len(found) == n.learned {
		return err
	}
	grown := *n.held
	grown.Generated = slices.Clone(grown.Generated)
	for _, r := range found[min(n.learned, len(found)):] {
		if !hasArgs(grown.Generated, r.Args) {
			grown.Generated = append(grown.Generated, r)
		}
	}
	n.held, n.learned = &grown, len(found)
	return nil
}
