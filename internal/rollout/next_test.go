package rollout

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// source makes blocks of an imaginary process.
type source struct {
	rng    *rand.Rand
	seq    int64
	now    time.Time
	change func(*Block)       // what is wrong with a block
	cost   func(Arm) float64  // times the usual
	extra  func(*Counts, Arm) // what else an arm does
}

func newSource() *source { return &source{rng: rand.New(rand.NewPCG(7, 7)), now: began} }

func (s *source) slice(pod string, arm Arm) Slice {
	factor := 1 + 0.02*s.rng.NormFloat64()
	if s.cost != nil {
		factor *= s.cost(arm)
	}
	c := Counts{Requests: 1000, Errors: 1, Slow: float64(8 + s.rng.IntN(5)),
		CPUNanos: 2e8 * factor, RequestNanos: 1e9 * factor,
		AllocBytes: 4e6 * (1 + 0.01*s.rng.NormFloat64()), Calls: 5000, FunctionNanos: 6e6 * factor,
		HeapBytes: 1e8, HeapGrowth: 1e5 * s.rng.NormFloat64()}
	c.GCNanos = c.CPUNanos * (0.1 + 0.003*s.rng.NormFloat64())
	if s.extra != nil {
		s.extra(&c, arm)
	}
	start := s.now
	s.now = s.now.Add(200 * time.Millisecond)
	return Slice{Arm: arm, Pod: pod, Build: "b1", Start: start, End: s.now, Counts: c}
}

func (s *source) block(e *Experiment) Block {
	s.seq++
	kinds := e.Arms()
	b := Block{ID: "p", Seq: s.seq, Planned: kinds[int(s.seq)%len(kinds)]}
	for _, arm := range b.Planned {
		b.Slices = append(b.Slices, s.slice("p", arm))
	}
	b.Received = s.now
	if s.change != nil {
		s.change(&b)
	}
	return b
}

func start(t *testing.T, p Plan) *Experiment {
	t.Helper()
	p.Build = "b1"
	if p.Horizon == 0 {
		p.Horizon = 150
	}
	e, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// play feeds blocks until the experiment is over, and returns all decisions
// that changed something.
func play(t *testing.T, e *Experiment, s *source) []Decision {
	t.Helper()
	var out []Decision
	for range 3000 {
		d := e.Next(s.block(e))
		if d.Action != Hold {
			out = append(out, d)
		}
		if e.Over() {
			return out
		}
	}
	t.Fatal("the experiment does not end")
	return nil
}

func faster(arm Arm) float64 {
	if arm == Candidate {
		return 0.95
	}
	return 1
}

func TestGainShips(t *testing.T) {
	s := newSource()
	s.cost = faster
	e := start(t, Plan{})
	all := play(t, e, s)
	var actions []Action
	var shares []float64
	for _, d := range all {
		actions, shares = append(actions, d.Action), append(shares, d.Share)
	}
	if !slices.Equal(actions, []Action{Advance, Advance, Advance, Advance, Ship, Finish}) ||
		!slices.Equal(shares, []float64{0.05, 0.1, 0.25, 0.5, 0.95, 1}) {
		t.Errorf("decisions %v", all)
	}
	if i := e.State.Proven[ServiceCPU]; i.Low > -0.05 || i.High < -0.05 || i.High >= 0 {
		t.Errorf("proven %+v does not hold the truth of -0.05", i)
	}
	if d := e.Next(s.block(start(t, Plan{}))); d.Action != Hold || d.Share != 1 {
		t.Errorf("after the end: %+v", d)
	}
}

// TestNeverShips holds what must not ship, and what the cause must name. In all
// rows but the first the candidate is faster.
func TestNeverShips(t *testing.T) {
	more := func(field func(*Counts) *float64, add float64) func(*Counts, Arm) {
		return func(c *Counts, arm Arm) {
			if arm == Candidate {
				*field(c) += add
			}
		}
	}
	set := func(arm Arm, change func(*Slice)) func(*Block) {
		return func(b *Block) {
			for i := range b.Slices {
				if b.Slices[i].Arm == arm && b.Seq > 3 {
					change(&b.Slices[i])
				}
			}
		}
	}
	counter := func(arm Arm, value float64) func(*Block) {
		return set(arm, func(s *Slice) { s.Counts.CPUNanos = value })
	}
	for _, row := range []struct {
		name   string
		plan   Plan
		change func(*Block)
		extra  func(*Counts, Arm)
		cost   func(Arm) float64
		cause  string
	}{
		{name: "the same", cost: func(Arm) float64 { return 1 }, cause: "inconclusive"},
		{name: "slower", cost: func(a Arm) float64 { return 2 - faster(a) }, cause: "guardrail service-cpu is worse"},
		{name: "errors", extra: more(func(c *Counts) *float64 { return &c.Errors }, 5), cause: "guardrail errors is worse"},
		{name: "slow", extra: more(func(c *Counts) *float64 { return &c.Slow }, 10), cause: "guardrail slow is worse"},
		{name: "allocates", extra: more(func(c *Counts) *float64 { return &c.AllocBytes }, 2e5),
			cause: "guardrail alloc-bytes is worse"},
		{name: "leaks", extra: more(func(c *Counts) *float64 { return &c.HeapGrowth }, 1e6),
			cause: "guardrail heap-growth is worse"},
		{name: "collects", extra: more(func(c *Counts) *float64 { return &c.GCNanos }, 4e6),
			cause: "guardrail gc-share is worse"},
		{name: "panics", change: set(Candidate, func(s *Slice) { s.Panics = 1 }), cause: "panicked"},
		{name: "differs", change: set(Candidate, func(s *Slice) { s.Mismatches = 2 }), cause: "shadow"},
		{name: "tripped", change: set(Original, func(s *Slice) { s.Tripped = "no heartbeat for 10 s" }),
			cause: "no heartbeat for 10 s"},
		{name: "link luck", cost: func(a Arm) float64 { return map[Arm]float64{Original: 1.05, Placebo: 1, Candidate: 1}[a] },
			cause: "two copies of the original differ"},
		{name: "no data", change: func(b *Block) { b.Slices = nil }, cause: "has no data"},
		{name: "NaN", change: counter(Candidate, math.NaN()), cause: "cpu_nanos is NaN"},
		{name: "Inf", change: counter(Original, math.Inf(1)), cause: "cpu_nanos is +Inf"},
		{name: "huge", change: counter(Candidate, 1e300), cause: "more than any counter holds"},
		{name: "negative", change: counter(Candidate, -1), cause: "below zero"},
		{name: "other totals", change: set(Candidate, func(s *Slice) { s.Counts.Errors = 2000 }), cause: "other things"},
		{name: "set back", change: set(Candidate, func(s *Slice) { s.End = s.Start }), cause: "clock was set back"},
		{name: "future", change: func(b *Block) { b.Received = b.Received.Add(-time.Hour) }, cause: "in the future"},
		{name: "apart", change: set(Candidate, func(s *Slice) { s.Start = s.Start.Add(-time.Hour) }), cause: "clocks of its pods"},
		{name: "no traffic", change: set(Candidate, func(s *Slice) { s.Counts.Requests, s.Counts.Errors, s.Counts.Slow = 0, 0, 0 }),
			cause: "arm candidate got no traffic"},
		{name: "no traffic at all", change: func(b *Block) {
			for i := range b.Slices {
				b.Slices[i].Counts = Counts{}
			}
		}, cause: "no arm got traffic"},
		{name: "other build", change: set(Placebo, func(s *Slice) { s.Build = "b2" }), cause: `runs build "b2"`},
		{name: "unknown arm", change: func(b *Block) { b.Slices[0].Arm = "third" }, cause: "unknown"},
		{name: "repeated", change: func(b *Block) { b.Seq = 1 }, cause: "counted before"},
		{name: "candidate's slices lost", change: func(b *Block) {
			if b.Seq%3 == 0 {
				b.Slices = slices.DeleteFunc(b.Slices, func(s Slice) bool { return s.Arm == Candidate })
			}
		}, cause: "lost on some arms"},
		{name: "guardrail without data", change: func(b *Block) {
			for i := range b.Slices {
				b.Slices[i].Counts.HeapBytes = 0
			}
		}, cause: "heap-growth has no data"},
		{name: "requests in another ratio", plan: Plan{Unit: Requests}, change: set(Candidate, func(s *Slice) { s.Counts.Requests = 700 }),
			cause: "sample-ratio mismatch"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSource()
			s.change, s.extra, s.cost = row.change, row.extra, row.cost
			if s.cost == nil {
				s.cost = faster
			}
			e := start(t, row.plan)
			all := play(t, e, s)
			last := all[len(all)-1]
			if last.Action != RollBack || last.Share != 0 || !strings.Contains(last.Cause, row.cause) {
				t.Errorf("ended with %+v, want a roll-back for %q", last, row.cause)
			}
			if slices.ContainsFunc(all, func(d Decision) bool { return d.Action == Ship }) {
				t.Errorf("it shipped: %+v", all)
			}
		})
	}
}

// TestPause: a service that stands still for some blocks, as on a starved machine, goes on with its
// rollout, and one that does so for long ends it.
func TestPause(t *testing.T) {
	s, e := newSource(), start(t, Plan{})
	s.cost = faster
	still := func(b *Block) {
		for i := range b.Slices {
			b.Slices[i].Counts = Counts{}
		}
	}
	const short, long = 40, 100 // blocks of 0.6 s; half a minute is too long
	for _, blocks := range []int{short, short, long} {
		e.Next(s.block(e))
		before := e.State.Blocks
		s.change = still
		for n := 0; n < blocks && !e.Over(); n++ {
			e.Next(s.block(e))
		}
		s.change = nil
		if e.Over() != (blocks == long) || e.State.Blocks != before {
			t.Fatalf("after %d blocks without traffic: %s, %s", blocks, e.State.Phase, e.State.Cause)
		}
	}
	if !strings.Contains(e.State.Cause, "no arm got traffic") {
		t.Error(e.State.Cause)
	}
}

// TestMemoryOfNoise: noise of every arm that lasts from block to block makes it not valid.
func TestMemoryOfNoise(t *testing.T) {
	s, lasting := newSource(), map[Arm]float64{}
	s.cost = func(arm Arm) float64 {
		lasting[arm] = 0.9*lasting[arm] + 0.03*s.rng.NormFloat64()
		if arm == Candidate {
			return 0.6 + lasting[arm]
		}
		return 1 + lasting[arm]
	}
	all := play(t, start(t, Plan{}), s)
	last := all[len(all)-1]
	if last.Action != RollBack || !strings.Contains(last.Cause, "not valid: the lag-1 correlation") {
		t.Errorf("ended with %+v", last)
	}
}

// drifting returns a source whose candidate's cost drifts around a mean.
func drifting(seed uint64, mean, deviation, memory float64) *source {
	s, drift := newSource(), 0.0
	s.rng = rand.New(rand.NewPCG(seed, 8))
	s.cost = func(arm Arm) float64 {
		if arm != Candidate {
			return 1
		}
		drift = memory*drift + math.Sqrt(1-memory*memory)*deviation*s.rng.NormFloat64()
		return mean + drift
	}
	return s
}

// TestDrift: an effect that drifts ships when it is large beside its drift, with a wider interval.
// One that drifts around none does not, nor does one that drifts too slowly to tell.
func TestDrift(t *testing.T) {
	one := Plan{Ramp: []float64{0.3}, Success: []Metric{FunctionTime}, HoldoutBlocks: 20, MostBlocks: 1200,
		Guardrails: []Guardrail{{Metric: ErrorRate, Margin: 0.01}}}
	e := start(t, one)
	if all := play(t, e, drifting(1, 0.5, 0.1, 0.9)); all[0].Action != Ship {
		t.Errorf("half the time: %+v", all)
	}
	st := e.Standings()[0]
	if st.Lag < 0.5 || math.Abs(st.PlaceboLag) > 0.2 || st.Widened < 2 || st.Widened > 9 {
		t.Errorf("%+v", st)
	}
	shipped := 0
	for seed := range uint64(100) {
		all := play(t, start(t, one), drifting(seed, 1, 0.1, 0.9))
		if all[0].Action == Ship {
			shipped++
		}
	}
	if shipped > 4 {
		t.Errorf("%d of 100 effects around none shipped", shipped)
	}
	slow, n := newSource(), 0
	slow.cost = func(arm Arm) float64 {
		if arm != Candidate {
			return 1
		}
		n++
		return 0.8 + 0.3*math.Sin(float64(n)/100)
	}
	all := play(t, start(t, one), slow)
	if last := all[len(all)-1]; last.Action != RollBack || !strings.Contains(last.Cause, "drifts too slowly") {
		t.Errorf("a slow drift: %+v", all)
	}
}

// TestCopiesDiffer: where two copies of the original differ, only a gain far beyond that ships.
func TestCopiesDiffer(t *testing.T) {
	for _, row := range []struct {
		cost float64
		want Action
	}{{0.4, Ship}, {0.9, RollBack}} {
		s := newSource()
		s.cost = func(arm Arm) float64 {
			return map[Arm]float64{Original: 1, Candidate: row.cost, Placebo: 1.02}[arm]
		}
		all := play(t, start(t, Plan{Ramp: []float64{0.3}, MostBlocks: 600, HoldoutBlocks: 20}), s)
		if all[0].Action != row.want ||
			row.want == RollBack && !strings.Contains(all[0].Cause, "two copies of the original") {
			t.Errorf("cost %g: %+v", row.cost, all)
		}
	}
}

// TestHoldoutRollsBack: a version that shipped and turns bad is rolled back.
func TestHoldoutRollsBack(t *testing.T) {
	s := newSource()
	e := start(t, Plan{})
	s.cost = func(arm Arm) float64 {
		if arm == Candidate && e.State.Phase == Holdout {
			return 1.05
		}
		return faster(arm)
	}
	all := play(t, e, s)
	if n := len(all); all[n-2].Action != Ship || all[n-1].Action != RollBack {
		t.Errorf("decisions %+v", all)
	}
	if last := all[len(all)-1]; !strings.Contains(last.Cause, "service-cpu is worse") {
		t.Errorf("cause %q", last.Cause)
	}
}

// TestStateIsJSON: an experiment that goes through JSON after every block takes
// the same decisions.
func TestStateIsJSON(t *testing.T) {
	for _, unit := range []Unit{Slices, Requests} {
		one, two := newSource(), newSource()
		one.cost, two.cost = faster, faster
		direct, stored := start(t, Plan{Unit: unit}), start(t, Plan{Unit: unit})
		for direct.State.Phase == Ramping {
			a := one.block(direct)
			b := two.block(stored)
			da := direct.Next(a)
			text, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			stored = new(Experiment)
			if err := json.Unmarshal(text, stored); err != nil {
				t.Fatal(err)
			}
			if db := stored.Next(b); da != db {
				t.Fatalf("direct %+v, through JSON %+v", da, db)
			}
		}
		x, _ := json.Marshal(direct)
		y, _ := json.Marshal(stored)
		if !bytes.Equal(x, y) {
			t.Errorf("states differ:\n%s\n%s", x, y)
		}
		if direct.State.Phase != Holdout {
			t.Errorf("%s: phase %q: %s", unit, direct.State.Phase, direct.State.Cause)
		}
	}
}

// TestRequestMetrics: what the whole process does says nothing of the arm of a request.
func TestRequestMetrics(t *testing.T) {
	for _, m := range []Metric{ServiceCPU, AllocBytes, GCShare, HeapGrowth, LiveHeap} {
		_, err := New(Plan{Build: "b1", Unit: Requests, Guardrails: []Guardrail{{Metric: m, Margin: 0.01}}})
		if err == nil || !strings.Contains(err.Error(), "of the whole process") {
			t.Errorf("%s: %v", m, err)
		}
	}
	if _, err := New(Plan{Build: "b1", Unit: Requests, Success: []Metric{ServiceCPU}}); err == nil {
		t.Error("processor time is compared by request")
	}
}

func TestPlanChecked(t *testing.T) {
	for cause, p := range map[string]Plan{
		"no build":          {},
		"needs":             {Build: "b", Unit: Pods, NoPlacebo: true, LeastPods: 1, LeastGain: 0.1},
		"link order":        {Build: "b", NoPlacebo: true},
		"ramp":              {Build: "b", Ramp: []float64{0.5, 0.1}},
		"alpha":             {Build: "b", Alpha: math.NaN()},
		"guardrail":         {Build: "b", Guardrails: []Guardrail{{Metric: ErrorRate, Margin: 0}}},
		"no guardrail":      {Build: "b", Guardrails: []Guardrail{}},
		"no success metric": {Build: "b", Success: []Metric{}},
		"success metric":    {Build: "b", Success: []Metric{LiveHeap}},
		"a build for each":  {Builds: map[Arm]string{Original: "a", Candidate: "b"}},
		`unit "fleet"`:      {Build: "b", Unit: "fleet"},
	} {
		_, err := New(p)
		if cause == "needs" {
			cause = "least_pods"
		}
		if err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: %v", cause, err)
		}
	}
}

// TestPods: pods that were given an arm for good must agree with each other.
func TestPods(t *testing.T) {
	for _, row := range []struct {
		pods  int
		gain  float64
		cause string
	}{{8, 0.7, ""}, {3, 0.7, "pods of the original"}, {8, 0.97, "service-cpu is not better"}} {
		s := newSource()
		s.rng = rand.New(rand.NewPCG(uint64(row.pods), 9))
		e := start(t, Plan{
			Unit:       Pods,
			NoPlacebo:  true,
			LeastGain:  0.1,
			Guardrails: []Guardrail{{Metric: ErrorRate, Margin: 0.001}},
		})
		for range 1200 {
			s.seq++
			b := Block{ID: "fleet", Seq: s.seq, Planned: []Arm{Original, Candidate}}
			for i := range row.pods {
				for _, arm := range b.Planned {
					s.cost = func(a Arm) float64 {
						return map[Arm]float64{Original: 1, Candidate: row.gain}[a] * (1 + 0.01*float64(i%3))
					}
					b.Slices = append(b.Slices, s.slice(string(arm)+string(rune('a'+i)), arm))
				}
			}
			if d := e.Next(b); d.Action == Ship || d.Action == RollBack {
				break
			}
		}
		shipped := e.State.Phase == Holdout
		if shipped != (row.cause == "") || !strings.Contains(e.State.Cause, row.cause) {
			t.Errorf("%d pods, gain %g: %s: %s", row.pods, row.gain, e.State.Phase, e.State.Cause)
		}
	}
}

// TestStandings: every metric of the plan has a row that says how it stands.
func TestStandings(t *testing.T) {
	s := newSource()
	s.cost = faster
	e := start(t, Plan{})
	if rows := e.Standings(); len(rows) != 8 || rows[7].Says != "no data" {
		t.Errorf("before the first block: %+v", rows)
	}
	play(t, e, s)
	for _, row := range e.Standings() {
		if want := map[string]string{"success": "better", "guardrail": "non-inferior"}[row.Role]; row.Says != want {
			t.Errorf("%+v", row)
		}
	}
}

// FuzzNext: whatever arrives, an experiment decides, its state stays JSON, and
// without sound data it ships nothing.
func FuzzNext(f *testing.F) {
	text, _ := json.Marshal(newSource().block(empty()))
	f.Add(text)
	f.Add([]byte(`{"id":"p","seq":1,"slices":[{"arm":"candidate"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b Block
		if json.Unmarshal(text, &b) != nil {
			return
		}
		e := empty()
		for range 30 {
			if d := e.Next(b); d.Action == Ship || d.Action == Finish {
				t.Fatalf("it shipped on %s", text)
			}
			b.Seq++
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	})
}

func empty() *Experiment {
	e, err := New(Plan{Build: "b1"})
	if err != nil {
		panic(err)
	}
	return e
}

// TestPAgreesWithInterval holds a standing's p-value to its interval: it is below alpha where the
// interval misses zero, also for rare events of which all blocks had the same number.
func TestPAgreesWithInterval(t *testing.T) {
	rho := tuning(0.05, 1000)
	for _, row := range []struct {
		name   string
		metric Metric
		errors func(i int) float64
	}{
		{"no variance", ErrorRate, func(int) float64 { return 1 }},
		{"one event", ErrorRate, func(i int) float64 { return float64(i / 99) }},
		{"many", ErrorRate, func(i int) float64 { return float64(20 + i%3) }},
		{"none", ErrorRate, func(int) float64 { return 0 }},
	} {
		track := &Track{}
		for i := range 100 {
			track.add(row.metric, "pod", Counts{Requests: 100}, Counts{Requests: 100, Errors: row.errors(i)})
		}
		span, p := track.interval(row.metric, rho, 0.05, 1), track.pValue(row.metric, rho, 1)
		if misses := span.Low > 0 || span.High < 0; misses != (p < 0.05) {
			t.Errorf("%s: p = %g beside %+v", row.name, p, span)
		}
	}
}

// TestHeld: while others see harm nothing advances or ships, and harm is still looked for.
func TestHeld(t *testing.T) {
	e, err := New(Plan{Function: "p.F", Build: "b1", Ramp: []float64{0.3}, StepBlocks: 20, Horizon: 100,
		MostBlocks: 300,
		Success:    []Metric{ServiceCPU}, Guardrails: []Guardrail{{Metric: ErrorRate, Margin: 0.01}}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	var d Decision
	for i := range 400 {
		e.Hold("alert A is firing")
		b := Block{ID: "a", Seq: int64(i + 1), Planned: allArms[:]}
		for k, arm := range allArms {
			c := Counts{Requests: 1000, CPUNanos: 1e6 * (1 + float64((i*7+k*3)%11)/1000)}
			if arm == Candidate {
				c.CPUNanos /= 2
			}
			at := start.Add(time.Duration(3*i+k) * time.Second)
			b.Slices = append(b.Slices, Slice{Arm: arm, Pod: "a", Build: "b1", Start: at, End: at.Add(time.Second),
				Counts: c})
		}
		if d = e.Next(b); d.Action == Ship || d.Action == Advance {
			t.Fatalf("block %d: %+v", i, d)
		}
	}
	if e.State.Phase != RolledBack || !strings.Contains(e.State.Cause, "alert A is firing") {
		t.Errorf("%s: %s", e.State.Phase, e.State.Cause)
	}
}

// FuzzBlocks: no bytes that come in as a block make an experiment panic, or ship.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte(`{"id":"a","seq":1,"planned":["original","candidate"],` +
		`"slices":[{"arm":"candidate","pod":"a","build":"b1",` +
		`"start":"2026-01-05T00:00:00Z","end":"2026-01-05T00:00:01Z","counts":{"requests":10,"cpu_nanos":5}}]}`))
	f.Add([]byte(`{"id":"a","seq":1e3}`))
	f.Add([]byte(`{"id":"a","seq":9,"slices":[{"arm":"x"}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		b, err := ParseBlock(line)
		if err != nil {
			return
		}
		e, err := New(Plan{Function: "p.F", Build: "b1"})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b.Seq++
			if d := e.Next(b); d.Action == Ship || d.Action == Finish {
				t.Fatalf("%+v", d)
			}
		}
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		e.Standings()
	})
}
