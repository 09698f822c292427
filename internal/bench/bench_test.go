package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	var err error
	if testDir, err = os.MkdirTemp("", "beagle-bench"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(testDir)
	os.Exit(code)
}

var testDir string

const module = "module example.test/tiny\n\ngo 1.24\n"

const original = `package tiny

// Sum adds the bytes of s, every third of them twice.
func Sum(s string) int {
	if s == "!" {
		panic("an exclamation mark alone")
	}
	n := 0
	for i := 0; i < len(s); i++ {
		for range 20 {
			n ^= i
		}
		n += int(s[i])
		if i%3 == 0 {
			n += int(s[i])
		}
	}
	return n
}
`

// waste is work that a candidate can leave out, if no test compares results.
const waste = `		for range 20 {
			n ^= i
		}
`

// A fixture is a bench around the tiny function, shared by the tests.
type fixture struct {
	env    *Env
	unit   *source.Unit
	corpus *beagle.Corpus
}

var tiny = sync.OnceValues(newFixture)

func theFixture(t *testing.T) *fixture {
	t.Helper()
	f, err := tiny()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newFixture() (*fixture, error) {
	user := filepath.Join(testDir, "tiny")
	scratch := filepath.Join(testDir, "scratch")
	for path, text := range map[string]string{
		user + "/go.mod":  module,
		user + "/tiny.go": original,
		scratch + "/here": "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	u, err := source.Load(ctx, source.Options{Dir: user, Spec: "Sum"})
	if err != nil {
		return nil, err
	}
	b, err := harness.NewBuilder(ctx, u, box, filepath.Join(testDir, "build"))
	if err != nil {
		return nil, err
	}
	c, err := tinyCorpus()
	return &fixture{&Env{Box: box, Builder: b, Dir: scratch, CPU: -1}, u, c}, err
}

func tinyCorpus() (*beagle.Corpus, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	c := &beagle.Corpus{}
	for i := range 500 {
		args := struct{ A0 string }{fmt.Sprint(strings.Repeat("x", rng.IntN(40)), i)}
		enc, err := rt.Encode(&args)
		if err != nil {
			return nil, err
		}
		r := beagle.Record{Args: enc, Weight: 1}
		if i%5 == 0 {
			c.Holdout = append(c.Holdout, r)
		} else {
			c.Train = append(c.Train, r)
		}
	}
	return c, nil
}

// blindRig does not see that two versions have the same machine code, so that
// the measurement itself has to say so.
type blindRig struct{ *realRig }

func (blindRig) sameCode(int) bool { return false }

// TestConfirm measures the original against itself and against a version many times faster, for
// real. It asserts on the verdicts only, and on no wall time.
func TestConfirm(t *testing.T) {
	f := theFixture(t)
	src := f.unit.Target.Source
	cs := []beagle.Candidate{beagle.NewCandidate(src, nil, nil),
		beagle.NewCandidate(strings.Replace(src, waste, "", 1), nil, nil)}
	o := Options{Budget: 4 * time.Second, Fresh: f.corpus.Holdout, Seed: 1}
	l, m, err := prepare(f.env, f.unit, cs, f.corpus, o.defaults())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	m.rig = blindRig{l}
	ms, err := m.run(context.Background(), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range ms {
		t.Logf("%.3f %.3f, %d layouts, %.1f s, control %.3f, holdout %.3f, fresh %.3f, apart %.3f, PGO %.3f: %s",
			got.Train, got.Corrected, len(got.Layouts), got.Seconds, got.Control, got.Holdout, got.Fresh, got.Apart,
			got.PGO, got.Why)
		if len(got.Layouts) < layoutsALook || got.Control == nil || got.Holdout == nil || got.Fresh == nil ||
			got.Seconds <= 0 {
			t.Errorf("a part of the measurement is missing: %+v", got)
		}
	}
	if ms[0].Faster || ms[0].Why == "" {
		t.Errorf("faster than itself: %+v", ms[0])
	}
	if got := ms[1]; got.Apart == nil || got.PGO == nil {
		t.Errorf("what was found was not measured again: %+v", got)
	}
	if !ms[1].Faster {
		t.Errorf("not faster, because: %s", ms[1].Why)
	}
	if !l.sameCode(0) || l.sameCode(1) {
		t.Error("the machine code of two copies is not found to be the same, or that of two versions is")
	}
}

// TestSetsThatPanic measures without the sets on all of whose calls the original panics.
func TestSetsThatPanic(t *testing.T) {
	f := theFixture(t)
	enc, err := rt.Encode(&struct{ A0 string }{"!"})
	if err != nil {
		t.Fatal(err)
	}
	c := *f.corpus
	c.Holdout = []beagle.Record{{Args: enc, Weight: 1}, {Args: enc, Weight: 1}}
	c.Facets.Panics = 0.01
	cs := []beagle.Candidate{beagle.NewCandidate(strings.Replace(f.unit.Target.Source, waste, "", 1), nil, nil)}
	ms, err := Confirm(t.Context(), f.env, f.unit, cs, &c, 1, Options{Budget: time.Second, Fresh: c.Holdout, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := ms[0]
	if m.Train.Low < 2 || m.Holdout != nil || m.Fresh != nil || len(m.Notes) != 2 {
		t.Errorf("%.3f, holdout %v, fresh %v, notes %q", m.Train, m.Holdout, m.Fresh, m.Notes)
	}
	c.Train = c.Holdout
	if _, err := Confirm(t.Context(), f.env, f.unit, cs, &c, 1, Options{Budget: time.Second, Seed: 1}); err == nil {
		t.Error("nothing can be timed, and there is no error")
	}
}

// TestScreenSetsThatPanic times a class of inputs beside one on all of whose calls the original
// panics, which comes first.
func TestScreenSetsThatPanic(t *testing.T) {
	f := theFixture(t)
	enc, err := rt.Encode(&struct{ A0 string }{"!"})
	if err != nil {
		t.Fatal(err)
	}
	c := *f.corpus
	c.Facets.Panics = 0.01
	src := f.unit.Target.Source
	bin, err := f.env.Builder.Build(t.Context(), []harness.Variant{
		{ID: "original", Source: src},
		{ID: "fast", Source: strings.Replace(src, waste, "", 1)},
	}, harness.Link{FuncAlign: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer bin.Remove()
	sets := [][]beagle.Record{{{Args: enc, Weight: 1}}, c.Train}
	ratios, err := ScreenSets(t.Context(), f.env, bin, []int{1}, &c, sets, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if ratios[0] != nil || len(ratios[1]) != 1 || ratios[1][0].Low < 2 {
		t.Errorf("%v; want nothing of the first set, and a large one of the second", ratios)
	}
}

func TestScreenReal(t *testing.T) {
	f := theFixture(t)
	ctx := context.Background()
	src := f.unit.Target.Source
	bin, err := f.env.Builder.Build(ctx, []harness.Variant{
		{ID: "original", Source: src},
		{ID: "fast", Source: strings.Replace(src, waste, "", 1)},
		{ID: "copy", Source: src},
		{ID: "dies", Source: strings.Replace(src, "n := 0", "n := len(s) / (len(s) - len(s))", 1)},
	}, harness.Link{FuncAlign: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer bin.Remove()
	ratios, err := Screen(ctx, f.env, bin, []int{1, 2, 3}, f.corpus, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if ratios[0].Low < 2 || ratios[1].High > 2 || ratios[2] != (beagle.Ratio{}) {
		t.Errorf("%v; want a large one, one near 1, and none", ratios)
	}
}

// TestProfile checks that all the time of the function is on its loop's lines.
func TestProfile(t *testing.T) {
	f := theFixture(t)
	ctx := context.Background()
	bin, err := f.env.Builder.Build(ctx, []harness.Variant{{ID: "original", Source: f.unit.Target.Source}},
		harness.Link{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := TakeProfile(ctx, f.env, bin, f.corpus)
	if err != nil {
		t.Fatal(err)
	}
	src := strings.Split(f.unit.Target.Source, "\n")
	loop := 0.0
	for l, share := range p.Lines {
		if l < 1 || l > len(src) {
			t.Fatalf("line %d of %d", l, len(src))
		}
		if strings.HasPrefix(src[l-1], "\t\t") || strings.Contains(src[l-1], "for ") {
			loop += share
		}
	}
	if loop < 0.8 {
		t.Errorf("%.0f %% of the time on the loop: %v", 100*loop, p.Lines)
	}
}
