//go:build linux

package uprobe

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Bounds of a capture in turns.
const (
	turnSpends = 2 * time.Millisecond   // loss that the process may take until the probes are taken away again
	turnLeast  = 5 * time.Millisecond   // that they stay, to count the calls
	turnMost   = 15 * time.Millisecond  // loss in a turn from which on there is no other, see tooCostly
	turnLook   = time.Millisecond       // between looks at the counters
	turnFirst  = 100 * time.Millisecond // what probes that stayed may have cost, to go on in turns
)

// turns capture functions that are called too often for probes that stay: the probes are attached
// for a moment, and then away long enough to keep the cost within its bound.
type turns struct {
	attaching sync.Mutex // held while the probes come and go
	over      bool       // there are no more turns; guarded by attaching
	stop      chan struct{}
	done      chan struct{}

	// Guarded by the session's mutex.
	failed  string        // why there are no more turns
	watched time.Duration // that probes were attached and their hits counted
	saw     []uint64      // hits in that time, by site
}

// tooCostly reports whether a turn cost more than `most`, and more than probes that stay may cost
// in the time that it took. A turn in which this program waits for a processor is long, and costs
// more.
func tooCostly(spent, most, took time.Duration) bool {
	return spent > most && exceeds(spent, maxLater, 0, took)
}

// takeTurns goes on in turns, after probes cost too much since the counters stood at before. It
// returns false where turns cannot help: they were too costly already, or results are wanted.
func (s *session) takeTurns(before []tally, most, took time.Duration) bool {
	for i := range s.sites {
		if s.k.get(i, siteReturn) != 0 {
			return false // results of one turn could be taken for those of a call of another
		}
	}
	s.k.detach()
	first := s.spent(before)
	if tooCostly(first, most, took) {
		return false
	}
	s.mu.Lock()
	s.turns = &turns{stop: make(chan struct{}), done: make(chan struct{}), saw: make([]uint64, len(s.sites))}
	s.pace()
	s.mu.Unlock()
	go s.alternate(first)
	return true
}

// alternate takes turns until the session ends. spent is the cost of the turn before.
func (s *session) alternate(spent time.Duration) {
	t := s.turns
	defer close(t.done)
	began := time.Now()
	for {
		pause := time.NewTimer(time.Duration(float64(spent)/maxAtStart) - time.Since(began))
		select {
		case <-t.stop:
			pause.Stop()
			return
		case <-pause.C:
		}
		began = time.Now()
		var why string
		if spent, why = s.turn(); why != "" {
			s.mu.Lock()
			t.failed = why
			s.mu.Unlock()
			return
		}
	}
}

// turn attaches the probes, and takes them away when their hits reach the bound of a turn. It
// returns their cost, and why there can be no other turn.
func (s *session) turn() (spent time.Duration, why string) {
	t := s.turns
	before := s.tallies()
	for i := range s.sites { // nothing is made up for the time between turns
		first := rand.N(time.Duration(max(1, s.k.get(i, siteInterval))))
		s.k.set(i, siteNext, uint64(monotonic()+first))
	}
	t.attaching.Lock()
	if t.over {
		t.attaching.Unlock()
		return 0, ""
	}
	err := s.attach(s.b)
	t.attaching.Unlock()
	if err != nil {
		return 0, err.Error()
	}
	from, counted := time.Now(), s.tallies()
	for spent < turnSpends || time.Since(from) < turnLeast {
		select {
		case <-t.stop:
			return spent, ""
		case <-time.After(turnLook):
		}
		if spent = s.spent(before); spent > turnMost {
			break
		}
	}
	took, saw := time.Since(from), s.tallies()
	t.attaching.Lock()
	err = s.k.detach()
	t.attaching.Unlock()
	s.enterTurn(took, counted, saw)
	spent, took = s.spent(before), time.Since(from)
	switch {
	case err != nil:
		return spent, err.Error()
	case tooCostly(spent, turnMost, took):
		return spent, s.costError(float64(spent)/float64(took), maxLater).Error()
	}
	return spent, ""
}

// enterTurn enters the counts of a turn, and sets the gates for the next one.
func (s *session) enterTurn(took time.Duration, from, to []tally) {
	t := s.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	t.watched += took
	for i, a := range s.sites {
		t.saw[i] += to[i].hits - from[i].hits
		a.rate = float64(t.saw[i]) / t.watched.Seconds()
	}
	s.pace()
}

// duty returns the share of the time in which probes may be attached, by the calls a second.
func (s *session) duty() float64 {
	if s.turns == nil {
		return 1
	}
	load := 0.0
	for _, a := range s.sites {
		load += a.rate * a.hit.Seconds()
	}
	return min(1, maxAtStart/max(load, maxAtStart))
}

// unplug takes the probes away for good. Afterwards only readers of the counts use the kernel's
// maps of the session.
func (s *session) unplug() {
	t := s.turns
	if t == nil {
		s.k.detach()
		return
	}
	t.attaching.Lock()
	if !t.over {
		t.over = true
		close(t.stop)
	}
	s.k.detach()
	t.attaching.Unlock()
	<-t.done
}
