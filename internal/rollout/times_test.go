package rollout

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// clocked makes the counts of calls as the clock has them: each takes about 20 ns, and a share of
// them was preempted for milliseconds. A share of a class takes longer by a factor.
func clocked(rng *rand.Rand, calls int, preempted, class, times float64) Counts {
	c := Counts{Requests: float64(calls), Slices: 1}
	sizes := map[float64]*Times{}
	for range calls {
		nanos := 20 * math.Exp(0.4*rng.NormFloat64())
		if rng.Float64() < class {
			nanos *= times
		}
		if rng.Float64() < preempted {
			nanos += 4e6 * rng.ExpFloat64()
		}
		below := math.Exp2(math.Ceil(2*math.Log2(nanos)) / 2)
		if sizes[below] == nil {
			sizes[below] = &Times{Below: below}
		}
		sizes[below].Calls++
		sizes[below].Nanos += nanos
		c.Calls++
		c.FunctionNanos += nanos
	}
	for _, t := range sizes {
		c.addTimes([]Times{*t})
	}
	return c
}

// clockedExperiment feeds blocks of calls whose candidate has a class of slow ones, and takes
// factor times as long as the original.
func clockedExperiment(t *testing.T, seed uint64, bySize bool, factor, class, times float64,
	more ...Guardrail) *Experiment {
	t.Helper()
	e, err := New(Plan{Build: "b", Success: []Metric{FunctionTime}, Horizon: 100, MostBlocks: 1000,
		Guardrails: append(more, Guardrail{Metric: LateCalls, Margin: 0.001},
			Guardrail{Metric: FunctionTime, Margin: 0.02}), Ramp: []float64{0.3}, StepBlocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 4))
	for seq := int64(1); seq <= 150 && e.State.Phase == Ramping; seq++ {
		b := Block{ID: "p", Seq: seq, Planned: []Arm{Candidate, Original, Placebo}}
		for _, arm := range b.Planned {
			c := clocked(rng, 1000, 1e-4, 0, 1)
			if arm == Candidate {
				c = clocked(rng, 1000, 1e-4, class, times)
				c.FunctionNanos *= factor
				for i := range c.Times { // about: sizes stay
					c.Times[i].Nanos *= factor
				}
			}
			if !bySize {
				c.Times = nil
			}
			start := began.Add(time.Duration(seq) * time.Second)
			b.Slices = append(b.Slices, Slice{Arm: arm, Pod: "p", Build: "b", Start: start,
				End: start.Add(1), Counts: c})
		}
		e.Next(b)
	}
	return e
}

// TestPreemptedCalls: where the clock counts what other processes did, the mean says nothing, and
// the capped mean sees a gain of 10 %.
func TestPreemptedCalls(t *testing.T) {
	width := func(e *Experiment) float64 {
		i := e.interval(e.State.Effect[FunctionTime], FunctionTime)
		return i.High - i.Low
	}
	plain, sized := clockedExperiment(t, 1, false, 0.9, 0, 1), clockedExperiment(t, 1, true, 0.9, 0, 1)
	if w := width(plain); w < 1 || plain.State.Phase != Ramping {
		t.Errorf("preempted calls do no harm to the mean: %g, %s", w, plain.State.Phase)
	}
	if sized.State.Phase != Holdout {
		t.Errorf("the gain was not found: width %g, %s", width(sized), sized.doubt())
	}
	if l := sized.State.Late; l.Timed == 0 || l.Late == 0 || l.Late > 0.001*l.Timed ||
		!strings.Contains(l.Text(), "count as that") {
		t.Errorf("%+v: %s", l, l.Text())
	}
	text, err := json.Marshal(sized)
	if err != nil {
		t.Fatal(err)
	}
	var back Experiment
	if err := json.Unmarshal(text, &back); err != nil || back.State.Late != sized.State.Late {
		t.Errorf("%v: %+v", err, back.State.Late)
	}
}

// TestSlowClass: a candidate that is faster on most calls and slow on a class of them is harm,
// however rare the class is that still costs.
func TestSlowClass(t *testing.T) {
	for _, row := range []struct {
		class, times float64
		says         string
	}{
		{0.25, 3, "function-time"}, {0.05, 40, "function-time"}, {0.01, 15, "is worse"}, {0.01, 200, "is worse"},
		{0.003, 1000, "late-calls"},
	} {
		e := clockedExperiment(t, 2, true, 0.95, row.class, row.times)
		if e.State.Phase != RolledBack || !strings.Contains(e.State.Cause, row.says) {
			t.Errorf("%g of the calls %g times as slow: %s, %s", row.class, row.times, e.State.Phase, e.State.Cause)
		}
	}
}

// TestCapIsShared: two arms that change places change the sign of their difference, and no more.
func TestCapIsShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	a, b := clocked(rng, 500, 1e-2, 0, 1), clocked(rng, 700, 1e-3, 0.1, 9)
	mean := func(first, second Counts) (x, y float64) {
		arms := map[Arm]*Counts{Original: &first, Candidate: &second}
		capBlock(arms)
		return first.FunctionNanos / first.Calls, second.FunctionNanos / second.Calls
	}
	x, y := mean(a, b)
	v, u := mean(b, a)
	if x != u || y != v || x >= a.FunctionNanos/a.Calls {
		t.Errorf("%g %g, and exchanged %g %g", x, y, u, v)
	}
}

// TestBadTimes: sizes that no clock has are refused.
func TestBadTimes(t *testing.T) {
	for _, times := range [][]Times{
		{{Below: 4, Calls: -1}}, {{Below: 4}, {Below: 4}}, {{Below: math.NaN()}}, {{Below: 8}, {Below: 4}}, {{}},
		{{Below: 4, Calls: 1, Nanos: math.Inf(1)}},
	} {
		c := Counts{Times: times}
		if c.check() == nil {
			t.Errorf("%v are accepted", times)
		}
	}
	c := Counts{Times: []Times{{4, 1, 3}, {8, 2, 11}}}
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

// TestSlowMachine: where the machine is slow for a while, a large effect is larger for that while.
// That is no memory of the noise.
func TestSlowMachine(t *testing.T) {
	e, s := start(t, Plan{Ramp: []float64{0.33}, MostBlocks: 5000, LeastGain: 0.8}), newSource()
	rng, ar := rand.New(rand.NewPCG(1, 9)), 0.0
	for e.State.Blocks < 400 && !e.Over() {
		ar = 0.9*ar + math.Sqrt(1-0.81)*rng.NormFloat64()
		slow := math.Exp(0.3 * ar)
		s.cost = func(arm Arm) float64 {
			if arm == Candidate {
				return 0.35 * slow
			}
			return slow
		}
		e.Next(s.block(e))
	}
	if why := e.whyInvalid(); strings.Contains(why, "lag-1") {
		t.Errorf("%q; %s %s", why, e.State.Phase, e.State.Cause)
	}
}

// TestRareWaits: calls too rare for the share of late calls, which wait for long, do not ship.
func TestRareWaits(t *testing.T) {
	for _, harmOnly := range []bool{true, false} {
		g := Guardrail{Metric: LateTime, Margin: 0.05, HarmOnly: harmOnly}
		e := clockedExperiment(t, 3, true, 0.9, 0.0004, 1e6, g)
		if e.State.Phase != RolledBack || !strings.Contains(e.State.Cause, "late-time is worse") {
			t.Errorf("%+v: %s, %s", g, e.State.Phase, e.State.Cause)
		}
	}
	g := Guardrail{Metric: LateTime, Margin: 0.05, HarmOnly: true}
	if e := clockedExperiment(t, 3, true, 0.9, 0, 1, g); e.State.Phase != Holdout {
		t.Errorf("without such calls: %s, %s", e.State.Phase, e.doubt())
	}
}

// TestHalf: a candidate that costs half shows -50 %, whichever unit chance assigns.
func TestHalf(t *testing.T) {
	for _, own := range []bool{false, true} {
		track, rng := &Track{Own: own}, rand.New(rand.NewPCG(1, 1))
		for range 300 {
			a, b := Counts{Requests: 1, CPUNanos: 100 + rng.NormFloat64()}, Counts{Requests: 1, CPUNanos: 50}
			track.add(ServiceCPU, "p", a, b)
		}
		i := track.interval(ServiceCPU, tuning(0.05, 100), 0.05, 1)
		if math.Abs(i.Estimate+0.5) > 0.01 || i.Low > i.Estimate || i.High < i.Estimate || i.High > -0.45 {
			t.Errorf("own level %v: %+v", own, i)
		}
	}
	if relativeToFirst(-3) != -1 || relativeToFirst(2) != math.MaxFloat64 || relativeToFirst(0) != 0 {
		t.Error("the ends are off")
	}
}

// TestFewTimed: nothing ships on so few timed calls that a rare wait may not be among them.
func TestFewTimed(t *testing.T) {
	for _, row := range []struct {
		late Late
		few  bool
	}{{Late{}, false}, {Late{Timed: 9e5, Candidate: leastTimed - 1}, true},
		{Late{Timed: 9e5, Candidate: leastTimed}, false}} {
		e := clockedExperiment(t, 3, true, 0.9, 0, 1)
		e.State.Late = row.late
		if got := strings.Contains(e.doubt(), "calls of the candidate are timed"); got != row.few {
			t.Errorf("%+v: %s", row.late, e.doubt())
		}
	}
	e := clockedExperiment(t, 3, true, 0.9, 0, 1)
	if l := e.State.Late; e.State.Phase != Holdout || l.Candidate < leastTimed || l.Candidate >= l.Timed {
		t.Errorf("%s, %+v", e.State.Phase, l)
	}
}

// TestHoldoutSuspects: the hold-out does not end well while a class of calls may wait for long.
func TestHoldoutSuspects(t *testing.T) {
	g := Guardrail{Metric: LateTime, Margin: 0.05, HarmOnly: true}
	for _, suspect := range []bool{false, true} {
		e := clockedExperiment(t, 3, true, 0.9, 0, 1, g)
		if e.State.Phase != Holdout {
			t.Fatal(e.State.Phase, e.doubt())
		}
		gain, late := &Track{}, &Track{}
		for i := range 2 * e.Plan.HoldoutBlocks {
			noise := float64(i%2) / 100
			gain.Moments.add(-0.1 + noise)
			late.Moments.add(noise)
			if suspect {
				late.Moments.add(1)
			}
		}
		e.State.After = map[Metric]*Track{FunctionTime: gain, LateTime: late}
		e.State.InStep = e.Plan.HoldoutBlocks
		d := e.decideHoldout()
		if held := d.Action == Hold && strings.Contains(d.Cause, "late-time may be worse"); held != suspect {
			t.Errorf("suspected %v: %+v", suspect, d)
		}
		e.State.InStep = 4 * e.Plan.HoldoutBlocks
		if d := e.decideHoldout(); suspect && (d.Action != RollBack || !strings.Contains(d.Cause, "late-time")) {
			t.Errorf("at its end: %+v", d)
		}
	}
}

// TestNoUpperLimit: an interval that is open says so.
func TestNoUpperLimit(t *testing.T) {
	says := FunctionTime.Span(Interval{Low: -0.1, High: math.MaxFloat64, N: 2})
	if !strings.Contains(says, "no upper limit") {
		t.Error(says)
	}
}

// TestLeastFunctionGain: a gain in function-time alone that link order may give does not ship,
// though it is beyond doubt. The same gain ships where the plan asks for no more.
func TestLeastFunctionGain(t *testing.T) {
	for least, phase := range map[float64]Phase{0: RolledBack, 0.001: Holdout} {
		e, s := start(t, Plan{Success: []Metric{FunctionTime}, LeastFunctionGain: least, MostBlocks: 2000}), newSource()
		s.cost = func(a Arm) float64 { return map[Arm]float64{Original: 1, Placebo: 1, Candidate: 0.99}[a] }
		for !e.Over() && e.State.Phase != Holdout {
			e.Next(s.block(e))
		}
		if e.State.Phase != phase {
			t.Errorf("least %g: %s: %s", least, e.State.Phase, e.State.Cause)
		}
		if least == 0 && !strings.Contains(e.State.Cause, "not better than the original by 2 % beyond doubt") {
			t.Error(e.State.Cause)
		}
	}
}

// TestLateTimeOfFastCandidates: calls of both arms are preempted alike, since the clock's own time
// is most of what is preempted. A candidate that takes half the time is not late for that.
func TestLateTimeOfFastCandidates(t *testing.T) {
	preempted := Times{Below: 1 << 23, Calls: 1, Nanos: 4e6}
	original := &Counts{Times: []Times{{Below: 32, Calls: 1000, Nanos: 20_000}, preempted}}
	candidate := &Counts{Times: []Times{{Below: 16, Calls: 1000, Nanos: 10_000}, preempted}}
	capBlock(map[Arm]*Counts{Original: original, Candidate: candidate})
	a, known := measures[LateTime].value(*original)
	b, also := measures[LateTime].value(*candidate)
	if !known || !also || a == 0 || a != b {
		t.Errorf("late by %g and %g of the time", a, b)
	}
}
