package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	code := m.Run()
	os.RemoveAll(wordsDir())
	os.Exit(code)
}

// wordsDir holds one module for all tests, so that the go command finds most
// of their builds in its cache.
var wordsDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "words")
	if err == nil {
		err = unpack(dir, words)
	}
	if err != nil {
		panic(err)
	}
	return dir
})

// module writes an archive to a directory.
func module(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(dir, archive); err != nil {
		t.Fatal(err)
	}
	return dir
}

func unpack(dir, archive string) error {
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func load(t testing.TB, dir, spec string) *source.Unit {
	t.Helper()
	u, err := source.Load(context.Background(), source.Options{Dir: dir, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func box(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	b, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func captured(t testing.TB, u *source.Unit) *Captured {
	t.Helper()
	c, err := Capture(context.Background(), u, box(t), t.TempDir(), CaptureOptions{
		BenchTime: "100x",
		Budget:    5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// args decodes the records, with their weights.
func args[A any](t testing.TB, records []beagle.Record) (list []A, weights []float64) {
	t.Helper()
	for _, r := range records {
		var a A
		if err := rt.Decode(r.Args, &a, nil); err != nil {
			t.Fatal(err)
		}
		list, weights = append(list, a), append(weights, r.Weight)
	}
	return list, weights
}

const words = `
-- go.mod --
module example.com/words

go 1.21
-- text/text.go --
package text

import (
	"errors"
	"math/rand/v2"
	"sort"
)

var ErrEmpty = errors.New("empty")

type Set struct {
	m map[string]int
	n int
}

// Add counts words; the parameter in the middle has no name.
func (s *Set) Add(_ int, words ...string) (int, error) {
	if len(words) == 0 {
		return 0, ErrEmpty
	}
	for _, w := range words {
		s.m[w]++
		s.n++
	}
	return s.n, nil
}

func New() *Set { return &Set{m: map[string]int{}} }

func Fib(n int) int {
	if n < 2 {
		return n
	}
	return Fib(n-1) + Fib(n-2)
}

func Max[T int | string](a, b T) T {
	if a > b {
		return a
	}
	return b
}

func Lower(s string) string { b := []byte(s); for i, c := range b { if 'A' <= c && c <= 'Z' { b[i] = c + 32 } }; return string(b) }

func Last(s []int) int { return s[len(s)-1] }

// ByCount lists the keys of a map by their values. Keys of equal values come in the map's order.
func ByCount(counts map[string]int) []string {
	var keys []string
	for key := range counts {
		keys = append(keys, key)
	}
	sort.SliceStable(keys, func(i, j int) bool { return counts[keys[i]] < counts[keys[j]] })
	return keys
}

var turn int

// Peer takes the peers of a set in turns.
func Peer(peers map[string]int) string {
	if len(peers) != 2 {
		return ""
	}
	turn++
	return ByCount(peers)[turn%2]
}

// Either draws one of two keys.
func Either(counts map[string]int) string {
	if len(counts) != 2 {
		return ""
	}
	return ByCount(counts)[rand.IntN(2)]
}

func First(m map[string]int) string {
	for k := range m {
		return k
	}
	return ""
}

func Place(places *[1 << 13]string, i uint16) string { return places[i] }

// Drain counts the elements of a list, and sets them to zero.
func Drain(list []int) int { n := len(list); for i := range list { list[i] = 0 }; return n }

func Wait(n uint8) int { for n == 7 { }; if n == 9 { panic("nine") }; return int(n) }
-- text/text_test.go --
package text

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

func TestAdd(t *testing.T) {
	s := New()
	s.Add(1, "a")
	s.Add(2, "a", "b")
	if _, err := s.Add(3); err != ErrEmpty {
		t.Error(err)
	}
}

func TestFib(t *testing.T) {
	for range [3]int{} {
		if Fib(15) != 610 {
			t.Error("no")
		}
	}
	Fib(10)
}

func TestMax(t *testing.T) {
	Max(1, 2)
	Max("a", "b")
	Max("c", "d")
}

func TestFails(t *testing.T) {
	Lower("recorded before the failure")
	t.Error("as it should")
}

func ExampleLower() {
	fmt.Println(Lower("Example"))
	// Output: example
}

func FuzzLower(f *testing.F) {
	f.Add("Seed")
	f.Fuzz(func(t *testing.T, s string) { Lower(s) })
}

func BenchmarkLower(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Lower(fmt.Sprint("Bench", i%20))
	}
}
-- use/use.go --
package use

import "example.com/words/text"

func Use(s string) string { return text.Lower(s) }
-- use/use_test.go --
package use_test

import (
	"os"
	"testing"

	"example.com/words/use"
)

func TestUse(t *testing.T) {
	use.Use("From Outside")
	os.Exit(3)
}
`

func TestCaptureLower(t *testing.T) {
	u := load(t, wordsDir(), "./text.Lower")
	c := captured(t, u)
	list, weights := args[struct{ A0 string }](t, c.Records)
	got := map[string]float64{}
	var bench, rest float64
	for i, a := range list {
		got[a.A0] = weights[i]
		if strings.HasPrefix(a.A0, "Bench") {
			bench += weights[i]
		} else {
			rest += weights[i]
		}
	}
	for _, s := range []string{"recorded before the failure", "Example", "Seed", "From Outside", "Bench7"} {
		if got[s] == 0 {
			t.Errorf("%q was not recorded: %v", s, got)
		}
	}
	if len(got) != 24 || bench != 20 || rest != 4 || c.Calls < 24 || len(c.Sources) != 3 {
		t.Errorf("%d inputs, weights %v and %v, %v calls, %q", len(got), bench, rest, c.Calls, c.Sources)
	}
	if len(c.Failures) != 2 || !strings.Contains(c.Failures[0], "as it should") {
		t.Errorf("failures: %q", c.Failures)
	}
}

func TestCaptureMethod(t *testing.T) {
	u := load(t, wordsDir(), "./text.Set.Add")
	c := captured(t, u)
	list, _ := args[struct {
		A0 *struct {
			m map[string]int
			n int
		}
		A1 int
		A2 []string
	}](t, c.Records)
	if len(list) != 3 {
		t.Fatalf("%d records, dropped for %v", len(list), c.Why)
	}
	for _, a := range list {
		if want := map[int]int{1: 0, 2: 1, 3: 3}[a.A1]; a.A0.n != want || len(a.A2) != a.A1%3 {
			t.Errorf("call %d on a set of %d with %v", a.A1, a.A0.n, a.A2)
		}
	}
}

// TestCaptureNamed: a test that uses up the time, or ends the process, does not hide
// the calls of those that name the target.
func TestCaptureNamed(t *testing.T) {
	u := load(t, module(t, `
-- go.mod --
module example.com/slow

go 1.21
-- slow.go --
package slow

func Double(n int) int { return 2 * n }

func Triple(n int) int { return 3 * n }
-- slow_test.go --
package slow

import (
	"os"
	"testing"
)

func TestEnds(t *testing.T) { os.Exit(7) }

func TestDouble(t *testing.T) {
	if Double(21) != 42 {
		t.Fatal()
	}
}

func BenchmarkEnds(b *testing.B) { os.Exit(7) }

func BenchmarkDouble(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Double(4)
	}
}
`), "Double")
	c := captured(t, u)
	list, _ := args[struct{ A0 int }](t, c.Records)
	slices.SortFunc(list, func(a, b struct{ A0 int }) int { return a.A0 - b.A0 })
	if len(list) != 2 || list[0].A0 != 4 || list[1].A0 != 21 {
		t.Errorf("recorded %v, want the calls of the test and of the benchmark", list)
	}
	if got := captured(t, load(t, u.Target.Dir, "Triple")); len(got.Records) != 0 {
		t.Errorf("%d records of a function that nobody calls", len(got.Records))
	}
}

// TestCaptureOutOfTime: the benchmarks run after the tests have used the time up, if these made no
// call; and the build of the target's own tests takes no time away from them.
func TestCaptureOutOfTime(t *testing.T) {
	u := load(t, module(t, `
-- go.mod --
module example.com/late

go 1.21
-- late.go --
package late

func Double(n int) int { return 2 * n }
-- late_test.go --
package late

import "testing"

func TestNothing(t *testing.T) {}

func BenchmarkTwice(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Double(4)
	}
}
`), "Double")
	c := &capturer{u: u, box: box(t), dir: t.TempDir(), o: CaptureOptions{BenchTime: "100x", Budget: 1}}
	c.defaults()
	var own *gotool.Listed
	var deps []*gotool.Listed
	var err error
	if c.tools, err = gotool.Find(t.Context(), u); err == nil {
		own, deps, err = c.tools.TargetPackage(t.Context(), &u.Target)
	}
	if err == nil {
		c.read = c.tools.Readable(&u.Target, deps)
		c.overlay, err = newInstrument(u, c.dir)
	}
	if err == nil {
		err = c.suite(t.Context(), 0, own, 1)
	}
	if err != nil || c.records != 1 {
		t.Errorf("%d records, %q: %v", c.records, c.out.Failures, err)
	}
	end := time.Unix(100, 0)
	for built, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: time.Minute} {
		slow := &capturer{end: end, o: CaptureOptions{Budget: time.Minute}}
		if slow.extend(built); slow.end.Sub(end) != want {
			t.Errorf("after a build of %v the end is %v later", built, slow.end.Sub(end))
		}
	}
}

func TestCaptureRecursionFromOutsideOnly(t *testing.T) {
	c := captured(t, load(t, wordsDir(), "./text.Fib"))
	list, _ := args[struct{ A0 int }](t, c.Records)
	if len(list) != 2 || c.Calls != 4 {
		t.Errorf("got %v of %v calls", list, c.Calls)
	}
}

func TestCaptureOneInstantiation(t *testing.T) {
	u := load(t, wordsDir(), "./text.Max")
	c := captured(t, u)
	want := 1
	if u.Target.TypeArgs[0] == "string" {
		want = 2
	}
	if len(c.Records) != want {
		t.Errorf("%d records of Max[%s]", len(c.Records), u.Target.TypeArgs[0])
	}
}

func built(t testing.TB, u *source.Unit, in Input) *Built {
	t.Helper()
	b, err := harness.NewBuilder(context.Background(), u, box(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Build(context.Background(), u, b, box(t), in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fromJSON(t testing.TB, u *source.Unit, lines string) []beagle.Record {
	t.Helper()
	records, err := Read(u, strings.NewReader(lines), "test.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestBuildDropsWhatTheOriginalDoesNotSurvive(t *testing.T) {
	u := load(t, wordsDir(), "./text.Wait")
	var lines strings.Builder
	for i := range 40 {
		lines.WriteString(fmt.Sprintf("{\"args\":[%d]}\n", i))
	}
	b := built(t, u, Input{Records: fromJSON(t, u, lines.String()), Seed: 1})
	c := b.Corpus
	if n := len(c.Train) + len(c.Holdout); n != 39 || c.Dropped < 1 || !strings.Contains(c.DroppedWhy, "hang") ||
		len(c.Holdout) == 0 {
		t.Errorf("%d records, %d dropped: %s", n, c.Dropped, c.DroppedWhy)
	}
	for _, r := range c.Generated {
		var a struct{ A0 uint8 }
		if rt.Decode(r.Args, &a, nil); a.A0 == 7 {
			t.Error("an input that hangs was generated")
		}
	}
	p := c.Facets.Params[0]
	if p.Name != "n" || p.Max != 39 && p.Max != 38 && p.Max != 37 || len(p.Top) != 8 || b.Unstable != 0 {
		t.Errorf("facets %+v", p)
	}
}

// TestBuildFitsTheMemory checks that records which are short in a file and large in memory do not
// end the harness: 400 of 128 KB each.
func TestBuildFitsTheMemory(t *testing.T) {
	u := load(t, wordsDir(), "./text.Place")
	var records []beagle.Record
	for i := range 400 {
		args, err := rt.Encode(&struct {
			A0 *[1 << 13]string
			A1 uint16
		}{new([1 << 13]string), uint16(i)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, beagle.Record{Args: args, Weight: 1})
	}
	c := built(t, u, Input{Records: records, Seed: 1}).Corpus
	if n := len(c.Train) + len(c.Holdout); n < 200 || n > 250 || n+c.Dropped < 400 ||
		!strings.Contains(c.DroppedWhy, "too large") {
		t.Errorf("%d records, %d dropped: %s", n, c.Dropped, c.DroppedWhy)
	}
}

// TestBuildFromNothing checks that without any recorded call the corpus is made of ordinary inputs
// on which the original does not panic.
func TestBuildFromNothing(t *testing.T) {
	u := load(t, wordsDir(), "./text.Last")
	b := built(t, u, Input{Seed: 1})
	c := b.Corpus
	if !c.GeneratedOnly || len(c.Train) < 500 || len(c.Holdout) < 100 || c.Facets.Panics != 0 ||
		c.Facets.Params[0].Empty != 0 {
		t.Errorf("%d and %d records, facets %+v", len(c.Train), len(c.Holdout), c.Facets)
	}
	if b.Unstable != 0 || b.Stateful != 0 || b.Outcomes < 20 {
		t.Errorf("unstable %d, stateful %d, outcomes %d", b.Unstable, b.Stateful, b.Outcomes)
	}
}

// TestBuildFromNothingDropsNoCall: a generated input that the original does not survive is left
// out, and is no recorded call that was lost.
func TestBuildFromNothingDropsNoCall(t *testing.T) {
	c := built(t, load(t, wordsDir(), "./text.Wait"), Input{Seed: 1}).Corpus
	if !c.GeneratedOnly || len(c.Train) < 10 || c.Dropped != 0 || c.DroppedWhy != "" {
		t.Errorf("%d records, %d dropped: %s", len(c.Train), c.Dropped, c.DroppedWhy)
	}
	for _, r := range slices.Concat(c.Train, c.Holdout) {
		var a struct{ A0 uint8 }
		if rt.Decode(r.Args, &a, nil); a.A0 == 7 {
			t.Error("an input that hangs was kept")
		}
	}
}

// TestBuildFromOne generates inputs beside a single recorded one, which counts for half of all.
func TestBuildFromOne(t *testing.T) {
	u := load(t, wordsDir(), "./text.Last")
	records := fromJSON(t, u, `{"args":[[1,2,3]]}`)
	records[0].Source = "test"
	c := built(t, u, Input{Records: records, Seed: 1}).Corpus
	one, all := 0.0, 0.0
	for _, r := range append(slices.Clone(c.Train), c.Holdout...) {
		if all += r.Weight; r.Source == "test" {
			one += r.Weight
		}
	}
	if !c.GeneratedOnly || len(c.Train) < 500 || math.Abs(one/all-0.5) > 0.05 {
		t.Errorf("%d records, the recorded one counts %.3f of all", len(c.Train), one/all)
	}
}

// TestBuildLeavesTiesOut: inputs on which a map's order decides are left out, and the others make a
// corpus, unless there are few of these.
func TestBuildLeavesTiesOut(t *testing.T) {
	u := load(t, wordsDir(), "./text.ByCount")
	tied := []string{`{"args":[{"a":1,"b":1}]}`, `{"args":[{"a":1,"b":2,"c":2}]}`}
	clear := []string{`{"args":[{"a":1}]}`, `{"args":[{"a":1,"b":2}]}`, `{"args":[{"a":3,"b":2,"c":1}]}`}
	b := built(t, u, Input{Records: fromJSON(t, u, strings.Join(slices.Concat(tied, clear), "\n"))})
	if b.Unstable != 0 || len(b.Corpus.Train) != len(clear) || b.Corpus.Dropped != len(tied) ||
		!strings.Contains(b.Corpus.DroppedWhy, "differs from itself") {
		t.Errorf("unstable %d, %d kept, %d dropped: %s", b.Unstable, len(b.Corpus.Train), b.Corpus.Dropped,
			b.Corpus.DroppedWhy)
	}
	for n := range 30 { // enough for some to be held out
		clear = append(clear, fmt.Sprintf(`{"args":[{"a":%d,"b":%d}]}`, n, n+1+n%7))
		tied = append(tied, fmt.Sprintf(`{"args":[{"a":%d,"b":%d}]}`, n+2, n+2))
	}
	b = built(t, u, Input{Records: fromJSON(t, u, strings.Join(slices.Concat(tied[:20], clear), "\n"))})
	lists, _ := args[struct{ A0 map[string]int }](t, slices.Concat(b.Corpus.Train, b.Corpus.Holdout))
	for _, a := range lists {
		if counts := slices.Sorted(maps.Values(a.A0)); len(slices.Compact(counts)) != len(a.A0) {
			t.Errorf("%v is kept", a.A0)
		}
	}
	if b.Unstable != 0 || len(b.Corpus.Holdout) == 0 {
		t.Errorf("unstable %d, %d held out", b.Unstable, len(b.Corpus.Holdout))
	}
	b = built(t, u, Input{Records: fromJSON(t, u, strings.Join(append(tied[:2], clear[0]), "\n"))})
	if b.Unstable == 0 {
		t.Errorf("most are tied, and %d of 3 records are kept", len(b.Corpus.Train))
	}
}

// TestSettled: the training records are handed out before the corpus is made, with what the
// original does on them, unless some of them may still be left out or none was recorded.
func TestSettled(t *testing.T) {
	for _, c := range []struct {
		spec, records string
		panics        bool
		mutates       []string
	}{
		{"./text.Wait", `{"args":[1]} {"args":[2]} {"args":[9]}`, true, nil},
		{"./text.Drain", `{"args":[[1,2]]} {"args":[[3]]}`, false, []string{"list"}},
		{"./text.ByCount", `{"args":[{"a":1}]} {"args":[{"a":1,"b":2}]}`, false, nil},
		{"./text.Last", "", false, nil},
	} {
		u := load(t, wordsDir(), c.spec)
		b, err := harness.NewBuilder(t.Context(), u, box(t), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		bin, err := b.Build(t.Context(), harness.Versions(&u.Target), harness.Link{})
		if err != nil {
			t.Fatal(err)
		}
		var records []beagle.Record
		if c.records != "" {
			records = fromJSON(t, u, strings.ReplaceAll(c.records, " ", "\n"))
		}
		g := Gather(u, Input{Records: records, Seed: 1})
		var early *beagle.Corpus
		g.Settled = func(s *beagle.Corpus) { early = s }
		made, err := g.Build(t.Context(), bin, box(t))
		if err != nil {
			t.Fatal(err)
		}
		if c.spec == "./text.ByCount" || c.spec == "./text.Last" {
			if early != nil {
				t.Errorf("%s: %d records are settled early", c.spec, len(early.Train))
			}
			continue
		}
		if early == nil || !slices.EqualFunc(early.Train, made.Corpus.Train, func(a, b beagle.Record) bool {
			return bytes.Equal(a.Args, b.Args) && a.Weight == b.Weight
		}) {
			t.Fatalf("%s: settled were %+v, the corpus has %+v", c.spec, early, made.Corpus.Train)
		}
		if f := early.Facets; f.Panics > 0 != c.panics || !slices.Equal(f.Mutates, c.mutates) ||
			!slices.Equal(f.Mutates, made.Corpus.Facets.Mutates) {
			t.Errorf("%s: facets %+v", c.spec, f)
		}
	}
}

// TestBuildKeepsDraws: inputs on which a random source or a counter decides are not left out. A
// version that always does one of these things would be called right.
func TestBuildKeepsDraws(t *testing.T) {
	drawn, clear := `{"args":[{"a":1,"b":2}]}`, `{"args":[{"a":1}]}`+"\n"+`{"args":[{"a":1,"b":2,"c":2}]}`+"\n"
	for _, spec := range []string{"./text.Either", "./text.Peer"} {
		u := load(t, wordsDir(), spec)
		b := built(t, u, Input{Records: fromJSON(t, u, clear+drawn)})
		if b.Unstable != 1 || len(b.Corpus.Train) != 3 {
			t.Errorf("%s: unstable %d of %d", spec, b.Unstable, len(b.Corpus.Train))
		}
	}
}

func TestBuildSeesNonDeterminism(t *testing.T) {
	u := load(t, wordsDir(), "./text.First")
	b := built(t, u, Input{
		Records: fromJSON(t, u, `{"args":[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}]}`+"\n"+
			`{"args":[{"a":1}]}`),
		Source: "two by hand",
	})
	if b.Unstable != 1 || len(b.Corpus.Train) != 2 || b.Corpus.Calls != 2 || b.Corpus.Sources[0] != "two by hand" {
		t.Errorf("unstable %d of %d, %+v", b.Unstable, len(b.Corpus.Train), b.Corpus.Sources)
	}
}
