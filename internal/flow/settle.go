package flow

import (
	"errors"
	"fmt"

	"github.com/beagle-go/beagle/internal/store"
)

// Settle decides, in the order of a batch, which candidates have another one's machine code, and
// keeps the inputs on which candidates failed. Its result does not depend on where or when shares
// of the batch were evaluated, and it may be repeated.
func Settle(s *store.Store, run string, batch []Evaluation) error {
	var ready Prepared
	if ok, err := s.Load(run, "prepared", &ready); err != nil || !ok {
		return errors.Join(fmt.Errorf("run %s was not prepared", run), err)
	}
	codes := codeIndex{store: s, run: run, root: ready.RootID, rootCode: ready.Root.Static.CodeHash}
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

// Add adds the cost of other evaluations.
func (s *Split) Add(o Split) {
	s.Candidates += o.Candidates
	s.Cached += o.Cached
	s.Build += o.Build
	s.Verify += o.Verify
	s.Screen += o.Screen
	s.Ahead += o.Ahead
}
