package verify

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/effects"
)

// TestHelpers checks that a version may use a helper of its package that has no effect beside its
// result.
func TestHelpers(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/h\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), `package p

import "time"

func Lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}

type text string

func (t text) Lower() string { return Lower(string(t)) }

func lowerByte(c byte) byte {
	if table[c] != 0 {
		return table[c]
	}
	return c
}

var table = [256]byte{'A': 'a', 'B': 'b'}

var seen = map[string]int{}

var base = []byte{1}

var view = base[:1]

var Open = []string{"a"}

func Use(s string) int { return int(lowerByte(s[0])) + count(s) + len(view) + len(Open) + int(base[0]) + int(stamp()) }

func count(s string) int { seen[s]++; return seen[s] }

func stamp() int64 { return time.Now().Unix() }

func fill(b []byte) { clear(b) }

func Fill(b []byte) { fill(b); view[0]++ }

var attic, moved = [][]byte{{1}}, [][]byte{}

func Move() { moved = attic }

func Change() { moved[0][0]++ }
`)
	env := environment(t, dir, "./p.Lower")
	for body, want := range map[string]string{
		`b := []byte(s); for i, c := range b { b[i] = lowerByte(c) }; return string(b)`: "",
		`return s[:int(table[0])]`:                  "",
		`b := []byte(s); fill(b); return string(b)`: "",
		`fill(table[:]); return s`:                  "table",
		`return s[count(s):]`:                       "count",
		`return s[int(stamp()):]`:                   "stamp",
		`return s[seen[s]:]`:                        "seen",
		`return s[int(base[0]):]`:                   "base",
		`return Open[0]`:                            "Open",
		`g := count; return s[g(s):]`:               "count",
		`return s[:Use(s)]`:                         "Use",
		`return s[int(attic[0][0]):]`:               "attic",
		`b := []byte(s); func(f func([]byte)) { f(b) }(fill); return string(b)`: "",
		`func(f func([]byte)) { f(table[:]) }(fill); return s`:                  "table",
	} {
		c := beagle.NewCandidate("package p\n\nfunc Lower(s string) string { "+body+" }\n", nil, nil)
		v, err := Static(t.Context(), env, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.OK() != (want == "") || !strings.Contains(v.Reason, want) {
			t.Errorf("%s\n\twant %q, got %+v", body, want, v)
		}
	}
}

// TestHelpersOfALargePackage checks a package that is too large to be analysed as a whole. Each
// helper that may be pure is analysed with its callees, and the writes of a helper stay known.
func TestHelpersOfALargePackage(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/h\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), `package p

import "regexp"

func F(b []byte) []byte { if box := new(box); box.sized(b) > 0 { return box.b }; return b }

type box struct{ b []byte }

func (x *box) sized(b []byte) int { x.b = b; calls++; return x.tail() }

func (x *box) tail() int { return len(x.b) }

func strip(b []byte) []byte {
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	return b
}

func space(c byte) bool { return c == ' ' }

func zero(b []byte) { once(b, func(i int) { b[i] = 0 }) }

func once(b []byte, f func(int)) {
	if len(b) > 0 {
		f(0)
	}
}

var calls int

func counted(b []byte) int { calls++; return len(b) }

func through(b []byte) int { return counted(b) }

var (
	powers  = [...]float64{1, 10, 100}
	names   = []string{"a", "b"}
	codes   = map[string]int{"a": 1}
	rows    = [2]struct{ low, high int }{{1, 2}, {3, 4}}
	view    = backing[:2]
	backing = []int{1, 2, 3}
	written = [4]int{}
	given   = []byte{1}
	pointed = [4]int{}
	form    = regexp.MustCompile("a")
	handed  = regexp.MustCompile("b")
	longest = regexp.MustCompile("c")
)

func matches(p *regexp.Regexp) bool {
	longest.Longest()
	return form.MatchString("a") && longest.MatchString("c") && handed == p
}

func uses(i int) float64 {
	written[i]++
	zero(given)
	for _, name := range names {
		i += codes[name] + len(codes)
	}
	p := &pointed
	return powers[i] + float64(rows[i].high+view[i]+backing[i]+p[0])
}
`)
	h := &helpers{summaries: map[string]*effects.Summary{}, pure: map[string]bool{}, constant: map[string]bool{}}
	if err := h.read(environment(t, dir, "./p.F").Unit.Package, "F", false); err != nil {
		t.Fatal(err)
	}
	for name, pure := range map[string]bool{"strip": true, "space": true, "zero": true, "counted": false,
		"through": false} {
		if got := h.pure["ex.com/h/p."+name]; got != pure {
			t.Errorf("%s: pure %v, want %v", name, got, pure)
		}
	}
	for name, constant := range map[string]bool{"powers": true, "names": true, "codes": true, "rows": true,
		"view": false,
		"form": true, "handed": false, "longest": false,
		"backing": false, "written": false, "given": false, "pointed": false, "calls": false} {
		if got := h.constant["ex.com/h/p."+name]; got != constant {
			t.Errorf("%s: constant %v, want %v", name, got, constant)
		}
	}
	if s := h.summaries["ex.com/h/p.zero"]; s == nil || len(s.Writes) == 0 {
		t.Errorf("that zero writes to its argument is not known: %v", s)
	}
	if s := h.summaries["ex.com/h/p.box.sized"]; s == nil || len(s.Writes) < 2 || len(s.Stores) == 0 {
		t.Errorf("what a method that the target calls does is not known: %v", s)
	}
}

// TestOneHelperIsTooLarge checks that a function whose analysis takes too long leaves what is known
// of the others.
func TestOneHelperIsTooLarge(t *testing.T) {
	var src strings.Builder
	src.WriteString("package p\n\nfunc F(b []byte) []byte { return b }\n\n" +
		"func space(c byte) bool { return c == ' ' }\n")
	src.WriteString("\ntype node struct { next, other *node; list []*node }\n")
	for n := 10; n <= 100; n += 15 {
		fmt.Fprintf(&src, "\nfunc join%d(x, y *node) *node {\n", n)
		for range n {
			src.WriteString("\tx = &node{x, y, append(x.list, y)}\n\ty = &node{y.other, x.next, x.list}\n")
		}
		src.WriteString("\treturn x\n}\n")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/h\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), src.String())
	h := &helpers{summaries: map[string]*effects.Summary{}, pure: map[string]bool{}, constant: map[string]bool{}}
	if err := h.read(environment(t, dir, "./p.F").Unit.Package, "F", false); err != nil {
		t.Fatal(err)
	}
	if h.summaries["ex.com/h/p.join100"] != nil {
		t.Error("no function is too large: the test shows nothing")
	}
	if h.summaries["ex.com/h/p.space"] == nil || h.summaries["ex.com/h/p.join10"] == nil {
		t.Errorf("what small functions do is not known: %d summaries", len(h.summaries))
	}
}
