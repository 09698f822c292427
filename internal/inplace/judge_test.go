package inplace

import (
	"context"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// A planted version is judged in place.
type planted struct {
	name   string
	source string
	status beagle.Status
	kind   string // of the counterexample
}

// judgeAll gives each version the full ladder.
func judgeAll(t *testing.T, files map[string]string, target string, within beagle.CallComparison, list []planted) {
	t.Helper()
	u, p, e := place(t, module(t, files), target)
	if e.Within != within {
		t.Fatalf("compared by %s, want %s: %+v", e.Within, within, e)
	}
	for _, x := range list {
		t.Run(x.name, func(t *testing.T) {
			src, err := u.Reader.Normalize(u.Reader.Complete(x.source))
			if err != nil {
				t.Fatal(err)
			}
			if _, problem := u.Reader.Parse(src); problem != nil {
				t.Fatal(problem.Message)
			}
			p.norace = x.kind != "race"
			v, err := p.Full(context.Background(), u.Target.Source, beagle.NewCandidate(src, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			kind := ""
			if v.Counterexample != nil {
				kind = v.Counterexample.Kind
			}
			if v.Status != x.status || kind != x.kind {
				t.Errorf("%s %q at %s: %s; want %s %q", v.Status, kind, v.Stage, v.Reason, x.status, x.kind)
			}
			if v.OK() && !v.Assurance.InPlace {
				t.Error("the assurance does not say that the evidence is in place")
			}
		})
	}
}

func TestWriter(t *testing.T) {
	judgeAll(t, lines, "./.WriteLines", beagle.ByTape, []planted{
		{"honest", `package place

import "io"

func WriteLines(w io.Writer, lines []string) (int, error) {
	n := 0
	var buf []byte
	for _, l := range lines {
		buf = append(append(buf[:0], l...), '\n')
		m, err := w.Write(buf)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
`, beagle.Equal, ""},
		{"swallows the error", `package place

import "io"

func WriteLines(w io.Writer, lines []string) (int, error) {
	n := 0
	for _, l := range lines {
		m, _ := w.Write([]byte(l + "\n"))
		n += m
	}
	return n, nil
}
`, beagle.Wrong, "trace"},
		{"smaller pieces", `package place

import "io"

func WriteLines(w io.Writer, lines []string) (int, error) {
	n := 0
	for _, l := range lines {
		for _, part := range []string{l, "\n"} {
			m, err := w.Write([]byte(part))
			n += m
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
`, beagle.Wrong, "trace"},
		{"writes too little", `package place

import "io"

func WriteLines(w io.Writer, lines []string) (int, error) {
	n := 0
	for i, l := range lines {
		if i == 3 {
			break
		}
		m, err := w.Write([]byte(l + "\n"))
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
`, beagle.Wrong, "trace"},
	})
}

var each = map[string]string{
	"each.go": `package place

// EachField calls f with each field.
func EachField(s string, f func(field string) bool) int {
	n, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ',' {
			n++
			if !f(s[start:i]) {
				return n
			}
			start = i + 1
		}
	}
	return n
}
`,
	"each_test.go": `package place

import "testing"

func TestEachField(t *testing.T) {
	var got []string
	EachField("a,b,,c", func(f string) bool { got = append(got, f); return f != "" })
	if len(got) != 3 {
		t.Fatal(got)
	}
}

func ExampleEachField() {
	EachField("x,y", func(f string) bool { println(f); return true })
	// Output:
}

func FuzzEachField(f *testing.F) {
	f.Add("1,2,3")
	f.Fuzz(func(t *testing.T, s string) { EachField(s, func(string) bool { return true }) })
}
`,
}

func TestCallback(t *testing.T) {
	judgeAll(t, each, "./.EachField", beagle.ByTape, []planted{
		{"honest", `package place

import "strings"

func EachField(s string, f func(field string) bool) int {
	for n := 1; ; n++ {
		i := strings.IndexByte(s, ',')
		if i < 0 {
			f(s)
			return n
		}
		if !f(s[:i]) {
			return n
		}
		s = s[i+1:]
	}
}
`, beagle.Equal, ""},
		{"calls it twice", `package place

import "strings"

func EachField(s string, f func(field string) bool) int {
	n := 0
	for _, p := range strings.Split(s, ",") {
		n++
		if !f(p) && !f(p) {
			return n
		}
	}
	return n
}
`, beagle.Wrong, "trace"},
		{"does not stop", `package place

import "strings"

func EachField(s string, f func(field string) bool) int {
	n := 0
	for _, p := range strings.Split(s, ",") {
		n++
		f(p)
	}
	return n
}
`, beagle.Wrong, "trace"},
	})
}

var guarded = map[string]string{
	"set.go": `package place

import (
	"context"
	"sync"
)

// A Set is guarded by a lock, and tells of each new name.
type Set struct {
	mu    sync.Mutex
	names map[string]int
	told  func(string)
	last  []byte
}

func NewSet(told func(string)) *Set { return &Set{names: map[string]int{}, told: told} }

// Add adds names until the context ends.
func (s *Set) Add(ctx context.Context, names [][]byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := 0
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return added, err
		}
		if _, ok := s.names[string(n)]; !ok {
			added++
		}
		s.names[string(n)]++
		s.last = append([]byte(nil), n...)
	}
	return added, nil
}
`,
	"set_test.go": `package place

import (
	"context"
	"sync"
	"testing"
)

func TestAdd(t *testing.T) {
	s := NewSet(func(string) {})
	if n, err := s.Add(context.Background(), [][]byte{[]byte("a"), []byte("b"), []byte("a")}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.Add(ctx, [][]byte{[]byte("c")}); err == nil {
		t.Fatal("no error")
	}
}

func TestMany(t *testing.T) {
	s := NewSet(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				s.Add(context.Background(), [][]byte{[]byte("x"), []byte("y")})
			}
		}()
	}
	wg.Wait()
}
`,
}

func TestLock(t *testing.T) {
	add := func(body string) string {
		return "package place\n\nimport \"context\"\n\n" +
			"func (s *Set) Add(ctx context.Context, names [][]byte) (int, error) {\n" + body + "\n}\n"
	}
	loop := `	added := 0
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return added, err
		}
		had := len(s.names)
		s.names[string(n)]++
		added += len(s.names) - had
		s.last = append(s.last[:0:0], n...)
	}
	return added, nil`
	judgeAll(t, guarded, "./.Set.Add", beagle.ByRuns, []planted{
		{"honest", add("\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n" + loop), beagle.Equal, ""},
		{"unlocks too early", add("\ts.mu.Lock()\n" + strings.NewReplacer(
			"return added, nil", "s.mu.Unlock()\n\tif len(names) > 0 {\n\t\ts.last = append(s.last[:0:0], "+
				"names[len(names)-1]...)\n\t}\n\treturn added, nil",
			"return added, err", "s.mu.Unlock()\n\t\t\treturn added, err",
			"s.last = append(s.last[:0:0], n...)\n", "\n").Replace(loop)), beagle.Wrong, "race"},
		{"forgets the context", add("\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n" +
			strings.Replace(loop, "return added, err", "break", 1)), beagle.Wrong, "test"},
	})
}

// TestAllocationsCounted: a test that counts allocations fails while calls are compared, since
// copies allocate. A version of equal behaviour passes all the same, one that allocates does not.
func TestAllocationsCounted(t *testing.T) {
	judgeAll(t, map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": `package m

type Sums struct{ of []int }

func (s *Sums) Add(n int) int {
	if len(s.of) < 8 {
		s.of = append(s.of, 0)
	}
	s.of[n%len(s.of)] += n
	return s.of[n%len(s.of)]
}
`, "m_test.go": `package m

import "testing"

func TestAdd(t *testing.T) {
	s := new(Sums)
	for i := range 20 {
		if got := s.Add(i); got < i%8 {
			t.Fatal(got)
		}
	}
	if n := testing.AllocsPerRun(5, func() { s.Add(3) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
`}, "./.Sums.Add", beagle.ByTape, []planted{
		{"another name", adding + "\tat := n % len(s.of)\n\ts.of[at] += n\n\treturn s.of[at]\n}\n", beagle.Equal, ""},
		{"allocates", adding + "\tat := make([]int, n+100)\n\ts.of[n%len(s.of)] += n\n\treturn s.of[n%len(s.of)] + at[n]\n}\n",
			beagle.Wrong, "test"},
	})
}

const adding = "package m\n\nfunc (s *Sums) Add(n int) int {\n\tif len(s.of) < 8 {\n\t\ts.of = append(s.of, 0)\n\t}\n"
