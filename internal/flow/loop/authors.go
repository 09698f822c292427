package loop

import (
	"fmt"
	"slices"
	"time"
)

// take files a call that ended.
func (l *loop) take(r *Reply) error {
	if r == nil {
		return nil
	}
	l.out--
	switch {
	case l.trimming:
		return nil // it comes too late
	case r.Err != nil && l.Replayed:
		// The recorded run may not have heard of this one either: an error only if
		// its actions want it.
		l.missing = append(l.missing, *r)
		return nil
	case r.Err != nil:
		return r.Err
	}
	l.arrived = append(l.arrived, *r)
	l.call = l.Now().Sub(l.asked)
	if r.Untold && l.Tokens {
		l.warnOnce("the agent " + r.Model + " does not say how many tokens it uses: --budget-tokens cannot hold for it")
	}
	switch {
	case r.Spent:
		return l.dismiss(r.Model)
	case r.Unheard != "":
		l.unheard(r.Model, r.Unheard)
	}
	return nil
}

// unheard tells of a model that does not answer, not every time.
func (l *loop) unheard(model, why string) {
	n := l.warned[model]
	if l.warned[model]++; n%10 == 0 {
		l.Warn(fmt.Sprintf("model %s did not answer: %s; the search goes on without", model, why))
	}
}

// warnOnce tells of something the first time that it happens.
func (l *loop) warnOnce(what string) {
	if l.warned[what]++; l.warned[what] == 1 {
		l.Warn(what)
	}
}

// send keeps as many calls under way as are allowed.
func (l *loop) send() error {
	n := l.InFlight - l.out
	if n <= 0 || l.holds() || !l.Standing().Asks || l.Pause() || l.timeLeft() <= 0 {
		return nil
	}
	return l.act(Action{Ask: n})
}

// holds reports whether the next call waits for a verdict. A prompt is worth more when it knows
// the fate of the last reply and the first gains of the rules. Where an evaluation takes longer
// than a call, waiting would cost more.
func (l *loop) holds() bool {
	s := l.Standing()
	waiting := len(l.arrived) > 0 || l.judging
	switch {
	case len(l.arrived) >= max(l.Batch, l.InFlight):
		return true
	case s.Told == 0 && !l.NoRules && !l.dry && s.Room > 0:
		return true
	}
	return waiting && l.pace <= l.call
}

// refill asks models while a generation is evaluated, which may hold candidates of rules alone. A
// replay does not refill: its recorded actions say when models were asked.
func (l *loop) refill() error {
	if l.Behind() || l.trimming {
		return nil
	}
	return l.send()
}

// act notes an action and takes it.
func (l *loop) act(x Action) error {
	if err := l.Note(x); err != nil {
		return err
	}
	return l.do(x)
}

// sweep files what has ended in the meantime, without waiting.
func (l *loop) sweep() error {
	for l.out > 0 {
		h, err := l.Await(0, false)
		if err != nil || h.Reply == nil {
			return err
		}
		if err := l.take(h.Reply); err != nil {
			return err
		}
	}
	return nil
}

// linger waits a moment for replies that come together with the first: a
// generation of few costs about as much as one of many.
func (l *loop) linger() error {
	const share = 20 // of the last generation's time
	if len(l.arrived) == 0 {
		return nil
	}
	end := l.Now().Add(min(l.pace/share, l.Linger))
	for l.out > 0 && len(l.arrived) < l.Batch {
		left := end.Sub(l.Now())
		if left <= 0 {
			return nil
		}
		h, err := l.Await(left, false)
		if err != nil || h.Reply == nil {
			return err
		}
		if err := l.take(h.Reply); err != nil {
			return err
		}
	}
	return nil
}

// Patience is the time that a search waits for models after the rules have used up their share.
// Then the rules go on with the models' share.
const Patience = 15 * time.Second

// wait waits for a reply, and for no longer than the rules can bear.
func (l *loop) wait() error {
	switch {
	case l.out == 0 && l.Standing().Open && !l.Pause():
		return l.endAsking("no model can be asked any more")
	case l.out == 0 && !l.Standing().Open:
		return l.act(Action{Finished: true})
	case l.out == 0:
		return nil // the loop pauses
	}
	if l.quiet.IsZero() {
		l.quiet = l.Now()
	}
	l.Show(l.out)
	h, err := l.Await(max(0, min(Patience-l.Now().Sub(l.quiet), l.timeLeft())), true)
	switch {
	case err != nil || h.Visited:
		return err
	case h.Reply != nil:
		return l.take(h.Reply)
	}
	return l.lend()
}

// lend gives the rules a batch of the models' share.
func (l *loop) lend() error {
	l.quiet = l.Now()
	if l.dry || !l.Standing().Lends {
		return nil // they have no use for it, or it is kept for calls
	}
	return l.act(Action{Lend: l.Batch})
}

const outOfBudget = "the budget does not cover another call of "

// dismiss ends the asking of a model whose next call the budget does not cover.
// Cheaper ones go on; when none is left, models are not asked any more.
func (l *loop) dismiss(model string) error {
	s := l.Standing()
	if !s.Open || slices.Contains(s.Gone, model) || l.Behind() {
		return nil // the search knows, or a replayed action tells when
	}
	if err := l.act(Action{Dismissed: model}); err != nil {
		return err
	}
	if !l.Standing().Open {
		l.Say("the models' budget is used" + l.describeRest())
		return nil
	}
	l.Warn(outOfBudget + model + ": the search goes on with the others")
	return nil
}

// endAsking ends the asking of models.
func (l *loop) endAsking(why string) error {
	if !l.Standing().Open || l.Behind() {
		return nil // it is closed, or a replayed action tells when
	}
	l.Warn(why + l.describeRest())
	return l.act(Action{Closed: why})
}

// describeRest describes how the search goes on without models.
func (l *loop) describeRest() string {
	if l.NoRules {
		return ": the search ends"
	}
	return ": the search goes on with rules"
}
