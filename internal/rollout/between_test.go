package rollout

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestStudentBeyond compares with tables.
func TestStudentBeyond(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 12.706, 3: 3.182, 7: 2.365, 30: 2.042} {
		if got := studentBeyond(0.025, freedom); math.Abs(got-want) > 0.001 {
			t.Errorf("%g degrees of freedom: %g, want %g", freedom, got, want)
		}
	}
}

// processes returns a track of processes with these means and numbers of blocks, of variance 1.
func processes(blocks []int, means ...float64) *Track {
	t := &Track{Pods: map[string]*PodMemory{}}
	for i, mean := range means {
		r, n := &PodMemory{}, blocks[min(i, len(blocks)-1)]
		for k := range n {
			x := mean + math.Sqrt(1-1/float64(n))*float64(2*(k%2)-1)
			r.Effect.add(x)
			t.Moments.add(x)
		}
		t.Pods[string(rune('a'+i))] = r
	}
	return t
}

var hundred = []int{100}

// TestBetween checks by hand: the means 1, 2, 3 and 6 spread by 14/3, of which 0.01 is of blocks.
func TestBetween(t *testing.T) {
	b := processes(hundred, 1, 2, 3, 6).compareProcesses(FunctionTime, 1)
	if math.Abs(b.Deviation-math.Sqrt(14.0/3-0.01)) > 1e-6 || math.Abs(b.Error-math.Sqrt(14.0/3/4)) > 1e-9 ||
		b.Processes != 4 {
		t.Errorf("%+v", b)
	}
	if got := b.halfWidth(0.05); math.Abs(got-3.1824463*b.Error) > 1e-6 {
		t.Errorf("half-width %g", got)
	}
	if got := b.pValue(b.halfWidth(0.05)); math.Abs(got-0.05) > 1e-6 {
		t.Errorf("P of a mean at the end of the interval: %g", got)
	}
	if b := processes(hundred, 1, 1.1, 0.9, 1.05).compareProcesses(FunctionTime, 1); b.Deviation != 0 || b.Error == 0 {
		t.Errorf("processes that differ by chance: %+v", b)
	}
	// The blocks' own correlation may explain it: a mean of 100 blocks then tells less.
	if b := processes(hundred, 1, 1.3, 0.7, 1.2).compareProcesses(FunctionTime, 1); b.Deviation == 0 {
		t.Errorf("independent blocks: %+v", b)
	}
	if b := processes(hundred, 1, 1.3, 0.7, 1.2).compareProcesses(FunctionTime, 20); b.Deviation != 0 {
		t.Errorf("correlated blocks: %+v", b)
	}
	if b := processes(hundred, 4).compareProcesses(FunctionTime, 1); b.Error != 0 || b.Processes != 1 {
		t.Errorf("one process: %+v", b)
	}
}

// TestBetweenUnequal: one process with most blocks is most of the mean, so its own luck is too.
func TestBetweenUnequal(t *testing.T) {
	for _, blocks := range [][]int{{1000, 100, 100, 100}, {100, 1000, 1000, 1000}} {
		tr := processes(blocks, 1, 2, 3, 6)
		b, n, parts := tr.compareProcesses(FunctionTime, 1), float64(tr.Moments.N), 0.0
		for _, r := range tr.Pods {
			parts += math.Pow(float64(r.Effect.N)/n, 2)
		}
		if least := b.Deviation * math.Sqrt(parts); b.Error < least*0.999 || math.Abs(b.Deviation-2.16) > 0.01 {
			t.Errorf("%d blocks: %+v, want an error of at least %g", blocks, b, least)
		}
	}
}

// TestBetweenFew: a process that joins late or stops soon takes nothing from what the others show,
// and neither does one whose counter does not move.
func TestBetweenFew(t *testing.T) {
	all := processes(hundred, 1, 2, 3, 6)
	want := all.compareProcesses(FunctionTime, 1).Error
	late := &PodMemory{}
	late.Effect.add(3)
	all.Moments.add(3)
	all.Pods["late"] = late
	if got := all.compareProcesses(FunctionTime, 1); got.Processes != 5 || math.Abs(got.Error-want) > 0.2*want {
		t.Errorf("%+v with a process that joins late, want an error of about %g", got, want)
	}
	still := &PodMemory{}
	for range 100 {
		still.Effect.add(3)
		all.Moments.add(3)
	}
	all.Pods["late"] = still
	if got := all.compareProcesses(FunctionTime, 1).Error; got < 0.7*want || math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("an error of %g with a process without noise, of %g without it", got, want)
	}
	many := processes([]int{4}, 1, 2, 3, 6, 1, 2, 3, 6, 1, 2, 3, 6)
	if b := many.compareProcesses(FunctionTime, 1); b.Deviation < 1.5 {
		t.Errorf("many processes of few blocks: %+v", b)
	}
	quiet := &Track{Pods: map[string]*PodMemory{"a": {}, "b": {}}}
	for _, r := range quiet.Pods {
		for range 100 {
			r.Effect.add(0)
			quiet.Moments.add(0)
		}
	}
	if b := quiet.compareProcesses(FunctionTime, 1); b.Error != 0 || b.Deviation != 0 {
		t.Errorf("nothing moves: %+v", b)
	}
}

// TestFewProcesses draws processes that differ, of which none is better on average. Of each number
// of them few are called better, at the first of many looks.
func TestFewProcesses(t *testing.T) {
	const tries = 300
	e, err := New(Plan{Build: "b", Horizon: 400})
	if err != nil {
		t.Fatal(err)
	}
	for _, pods := range []int{2, 4, 8} {
		better := 0
		for seed := range uint64(tries) {
			rng := rand.New(rand.NewPCG(seed, 5))
			tr, names, effects := &Track{Pods: map[string]*PodMemory{}}, []string{}, []float64{}
			for i := range pods {
				names = append(names, string(rune('a'+i)))
				effects = append(effects, 0.05*rng.NormFloat64())
				tr.Pods[names[i]] = &PodMemory{}
			}
			for n := range 600 {
				x := effects[n%pods] + 0.14*rng.NormFloat64()
				tr.Pods[names[n%pods]].Effect.add(x)
				tr.Moments.add(x)
				if n >= 200 && n%50 == 0 && e.gainInterval(tr, FunctionTime).High < 0 {
					better++
					break
				}
			}
		}
		if t.Logf("%d processes: %d of %d", pods, better, tries); better > tries*8/100 { // 16 % by a test of Q first
			t.Errorf("of %d processes %d in %d are called better", pods, better, tries)
		}
	}
}

// TestEarlierState: a state of an earlier version did not keep what blocks of which process showed.
// It ships nothing until enough blocks of this version are in, and then it ships.
func TestEarlierState(t *testing.T) {
	forget := func(tracks ...map[Metric]*Track) {
		for _, all := range tracks {
			for _, tr := range all {
				for _, r := range tr.Pods {
					r.Effect, r.Runs = Moments{}, nil
				}
			}
		}
	}
	s := newSource()
	s.cost = faster
	e := start(t, Plan{LeastBlocks: 60})
	for e.State.Blocks < e.Plan.LeastBlocks {
		if d := e.Next(s.block(e)); d.Action == Ship {
			t.Fatalf("ships after %d blocks", e.State.Blocks)
		}
	}
	forget(e.State.Effect, e.State.Beyond, e.State.Placebo)
	e.State.Step, e.State.InStep, e.State.Doubt = len(e.Plan.Ramp)-1, e.Plan.StepBlocks, ""
	from, d := e.State.Blocks, Decision{}
	for e.State.Phase == Ramping {
		if d = e.Next(s.block(e)); e.State.Blocks == from+10 && !strings.Contains(d.Cause, "an earlier version") {
			t.Errorf("%+v", d)
		}
	}
	if n := e.State.Blocks - from; d.Action != Ship || n < e.Plan.LeastBlocks {
		t.Errorf("after %d blocks of this version: %+v", n, d)
	}
	for e.State.InStep < e.Plan.HoldoutBlocks-1 {
		e.Next(s.block(e))
	}
	forget(e.State.After)
	from = e.State.Blocks
	for d.Action = Hold; d.Action == Hold; {
		d = e.Next(s.block(e))
	}
	if n := e.State.Blocks - from; d.Action != Finish || n < e.Plan.LeastBlocks {
		t.Errorf("after %d blocks of the hold-out: %+v", n, d)
	}
}
