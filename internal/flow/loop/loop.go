package loop

import (
	"fmt"
	"slices"
	"time"
)

// A loop is a search under way.
type loop struct {
	Engine
	Terms

	out     int     // calls under way
	arrived []Reply // of calls that ended, and not evaluated, in order of arrival
	missing []Reply // of a replay, those that are not in its recording

	mark     time.Time     // the end of the last generation
	began    time.Time     // when the evaluation of the last generation began
	pace     time.Duration // that the last generation took to evaluate
	quiet    time.Time     // since when there has been nothing to evaluate; zero while there is
	judging  bool          // replies are in the generation under evaluation
	asked    time.Time     // when calls were last begun
	call     time.Duration // that the last call took, at least
	trimming bool          // the last generations are under way: models are not asked any more

	dry    bool // the rules had no new idea when they were last asked
	warned map[string]int
}

// Run carries a search to its end. It is false when the engine asked for a pause
// before that.
func Run(e Engine, t Terms) (ended bool, err error) {
	l := &loop{Engine: e, Terms: t, warned: map[string]int{}, mark: e.Now(), pace: time.Second}
	defer func() { e.End(l.out) }()
	if l.out, err = e.Relaunch(); err != nil {
		return false, err
	}
	begun, err := l.catchUp()
	for err == nil && (begun || l.goesOn()) {
		switch {
		case begun:
			begun, err = false, l.finish()
		case l.trimming: // it was taken up in its last generations
			return true, l.end()
		case e.Pause() && l.out == 0:
			return false, nil
		default:
			begun, err = l.gather()
		}
	}
	if err != nil {
		return false, err
	}
	return true, l.end()
}

// end runs the last generations, which leave steps out of the finalists. So the judge finds most
// forms that it can choose from, and what it adds to them it evaluates and logs as the search does.
func (l *loop) end() error {
	l.trimming = true
	for {
		b := &GenerationParts{Trim: true}
		if err := l.Note(Action{Begin: b}); err != nil {
			return err
		}
		begun, err := l.begin(b)
		if err != nil {
			return err
		}
		if !begun {
			return l.Keep(true)
		}
		if err := l.finish(); err != nil {
			return err
		}
	}
}

// goesOn reports whether the search goes on: the stop rule. A search that has nothing left to try
// goes on with hand-ins.
func (l *loop) goesOn() bool {
	return !l.Enough() && l.timeLeft() > 0 && (!l.Standing().Done || l.Visited())
}

// timeLeft returns the rest of the time for searching.
func (l *loop) timeLeft() time.Duration {
	if l.Time == 0 {
		return time.Hour
	}
	return l.Time - time.Duration(l.Standing().Seconds*float64(time.Second)) - l.Now().Sub(l.mark)
}

// gather puts the next generation together: replies first, and rules beside them. Without either
// it waits, and returns false when something else happened that may end the search.
func (l *loop) gather() (begun bool, err error) {
	for _, step := range []func() error{l.sweep, l.send, l.linger} {
		if err := step(); err != nil {
			return false, err
		}
	}
	b := &GenerationParts{Rules: l.Batch}
	for _, a := range l.arrived[:min(len(l.arrived), l.Batch)] {
		b.Arrived = append(b.Arrived, a.Proposal)
	}
	switch {
	case l.InFlight == 0: // rules alone, which the search ends itself when they are used up
	case l.dry:
		b.Rules = 0
	default:
		b.Rules = min(l.Standing().Room, l.Batch-len(b.Arrived))
	}
	if l.InFlight > 0 && len(b.Arrived) == 0 && b.Rules == 0 && !l.Visited() {
		return false, l.wait()
	}
	l.quiet = time.Time{}
	b.Guests = l.Guests()
	if err := l.Note(Action{Begin: b}); err != nil {
		return false, err
	}
	return l.begin(b)
}

// begin makes the draft of a generation and has it evaluated. It returns false if there was nothing
// left to trim.
func (l *loop) begin(b *GenerationParts) (begun bool, err error) {
	l.trimming, l.judging = b.Trim, len(b.Arrived) > 0
	replies := make([]Reply, len(b.Arrived))
	for i, id := range b.Arrived {
		if replies[i], err = l.arrival(id); err != nil {
			return false, err
		}
	}
	drawn, err := l.draft(b, replies)
	if err != nil || b.Trim && !drawn {
		return false, err
	}
	return true, l.evaluate()
}

// evaluate waits for the verdicts on a draft, while replies go on arriving.
func (l *loop) evaluate() error {
	l.began = l.Now()
	if err := l.Evaluate(); err != nil {
		return err
	}
	for {
		if err := l.refill(); err != nil {
			return err
		}
		h, err := l.Await(-1, false)
		if err != nil {
			return err
		}
		if h.Evaluated {
			l.pace = l.Now().Sub(l.began)
			return nil
		}
		if err := l.take(h.Reply); err != nil {
			return err
		}
	}
}

// draft fills the draft of a generation. It reports whether anything was drawn.
func (l *loop) draft(b *GenerationParts, replies []Reply) (drawn bool, err error) {
	d, err := l.Draw(b, replies)
	for drawn = d.More; err == nil && d.More; {
		if err = l.Make(); err == nil {
			d, err = l.Redraw()
		}
	}
	l.dry = l.dry || b.Rules > 0 && d.Made == d.Outside
	return drawn, err
}

// arrival takes the reply to a proposal out of those that arrived. It waits for
// the reply if need be: it was there when the search was at this action before.
func (l *loop) arrival(id int) (Reply, error) {
	is := func(r Reply) bool { return r.Proposal == id }
	for {
		if i := slices.IndexFunc(l.arrived, is); i >= 0 {
			r := l.arrived[i]
			l.arrived = slices.Delete(l.arrived, i, i+1)
			return r, nil
		}
		if i := slices.IndexFunc(l.missing, is); i >= 0 {
			return Reply{}, l.missing[i].Err
		}
		if l.out == 0 {
			return Reply{}, fmt.Errorf("a generation holds proposal %d, which no model was asked for", id)
		}
		h, err := l.Await(-1, false)
		if err == nil {
			err = l.take(h.Reply)
		}
		if err != nil {
			return Reply{}, err
		}
	}
}

// finish tells the search of the generation that was evaluated.
func (l *loop) finish() error {
	return l.tell(Telling{Took: l.Now().Sub(l.mark), Evaluating: l.pace}, false)
}

func (l *loop) tell(t Telling, again bool) error {
	before := l.Standing()
	if err := l.Tell(t, again); err != nil {
		return err
	}
	after := l.Standing()
	l.mark, l.judging = l.Now(), false
	if after.Members > before.Members {
		l.dry = false // there is something new to start from
	}
	if before.Open && !after.Open {
		l.Warn("the models do not answer, or bring nothing new any more" + l.describeRest())
	}
	l.Show(l.out)
	return l.Keep(false)
}

// catchUp takes the actions again that are not part of the search's state. It may
// end in the middle of a generation: then begun is true.
func (l *loop) catchUp() (begun bool, err error) {
	for l.Behind() && err == nil {
		var x Action
		if x, err = l.NextAction(); err != nil {
			break
		}
		switch {
		case x.Begin != nil:
			begun, err = l.begin(x.Begin)
		case x.Telling == nil:
			err = l.do(x)
		case begun:
			begun, err = false, l.tell(*x.Telling, true)
		default:
			err = fmt.Errorf("the journal of actions names a generation that never began")
		}
	}
	return begun, err
}

// do takes an action that is no part of a generation.
func (l *loop) do(x Action) error {
	open := l.Standing().Open
	calls, err := l.Take(x)
	if l.out += calls; calls > 0 {
		l.asked = l.Now()
	}
	if open && !l.Standing().Open {
		l.dry = false // the rules have the share that was kept for models
	}
	return err
}
