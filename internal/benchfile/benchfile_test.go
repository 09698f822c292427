package benchfile

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/source"
)

const planted = `package p

import "strings"

type Box struct {
	names []string
	open  *bool
}

// Fold has two ways: which one a call takes is in its input.
func Fold(s string, n int) (sum int) {
	if strings.HasPrefix(s, "up") {
		for range n {
			sum += len(upper(s))
		}
		return sum
	}
	for range n {
		sum += sumOf(s)
	}
	return sum
}

//go:noinline
func upper(s string) string { return strings.ToUpper(s) }

//go:noinline
func sumOf[T ~string](s T) (sum int) {
	for i := range len(s) {
		sum += int(s[i]) * i
	}
	return sum
}

func (b *Box) Has(name string, extra ...string) bool {
	for _, n := range append(b.names, extra...) {
		if n == name {
			return *b.open
		}
	}
	return false
}

func Reverse(list []int) {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
}

type Tally struct{ seen []int }

func (t *Tally) Add(list []int) int {
	t.seen = t.seen[:0]
	for _, n := range list {
		t.seen = append(t.seen, n)
	}
	return len(t.seen)
}

func Drain(b map[string]int) { clear(b) }

func Spaces(line []byte) (n int) {
	for _, c := range line {
		if c == ' ' {
			n++
		}
	}
	return n
}

// Recall keeps sums: which way a call takes depends on how many texts come before it comes again.
func Recall(s string) int {
	at := &kept[int(s[len(s)-1]+s[len(s)-2]*5)%len(kept)]
	if at.text != s {
		at.text, at.sum = s, worked(s)
	}
	return again(at.sum)
}

var kept [32]struct {
	text string
	sum  int
}

//go:noinline
func worked(s string) (sum int) {
	for range 8 {
		sum += sumOf(s)
	}
	return sum
}

//go:noinline
func again(n int) int {
	for i := range 100 {
		n = n*3 + i
	}
	return n
}

func Ended(line []byte) int { return len(append(line, '!')) }
`

// load writes the planted package, and loads one of its functions with calls.
func load(t *testing.T, name string, calls ...string) (*source.Unit, *beagle.Corpus) {
	t.Helper()
	return loadFrom(t, plant(t), name, calls...)
}

// plant writes the planted package to a new directory.
func plant(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module ex.com/p\n\ngo 1.24\n", "p.go": planted, "service.go": service,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loadFrom(t *testing.T, dir, name string, calls ...string) (*source.Unit, *beagle.Corpus) {
	t.Helper()
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: "." + "/." + name, InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	records, err := corpus.Read(u, strings.NewReader(strings.Join(calls, "\n")), "calls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := corpus.Observations{Sources: []string{"a planted file"}}
	for _, r := range records {
		seen.Calls += r.Weight
	}
	c, err := corpus.Observed(u, records, seen)
	if err != nil {
		t.Fatal(err)
	}
	return u, c
}

var bounds = Options{Inputs: 20, Bytes: 16 << 10}

// mixed returns calls of Fold, of which a given percentage takes the first way.
func mixed(up float64) (list []string) {
	for i := range 30 {
		list = append(list, fmt.Sprintf(`{"args": {"s": "up-%04d-abcdefgh", "n": 4}, "weight": %g}`, i, up),
			fmt.Sprintf(`{"args": {"s": "%04d", "n": 4}, "weight": %g}`, i, 100-up))
	}
	return append(list, `{"args": {"s": "Ä-rare-text", "n": 1}, "weight": 0.5}`)
}

// run runs a written benchmark with the go command, as a person does.
func run(t *testing.T, u *source.Unit, text string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.Target.PkgDir, "written_test.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-run=^$", "-bench=.", "-benchtime=20x")
	cmd.Dir = u.Target.PkgDir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%s", out, text)
	}
	return string(out)
}

// TestShares checks that groups keep their shares of the calls, the rare one too, and that the
// text is the same each time.
func TestShares(t *testing.T) {
	u, c := load(t, "Fold", mixed(80)...)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Groups) != 3 || p.Distinct != 61 || p.Inputs() > 22 {
		t.Errorf("%d groups, %d of %d inputs", len(p.Groups), p.Inputs(), p.Distinct)
	}
	calls := make([]int, len(p.Groups))
	all := 0
	for i, times := range p.times() {
		for _, n := range times {
			calls[i] += n
			all += n
		}
	}
	for i, g := range p.Groups {
		if got := float64(calls[i]) / float64(all); got-g.Share > 0.001 || g.Share-got > 0.001 {
			t.Errorf("%s: %.4f of the calls, recorded %.4f", g.Name, got, g.Share)
		}
	}
	first, err := p.File(Form{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.File(Form{}); err != nil || second != first {
		t.Errorf("another text: %v", err)
	}
	out := run(t, u, first)
	for _, want := range []string{"BenchmarkFoldReplay", "BenchmarkFoldExtremes/longest", "rare:_s:_non-ASCII"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(first, "beagle-go") || strings.Contains(first, "runtime.") {
		t.Errorf("it does not stand alone:\n%s", first)
	}
	p.Be("cold")
	cold, err := p.File(Form{Apart: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, u, cold)
}

// TestForms writes pointers, hidden fields, variadic calls, and arguments that the call changes.
func TestForms(t *testing.T) {
	u, c := load(t, "Box.Has", `{"args": [{"names": ["a", "b"], "open": true}, "b", ["c"]]}`,
		`{"args": [{"names": [], "open": false}, "x", null]}`)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.File(Form{})
	if err != nil {
		t.Fatal(err)
	}
	run(t, u, text)
	u, c = load(t, "Reverse", `{"args": [[1, 2, 3]]}`)
	c.Facets.Mutates = []string{"list"}
	if p, err = Select(u, c, bounds); err != nil {
		t.Fatal(err)
	}
	if text, err = p.File(Form{}); err != nil || !strings.Contains(text, "append(buf0[:0], c.arg0...)") {
		t.Errorf("%v\n%s", err, text)
	}
	run(t, u, text)
	u, c = load(t, "Tally.Add", `{"args": [{"seen": []}, [1, 2, 3]]}`)
	c.Facets.Mutates = []string{"t"}
	if p, err = Select(u, c, bounds); err != nil {
		t.Fatal(err)
	}
	if text, err = p.File(Form{}); err != nil || !strings.Contains(text, "goes on from") {
		t.Errorf("%v\n%s", err, text)
	}
	run(t, u, text)
	u, c = load(t, "Drain", `{"args": [{"a": 1}]}`)
	c.Facets.Mutates = []string{"b"}
	if _, err = Select(u, c, bounds); err == nil || !strings.Contains(err.Error(), "changes b") {
		t.Errorf("a map that the call clears: %v", err)
	}
}

// TestSignature refuses calls of another function.
func TestSignature(t *testing.T) {
	u, _ := load(t, "Fold", mixed(50)...)
	_, err := corpus.Read(u, strings.NewReader(`{"args": {"list": [1]}}`), "other.jsonl")
	if err == nil || !strings.Contains(err.Error(), "other.jsonl:1") {
		t.Error(err)
	}
}

// TestApportion checks sums and least parts.
func TestApportion(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		n      int
	}{{[]float64{0.999, 0.0005, 0.0005}, 100}, {[]float64{1, 1, 1}, 10}, {[]float64{0, 0, 5}, 3}, {[]float64{0.5}, 7}} {
		counts, sum := apportion(c.shares, c.n, 1), 0
		for _, k := range counts {
			if k < 1 {
				t.Errorf("%v", counts)
			}
			sum += k
		}
		if sum != c.n {
			t.Errorf("%v of %d: %v", c.shares, c.n, counts)
		}
	}
}

// TestReweigh plants production's profile as another mixture of the two ways, and expects the
// weights to move there.
func TestReweigh(t *testing.T) {
	if len(clocked(t, []string{"Fold"})) == 0 {
		t.Skip("not drawn")
	}
	u, c := load(t, "Fold", mixed(20)...)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	truth := *p
	truth.Groups = append([]Group{}, p.Groups...)
	truth.Groups[0].Weight, truth.Groups[1].Weight = p.Groups[1].Share, p.Groups[0].Share
	reweighed := func(seconds float64) error {
		f := &Fitter{Needed: 0.98, Seconds: seconds, State: "warm", Say: func(s string) { t.Log(s) }}
		f.Production = &hotspots.Subtree{}
		production, err := f.attempt(t.Context(), truth, "production")
		if err != nil {
			return err
		}
		f.Production = production.run.Subtree
		if f.Split, err = production.run.Table.Halves("ex.com/p.Fold"); err != nil {
			return err
		}
		moved := *p
		moved.Groups = slices.Clone(p.Groups)
		fit, err := f.Fit(t.Context(), &moved)
		if err != nil {
			return err
		}
		for _, g := range moved.Groups {
			t.Logf("%s: recorded %.3f, now %.3f", g.Name, g.Share, g.Weight)
		}
		if before := min(fit.Tried[0].Callees, fit.Tried[0].Lines); before > 0.9 {
			return fmt.Errorf("the plain shares are %.3f alike already: nothing is tried", before)
		}
		if got := min(fit.Callees.High, fit.Lines.High); got < 0.98 || moved.Groups[0].Weight > 0.5 {
			return fmt.Errorf("%.3f alike at most: %+v", got, fit.Tried)
		}
		last := fit.Tried[len(fit.Tried)-1]
		if !fit.Held || !last.Accepted || last.Moved == 0 || fit.Callees.Samples > 0.6*f.Production.Effective {
			t.Errorf("the chosen form is not compared with held out samples: %+v", fit)
		}
		return nil
	}
	longer(t, 1, reweighed)
}

// clocked draws a case that rests on real profiles, which take some ten seconds of a processor: one
// in one of six runs, and all with -sample.all. Each run tests what the fit chooses, with planted
// measurements, and the text of each form.
func clocked[T any](t *testing.T, cases []T) []T {
	t.Helper()
	if testing.Short() || !sampletest.OneIn(t, 6) {
		return nil
	}
	return sampletest.Of(t, cases, 1)
}

// longer tries what rests on profiles with longer and longer ones. A short profile can miss, and
// has few samples on a busy machine.
func longer(t *testing.T, seconds float64, try func(seconds float64) error) {
	t.Helper()
	for most := 40 * seconds; ; seconds *= 4 {
		err := try(seconds)
		if err == nil {
			return
		}
		if t.Logf("with profiles of %g s: %v", seconds, err); 4*seconds > most {
			t.Fatal(err)
		}
	}
}

// TestScale plants production's profile as that of fewer inputs, and of as many as there are.
// Weights cannot match it: all inputs are in one group.
func TestScale(t *testing.T) {
	var calls []string
	for i := range 90 {
		calls = append(calls, fmt.Sprintf(`{"args": {"s": "text-%02d"}}`, i))
	}
	u, c := load(t, "Recall", calls...)
	for _, way := range clocked(t, []int{-16, 4}) {
		limits := bounds
		if way > 0 {
			limits.Inputs = 6
		}
		p, err := Select(u, c, limits)
		if err != nil {
			t.Fatal(err)
		}
		longer(t, 0.5, func(seconds float64) error {
			f := &Fitter{Needed: 0.98, Seconds: seconds, State: "warm", Say: func(s string) { t.Log(s) }}
			f.Production = &hotspots.Subtree{}
			production, err := f.attempt(t.Context(), *p.scaled(way), "production")
			if err != nil {
				return err
			}
			f.Production = production.run.Subtree
			fitted := *p
			fit, err := f.Fit(t.Context(), &fitted)
			if err != nil {
				return err
			}
			if fitted.Scale*way <= 0 || min(fit.Callees.High, fit.Lines.High) < 0.98 {
				return fmt.Errorf("production has %d inputs, and the benchmark %d: %+v", p.scaled(way).Inputs(),
					fitted.Inputs(), fit.Tried)
			}
			return nil
		})
	}
}

// TestScales takes four times as many inputs as long as that is clearly more alike, and else fewer.
func TestScales(t *testing.T) {
	var calls []string
	for i := range 90 {
		calls = append(calls, fmt.Sprintf(`{"args": {"s": "text-%02d"}}`, i))
	}
	u, c := load(t, "Recall", calls...)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most  int // alike
		tried []int
	}{{0, []int{4, -4}}, {4, []int{4, 16}}, {64, []int{4, 16, 64}}, {-4, []int{4, -4, -16}}} {
		var tried []int
		form := func(p Plan) *try {
			power := func(scale int) float64 { // of four, that the scale is
				return math.Copysign(math.Log2(math.Abs(float64(scale))+1), float64(scale))
			}
			alike := 0.9 - 0.02*math.Abs(power(p.Scale)-power(c.most))
			s := beagle.Similarity{Estimate: alike, Low: alike - 0.001, High: alike + 0.001}
			return &try{plan: p, fit: &beagle.BenchmarkFit{Callees: s, Lines: s, Needed: 0.98}}
		}
		best, err := (&Fitter{}).scale(form(*p), func(p Plan, _ string) (*try, error) {
			tried = append(tried, p.Scale)
			return form(p), nil
		})
		if err != nil || best.plan.Scale != c.most || !slices.Equal(tried, c.tried) {
			t.Errorf("most alike at %d: %d, tried %v, want %v %v", c.most, best.plan.Scale, tried, c.tried, err)
		}
	}
}

// TestMostAlike: among the forms of a search that ended early, another number of inputs must be
// clearly more alike, and any other form more alike by a point.
func TestMostAlike(t *testing.T) {
	form := func(scale int, estimate, within float64) *try {
		s := beagle.Similarity{Estimate: estimate, Low: estimate - within, High: estimate + within}
		return &try{plan: Plan{Scale: scale}, fit: &beagle.BenchmarkFit{Callees: s, Lines: s}}
	}
	for _, c := range []struct {
		tries []*try
		want  int
	}{
		{[]*try{form(0, 0.90, 0.02)}, 0},
		{[]*try{form(0, 0.90, 0.02), form(0, 0.92, 0.02)}, 1},
		{[]*try{form(0, 0.90, 0.02), form(0, 0.905, 0.02)}, 0},
		{[]*try{form(0, 0.90, 0.02), form(4, 0.915, 0.02)}, 0},
		{[]*try{form(0, 0.90, 0.02), form(4, 0.93, 0.02), form(16, 0.94, 0.02)}, 1},
		{[]*try{form(0, 0.90, 0.001), form(4, 0.903, 0.001)}, 1},
	} {
		if got := mostAlike(c.tries); got != c.tries[c.want] {
			t.Errorf("%+v: %d times as many inputs, %.3f", c, got.plan.Scale, got.fit.Callees.Estimate)
		}
	}
}

// TestSame: for a profile of the same benchmark nothing is tried. For one with a callee that the
// program does not have, the fit says so.
func TestSame(t *testing.T) {
	if testing.Short() {
		t.Skip("it profiles for some seconds")
	}
	u, c := load(t, "Fold", mixed(50)...)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	f := &Fitter{Production: &hotspots.Subtree{}, Needed: 0.98, Seconds: 0.3, State: "warm", Say: func(string) {}}
	one, err := f.attempt(t.Context(), *p, "")
	if err != nil {
		t.Fatal(err)
	}
	f.Production = one.run.Subtree
	for tries := 3; ; tries-- { // one of 20 intervals lacks the truth
		same := *p
		fit, err := f.Fit(t.Context(), &same)
		if err != nil {
			t.Fatal(err)
		}
		if len(fit.Tried) == 1 && !fit.Held && same.moved == 0 {
			break
		}
		if tries == 1 {
			t.Fatalf("%+v", fit.Tried)
		}
	}
	other := *one.run.Subtree
	other.Callees = maps.Clone(other.Callees)
	total := 0.0
	for _, v := range other.Callees {
		total += v
	}
	other.Callees["ex.com/p.gone"] = total / 2
	f.Production = &other
	fit, err := f.Measure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	lost := map[string]float64{}
	sum := 0.0
	for _, l := range fit.Lost {
		if l.By == "callee" {
			lost[l.Why] = l.Share
			sum += l.Share
		}
	}
	if slices.Contains(one.run.lacking, "ex.com/p.sumOf") {
		t.Error("a generic function is not found in the program")
	}
	if fit.Reached || math.Abs(lost[whys[byBuild]]-1.0/6) > 0.001 {
		t.Errorf("%v", fit.Lost)
	}
	if math.Abs(sum-(1-fit.Callees.Plain)) > 0.001 {
		t.Errorf("the parts of the distance add up to %.3f, and not to %.3f", sum, 1-fit.Callees.Plain)
	}
}

// TestPlaces: copies of an input share an argument that hardly varies, and own the others.
func TestPlaces(t *testing.T) {
	var calls []string
	for i := range 40 {
		calls = append(calls, fmt.Sprintf(`{"args": {"s": "Text-%02d", "n": 3}}`, i))
	}
	u, c := load(t, "Fold", calls...)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	more := p.scaled(16)
	if more.Inputs() != 40 || more.Places != 8 || p.scaled(-64) == nil || p.scaled(-64).Inputs() != 1 {
		t.Errorf("%d inputs at %d places", more.Inputs(), more.Places)
	}
	text, err := more.File(Form{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "strings.Clone(c.arg0)") {
		t.Errorf("the texts are not copied\n%s", text)
	}
	run(t, u, text)
	c.Facets.Params[0].Distinct = 1
	if p.CanBeCold() || p.scaled(16).Places != 0 {
		t.Error("an argument that does not vary is copied")
	}
}

// TestWhy gives each cause to a part that differs.
func TestWhy(t *testing.T) {
	tree := func(inlined float64, parts map[string]float64) *hotspots.Subtree {
		return &hotspots.Subtree{
			Callees: parts, Lines: parts, Effective: 10_000, Inlined: map[string]float64{"m.f": inlined},
		}
	}
	x := explainer{
		tree(50, map[string]float64{"m.f": 50, "m.g": 50}),
		&Run{Subtree: tree(0, map[string]float64{"m.f": 20, "m.g": 80}), lacking: []string{"m.old"}},
		[]*hotspots.Subtree{tree(0, map[string]float64{"m.f": 10, "m.g": 90}), tree(0, map[string]float64{"m.g": 100})},
	}
	for _, c := range []struct {
		kind, name   string
		there, here  float64
		want         cause
		withoutAlone bool
	}{
		{"callee", hotspots.Collector, 0.1, 0, byCollector, false},
		{"callee", "m.old", 0.1, 0, byBuild, false},
		{"callee", "m.rare", 0.1, 0, byRecording, false},
		{"callee", "m.new", 0, 0.1, byAbsence, false},
		{"callee", "m.f", 0.5, 0.2, byInlining, false},
		{"callee", "runtime.growslice", 0.5, 0.2, byGrowth, false},
		{"callee", "runtime.growslice", 0.5, 0.4, byRuntime, false},
		{"callee", "runtime.memmove", 0.5, 0.2, byRuntime, false},
		{"line", "m.f", 0.5, 0.2, byState, false},
		{"line", "m.f", 0.05, 0.2, byInputs, false},
		{"line", "m.f", 0.5, 0.2, byInputs, true},
	} {
		with := x
		if c.withoutAlone {
			with.groups = nil
		}
		part := beagle.SimilarPart{Name: c.name, Production: c.there, Benchmark: c.here}
		if got := with.cause(c.kind, part); got != c.want {
			t.Errorf("%s %s: %s", c.kind, c.name, whys[got])
		}
	}
}

// TestHanded: each input is read before its call, and other work has as much code as asked for. The
// file stands alone, and other work is not part of the comparison.
func TestHanded(t *testing.T) {
	for name, calls := range map[string][]string{
		"Spaces":  {`{"args": [{"$cap": 8192, "value": "one two"}]}`, `{"args": [null]}`},
		"Reverse": {`{"args": [[1, 2, 3]]}`},
		"Box.Has": {`{"args": [{"names": ["a"], "open": true}, "b", ["c"]]}`},
	} {
		u, c := load(t, name, calls...)
		if name == "Reverse" {
			c.Facets.Mutates = []string{"list"}
		}
		p, err := Select(u, c, bounds)
		if err != nil {
			t.Fatal(err)
		}
		p.Handed, p.Work = true, 6
		text, err := p.File(Form{})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text, "Piece[["); n != p.Work || !strings.Contains(text, "Read(c))") {
			t.Errorf("%s: %d pieces of other work\n%s", name, n, text)
		}
		run(t, u, text)
	}
}

// TestHandedOld: the file without other work needs no newer language than the module has.
func TestHandedOld(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module ex.com/p\n\ngo 1.17\n", "p.go": `package p

func Sum(a []uint16, b []float64, c []bool, d ...string) int { return len(a) + len(b) + len(c) + len(d) }
`} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: "./.Sum"})
	if err != nil {
		t.Fatal(err)
	}
	calls := `{"args": [{"$cap": 4, "value": [1, 2]}, [1.5], [true], ["a", "bc"]]}
{"args": [null, [], null, null]}`
	records, err := corpus.Read(u, strings.NewReader(calls), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Observed(u, records, corpus.Observations{Calls: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	p.Handed = true
	text, err := p.File(Form{})
	if err != nil {
		t.Fatal(err)
	}
	run(t, u, text)
}

// TestHandedIsNotSeen: other work takes most of a benchmark's time, and none of the target's.
func TestHandedIsNotSeen(t *testing.T) {
	u, c := load(t, "Fold", mixed(50)...)
	p, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	p.Handed, p.Work = true, maxWork
	longer(t, 0.1, func(seconds float64) error {
		f := &Fitter{Production: &hotspots.Subtree{}, Needed: 0.98, Seconds: seconds, Say: func(string) {}}
		alone, err := f.attempt(t.Context(), *p, "")
		if err != nil {
			return err
		}
		for name := range alone.run.Subtree.Callees {
			if strings.Contains(name, "Replay") {
				t.Errorf("%s counts as a part of the target", name)
			}
		}
		if share := alone.run.Subtree.Share; share > 0.9 {
			return fmt.Errorf("%.2f of the time is the target's", share)
		}
		return nil
	})
}

// TestFewSamples: a form whose profile says little does not win by a higher estimate.
func TestFewSamples(t *testing.T) {
	many := beagle.Similarity{Estimate: 0.9, Low: 0.88, High: 0.92}
	few := beagle.Similarity{Estimate: 1, Low: 0.78, High: 1}
	form := func(s beagle.Similarity) *try {
		return &try{fit: &beagle.BenchmarkFit{Callees: s, Lines: s, Needed: 0.98}}
	}
	if better(form(few), form(many)) || !better(form(many), form(few)) {
		t.Error("40 samples are preferred to 10,000")
	}
}

// TestHandsOver climbs to the amount of other work that is most alike: it stops where more makes it
// less alike, and tries half a step to each side. A form that does not build is no gain.
func TestHandsOver(t *testing.T) {
	for _, c := range []struct {
		best, builds int // pieces of other work
		want         []int
	}{
		{0, maxWork, []int{0, 4}},
		{4, maxWork, []int{0, 4, 16, 2, 8}},
		{10, maxWork, []int{0, 4, 16, 64, 8, 32}},
		{64, maxWork, []int{0, 4, 16, 64, 32}},
		{64, 0, []int{0, 4}},
		{64, -1, []int{0}},
	} {
		var tried []int
		f := &Fitter{Needed: 0.98, Say: func(string) {}}
		best, err := f.hand(Plan{}, func(p Plan, _ string) (*try, error) {
			tried = append(tried, p.Work)
			if p.Work > c.builds {
				return nil, &beagle.UsageError{What: "it does not build"}
			}
			off := math.Abs(math.Log2(float64(p.Work+1) / float64(c.best+1)))
			s := beagle.Similarity{Estimate: 0.9 - off/20, Low: 0.8 - off/20, High: 0.9}
			return &try{plan: p, fit: &beagle.BenchmarkFit{Callees: s, Lines: s, Needed: 0.98}}, nil
		})
		if err != nil || !slices.Equal(tried, c.want) || (best == nil) != (c.builds < 0) {
			t.Errorf("most alike with %d: tried %v, want %v %v", c.best, tried, c.want, err)
		}
	}
}

// TestExplainsSamples: for short profiles that look alike the note says how long they must be, and
// for those that are not alike it says where they differ.
func TestExplainsSamples(t *testing.T) {
	tree := func(a, b, c float64) *hotspots.Subtree {
		parts := map[string]float64{"a": a, "b": b, "c": c}
		return &hotspots.Subtree{Target: "m.F", Callees: parts, Lines: parts, Effective: a + b + c}
	}
	f := &Fitter{Production: tree(50, 30, 20), Needed: 0.98, Seconds: 10}
	near := tree(100, 60, 40)
	fit := f.Compare(near)
	f.Explain(fit, &Run{Subtree: near})
	text := strings.Join(fit.Warnings, "\n")
	if fit.Enough < 1000 || !strings.Contains(text, "times as long") || !strings.Contains(text, "--seconds") {
		t.Errorf("%v samples; %s", fit.Enough, text)
	}
	far := tree(20, 30, 150)
	fit = f.Compare(far)
	f.Explain(fit, &Run{Subtree: far})
	if fit.Enough != 0 || len(fit.Warnings) != 0 || len(fit.Why) == 0 || fit.Itself != nil {
		t.Errorf("%+v", fit)
	}
	f.Halves = [2]*hotspots.Subtree{tree(20, 15, 10), tree(30, 15, 10)}
	fit = f.Compare(far)
	f.Explain(fit, &Run{Subtree: far})
	text = strings.Join(fit.Why, "\n")
	if !strings.Contains(text, "(44.4 and 54.5 % in its earlier and later profiles)") {
		t.Errorf("production's own differences are not told:\n%s", text)
	}
	if fit.Itself == nil || fit.Itself.Callees.Samples != 45 || fit.Itself.Lines.BenchSamples != 55 {
		t.Errorf("%+v", fit.Itself)
	}
}

// TestHalves: the earlier profiles are one half, in whatever order they are given; one profile has
// none, nor have those of one time.
func TestHalves(t *testing.T) {
	u, _ := load(t, "Spaces", `{"args": {"line": ""}}`)
	at := func(minute int) *hotspots.Profile {
		name := u.Target.PkgPath + ".Spaces"
		fn := &profile.Function{ID: 1, Name: name, SystemName: name, Filename: u.Target.File}
		loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn, Line: int64(u.Target.Line) + 1}}}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
			TimeNanos: int64(minute) * 60e9, DurationNanos: 60e9,
			Function: []*profile.Function{fn}, Location: []*profile.Location{loc},
			Sample: []*profile.Sample{{
				Location: []*profile.Location{loc}, Value: []int64{int64(minute), int64(minute) * 10_000_000},
			}},
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		out, err := hotspots.Parse(fmt.Sprint("minute ", minute), b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	halves, err := Halves(&u.Target, []*hotspots.Profile{at(40), at(10), at(30), at(20)})
	if err != nil || halves[0] == nil || halves[0].Samples != 30 || halves[1].Samples != 70 {
		t.Errorf("%+v %v", halves, err)
	}
	if halves, err = Halves(&u.Target, []*hotspots.Profile{at(1)}); halves[0] != nil || err != nil {
		t.Errorf("of one profile: %+v %v", halves, err)
	}
	if halves, err = Halves(&u.Target, []*hotspots.Profile{at(5), at(5)}); halves[0] != nil || err != nil {
		t.Errorf("of two instances at one time: %+v %v", halves, err)
	}
	halves, err = Halves(&u.Target, []*hotspots.Profile{at(5), at(9), at(5), at(5)})
	if err != nil || halves[0] == nil || halves[0].Samples != 15 || halves[1].Samples != 9 {
		t.Errorf("of three instances at one time, and a later profile: %+v %v", halves, err)
	}
}
