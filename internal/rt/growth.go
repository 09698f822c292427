package rt

import (
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"time"
)

// A Growth is a way of making inputs longer on which the candidate falls behind the original.
type Growth struct {
	Way     string  `json:"way"`
	Lengths []int   `json:"lengths"` // of the sequence
	Want    []int64 `json:"want"`    // nanoseconds of processor time that the original takes
	Got     []int64 `json:"got"`     // and the candidate
	Args    []byte  `json:"args"`    // the longest input
	Steep   bool    `json:"steep"`   // it grows faster; otherwise it is only slower there than on short inputs
}

// stretchings are the factors by which recorded inputs are stretched. The last steps are for
// inputs that are short even then: the fixed cost of a call still hides how its time grows.
var stretchings = []int{1, 2, 4, 16, 64, 256, 1024, 4096}

const (
	minStretched = 8       // a shorter record stands for one of this length
	maxStretched = 1 << 20 // elements
	slowerBy     = 3       // the candidate's time over the original's, at the end, and over what it was at first
	// and over what it was a step before: a step is 4 times the length, and n*n against n gives 4
	steepBy       = 2
	tellingExcess = 20 * time.Microsecond
	longEnough    = 10 * time.Millisecond // of the original; longer inputs are left out
	stillShort    = time.Millisecond
)

// A grower stretches the sequences of recorded inputs.
type grower[A, R any] struct {
	p   *replayer[A, R]
	x   *exhauster
	s   *stand[A, R]
	rng *rand.Rand
}

// grow compares how both versions' times grow with their inputs.
func (p *replayer[A, R]) grow() error {
	x, s, err := p.h.exhauster(&Exhaust{Variant: p.q.Variant, Records: p.q.Records, Seed: p.q.Seed, Panics: p.q.Panics})
	if err != nil {
		return err
	}
	p.check = s.check
	// Only the processor time of this thread counts, and no collection may fall into it.
	runtime.LockOSThread() // its clock belongs to one thread
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	// Stretch all sequences together, and each alone: a nested loop needs two long ones, and a
	// search may only be slow in one.
	g := &grower[A, R]{p, x, s, rand.New(rand.NewPCG(p.q.Seed, 8))}
	var slots []int
	for i, s := range x.args.slots {
		if isSequence(s.t) {
			slots = append(slots, i)
		}
	}
	groups := [][]int{slots}
	if len(slots) > 1 {
		for _, i := range slots {
			groups = append(groups, []int{i})
		}
	}
	// For each way to stretch, try each group. The first steep growth is enough to reject the
	// candidate.
	for _, way := range []string{wayDistinct, wayRepeated, wayJoined, wayOne} {
		for _, group := range groups {
			if len(group) == 0 || p.late() {
				return nil
			}
			out := g.stretch(way, group)
			if out != nil && (p.out.Growth == nil || out.Steep) {
				p.out.Growth = out
			}
			if p.out.Diff != nil || out != nil && out.Steep {
				return nil
			}
		}
	}
	return nil
}

// Ways of making a sequence longer.
const (
	wayRepeated = "the recorded input again and again"
	wayJoined   = "recorded inputs one after the other"
	wayOne      = "one element again and again"
	wayDistinct = "elements that all differ"
)

// stretch stretches one group of slots step by step.
func (g *grower[A, R]) stretch(way string, group []int) *Growth {
	var out Growth
	// Start from the record with the longest sequences of the group.
	base, length := g.longest(group)
	if base < 0 {
		return nil
	}
	out.Way = way
	// Stretch further until both times are long enough to tell the slopes, or there is no time
	// left.
	for _, f := range stretchings {
		n := length * f
		if n > maxStretched {
			break
		}
		g.make(way, base, group, n)
		want, got, ok := g.time(base)
		if !ok {
			break
		}
		out.Lengths, out.Want, out.Got = append(out.Lengths, n), append(out.Want, want), append(out.Got, got)
		g.p.out.Cases++
		if f >= 64 && out.steeper() {
			break // longer ones would only take long
		}
		if want > int64(longEnough) || got > 10*int64(longEnough) || f >= 64 && want > int64(stillShort) {
			break
		}
	}
	// A candidate that does not lose is fine. One that does is timed again at the ends: noise only
	// ever adds.
	if !out.loses() {
		return nil
	}
	for _, k := range []int{0, len(out.Lengths) - 2, len(out.Lengths) - 1} { // a second look: noise only adds
		g.make(way, base, group, out.Lengths[k])
		want, got, ok := g.time(base)
		if !ok {
			return nil
		}
		out.Want[k], out.Got[k] = min(out.Want[k], want), min(out.Got[k], got)
	}
	// It counts if its growth is steeper, or if it still loses.
	if out.Steep = out.steeper(); !out.Steep && !out.loses() {
		return nil
	}
	out.Args, _ = Encode(&g.s.a)
	return &out
}

// loses reports whether the candidate is that much slower at the end, and was
// not at first.
func (o *Growth) loses() bool {
	last := len(o.Lengths) - 1
	return last >= 2 && o.Got[last]-o.Want[last] >= int64(tellingExcess) &&
		o.ratio(last) > slowerBy && o.ratio(last) > slowerBy*o.ratio(0)
}

// steeper reports whether it loses more and more still in the last step. A constant factor may hide
// in the fixed cost of a short call; the reply reports it, and the measurement judges it.
func (o *Growth) steeper() bool {
	last := len(o.Lengths) - 1
	return o.loses() && o.ratio(last) > 2*slowerBy && o.ratio(last) > steepBy*o.ratio(last-1)
}

func (o *Growth) ratio(k int) float64 { return float64(o.Got[k]) / float64(max(o.Want[k], 1)) }

// longest returns the record with the longest sequence in a group, and its length.
func (g *grower[A, R]) longest(group []int) (record, length int) {
	record = -1
	for _, i := range g.p.picks {
		g.s.a = *Clone(&g.p.records[i])
		for _, k := range group {
			if f, ok := g.x.args.peek(k); ok && (record < 0 || f.Len() > length) {
				record, length = i, f.Len()
			}
		}
	}
	return record, max(length, minStretched)
}

// make puts the input with sequences of n elements into place. A number that
// was the sequence's length follows it.
func (g *grower[A, R]) make(way string, base int, group []int, n int) {
	x := g.x
	// Start from the record, so that all else stays what the program is called with.
	g.s.a = *Clone(&g.p.records[base])
	for _, i := range group {
		f := x.args.field(i)
		was := f.Len()
		// Distinct elements come from numbers; the other ways repeat an element, the sequence
		// itself or all records' sequences. An empty sequence has nothing to repeat.
		switch t := x.args.slots[i].t; {
		case way == wayDistinct:
			x.args.fill(i, t, n, distinct, g.rng)
			if isText(t) {
				setText(f, varied(n, g.rng))
			}
		case way == wayOne && was > 0:
			f.Set(repeatedTo(f.Slice(was/2, was/2+1), n))
		case way == wayJoined:
			f.Set(repeatedTo(g.joinedSequences(i, n), n))
		case was > 0:
			f.Set(repeatedTo(f, n))
		default:
			x.args.fill(i, t, n, 3, g.rng)
		}
		g.follow(was, x.args.field(i).Len())
	}
}

// follow sets the integers that were a sequence's length to its new one.
func (g *grower[A, R]) follow(was, now int) {
	if was < 2 {
		return
	}
	for i, s := range g.x.args.slots {
		if !isInteger(s.t) {
			continue
		}
		if f, ok := g.x.args.peek(i); ok && isNumber(f, was) {
			g.x.args.setInt(i, int64(now))
		}
	}
}

// varied returns a text in which neighbours and distant pieces differ.
func varied(n int, rng *rand.Rand) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789 .-:/ABCXYZ"[rng.IntN(47)]
	}
	return b
}

// repeatedTo returns a sequence of n elements made of all of v's, which has some.
func repeatedTo(v reflect.Value, n int) reflect.Value {
	if v.Kind() == reflect.String {
		b := make([]byte, 0, n+v.Len())
		for len(b) < n {
			b = append(b, v.String()...)
		}
		return reflect.ValueOf(string(b[:n])).Convert(v.Type())
	}
	out := reflect.MakeSlice(v.Type(), n, n)
	for done := 0; done < n && v.Len() > 0; {
		done += reflect.Copy(out.Slice(done, n), v)
	}
	return out
}

// joinedSequences returns the sequences of the records in a row, n elements or fewer.
func (g *grower[A, R]) joinedSequences(slot, n int) reflect.Value {
	// The record in place is the pattern for other slots, so it comes back at the end.
	x, keep := g.x, g.s.a
	t := x.args.slots[slot].t
	text, list := []byte(nil), reflect.Zero(t)
	// Append the slot's sequence of each record, until there are enough elements.
	for _, i := range g.p.picks {
		g.s.a = *Clone(&g.p.records[i])
		f, ok := x.args.peek(slot)
		switch {
		case !ok:
		case t.Kind() == reflect.String:
			text = append(text, f.String()...)
		default:
			list = reflect.AppendSlice(list, f)
		}
		if len(text) >= n || t.Kind() == reflect.Slice && list.Len() >= n {
			break
		}
	}
	g.s.a = keep
	// A sequence of no record's elements needs at least one.
	switch {
	case t.Kind() != reflect.String:
		if list.Len() == 0 {
			list = reflect.MakeSlice(t, 1, 1)
		}
		return list
	case len(text) == 0:
		text = []byte("a")
	}
	return reflect.ValueOf(string(text)).Convert(t)
}

// time compares both versions on the input in place, and returns the least
// processor time of some calls of each.
func (g *grower[A, R]) time(record int) (want, got int64, ok bool) {
	c, src := g.s.check, &g.s.a
	if !c.h.keeps(src) {
		return 0, 0, false
	}
	if g.p.out.Diff = c.compare(record, src); g.p.out.Diff != nil || c.p[0] != nil || c.p[1] != nil {
		return 0, 0, false
	}
	runtime.GC()
	want, got = g.leastTime(record)
	return want, got, true
}

// Rounds of calls that are timed on one input, and when it is enough of them.
const (
	maxTimed = 9
	timeEach = 6 * time.Millisecond
)

// leastTime returns the least processor time of some calls of each version. The
// versions take turns: the first to need so much memory may find it ready, where
// the next has to ask the system for more.
func (g *grower[A, R]) leastTime(record int) (want, got int64) {
	least := [2]int64{math.MaxInt64, math.MaxInt64}
	begin := ProcessCPU()
	for round := range maxTimed {
		// Turns change places each round, for the same reason.
		for k := range 2 {
			side := (round + k) & 1
			least[side] = min(least[side], g.timeCall(side, record))
		}
		// Once is not enough: the first round warms the caches.
		if round > 0 && ProcessCPU()-begin > timeEach {
			break
		}
	}
	return max(least[0], 1), max(least[1], 1)
}

// timeCall returns the processor time of one call.
func (g *grower[A, R]) timeCall(side, record int) int64 {
	c := g.s.check
	v := 0
	if side == 1 {
		v = c.v
	}
	c.r[side] = *new(R)
	c.copyTo(&c.a[side], &g.s.a)
	start := threadClock()
	c.call(v, record, &c.a[side], &c.r[side])
	return threadClock() - start
}

// threadClock returns the processor time of a locked thread: the clock of a process moves in large
// steps on some systems.
func threadClock() int64 {
	if t := cpuClock(ofThread); t >= 0 {
		return t
	}
	return int64(ProcessCPU())
}
