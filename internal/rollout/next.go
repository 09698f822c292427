package rollout

import (
	"cmp"
	"fmt"
	"math"
)

// An Action is the next step of a delivery.
type Action string

// The actions.
const (
	Hold     Action = "hold"      // go on as before
	Advance  Action = "advance"   // to the next share of the ramp
	Ship     Action = "ship"      // to all but the hold-out
	Finish   Action = "finish"    // remove the original and the switch
	RollBack Action = "roll-back" // to the original, for good
)

// A Decision answers a block.
type Decision struct {
	Action Action  `json:"action"`
	Cause  string  `json:"cause"`
	Share  float64 `json:"share"` // of traffic that runs the candidate from now on
}

// Next takes a block and decides. A block that cannot be used changes no
// statistic; its decision says why.
func (e *Experiment) Next(b Block) Decision {
	if e.Over() {
		return Decision{Hold, "the experiment is over: " + e.State.Cause, e.Share()}
	}
	if f := e.inspect(&b); f != nil {
		return e.refuseBlock(f)
	}
	if cause := e.hardStop(&b); cause != "" {
		e.expose(&b)
		return e.end(cause)
	}
	e.remember(&b)
	switch f := e.unusable(&b); {
	case f != nil && f.idle:
		return e.idled(&b, f)
	case f != nil:
		return e.refuseBlock(f)
	}
	e.count(&b)
	return e.decide()
}

// refuseBlock enters a block that cannot be used.
func (e *Experiment) refuseBlock(f *fault) Decision {
	e.State.Refused++
	e.State.Unusable++
	switch {
	case f.stop:
		return e.end(f.what)
	case e.State.Unusable >= e.Plan.MostLost:
		return e.end(fmt.Sprintf("%d blocks in a row could not be used; the last: %s", e.State.Unusable, f.what))
	}
	return Decision{Hold, "not counted: " + f.what, e.Share()}
}

// idled enters a block without traffic. A service that gets no requests for some blocks, or no
// processor, says nothing of its candidate; one without any for long may hang.
func (e *Experiment) idled(b *Block, f *fault) Decision {
	first, last := b.span()
	s := &e.State
	s.Refused++
	if s.Idle++; s.Idle == 1 {
		s.IdleSince = float64(first.UnixMilli()) / 1000
	}
	if silent := float64(last.UnixMilli())/1000 - s.IdleSince; s.Idle >= e.Plan.MostLost && silent > Patience {
		return e.end(fmt.Sprintf("%d blocks in a row, of %.0f s, could not be used; the last: %s", s.Idle, silent,
			f.what))
	}
	return Decision{Hold, "not counted: " + f.what, e.Share()}
}

// hardStop returns why a block ends the experiment without any statistic.
func (e *Experiment) hardStop(b *Block) string {
	for _, s := range b.Slices {
		switch {
		case s.Tripped != "":
			return fmt.Sprintf("pod %s switched to the original by itself: %s", s.Pod, s.Tripped)
		case s.Arm == Candidate && s.Mismatches > 0:
			return fmt.Sprintf("%d shadow calls on pod %s gave another result than the original", s.Mismatches, s.Pod)
		case s.Arm == Candidate && s.Panics > 0:
			return fmt.Sprintf("the candidate panicked %d times on pod %s", s.Panics, s.Pod)
		}
	}
	return ""
}

// remember enters where the block's stream stands, and the arms that are
// missing from it.
func (e *Experiment) remember(b *Block) {
	_, last := b.span()
	s := e.State.Streams[b.ID]
	if s == nil {
		s = new(Stream)
		e.State.Streams[b.ID] = s
	}
	s.Seq = b.Seq
	if last.After(s.End) {
		s.End = last
	}
	e.expose(b)
	missing := map[Arm]float64{}
	for _, arm := range b.silentArms() {
		missing[arm]++
	}
	if len(missing) > 0 {
		e.State.Missing.add(missing, occurrences(b.Planned))
	}
}

func (e *Experiment) expose(b *Block) {
	for _, s := range b.Slices {
		if s.Arm == Candidate {
			e.State.Exposure.Requests += s.Counts.Requests
			e.State.Exposure.Errors += s.Counts.Errors
			e.State.Exposure.Seconds += s.End.Sub(s.Start).Seconds()
		}
	}
}

// unusable returns why a sound block has no comparison in it.
func (e *Experiment) unusable(b *Block) *fault {
	if p := e.State.Missing.P(); p < e.Plan.MismatchAlpha {
		return &fault{stop: true, what: fmt.Sprintf("slices are lost on some arms more than on others (p = %.2g; %s): "+
			"a crash or a time-out hides what that arm does", p, counts(e.State.Missing.Counts))}
	}
	if lost := b.silentArms(); len(lost) > 0 {
		return refuse("block %d of %s lacks arm %s", b.Seq, b.ID, lost[0])
	}
	arms := b.totals()
	if arms[Candidate] == nil || len(arms) < 2 {
		return refuse("block %d of %s has no candidate beside another arm", b.Seq, b.ID)
	}
	if arm := idleArm(arms); arm != "" {
		return refuse("block %d of %s: arm %s got no traffic while another did", b.Seq, b.ID, arm)
	}
	if arms[Candidate].Requests == 0 {
		f := refuse("block %d of %s: no arm got traffic", b.Seq, b.ID)
		f.idle = true
		return f
	}
	return nil
}

// occurrences counts the arms of a plan. A slice is lost with the same chance
// on each arm, so the planned slices are the weights.
func occurrences(arms []Arm) map[Arm]float64 {
	out := map[Arm]float64{}
	for _, arm := range arms {
		out[arm]++
	}
	return out
}

// count enters a block into the statistics.
func (e *Experiment) count(b *Block) {
	s := &e.State
	// Count the block.
	s.Unusable, s.Idle = 0, 0
	s.Blocks++
	s.InStep++
	first, _ := b.span()
	if s.InStep == 1 {
		s.Began = float64(first.UnixMilli()) / 1000
	}
	// Count the calls whose time was capped.
	arms := b.totals()
	capBlock(arms)
	for arm, c := range arms {
		if len(c.Times) == 0 {
			continue
		}
		s.Late.Timed += c.Calls
		s.Late.Late += c.late
		if arm == Candidate {
			s.Late.Candidate += c.Calls
		}
	}
	// Compare the arms by each metric.
	for _, m := range e.Plan.metrics() {
		e.compare(s.Effect, m, b.ID, arms[Original], arms[Candidate])
		e.compare(s.Beyond, m, b.ID, arms[Placebo], arms[Candidate])
		e.compare(s.Placebo, m, b.ID, arms[Original], arms[Placebo])
		if s.Phase == Holdout {
			e.compare(s.After, m, b.ID, arms[Original], arms[Candidate])
		}
	}
	switch e.Plan.Unit {
	case Requests:
		e.countAssigned(arms)
	case Pods:
		e.countPods(b)
	}
}

// countAssigned enters how many requests of each arm ended. A source draws which requests it
// counts so that all arms have the same chance, whatever share of the traffic they get.
func (e *Experiment) countAssigned(arms map[Arm]*Counts) {
	got, weights := map[Arm]float64{}, map[Arm]float64{}
	for arm, c := range arms {
		got[arm], weights[arm] = c.Requests, 1
	}
	e.State.Assigned.add(got, weights)
}

func (e *Experiment) compare(tracks map[Metric]*Track, m Metric, id string, a, b *Counts) {
	if a == nil || b == nil {
		return
	}
	if tracks[m] == nil {
		tracks[m] = &Track{Own: e.Plan.Unit == Requests}
	}
	tracks[m].add(m, id, *a, *b)
}

// decide looks at all that is known.
func (e *Experiment) decide() Decision {
	// End for harm, or where the comparison is void.
	if p := e.State.Assigned.P(); p < e.Plan.MismatchAlpha {
		return e.end(fmt.Sprintf("sample-ratio mismatch: requests reach the arms in another ratio than planned "+
			"(p = %.2g; %s): the comparison is void", p, counts(e.State.Assigned.Counts)))
	}
	if cause := e.harm(); cause != "" {
		return e.end(cause)
	}
	if e.State.Held != "" {
		return e.orEnd("held: " + e.State.Held)
	}
	// Go on to the next step of the ramp when this one has had its time.
	if e.State.Phase == Holdout {
		return e.decideHoldout()
	}
	if e.State.InStep < e.Plan.StepBlocks || e.inStepSeconds() < e.Plan.StepSeconds {
		return e.hold("the step has not had its blocks and its time yet")
	}
	if e.State.Step+1 < len(e.Plan.Ramp) {
		if cause := e.missingGuardrail(); cause != "" {
			return e.orEnd(cause)
		}
		e.State.Step++
		e.State.InStep = 0
		return e.change(Advance, fmt.Sprintf("no guardrail is worse after %d blocks", e.State.Blocks))
	}
	// On the last step, ship at the first look without a doubt.
	if e.State.Blocks%lookEvery != 0 && e.State.Doubt != "" {
		return e.orEnd(e.State.Doubt)
	}
	if e.State.Doubt = e.doubt(); e.State.Doubt != "" {
		return e.orEnd(e.State.Doubt)
	}
	return e.ship()
}

// lookEvery is the number of blocks between two decisions whether to ship. Every block is checked
// for harm.
const lookEvery = 5

// orEnd holds, or ends the experiment when it had its time.
func (e *Experiment) orEnd(doubt string) Decision {
	if e.State.Blocks >= e.Plan.MostBlocks {
		return e.end(fmt.Sprintf("inconclusive after %d blocks, so nothing ships: %s", e.State.Blocks, doubt))
	}
	return e.hold(doubt)
}

func (e *Experiment) inStepSeconds() float64 {
	last := 0.0
	for _, s := range e.State.Streams {
		last = math.Max(last, float64(s.End.UnixMilli())/1000)
	}
	return last - e.State.Began
}

func (e *Experiment) ship() Decision {
	e.State.Proven = map[Metric]Interval{}
	cause := ""
	for _, m := range e.Plan.Success {
		if t := e.State.Effect[m]; t != nil {
			e.State.Proven[m] = e.gainInterval(t, m)
		}
		if cause == "" && e.lacksSuccess(m) == "" {
			cause = fmt.Sprintf("%s changes by %s and every guardrail is non-inferior", m,
				m.Span(e.gainInterval(e.State.Effect[m], m)))
		}
	}
	e.State.Phase, e.State.InStep = Holdout, 0
	return e.change(Ship, cause)
}

// decideHoldout waits until the hold-out shows the gain once more.
func (e *Experiment) decideHoldout() Decision {
	n := e.State.InStep
	if n < e.Plan.HoldoutBlocks {
		return e.hold("the hold-out has not had its blocks yet")
	}
	suspected, young := e.suspected(e.State.After), e.unfollowed(e.State.After)
	for _, m := range e.Plan.Success {
		if t := e.State.After[m]; suspected == "" && young == "" && t != nil && e.interval(t, m).High < 0 {
			e.State.Phase = Released
			return e.change(Finish, fmt.Sprintf("the hold-out shows the gain once more: %s changes by %s", m,
				m.Span(e.interval(t, m))))
		}
	}
	switch {
	case n >= 4*e.Plan.HoldoutBlocks && suspected != "":
		return e.end(fmt.Sprintf("after %d blocks of the hold-out %s", n, suspected))
	case suspected != "" || young != "":
		return e.hold(cmp.Or(suspected, young))
	case n >= 4*e.Plan.HoldoutBlocks:
		return e.end(fmt.Sprintf("the hold-out did not show the gain in %d blocks", n))
	}
	return e.hold("the hold-out does not show the gain yet")
}

func (e *Experiment) hold(cause string) Decision { return Decision{Hold, cause, e.Share()} }

func (e *Experiment) change(a Action, cause string) Decision {
	e.State.Cause = cause
	return Decision{a, cause, e.Share()}
}

// end rolls back for good.
func (e *Experiment) end(cause string) Decision {
	e.State.Phase = RolledBack
	return e.change(RollBack, cause)
}

// Stop ends an experiment at a person's wish or for a reason from outside, such
// as a controller that lost its pods.
func (e *Experiment) Stop(cause string) Decision {
	if e.Over() {
		return Decision{Hold, "the experiment is over: " + e.State.Cause, e.Share()}
	}
	return e.end(cause)
}

func counts(m map[Arm]float64) string {
	return fmt.Sprintf("original %.0f, candidate %.0f, placebo %.0f", m[Original], m[Candidate], m[Placebo])
}
