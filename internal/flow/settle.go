package flow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/store"
)

// Settle decides, in the order of a batch, which of its candidates are
// duplicates of others by their machine code, and keeps the inputs on which
// candidates failed. What shares of the batch were assessed at the same time,
// and where, makes no difference to it; it may be repeated.
func Settle(s *store.Store, run string, batch []Evaluated) error {
	var ready Prepared
	if ok, err := s.Load(run, "prepared", &ready); err != nil || !ok {
		return errors.Join(fmt.Errorf("run %s was not prepared", run), err)
	}
	codes := codeBook{store: s, run: run, root: ready.RootID, rootCode: ready.Root.Static.CodeHash}
	for i := range batch {
		o := &batch[i]
		first, err := codes.settle(o.Verdict.Static.CodeHash, o.Candidate)
		if err != nil {
			return err
		}
		if first != o.Candidate {
			duplicate(&o.Verdict, first)
		}
	}
	return learn(s, run, batch)
}

// A codeBook says which candidate of a run had a machine code first. It is in
// the store, since the run may go on in another process.
type codeBook struct {
	store          *store.Store
	run            string
	root, rootCode string
}

func (b *codeBook) key(code string) store.Key {
	return store.Key{Kind: "code", Candidate: code, Extra: b.run}
}

// first is the candidate that had a code first, "" when none is settled.
func (b *codeBook) first(code string) string {
	first := ""
	switch {
	case code == "":
	case code == b.rootCode:
		first = b.root
	default:
		b.store.Shelved(b.key(code), &first)
	}
	return first
}

// settle returns the first candidate with a code, which is this one when there
// was none.
func (b *codeBook) settle(code, id string) (string, error) {
	if first := b.first(code); first != "" || code == "" {
		return cmp.Or(first, id), nil
	}
	return id, b.store.Shelve(b.key(code), id)
}

// places numbers the candidates of a batch.
func places(batch []string) map[string]int {
	out := make(map[string]int, len(batch))
	for i, id := range batch {
		out[id] = i
	}
	return out
}

// glance looks up what others may have found of the rest of the batch: of a
// run whose verdicts are known, no duplicate is evaluated again.
func (b *group) glance(batch, mine []string) {
	for _, id := range batch {
		var o evaluated
		if !slices.Contains(mine, id) && b.x.store.Shelved(b.x.key("evaluated", id, ""), &o) {
			b.first(o.Verdict.Static.CodeHash, id)
		}
	}
}

// first returns the candidate that stands for a machine code: the one that the
// run settled on, or of those of this batch that are known the one that comes
// first in its order.
func (b *group) first(code, id string) string {
	if code == "" {
		return id
	}
	x := b.x
	book := codeBook{store: x.store, run: x.run, root: x.root.ID, rootCode: x.ready.Root.Static.CodeHash}
	if first := book.first(code); first != "" {
		return first
	}
	if other, ok := b.codes[code]; ok && b.place[other] < b.place[id] {
		return other
	}
	b.codes[code] = id
	return id
}

// learn keeps the inputs on which candidates failed, as inputs for the
// verification of later candidates.
func learn(s *store.Store, run string, out []Evaluated) error {
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

// learned are the records that a run has found.
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
func (x *session) refresh() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	found, err := learned(x.store, x.run)
	if err != nil || len(found) == x.learned {
		return err
	}
	grown := *x.corpus
	grown.Generated = slices.Clone(grown.Generated)
	for _, r := range found[min(x.learned, len(found)):] {
		if !hasArgs(grown.Generated, r.Args) {
			grown.Generated = append(grown.Generated, r)
		}
	}
	x.corpus, x.learned = &grown, len(found)
	return nil
}

// Add adds what other evaluations have cost.
func (s *Split) Add(o Split) {
	s.Candidates += o.Candidates
	s.Cached += o.Cached
	s.Build += o.Build
	s.Verify += o.Verify
	s.Screen += o.Screen
}
