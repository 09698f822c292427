package rollout

import (
	"fmt"
	"slices"
	"time"
)

// A fault says why a block cannot be used.
type fault struct {
	what string
	stop bool // the experiment cannot go on
	idle bool // the block had no traffic
}

func refuse(format string, args ...any) *fault { return &fault{what: fmt.Sprintf(format, args...)} }

// inspect returns the fault of a block, or nil.
func (e *Experiment) inspect(b *Block) *fault {
	if b.ID == "" || b.Seq <= 0 {
		return refuse("block %q, %d has no source or number: send an ID and a number from 1", b.ID, b.Seq)
	}
	if s := e.State.Streams[b.ID]; s != nil && b.Seq <= s.Seq {
		return refuse("block %d of %s came after block %d: it was counted before or is out of order",
			b.Seq, b.ID, s.Seq)
	}
	if len(b.Slices) == 0 {
		return refuse("block %d of %s has no data", b.Seq, b.ID)
	}
	for i := range b.Slices {
		if f := e.inspectSlice(b, &b.Slices[i]); f != nil {
			return f
		}
	}
	return e.inspectClocks(b)
}

func (e *Experiment) inspectSlice(b *Block, s *Slice) *fault {
	name := fmt.Sprintf("block %d of %s, arm %s, pod %s", b.Seq, b.ID, s.Arm, s.Pod)
	want := e.Plan.Build
	if build := e.Plan.Builds[s.Arm]; build != "" {
		want = build
	}
	switch {
	case s.Arm != Original && s.Arm != Candidate && s.Arm != Placebo:
		return refuse("%s: the arm is unknown", name)
	case s.Build != want:
		return &fault{stop: true, what: fmt.Sprintf("%s runs build %q, but the experiment is about %q: "+
			"start a new experiment for that build", name, s.Build, want)}
	case !s.End.After(s.Start):
		return refuse("%s ends at %s, not after its start at %s: its clock was set back", name,
			s.End.Format(time.RFC3339Nano), s.Start.Format(time.RFC3339Nano))
	}
	if err := s.Counts.check(); err != nil {
		return refuse("%s: %v", name, err)
	}
	return nil
}

// inspectClocks compares a block's times with each other, with those of its
// stream and with the controller's clock.
func (e *Experiment) inspectClocks(b *Block) *fault {
	first, last := b.span()
	if span := last.Sub(first).Seconds(); span > e.Plan.BlockSpanLimit {
		return refuse("block %d of %s spans %.0f s, more than %.0f: clocks of its pods are apart, or slices of "+
			"different times were put together", b.Seq, b.ID, span, e.Plan.BlockSpanLimit)
	}
	if !b.Received.IsZero() {
		if ahead := last.Sub(b.Received).Seconds(); ahead > e.Plan.MostSkew {
			return refuse("block %d of %s ends %.0f s in the future: its clock and the controller's are apart",
				b.Seq, b.ID, ahead)
		}
	}
	if s := e.State.Streams[b.ID]; s != nil {
		if back := s.End.Sub(first).Seconds(); back > e.Plan.MostSkew {
			return refuse("block %d of %s starts %.0f s before the end of the one before: its clock was set back",
				b.Seq, b.ID, back)
		}
	}
	return nil
}

// span returns the first start and the last end of a block's slices.
func (b *Block) span() (first, last time.Time) {
	for i, s := range b.Slices {
		if i == 0 || s.Start.Before(first) {
			first = s.Start
		}
		if i == 0 || s.End.After(last) {
			last = s.End
		}
	}
	return first, last
}

// totals sums a block's slices by arm.
func (b *Block) totals() map[Arm]*Counts {
	out := map[Arm]*Counts{}
	for _, s := range b.Slices {
		if out[s.Arm] == nil {
			out[s.Arm] = new(Counts)
		}
		out[s.Arm].add(s.Counts)
	}
	return out
}

// silentArms returns the planned arms that sent nothing.
func (b *Block) silentArms() []Arm {
	var out []Arm
	for _, arm := range b.Planned {
		if !slices.ContainsFunc(b.Slices, func(s Slice) bool { return s.Arm == arm }) {
			out = append(out, arm)
		}
	}
	return out
}

// idleArm returns an arm that got no traffic while another did, or "".
func idleArm(arms map[Arm]*Counts) Arm {
	busy := false
	for _, c := range arms {
		busy = busy || c.Requests > 0
	}
	for _, arm := range allArms {
		if c := arms[arm]; c != nil && c.Requests == 0 && busy {
			return arm
		}
	}
	return ""
}
