package flow

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
)

// ruleFaults holds the rules that failed in a run. A rule that fails is off for
// the rest of the run: from a proposal on, which the run's store keeps, so that a
// resumed run refuses the same proposals.
type ruleFaults struct {
	mu     sync.Mutex
	list   []beagle.RuleFault // the first fault of each rule, as in the store
	guard  *mutate.Guard      // records new faults
	heard  int                // number of its faults that the run has taken over
	latest int                // the latest proposal so far
}

// readFaults takes over the faults that other processes have found, and notes the latest proposal.
func (rw *rewriter) readFaults(latest int) error {
	f := &rw.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest = max(f.latest, latest)
	_, err := rw.works.store.Load(rw.works.run, "faults", &f.list)
	return err
}

// keepFaults warns of rules that failed since its last call, and disables them starting with the
// given proposal. It reports whether there are any.
func (rw *rewriter) keepFaults(from int) (fresh bool, err error) {
	f := &rw.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.guard != rw.work.guard {
		f.guard, f.heard = rw.work.guard, 0
	}
	// Note each rule that failed for the first time, with its stack in the run's directory.
	all := f.guard.Faults()
	for _, fault := range all[f.heard:] {
		if slices.ContainsFunc(f.list, func(r beagle.RuleFault) bool { return r.Rule == fault.Mutator }) {
			continue
		}
		fresh = true
		f.list = append(f.list, beagle.RuleFault{
			Rule:     fault.Mutator,
			Function: fault.Function,
			Reason:   fault.Reason,
			From:     from,
		})
		said := fmt.Sprintf("the rule %s is off for the rest of this run: %v. This is a mistake in Beagle",
			fault.Mutator, &fault)
		if fault.Stack != "" {
			path := filepath.Join(rw.works.store.RunDir(rw.works.run), "rule-failed-"+fault.Mutator+".txt")
			if err := rw.works.store.WriteFile(path, []byte(said+"\n\n"+fault.Stack)); err != nil {
				return fresh, err
			}
			said += ". The stack is in " + path
		}
		rw.watch.Warn(said)
	}
	// Save the list, so that another process turns the same rules off.
	f.heard = len(all)
	if !fresh {
		return false, nil
	}
	return true, rw.works.store.Save(rw.works.run, "faults", f.list)
}

// keepLaterFaults does what keepFaults does for rules that failed outside of proposals: it disables
// them from the next proposal on.
func (rw *rewriter) keepLaterFaults() error {
	rw.faults.mu.Lock()
	next := rw.faults.latest + 1
	rw.faults.mu.Unlock()
	_, err := rw.keepFaults(next)
	return err
}

// isOff reports whether a rule is off for a proposal.
func (rw *rewriter) isOff(rule string, proposal int) bool {
	rw.faults.mu.Lock()
	defer rw.faults.mu.Unlock()
	return slices.ContainsFunc(rw.faults.list, func(r beagle.RuleFault) bool {
		return r.Rule == rule && r.From <= proposal
	})
}

// faulty returns the rules that failed so far, in alphabetical order.
func (rw *rewriter) faulty() []string {
	var names []string
	for _, fault := range rw.work.guard.Faults() {
		names = append(names, fault.Mutator)
	}
	rw.faults.mu.Lock()
	defer rw.faults.mu.Unlock()
	for _, r := range rw.faults.list {
		names = append(names, r.Rule)
	}
	inorder.Sort(names)
	return slices.Compact(names)
}

// failed returns the faults of the run that this process knows.
func (rw *rewriter) failed() []beagle.RuleFault {
	rw.faults.mu.Lock()
	defer rw.faults.mu.Unlock()
	return slices.Clone(rw.faults.list)
}

// lacks reports whether moves that were found without some rules, perhaps by an earlier run, lack a
// rule that works in this run.
func (rw *rewriter) lacks(without []string) bool {
	if len(without) == 0 {
		return false
	}
	faulty := rw.faulty()
	return slices.ContainsFunc(without, func(rule string) bool { return !slices.Contains(faulty, rule) })
}
