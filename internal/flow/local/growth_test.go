package local

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/store"
)

// A rehearsal stands in for the activities: it makes and evaluates candidates in no time. So a run
// with it measures the orchestration: asking, telling, the log and the checkpoints, in a real
// store.
type rehearsal struct {
	activities // the others are not called
	store      *store.Store
	made       map[string]flow.ProposalOutcome
	steps      map[string][]beagle.Step
	peak       uint64
	began      time.Time
	marks      []mark
}

// A mark is the progress of a run at a moment.
type mark struct {
	candidates int
	at         time.Duration
}

// A version offers, at each of some places, five rewrites that exclude each
// other, each in three variants: as many as a function of thirty lines has.
const (
	rehearsedPlaces = 12
	rewritesAPlace  = 5
)

func rehearse() *rehearsal {
	return &rehearsal{made: map[string]flow.ProposalOutcome{}, steps: map[string][]beagle.Step{"root": nil},
		began: time.Now()}
}

// A rewrite is named by its place and its number there.
func rewrite(place, i int) string { return fmt.Sprintf("rewrite-%02d-%d", place, i) }

func placeOf(mutator string) (place, i int) {
	const digits = len("rewrite-")
	place, _ = strconv.Atoi(mutator[digits : digits+2])
	return place, int(mutator[len(mutator)-1] - '0')
}

// free returns the places that no step has rewritten.
func free(steps []beagle.Step) []bool {
	out := slices.Repeat([]bool{true}, rehearsedPlaces)
	for _, st := range steps {
		if st.Mutator != evolve.ByAuthor {
			place, _ := placeOf(st.Mutator)
			out[place] = false
		}
	}
	return out
}

// moves returns the offers of a version.
func moves(steps []beagle.Step) []beagle.Move {
	var out []beagle.Move
	for place, ok := range free(steps) {
		for i := range rewritesAPlace {
			for param := 0; ok && param < 3; param++ {
				out = append(out, beagle.Move{Mutator: rewrite(place, i), Param: param, Weight: float64(place%10) / 10})
			}
		}
	}
	return out
}

// with takes a step if its place is free.
func with(steps []beagle.Step, mutator, param string) ([]beagle.Step, bool) {
	place, _ := placeOf(mutator)
	if !free(steps)[place] {
		return steps, false
	}
	return append(slices.Clone(steps),
		beagle.Step{Mutator: mutator, Site: fmt.Sprint("place ", place), Param: param, Class: beagle.E0}), true
}

func (r *rehearsal) Prepare(_ context.Context, run string, spec flow.Spec) (*flow.Prepared, error) {
	if err := r.store.Save(run, "spec", spec); err != nil {
		return nil, err
	}
	return &flow.Prepared{Target: "target", Spec: "p.F", RootID: "root",
		Root: beagle.Verdict{Candidate: "root", Status: beagle.Equal}, Moves: moves(nil)}, nil
}

func (r *rehearsal) Propose(_ context.Context, _ string, proposals []evolve.Proposal) ([]flow.ProposalOutcome, error) {
	out := make([]flow.ProposalOutcome, len(proposals))
	for i, p := range proposals {
		out[i].Proposal = p.ID
		steps, fits := r.steps[p.Parent], true
		if p.Move != nil {
			steps, fits = with(steps, p.Move.Mutator, fmt.Sprint(p.Move.Param))
		}
		for _, w := range p.Then {
			steps, _ = with(steps, w.Mutator, cmp.Or(w.Param, fmt.Sprint(p.Seed%3)))
		}
		if !fits || len(steps) == 0 {
			continue
		}
		id := beagle.HashOf("rehearsed", steps)
		out[i].Candidate, out[i].Steps = id, steps
		r.made[id], r.steps[id] = out[i], steps
	}
	return out, nil
}

// Evaluate gives every rewrite a gain of its own; some do not behave.
func (r *rehearsal) Evaluate(
	_ context.Context, _ string, ids []string, _ flow.Foresee,
) (*flow.EvaluatedBatch, error) {
	out := new(flow.EvaluatedBatch)
	for _, id := range ids {
		v := beagle.Verdict{Candidate: id, Status: beagle.Equal, Stage: "screen"}
		log := 0.0
		rng := rand.New(rand.NewPCG(uint64(len(id)), binary.LittleEndian.Uint64([]byte(id))))
		for _, st := range r.steps[id] {
			if st.Mutator == evolve.ByAuthor {
				log += gainOf(st)
				continue
			}
			place, i := placeOf(st.Mutator)
			if i == place%rewritesAPlace && place%3 == 0 {
				v.Status, v.Stage, v.Reason = beagle.Wrong, "replay", "it answers differently"
			}
			log += 0.05 * math.Sin(float64(5*place+i))
		}
		if v.OK() {
			point := math.Exp(log + 0.003*rng.NormFloat64())
			v.Screen = &beagle.Ratio{Point: point, Low: point * 0.99, High: point * 1.01}
		}
		out.Candidates = append(out.Candidates,
			flow.Evaluation{Candidate: id, Parents: []string{"root"}, Steps: r.steps[id],
				StoredVerdict: flow.StoredVerdict{Verdict: v, Moves: moves(r.steps[id])}})
	}
	before := 0
	if n := len(r.marks); n > 0 {
		before = r.marks[n-1].candidates
	}
	r.marks = append(r.marks, mark{before + len(ids), time.Since(r.began)})
	return out, nil
}

func (r *rehearsal) Judge(context.Context, string, flow.Field) (*flow.Conclusion, error) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	r.peak = m.HeapAlloc
	return &flow.Conclusion{Why: "a rehearsal"}, nil
}

func (*rehearsal) Report(context.Context, string, *flow.Conclusion, *flow.Log) (*beagle.Result, error) {
	return new(beagle.Result), nil
}

func (*rehearsal) Close() {}

// run searches with a budget of n candidates in a store of its own.
func (r *rehearsal) run(tb testing.TB, n int) (home string) {
	home = tb.TempDir()
	r.open(tb, home)
	d := &Driver{Store: r.store, wrap: func(*flow.Activities) activities { return r }}
	if _, err := d.Start(context.Background(), rehearsed(n)); err != nil {
		tb.Fatal(err)
	}
	return home
}

func (r *rehearsal) open(tb testing.TB, home string) {
	var err error
	if r.store, err = store.Open(home); err != nil {
		tb.Fatal(err)
	}
}

func rehearsed(n int) flow.Spec {
	spec := flow.Defaults()
	spec.Target, spec.Candidates = "p.F", n
	return spec
}

// BenchmarkOrchestration says what a candidate costs beside its evaluation, on
// average and for the last tenth of the candidates, and how large the run and
// its memory get. `go run ./bench/figures cost` reads it.
func BenchmarkOrchestration(b *testing.B) {
	for _, n := range []int{100, 300, 1000, 3000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				r := rehearse()
				before := rt.ProcessCPU()
				home := r.run(b, n)
				all, busy := time.Since(r.began), rt.ProcessCPU()-before
				last := r.marks[len(r.marks)-1]
				i := slices.IndexFunc(r.marks, func(m mark) bool { return m.candidates >= last.candidates*9/10 })
				tenth := r.marks[i]
				b.ReportMetric(float64(last.candidates), "candidates")
				b.ReportMetric(ms(all)/float64(last.candidates), "ms/candidate")
				b.ReportMetric(ms(busy)/float64(last.candidates), "cpu-ms/candidate")
				b.ReportMetric(ms(last.at-tenth.at)/float64(max(last.candidates-tenth.candidates, 1)),
					"ms/late-candidate")
				b.ReportMetric(float64(r.peak)/1e6, "heap-MB")
				b.ReportMetric(float64(sizeOf(home))/1e6, "run-MB")
			}
		})
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func sizeOf(dir string) (bytes int64) {
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.HasPrefix(info.Name(), "lock") {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// TestResumeBetweenCheckpoints checks that a run whose checkpoints are far apart goes on, after it
// was stopped, with what a run that was never stopped does.
func TestResumeBetweenCheckpoints(t *testing.T) {
	whole := rehearse()
	whole.run(t, 120)
	broken := rehearse()
	broken.open(t, t.TempDir())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	breaks := &breaking{rehearsal: broken, after: 5, stop: stop}
	d := &Driver{Store: broken.store, wrap: func(*flow.Activities) activities { return breaks }}
	var stopped *Interrupted
	if _, err := d.Start(ctx, rehearsed(120)); !errors.As(err, &stopped) {
		t.Fatalf("the run was not stopped: %v", err)
	}
	if _, err := d.Resume(context.Background(), stopped.Run); err != nil {
		t.Fatal(err)
	}
	if len(broken.made) != len(whole.made) {
		t.Errorf("%d candidates in pieces, %d at once", len(broken.made), len(whole.made))
	}
	for id := range whole.made {
		if _, ok := broken.made[id]; !ok {
			t.Fatalf("the run in pieces never made %s", id)
		}
	}
}

// breaking stops a run at its n-th evaluation.
type breaking struct {
	*rehearsal
	after int
	stop  func()
}

func (b *breaking) Evaluate(
	ctx context.Context, run string, ids []string, foresee flow.Foresee,
) (*flow.EvaluatedBatch, error) {
	if b.after--; b.after == 0 {
		b.stop()
		return nil, context.Canceled
	}
	return b.rehearsal.Evaluate(ctx, run, ids, foresee)
}
