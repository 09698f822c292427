package source

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// abroad returns a module whose parser hashes by a function of another package.
func abroad(t *testing.T, across bool) *Unit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module ex.com/m\n\ngo 1.24\n",
		"hash/hash.go": `package hash

import "math/bits"

const (
	first  = 3
	second = 5
)

// Sum hashes.
func Sum[T string | []byte](s T, seed uint64) uint64 {
	for i := range len(s) {
		seed = mix(seed, uint64(s[i]))
	}
	return seed
}

func mix(a, b uint64) uint64 { return bits.RotateLeft64(a*first, 7) ^ b*second }

// Twice shares its name with the function that does the work.
func Twice(n int) int { return twice(n) }

func twice(n int) int { return 2 * n }

// Kept keeps state.
func Kept(s string) int { calls++; return calls }

var calls int

type Pair struct{ A, b int }

// Of makes a type of the package.
func Of(n int) Pair { return Pair{n, n} }

func Other() int { return first }

const (
	half  = third << (^uint(0) >> 63)
	third = 4
)

// Word depends on the size of a word by a constant that Halves uses, too.
func Word(n int) int { return n * half }

func Halves() int { return half }
`,
		"hash/fold_" + runtime.GOOS + ".go": `package hash

// Fold is another function on other systems.
func Fold(n int) int { return n<<3 ^ n }
`,
		"parse/parse.go": `package parse

import "ex.com/m/hash"

type Parser struct{ sum uint64 }

func (p *Parser) Line(s string) uint64 {
	p.take(s)
	return p.sum + hash.Sum([]byte(s), 7) + uint64(hash.Kept(s)+hash.Of(1).A) + uint64(hash.Word(3)+hash.Fold(4)+hash.Twice(5))
}

func (p *Parser) take(s string) { p.sum += hash.Sum(s, 1) }
`,
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := Load(t.Context(), Options{Dir: dir, Spec: "./parse.Parser.Line", InPlace: true, Across: across})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestWidenAcross copies a hash of another package with its helpers and constants, and neither what
// keeps state there, what makes a type of it, nor what other systems have otherwise. Unchanged
// copies are taken back.
func TestWidenAcross(t *testing.T) {
	u := abroad(t, true)
	wide, copies := u.Copies.Widen(u.Target.Source)
	for _, want := range []string{"hashSumForLine([]byte(s), 7)", "p.sum += hashSumForLine(s, 1)",
		"func hashMixForLine(a, b uint64)", "a*hashFirstForLine", `"math/bits"`, "hash.Kept(s)", "hash.Of(1).A",
		"hash.Word(3)", "hash.Fold(4)", "hashTwiceForLine(5)", "return hashTwice2ForLine(n)",
		"// hashSumForLine is hash.Sum as Parser.Line needs it."} {
		if !strings.Contains(wide, want) {
			t.Errorf("%q is missing in\n%s", want, wide)
		}
	}
	want := "parserTakeForLine hashSumForLine hashMixForLine hashTwiceForLine hashTwice2ForLine"
	if got := strings.Join(copies, " "); got != want {
		t.Errorf("copies: %s", got)
	}
	for name, want := range map[string]string{"parserTakeForLine": "Parser.take", "hashSumForLine": "ex.com/m/hash.Sum",
		"hashMixForLine": "ex.com/m/hash.mix", "hashFirstForLine": "", "hashTwiceForLine": "ex.com/m/hash.Twice",
		"hashTwice2ForLine": "ex.com/m/hash.twice"} {
		if got := u.Copies.CopyOf(name); got != want {
			t.Errorf("%s is a copy of %q, want %q", name, got, want)
		}
	}
	if again, added := u.Copies.Widen(wide); again != wide || len(added) != 0 {
		t.Errorf("widened again: %q\n%s", added, again)
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("%v\n%s", err, back)
	}
	changed := strings.Replace(wide, "7) ^ b", "9) ^ b", 1)
	kept, err := u.Copies.Narrow(changed)
	if err != nil || !strings.Contains(kept, "9) ^ b") || !strings.Contains(kept, "parserTakeForLine(p, s)") {
		t.Errorf("%v\n%s", err, kept)
	}
	if _, problem := u.Reader.Parse(kept); problem != nil {
		t.Error(problem.Message)
	}
	if wide, _ := abroad(t, false).Copies.Widen(u.Target.Source); strings.Contains(wide, "hashSum") {
		t.Errorf("another package is copied unasked:\n%s", wide)
	}
}

// TestQualifiedAbroad: a function of another package that uses exported types and constants of that
// package names them there. One that uses what only its package may is left where it is.
func TestQualifiedAbroad(t *testing.T) {
	dir := module(t, `
-- go.mod --
module ex.com/m

go 1.24
-- line/line.go --
package line

type Kind uint8

const (
	Metric Kind = iota
	Event
)

type Pair struct {
	A int
	b int
}

type hidden int

func KindOf(s string) Kind {
	switch {
	case len(s) > 2 && s[:2] == "_e":
		return Event
	}
	return Metric
}

func Named(n int) Pair { return Pair{A: n} }

func ByPlace(n int) Pair { return Pair{n, n} }

func ByPlaces(n int) []*Pair { return []*Pair{{n, n}} }

func Embedded(k Kind) Kind { return struct{ Kind }{k}.Kind }

func Hidden(n int) int { return int(hidden(n)) }

func Local(line int) Kind { return Kind(line) }

func Switched(v any) Kind {
	switch line := v.(type) {
	case interface{ Kind(int) Kind }:
		return line.Kind(int(Kind(1)))
	}
	return Metric
}
-- p.go --
package p

import "ex.com/m/line"

func Get(s string) (line.Kind, int) {
	n := len(s)
	return line.KindOf(s) + line.Embedded(1) + line.Local(n) + line.Switched(n),
		line.Named(n).A + line.ByPlace(n).A + line.ByPlaces(n)[0].A + line.Hidden(n)
}
`)
	u, err := Load(t.Context(), Options{Dir: dir, Spec: ".Get", InPlace: true, Across: true})
	if err != nil {
		t.Fatal(err)
	}
	wide, _ := u.Copies.Widen(u.Target.Source)
	for _, want := range []string{"lineKindOfForGet(s) + line.Embedded(1) + line.Local(n) + line.Switched(n)",
		"lineNamedForGet(n).A + line.ByPlace(n).A + line.ByPlaces(n)[0].A + line.Hidden(n)",
		"func lineKindOfForGet(s string) line.Kind", "return line.Event", "return line.Pair{A: n}"} {
		if !strings.Contains(wide, want) {
			t.Errorf("%q is missing in\n%s", want, wide)
		}
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("%v\n%s", err, back)
	}
	kept, err := u.Copies.Narrow(strings.Replace(wide, "len(s) > 2", "len(s) >= 2", 1))
	if err != nil || !strings.Contains(kept, "lineKindOfForGet(s) + line.Embedded(1)") {
		t.Errorf("%v\n%s", err, kept)
	}
	if _, problem := u.Reader.Parse(kept); problem != nil {
		t.Error(problem.Message)
	}
}

// TestNamesakesAbroad: functions of two packages with one name, and a method whose copy's name
// would be that of another package's function, all get copies. Unchanged ones are taken back.
func TestNamesakesAbroad(t *testing.T) {
	dir := module(t, `
-- go.mod --
module ex.com/m

go 1.24
-- a/cut/cut.go --
package cut

func First(s string) string { return s[:len(s)/2] }
-- b/cut/cut.go --
package cut

func First(s string) string { return s[:len(s)/3] }
-- p.go --
package p

import (
	half "ex.com/m/a/cut"
	third "ex.com/m/b/cut"
)

type Cut string

func (c Cut) First() string { return string(c[:len(c)/4]) }

func Get(s string) string { return third.First(s) + half.First(s) + Cut(s).First() }

func Other(s string) string { return Cut(s).First() }
`)
	u, err := Load(t.Context(), Options{Dir: dir, Spec: ".Get", InPlace: true, Across: true})
	if err != nil {
		t.Fatal(err)
	}
	wide, _ := u.Copies.Widen(u.Target.Source)
	if want := "cut2FirstForGet(s) + cutFirst2ForGet(s) + cutFirstForGet(Cut(s))"; !strings.Contains(wide, want) {
		t.Errorf("%q is missing in\n%s", want, wide)
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("%v\n%s", err, back)
	}
}
