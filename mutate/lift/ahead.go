package lift

import (
	"math"
	"runtime"
	"sync"
	"time"
)

// maxWorkers bounds how many questions are looked at at once: each holds some tens of megabytes.
const maxWorkers = 4

// A lookAhead answers questions on all processors ahead of need. Its answers are those of asking
// one question after the other: earlier questions matter to a later one only in that they have used
// up terms, and in that a larger region has a term.
type lookAhead struct {
	s         *Study
	open      []int // the questions, in order
	perSearch int
	deadline  time.Time
	workers   sync.WaitGroup

	mu    sync.Mutex
	next  int // of open
	early []earlyAnswer
}

// earlyAnswer is the outcome of one question.
type earlyAnswer struct {
	limits *limits // nil until a worker takes it
	got    answeredQuestion
	done   chan struct{}
	skip   bool
}

func (s *Study) lookAhead(open []int, l *limits) *lookAhead {
	a := &lookAhead{s: s, open: open, perSearch: l.perSearch, deadline: l.deadline, early: make([]earlyAnswer,
		len(open))}
	for k := range a.early {
		a.early[k].done = make(chan struct{})
	}
	for range min(runtime.GOMAXPROCS(0), maxWorkers, len(open)) {
		a.workers.Go(a.work)
	}
	return a
}

func (a *lookAhead) work() {
	for k := a.take(); k >= 0; k = a.take() {
		e := &a.early[k]
		e.got = a.s.answer(a.s.questions[a.open[k]], e.limits)
		close(e.done)
	}
}

// take takes the next question, or returns -1.
func (a *lookAhead) take() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; a.next < len(a.open); a.next++ {
		if e := &a.early[a.next]; !e.skip {
			e.limits = &limits{perSearch: a.perSearch, total: math.MaxInt, deadline: a.deadline, goOn: a.s.o.GoOn}
			a.next++
			return a.next - 1
		}
	}
	return -1
}

// skip gives up a question.
func (a *lookAhead) skip(k int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := &a.early[k]; e.limits != nil {
		e.limits.ended.Store(true)
	}
	a.early[k].skip = true
}

// answer waits for the answer to a question and counts its terms, or searches if no worker has
// taken it. It searches again where all questions together have no terms left for that: then the
// last ones get less.
func (a *lookAhead) answer(k int, l *limits) answeredQuestion {
	if e := &a.early[k]; a.isTaken(k) && l.spent < l.total && !l.late() {
		<-e.done
		if l.spent+e.limits.spent < l.total {
			l.spent, l.restarts = l.spent+e.limits.spent, l.restarts+e.limits.restarts
			return e.got
		}
	}
	return a.s.answer(a.s.questions[a.open[k]], l)
}

// isTaken reports whether a worker has taken a question; none will from now on.
func (a *lookAhead) isTaken(k int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.early[k].skip = true
	return a.early[k].limits != nil
}

// end stops the questions that are no longer needed.
func (a *lookAhead) end() {
	for k := range a.open {
		a.skip(k)
	}
	a.workers.Wait()
}
