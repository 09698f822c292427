package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// A catalogue is one original with candidates that must be refused and candidates that must not.
type catalogue struct {
	dir    string // the directory of the module
	env    *Env
	corpus *beagle.Corpus
	cases  []entry
	proofs []proof
}

// A proof is a counterexample as a test, with the candidate that must fail it.
type proof struct{ name, kind, test, source string }

type entry struct {
	name, source string
	check        string // the check that must refuse it; "run" for quick, replay or exhaust; or "good"
	says         string // part of the reason, or the kind of the counterexample
}

var specs = map[string]string{"fib": "./p.Fib", "tag": "./p.Normalize", "list": "./p.Merge",
	"method": "./p.Reader.Next", "dot": "./p.Dot", "mix": "./p.Mix", "hand": "./p.Total", "words": "./p.Digest",
	"reasons": "./p.Check", "status": "./p.Status", "signed": "./p.Signed"}

// numbers gives the kind of a corpus's numbers; the default is int.
var numbers = map[string]rt.Kind{"dot": rt.KindFloat64, "mix": rt.KindUint}

func load(t testing.TB, name string) *catalogue {
	t.Helper()
	ar, err := txtar.ParseFile(filepath.Join("testdata", "cheats", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/cheats\n\ngo 1.24\n")
	c := &catalogue{dir: dir}
	var lines, held string
	for _, f := range ar.Files {
		switch f.Name {
		case "original.go", "rest.go":
			put(t, filepath.Join(dir, "p", f.Name), string(f.Data))
		case "corpus.jsonl":
			lines = string(f.Data)
		case "holdout.jsonl":
			held = string(f.Data)
		default:
			head, _, _ := strings.Cut(strings.TrimPrefix(string(f.Data), "// "), "\n")
			check, says, _ := strings.Cut(head, ":")
			c.cases = append(c.cases, entry{f.Name, string(f.Data), check, strings.TrimSpace(says)})
		}
	}
	c.env = environment(t, dir, specs[name])
	c.corpus = &beagle.Corpus{Target: c.env.Unit.Target.ID()}
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		c.corpus.Train = append(c.corpus.Train, record(t, line, numbers[name]))
	}
	for line := range strings.Lines(held) {
		c.corpus.Holdout = append(c.corpus.Holdout, record(t, strings.TrimSpace(line), numbers[name]))
	}
	return c
}

func environment(t testing.TB, dir, spec string) *Env {
	t.Helper()
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := harness.NewBuilder(t.Context(), u, box, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &Env{Unit: u, Builder: b, Box: box, Dir: t.TempDir()}
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// record reads a line of JSON as the arguments of a call. Objects become pointers to structs whose
// strings are byte slices.
func record(t testing.TB, line string, number rt.Kind) beagle.Record {
	t.Helper()
	var args []any
	if err := json.Unmarshal([]byte(line), &args); err != nil {
		t.Fatal(err)
	}
	top := rt.Value{Kind: rt.KindStruct}
	for i, a := range args {
		top.Names = append(top.Names, "A"+string(rune('0'+i)))
		top.Elems = append(top.Elems, value(a, rt.KindString, number))
	}
	return beagle.Record{Args: top.Append(nil), Weight: 1, Source: "file"}
}

func value(a any, text, number rt.Kind) rt.Value {
	switch a := a.(type) {
	case string:
		return rt.Value{Kind: text, Str: a}
	case bool:
		v := rt.Value{Kind: rt.KindBool}
		if a {
			v.Bits = 1
		}
		return v
	case float64:
		switch number {
		case rt.KindFloat64:
			return rt.Value{Kind: number, Bits: math.Float64bits(a)}
		case rt.KindUint:
			return rt.Value{Kind: number, Bits: uint64(a)}
		}
		return rt.Value{Kind: rt.KindInt, Bits: uint64(int64(a))}
	case []any:
		v := rt.Value{Kind: rt.KindList}
		for _, e := range a {
			v.Elems = append(v.Elems, value(e, text, number))
		}
		return v
	case map[string]any:
		s := rt.Value{Kind: rt.KindStruct}
		for _, name := range []string{"Data", "pos"} {
			s.Names = append(s.Names, name)
			s.Elems = append(s.Elems, value(a[name], rt.KindBytes, number))
		}
		return rt.Value{Kind: rt.KindPointer, Elems: []rt.Value{s}}
	}
	return rt.Value{Kind: rt.KindNil}
}

func (e *entry) candidate() beagle.Candidate { return beagle.NewCandidate(e.source, nil, nil) }

// catalogueDrawn is the number of functions with cheats whose candidates a test runs.
const catalogueDrawn = 1

// TestCatalogue checks that the intended check refuses every cheat, and that no check refuses a
// good candidate. A run reads all candidates, and runs those of a few functions, drawn anew each
// time.
func TestCatalogue(t *testing.T) {
	drawn := sampletest.Of(t, slices.Sorted(maps.Keys(specs)), catalogueDrawn)
	for name := range specs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load(t, name)
			built := c.read(t)
			if !slices.Contains(drawn, name) {
				return
			}
			c.judge(t, built)
			c.prove(t)
		})
	}
}

// read reads all candidates, and returns those that pass.
func (c *catalogue) read(t *testing.T) (passed []entry) {
	for _, e := range c.cases {
		v, err := Static(t.Context(), c.env, e.candidate(), c.corpus)
		if err != nil {
			t.Fatal(err)
		}
		if v.OK() && e.early() && !strings.Contains(e.says, "a result of the corpus") && e.says != "literal 196418" {
			t.Errorf("%s: passed %s", e.name, e.check)
		} else if !v.OK() {
			e.expect(t, c, v)
		} else {
			passed = append(passed, e)
		}
	}
	return passed
}

// judge builds candidates in one program. Each of them climbs the ladder as far as its entry
// demands.
func (c *catalogue) judge(t *testing.T, built []entry) {
	var cands []beagle.Candidate
	for _, e := range built {
		cands = append(cands, e.candidate())
	}
	bin, guilty, err := Build(t.Context(), c.env, cands, harness.Link{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range built {
		if f := guilty[i]; f != nil {
			e.expect(t, c, &beagle.Verdict{Status: f.Status, Stage: f.Stage, Reason: f.Reason})
			continue
		}
		v, err := Quick(t.Context(), c.env, bin, i+1, e.candidate(), c.corpus)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		switch {
		case !v.OK():
			e.expect(t, c, v)
		case e.early():
			t.Errorf("%s: passed %s: %+v", e.name, e.check, v.Checks)
		default:
			e.full(t, c, bin, i+1)
		}
	}
}

func (e *entry) early() bool {
	return slices.Contains([]string{"parse", "types", "scope", "policy"}, e.check)
}

// full runs the rest of the ladder with the given program.
func (e *entry) full(t *testing.T, c *catalogue, bin *harness.Binary, idx int) {
	ladder := slices.DeleteFunc(slices.Clone(FullLadder), func(k Check) bool {
		dear := k.Name == "fuzz" || k.Name == "machines"
		return k.Name == "compile" || k.Name == "start" || dear && e.check != k.Name && e.check != "good"
	})
	budget := Budget{Exhaust: 500 * time.Millisecond, Fuzz: time.Second, Race: -1}
	// A difference takes longer to find than a good candidate takes to pass. It ends the check.
	switch e.check {
	case "run":
		budget.Exhaust = 4 * time.Second
	case "fuzz":
		budget.Fuzz = 5 * time.Second
	case "race":
		budget.Race = 2 * time.Second
	}
	climb := func() *beagle.Verdict {
		v, err := ladder.climb(t.Context(),
			&Job{Env: c.env, Candidate: e.candidate(), Corpus: c.corpus, bin: bin, idx: idx, Budget: budget})
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		return v
	}
	v := climb()
	if searched := e.check == "run" || e.check == "fuzz"; searched && v.OK() { // on a slow machine
		budget.Exhaust, budget.Fuzz = 5*budget.Exhaust, 5*budget.Fuzz
		v = climb()
	}
	e.expect(t, c, v)
	for _, k := range v.Checks {
		t.Logf("   %-10s %v %7d cases %7.1f ms %s", k.Name, k.Passed, k.Cases, k.Millis, k.Note)
	}
}

func (e *entry) expect(t *testing.T, c *catalogue, v *beagle.Verdict) {
	t.Helper()
	kind := ""
	// A race is not a single call, and a test for another machine does not fail on this one.
	if v.Counterexample != nil && v.Stage != "race" && v.Stage != "machines" {
		kind = v.Counterexample.Kind
		// No test can name an error that only the original's calls tell.
		if !strings.Contains(v.Counterexample.Got, rt.CheckSentinel) {
			c.proofs = append(c.proofs, proof{e.name, kind, v.Counterexample.Test, e.source})
		}
		t.Logf("%s: %.200s; want %.200s, got %.200s", e.name, v.Counterexample.Go, v.Counterexample.Want,
			v.Counterexample.Got)
	}
	switch {
	case e.check == "good":
		if !v.OK() {
			t.Errorf("%s: refused by %s: %s %+v", e.name, v.Stage, v.Reason, v.Counterexample)
		}
	case e.check == "measure": // it behaves well; a measurement elsewhere judges its worth
		if !v.OK() {
			t.Errorf("%s: refused by %s: %s", e.name, v.Stage, v.Reason)
		}
	case v.OK():
		t.Errorf("%s: passed everything, want %s", e.name, e.check)
	case v.Stage != e.check && !(e.check == "run" && slices.Contains([]string{"quick", "replay", "exhaust"}, v.Stage)):
		t.Errorf("%s: refused by %s (%s), want %s", e.name, v.Stage, v.Reason, e.check)
	case !strings.Contains(v.Reason, e.says) && kind != e.says:
		t.Errorf("%s: refused with %q %s, want %q", e.name, v.Reason, kind, e.says)
	}
}

// prove runs the counterexamples' tests: the original passes all of them, and a candidate fails its
// own. A run tries one kind of counterexamples for each function, drawn anew each time.
func (c *catalogue) prove(t *testing.T) {
	pkg := filepath.Join(c.dir, "p")
	original, err := os.ReadFile(filepath.Join(pkg, "original.go"))
	if err != nil {
		t.Fatal(err)
	}
	path := func(i int) string { return filepath.Join(pkg, "proof"+string(rune('A'+i))+"_test.go") }
	for i := range c.proofs {
		p := &c.proofs[i]
		if p.test == "" {
			t.Errorf("%s: no test was printed", p.name)
		}
		p.test = strings.Replace(p.test, "Counterexample(", "Counterexample"+string(rune('A'+i))+"(", 1)
		put(t, path(i), p.test)
	}
	if out, err := c.goTest(t, "."); err != nil {
		t.Errorf("a printed test fails with the original: %v\n%s", err, out)
	}
	for i := range c.proofs {
		os.Remove(path(i)) // some are long, and each candidate would compile with them
	}
	for _, i := range sampletest.Of(t, c.kinds(), 1) {
		p := c.proofs[i]
		put(t, filepath.Join(pkg, "original.go"), p.source)
		put(t, path(i), p.test)
		if out, err := c.goTest(t, "Counterexample"+string(rune('A'+i))+"$", "-vet=off"); err == nil ||
			!strings.Contains(out, "--- FAIL") {
			t.Errorf("%s: its test does not fail with it: %v\n%s\n%s", p.name, err, out, p.test)
		}
		os.Remove(path(i))
	}
	put(t, filepath.Join(pkg, "original.go"), string(original))
}

// kinds are the places of one proof of each kind.
func (c *catalogue) kinds() (places []int) {
	seen := map[string]bool{"hang": true, "crash": true, "race": true} // race needs the race detector
	for i, p := range c.proofs {
		if !seen[p.kind] || p.name == "scratch-in-spare.go" {
			places = append(places, i)
		}
		seen[p.kind] = true
	}
	return places
}

func (c *catalogue) goTest(t *testing.T, run string, flags ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-run", run, "./p"}, flags...)...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestFull climbs the whole ladder as `beagle verify` does.
func TestFull(t *testing.T) {
	c := load(t, "tag")
	for _, name := range []string{"table.go", "swallowed-panic.go"} {
		i := slices.IndexFunc(c.cases, func(e entry) bool { return e.name == name })
		v, err := Full(context.Background(), c.env, c.cases[i].candidate(), c.corpus, Budget{
			Exhaust: 300 * time.Millisecond,
			Fuzz:    time.Second,
			Proof:   time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range v.Checks {
			t.Logf("%-10s %v %7d cases %7.1f ms %s", k.Name, k.Passed, k.Cases, k.Millis, k.Note)
		}
		if v.OK() != (name == "table.go") {
			t.Errorf("%s: %s: %s", name, v.Stage, v.Reason)
		}
		if name == "table.go" && len(v.Checks) != len(FullLadder) {
			t.Errorf("%s: %d of %d checks", name, len(v.Checks), len(FullLadder))
		}
	}
}

// TestFullStart checks that a candidate is refused if the program does not start with it, and that
// the original does not fail.
func TestFullStart(t *testing.T) {
	c := load(t, "fib")
	i := slices.IndexFunc(c.cases, func(e entry) bool { return e.name == "start-up-panic.go" })
	v, err := Full(t.Context(), c.env, c.cases[i].candidate(), c.corpus, Budget{})
	if err != nil {
		t.Fatal(err)
	}
	c.cases[i].expect(t, c, v)
}

// TestRace checks that a report of the race detector becomes a verdict. The policy would refuse
// this candidate first.
func TestRace(t *testing.T) {
	if testing.Short() {
		t.Skip("builds with the race detector")
	}
	c := load(t, "list")
	c.corpus.Concurrent = true
	i := slices.IndexFunc(c.cases, func(e entry) bool { return e.name == "shared-buffer.go" })
	ladder := slices.DeleteFunc(slices.Clone(FullLadder), func(k Check) bool {
		return k.Name != "parse" && k.Name != "race"
	})
	v, err := ladder.climb(t.Context(),
		&Job{Env: c.env, Candidate: c.cases[i].candidate(), Corpus: c.corpus, idx: 1, Budget: Budget{}.orDefaults()})
	if err != nil {
		t.Fatal(err)
	}
	if note := v.Checks[len(v.Checks)-1].Note; strings.Contains(note, "could not be built") {
		t.Skip(note)
	}
	if v.OK() || v.Counterexample.Kind != "race" {
		t.Errorf("%+v", v)
	}
}

// TestOriginalDies checks that inputs that the original does not survive are no evidence against a
// candidate.
func TestOriginalDies(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/dies\n\ngo 1.24\n")
	// Large frames fill a stack after few calls, whose frames Go walks each time that it grows.
	const frame = "\tvar frame [256]int\n\tframe[n&255] = n\n"
	const src = "package p\n\n// Sum is 1 + ... + n.\nfunc Sum(n int) int {\n\tif n == 0 {\n\t\treturn 0\n\t}\n" +
		frame + "\treturn frame[n&255] + Sum(n-1)\n}\n"
	put(t, filepath.Join(dir, "p", "p.go"), src)
	c := &catalogue{env: environment(t, dir, "./p.Sum")}
	c.corpus = &beagle.Corpus{
		Train: []beagle.Record{record(t, "[3]", rt.KindInt), record(t, "[-1]", rt.KindInt),
			record(t, "[10]", rt.KindInt)},
	}
	better := entry{
		source: "package p\n\nfunc Sum(n int) int {\n\tif n < 0 {\n" + frame +
			"\t\treturn frame[n&255] + Sum(n-1)\n\t}\n\treturn n * (n + 1) / 2\n}\n",
	}
	budget := Budget{Exhaust: 200 * time.Millisecond, Fuzz: -1, Proof: -1}
	v, err := Full(t.Context(), c.env, better.candidate(), c.corpus, budget)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range v.Checks {
		t.Logf("%-10s %v %7d cases %7.1f ms %s", k.Name, k.Passed, k.Cases, k.Millis, k.Note)
	}
	if !v.OK() {
		t.Errorf("%s: %s %+v", v.Stage, v.Reason, v.Counterexample)
	}
	wrong := entry{source: strings.Replace(better.source, "/ 2", "/ 2 * 1 + n/40", 1)}
	v, err = Full(t.Context(), c.env, wrong.candidate(), c.corpus, budget)
	if err != nil || v.OK() || v.Counterexample.Go != "Sum(40)" {
		t.Errorf("%v %+v %+v", err, v, v.Counterexample)
	}
}

// TestNoPhaseSuits judges an original that ends the process on all but well-formed inputs, as one
// does that loops for ever without a guard. It is judged by what was recorded: made-up inputs and
// stretched ones are left out, and a difference stands although the original does not survive the
// smaller inputs that would show it too.
func TestNoPhaseSuits(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/dies\n\ngo 1.24\n")
	const src = "package p\n\nimport \"unsafe\"\n\n// Count counts the bytes of a text that begins with a colon.\n" +
		"func Count(text string, least int) int {\n\tif least != 7919 || len(text) == 0 || text[0] != ':' {\n" +
		"\t\treturn int(*(*byte)(unsafe.Pointer(uintptr(1 << 40))))\n\t}\n" +
		"\tn := 0\n\tfor range text {\n\t\tn++\n\t}\n\treturn n\n}\n"
	put(t, filepath.Join(dir, "p", "p.go"), src)
	c := &catalogue{env: environment(t, dir, "./p.Count")}
	call := func(text string) beagle.Record {
		return record(t, fmt.Sprintf("[%q, 7919]", text), rt.KindInt)
	}
	c.corpus = &beagle.Corpus{Train: []beagle.Record{call(":a"), call(":bb"), call(":ccc")}}
	const loop = "\tn := 0\n\tfor range text {\n\t\tn++\n\t}\n\treturn n\n"
	// What the first judgement leaves out must not excuse the second version.
	for _, result := range []string{"len(text)", "len(text) &^ 2"} {
		want := result == "len(text)"
		e := entry{source: strings.Replace(src, loop, "\treturn "+result+"\n", 1)}
		v, err := Full(t.Context(), c.env, e.candidate(), c.corpus,
			Budget{Exhaust: 200 * time.Millisecond, Fuzz: -1, Proof: -1})
		if err != nil {
			t.Fatal(err)
		}
		if v.OK() != want {
			t.Errorf("%s: %s: %s %+v", result, v.Stage, v.Reason, v.Counterexample)
		}
	}
}
