package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

const lockedSource = `package k

import "sync"

type Counts struct {
	mu    sync.Mutex
	boxes map[string]*Box
}

type Box struct {
	mu    sync.Mutex
	names []string
}

func (c *Counts) Add(name string) {
	b := c.box(name)
	b.keep(name)
}

func (c *Counts) box(name string) *Box {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boxes[name]
	if b == nil {
		b = new(Box)
		c.boxes[name] = b
	}
	return b
}

func (b *Box) keep(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = append(b.names, name)
}
`

// TestCalleesDo checks that a version judged in place may do what copies of the original's callees
// do, which lock and keep what they get, and that it still may keep nothing anywhere else.
func TestCalleesDo(t *testing.T) {
	u := lone(t, lockedSource, "./.Counts.Add")
	wide, copies := u.Copies.Widen(u.Target.Source)
	if len(copies) != 2 {
		t.Fatalf("copies %v of\n%s", copies, wide)
	}
	// A step changes one of the copies, so that both stay.
	changed := strings.Replace(wide, "b.names = append(b.names, name)", "b.names = append(b.names, name[0:])", 1)
	cheat := strings.Replace(changed, "func ", "var lastName [1]string\n\nfunc ", 1)
	cheat = strings.Replace(cheat, "b.names = ", "lastName[0] = name\n\tb.names = ", 1)
	for _, c := range []struct {
		name, text string
		inPlace    bool
		status     beagle.Status
	}{
		{"a changed copy, with records", changed, false, beagle.Forbidden},
		{"a changed copy, in place", changed, true, beagle.Equal},
		{"a variable that keeps the last call, in place", cheat, true, beagle.Forbidden},
	} {
		static(t, u, c.name, c.text, c.inPlace, c.status)
	}
}

const tallySource = `package k

import (
	"sync"
	"sync/atomic"
	"time"
)

type Tally struct {
	mu   sync.Mutex
	last time.Time
}

var (
	seen  = map[string]int{}
	known sync.Map
	calls atomic.Int64
	bufs  = sync.Pool{New: func() any { return new([]byte) }}
)

func (c *Tally) Sum(s string) int {
	c.note(s)
	sum := 0
	for i := range s {
		sum += int(s[i])
	}
	return sum
}

func (c *Tally) note(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	calls.Add(1)
	put(s, get(s)+1)
	if _, ok := known.Load(s); !ok {
		known.Store(s, len(s))
	}
	b := bufs.Get().(*[]byte)
	*b = append((*b)[:0], s...)
	bufs.Put(b)
}

func get(s string) int { return seen[s] }

func put(s string, n int) { seen[s] = n }
`

// TestCalleesKeep checks that copies of callees may keep state in place, and that neither the
// target's own text nor another function gets at that state.
func TestCalleesKeep(t *testing.T) {
	u := lone(t, tallySource, "./.Tally.Sum")
	wide, copies := u.Copies.Widen(u.Target.Source)
	if len(copies) != 3 {
		t.Fatalf("copies %v of\n%s", copies, wide)
	}
	changed := strings.NewReplacer("len(s))", "len(s[0:]))", "return seen[s]", "return seen[s[0:]]",
		"seen[s] = n", "seen[s[0:]] = n").Replace(wide)
	static(t, u, "changed copies", changed, true, beagle.Equal)
	static(t, u, "changed copies, with records", changed, false, beagle.Forbidden)
	for name, first := range map[string]string{
		"results in the callees' map":      "if n := seen[s]; n < 0 {\nreturn -n\n}",
		"results in their sync.Map":        "if n, ok := known.Load(s + \"#\"); ok {\nreturn n.(int)\n}",
		"results by their own functions":   "if n := get(s + \"#\"); n > 0 {\nreturn n\n}\nput(s+\"#\", 1)",
		"results by copies":                "if n := getForSum(s + \"#\"); n > 0 {\nreturn n\n}",
		"what they count":                  "if calls.Add(0) > 1000 {\nreturn 0\n}",
		"what they put back":               "if string(*bufs.Get().(*[]byte)) == s {\nreturn 0\n}",
		"the clock":                        "if time.Now().Year() > 2050 {\nreturn 0\n}",
		"a function of its own in between": "if more(s) > 1000 {\nreturn 0\n}",
	} {
		cheat := strings.Replace(changed, "\tsum := 0\n", first+"\n\tsum := 0\n", 1)
		if strings.Contains(first, "more(") {
			cheat += "\nfunc more(s string) int { return getForSum(s) }\n"
		}
		static(t, u, name, cheat, true, beagle.Forbidden)
	}
	// A copy with another head could hand on what it keeps.
	told := strings.NewReplacer("tallyNoteForSum(c, s)", "was := tallyNoteForSum(c, s)", "sum := 0", "sum := 0 * was",
		"tallyNoteForSum(c *Tally, s string) {",
		"tallyNoteForSum(c *Tally, s string) (was int) {\nwas = seen[s]").Replace(changed)
	told = strings.Replace(told, "bufs.Put(b)", "bufs.Put(b)\nreturn was", 1)
	static(t, u, "a copy with a result more", told, true, beagle.Forbidden)
}

const widthSource = `package k

import (
	"crypto/subtle"
	"io"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"unicode"
)

var (
	Wide   bool
	width  [256]byte
	digits = map[rune]int{'0': 1}
	last   int
	pair   [2]int
	form   = regexp.MustCompile("^[a-z]+$")
	swaps  = strings.NewReplacer("a", "b")
	lent   = []int{1, 2}
	Names  = map[string]int{"a": 1}
	marks  = []*unicode.RangeTable{unicode.Letter}
	ranked = []string{"b", "a"}
	masked = []byte{0}
	trace  = []byte{0}
)

var other []int

func init() { width['a'] = 1 }

func Lend() { other = lent; other[0]++ }

type noter interface{ note(n int) }

type pairs struct{}

func (pairs) note(n int) { pair[0] = n }

func Of(s string, n noter) int {
	n.note(len(s))
	return sum(s)
}

// Others keeps all this out of the target's own file.
func Others(s string) int {
	return sum(s) + int(width[0]) + digits[0] + last + pair[0] + lent[0] + one(s[0]) + len(form.String()) +
		Names[s] + len(marks) + len(ranked[0]) + int(masked[0]) + int(trace[0])
}

func sum(s string) int {
	n := 0
	if !form.MatchString(s) {
		return lent[0]
	}
	for i, r := range s {
		n += one(s[i]) + digits[r]
		if unicode.IsOneOf(marks, r) {
			n++
		}
	}
	sort.Strings(ranked)
	swaps.WriteString(io.Discard, s)
	n += 0 * (subtle.XORBytes(masked, masked, []byte(s)) + runtime.Stack(trace, false))
	if known, ok := Names[s]; ok {
		return known
	}
	last = n
	return n + pair[1]
}

func one(c byte) int {
	if Wide {
		return 2 * int(width[c])
	}
	return int(width[c])
}
`

// TestReachedVariables checks that a version may read a variable that all functions which the
// original reaches only read, with records too, and no other variable that they use.
func TestReachedVariables(t *testing.T) {
	u := lone(t, widthSource, "./.Of")
	const head = "package k\n\nimport \"unicode\"\n\nfunc Of(s string, n noter) int {\n" +
		"n.note(len(s) + 0*unicode.MaxASCII)\n"
	const tail = "\nreturn sum(s)\n}\n"
	for _, c := range []struct {
		name, text string
		status     beagle.Status
	}{
		{"a variable that users set", "if Wide {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"a table that init fills", "if len(s) == 1 && width[s[0]] == 0 {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"a map that nobody fills", "if digits['1'] == 0 {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"a map that is asked whether it has a key", "if Names[\"#\"] == 0 {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"a list that a library only reads", "if unicode.IsOneOf(marks, '#') {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"a list that a library sorts", "if ranked[0] == \"a\" {\nreturn sum(s[0:])\n}", beagle.Forbidden},
		{"a list that a library changes", "if masked[0] > 9 {\nreturn sum(s[0:])\n}", beagle.Forbidden},
		{"a list that the runtime fills", "if trace[0] > 9 {\nreturn sum(s[0:])\n}", beagle.Forbidden},
		{"a pattern", "if form.MatchString(s) {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"a replacer that writes elsewhere", "if swaps.Replace(s) == \"\" {\nreturn sum(s[0:])\n}", beagle.Equal},
		{"another replacer", "swaps = nil", beagle.Forbidden},
		{"what a callee leaves", "if last > 9 {\nreturn sum(s[0:])\n}", beagle.Forbidden},
		{"what a value's method leaves", "if pair[0] > 9 {\nreturn sum(s[0:])\n}", beagle.Forbidden},
		{"what others may change", "if lent[0] > 9 {\nreturn sum(s[0:])\n}", beagle.Forbidden},
		{"a variable as memory", "if width[s[0]] == 0 {\nwidth[s[0]] = 1\n}", beagle.Forbidden},
		{"a map as memory", "if digits['#'] > 0 {\nreturn digits['#']\n}\ndigits['#'] = sum(s)", beagle.Forbidden},
		{"a setting as memory", "Wide = len(s) > 3", beagle.Forbidden},
		{"its address", "p := &Wide\n*p = true", beagle.Forbidden},
		{"another pattern's state", "form.Longest()", beagle.Forbidden},
	} {
		static(t, u, c.name, head+c.text+tail, false, c.status)
	}
}

// TestOthersWrite checks that a version may not read what code writes that the text of the
// original does not lead to: it runs through values, interfaces and addresses.
func TestOthersWrite(t *testing.T) {
	for _, c := range []struct{ name, decls, call string }{
		{"a function in a list", "var hooks = []func(int){hook}\nfunc hook(n int) { left = n }", "hooks[0](len(s))"},
		{"a function that init hands over", `var hooks []func(int)
func init() { hooks = append(hooks, func(n int) { left = n }) }`, "hooks[0](len(s))"},
		{"a method that a library calls", `type text struct{ n int }
func (x text) String() string { left = x.n; return "" }`, "fmt.Sprint(text{len(s)})"},
		{"what a method calls", `type noter interface{ note(n int) }
type pairs struct{}
func (pairs) note(n int) { deeper(n) }
func deeper(n int) { left = n }
var n noter = pairs{}`, "n.note(len(s))"},
		{"a generic caller", `func apply[F ~func(int)](f F, n int) { f(n) }
func generic(n int) { left = n }
func pick() any { return chosen }
var chosen any = generic`, "apply(pick().(func(int)), len(s))"},
		{"an address that init takes", "var ptr *int\nfunc init() { ptr = &left }", "*ptr = len(s)"},
		{"a method that keeps an address", `type level int
func (l *level) keep() { kept = l }
var left level
var kept *level
func init() { left.keep() }`, "*kept = level(len(s))"},
		{"a goroutine of the start", "func init() { go tick() }\nfunc tick() { for { left++ } }", ""},
		{"a list of another list", `var shared = [4]int{}
var left = [][]int{shared[:]}
func bump() { shared[0]++ }`, "bump()"},
		{"a list of another variable", `var shared = []int{1}
var left = shared
func bump() { shared[0]++ }`, "bump()"},
	} {
		text := "package k\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint\n" + c.decls
		use := "int(left)"
		switch {
		case strings.Contains(text, "left = [][]"):
			use = "left[0][0]"
		case strings.Contains(text, "left = shared"):
			use = "left[0]"
		case !strings.Contains(text, "var left"):
			text += "\nvar left int\n"
		}
		u := lone(t, text+`

func Of(s string) int { return sum(s) }

func Others(s string) int { return sum(s) } // sum is not the target's own

func sum(s string) int {
	`+c.call+`
	return `+use+`
}
`, "./.Of")
		static(t, u, c.name, "package k\n\nfunc Of(s string) int {\nif "+use+
			" > 9 {\nreturn sum(s[0:])\n}\nreturn sum(s)\n}\n", false, beagle.Forbidden)
	}
}

const sumSource = `package k

func Valid(s string) bool { return fold(s) == 1 && first(map[string]int{s: 1}) }

func fold(s string) uint32 {
	h := uint32(1)
	for i := range len(s) {
		h = (h>>25 ^ h<<5) * 16777619 ^ uint32(s[i])
	}
	return h
}

func first(m map[string]int) bool {
	for _, n := range m {
		return n > 0
	}
	return false
}

func Others(s string) (uint32, bool) { return fold(s), first(nil) }
`

// TestCalleesDecide checks that a version may decide by a digest where the original does with a
// callee's digest, and end a walk over a map where a callee does, and nowhere else.
func TestCalleesDecide(t *testing.T) {
	u := lone(t, sumSource, "./.Valid")
	wide, copies := u.Copies.Widen(u.Target.Source)
	if len(copies) != 2 {
		t.Fatalf("copies %v of\n%s", copies, wide)
	}
	changed := strings.NewReplacer("h>>25 ^ h<<5", "h<<5 ^ h>>25", "n > 0", "n >= 1").Replace(wide)
	more := "\nfunc more(s, t string) bool { return foldForValid(s) == foldForValid(t) }\n"
	walk := "\nfunc walk(m map[string]int) (k string) { for k = range m { break }; return k }\n"
	for _, c := range []struct {
		name, text string
		status     beagle.Status
	}{
		{"changed copies", changed, beagle.Equal},
		{"equality by a digest elsewhere", strings.Replace(changed, "foldForValid(s) == 1",
			"foldForValid(s) == 1 && more(s, s)", 1) + more, beagle.Forbidden},
		{"an order in the caller of its walk", strings.Replace(changed, "firstForValid(map[string]int{s: 1})",
			"func(m map[string]int) bool { for _, n := range m { return n > 0 }; return false }(map[string]int{s: 1})", 1),
			beagle.Equal},
		{"an order elsewhere", strings.Replace(changed, "foldForValid(s) == 1",
			"foldForValid(s) == 1 && walk(nil) == s", 1) + walk, beagle.Forbidden},
	} {
		static(t, u, c.name, c.text, false, c.status)
		static(t, u, c.name, c.text, true, c.status)
	}
}

// TestCalleesDoDeep: a search widens again what a step before left, so a version may hold copies
// that the original's first ones do not reach, and copies of functions that take no time.
func TestCalleesDoDeep(t *testing.T) {
	text := `package k

import "time"

type List struct{ held []int }

func (l *List) Add(n int) { l.keep(n); l.a(n) }
func (l *List) a(n int)   { l.b(n + 1) }
func (l *List) b(n int)   { l.c(n + 1) }
func (l *List) c(n int)   { l.d(n + 1) }
func (l *List) d(n int)   { l.e(n + 1) }
func (l *List) e(n int)   { l.keep(n + 1) }

func (l *List) keep(n int) {
	l.held = append(l.held, n+time.Now().Second())
}
`
	u := lone(t, text, "./.List.Add")
	u.Copies.Share = func(string) float64 { return 0 }
	first, _ := u.Copies.Widen(u.Target.Source)
	if strings.Contains(first, "listEForAdd") {
		t.Fatalf("the first step reaches all: the test shows nothing\n%s", first)
	}
	second, _ := u.Copies.Widen(strings.Replace(first, "n + 1", "1 + n", 1))
	third, _ := u.Copies.Widen(strings.Replace(second, "n + 1", "1 + n", 1))
	if !strings.Contains(third, "listEForAdd") {
		t.Fatalf("the third step does not reach all\n%s", third)
	}
	static(t, u, "a later step's copies", strings.ReplaceAll(third, "n + 1", "1 + n"), true, beagle.Equal)
}

// TestHelpersDigest checks that a version may not take values for equal because a function of the
// rest of the package digests both to one number.
func TestHelpersDigest(t *testing.T) {
	for _, own := range []string{"s[0] == 'a'", "len(t) == 1 && fold(s) > 9"} {
		u := lone(t, strings.Replace(sumSource, "return fold(s) == 1 && first(map[string]int{s: 1})",
			"t := s[1:]; return "+own+" && s == t", 1), "./.Valid")
		text := "package k\n\nfunc Valid(s string) bool { t := s[1:]; return " + own + " && fold(s) == fold(t) }\n"
		static(t, u, "digests for equality", text, false, beagle.Forbidden)
		static(t, u, "a test in front", strings.Replace(text, "== fold(t)", "== fold(t) && s == t", 1), false,
			beagle.Equal)
	}
}

// lone loads a function of a module of one file.
func lone(t *testing.T, text, spec string) *source.Unit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/k\n\ngo 1.26\n", "k.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: spec, InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// static checks what reading a version says of it.
func static(t *testing.T, u *source.Unit, name, text string, inPlace bool, want beagle.Status) {
	t.Helper()
	text, err := u.Reader.Normalize(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	e := &Env{Unit: u, Dir: t.TempDir(), InPlace: inPlace}
	v, err := Static(t.Context(), e, beagle.NewCandidate(text, nil, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != want && (want != beagle.Equal || v.Reason != "") {
		t.Errorf("%s: %s, want %s: %s\n%s", name, v.Status, want, v.Reason, text)
	}
}

// circle has two functions that call each other, and one by itself.
const circle = `package p

func Walk(s string) int { return even(s) + size(s) }

func Other(s string) int { return even(s) + odd(s) + size(s) }

func even(s string) int {
	if len(s) == 0 {
		return 0
	}
	return odd(s[1:])
}

func odd(s string) int {
	if len(s) == 0 {
		return 1
	}
	return even(s[1:])
}

func size(s string) int {
	n := 0
	for range s {
		n++
	}
	return n
}
`

// TestAlone reads functions that call each other in a circle once: no version has one without the
// others.
func TestAlone(t *testing.T) {
	u := lone(t, circle, "Walk")
	e := &Env{Unit: u, InPlace: true}
	wide, copies := u.Copies.WidenWhole(u.Target.Source)
	if list := e.soloOriginals(wide, copies); len(copies) != 3 || len(list) != 2 {
		t.Errorf("%d texts with one of %q alone: %q", len(list), copies, list)
	}
}

// kindSource has a callee that reflects, as decoders do.
const kindSource = `package k

import "reflect"

type Options struct{ Weak bool }

type sized interface{ Size() int }

func (o Options) Decode(v reflect.Value, n int) int {
	if group(v) == reflect.Int && o.Weak {
		return n + 1
	}
	return run(v) + n
}

func group(v reflect.Value) reflect.Kind {
	kind := v.Kind()
	if kind >= reflect.Int && kind <= reflect.Int64 {
		return reflect.Int
	}
	return kind
}

func run(v reflect.Value) int {
	if v.Kind() != reflect.Func {
		return 0
	}
	return len(v.Call(nil))
}

func Other(v reflect.Value) bool { return group(v) == reflect.Bool && run(v) > 0 }
`

// TestCalleesReflect checks that a version may read values by reflection as callees do, and that
// reflection lets it keep nothing, run nothing anew, and look at no name.
func TestCalleesReflect(t *testing.T) {
	u := lone(t, kindSource, "./.Options.Decode")
	wide, copies := u.Copies.Widen(u.Target.Source)
	if len(copies) != 2 {
		t.Fatalf("copies %v of\n%s", copies, wide)
	}
	spliced := strings.Replace(wide, "groupForDecode(v) == reflect.Int",
		"kind := v.Kind(); kind >= reflect.Int && kind <= reflect.Int64", 1)
	static(t, u, "the callee's code in the target", spliced, true, beagle.Equal)
	static(t, u, "a changed copy", strings.Replace(wide, "kind <= reflect.Int64", "reflect.Int64 >= kind", 1), true,
		beagle.Equal)
	for name, first := range map[string]string{
		"a variable set by reflection":  "if reflect.ValueOf(&kept).Elem().SetInt(1); kept > 1 {\nreturn 0\n}",
		"a call of the callee's":        "if v.Kind() == reflect.Func {\nreturn len(v.Call(nil))\n}",
		"an address":                    "if v.Kind() == reflect.Slice && v.Pointer() > 1<<40 {\nreturn 0\n}",
		"the name of a type of its own": "if reflect.TypeOf(own{}).Name() == \"own\" {\nreturn 0\n}",
		"what no callee asks":           "if v.NumMethod() > 3 {\nreturn 0\n}",
	} {
		cheat := strings.Replace(spliced, "\tif kind := ", "\t"+first+"\n\tif kind := ", 1)
		if cheat == spliced {
			t.Fatalf("no place for %s in\n%s", name, spliced)
		}
		static(t, u, name, cheat+"\nvar kept int\n\ntype own struct{}\n", true, beagle.Forbidden)
	}
}

// TestMethodsByName reads a version that calls a method by name. The original names its type alone,
// and the library calls the method through an interface.
func TestMethodsByName(t *testing.T) {
	u := lone(t, `package k

import "sort"

type list []string

func (l list) Len() int           { return len(l) }
func (l list) Less(i, j int) bool { return len(l[i]) < len(l[j]) }
func (l list) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

func Sort(names []string) { sort.Sort(list(names)) }

func First(names []string) bool { return sort.IsSorted(list(names)) }
`, "Sort")
	const pair = "l := list(names)\n\tif len(l) == 2 && l.Less(1, 0) {\n\t\tl.Swap(0, 1)\n\t\treturn\n\t}\n" +
		"\tsort.Sort(l)"
	static(t, u, "two names", strings.Replace(u.Target.Source, "sort.Sort(list(names))", pair, 1), false, beagle.Equal)
}
