package exec

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/proof/term"
	"github.com/beagle-go/beagle/internal/sampletest"
)

var (
	programs = flag.Int("programs", 60, "how many random functions there are to compare with their compiled form")
	seedFlag = flag.Uint64("seed", 1, "of the first random function")
)

// programsDrawn is the number of programs that a run compares.
const programsDrawn = 10

// TestRandomFunctions tests the translation: random functions of the subset, compiled, against
// their terms evaluated. A run tries a third of them, drawn anew each time.
func TestRandomFunctions(t *testing.T) {
	seeds := make([]uint64, *programs)
	for i := range seeds {
		seeds[i] = *seedFlag + uint64(i)
	}
	seeds = sampletest.Of(t, seeds, programsDrawn)
	var text strings.Builder
	text.WriteString(randomHeader)
	for i, seed := range seeds {
		g := &writer{r: rand.New(rand.NewPCG(seed, 7))}
		text.WriteString(g.function(fmt.Sprintf("F%d", i)))
	}
	text.WriteString("var all = []func(int, uint32, int8, string, []byte) (int, uint64, string, []byte, bool){")
	for i := range seeds {
		fmt.Fprintf(&text, "F%d, ", i)
	}
	text.WriteString("}\n")
	cases := randomCases(len(seeds))
	want := compiled(t, text.String(), cases)

	lib := NewLibrary(".")
	prog, err := lib.FromText(text.String(), "F0")
	if err != nil {
		t.Fatal(err)
	}
	followed, known := 0, 0
	for i, c := range cases {
		p := &Program{Target: prog.pkg.Func(fmt.Sprintf("F%d", c.fn)), pkg: prog.pkg, pos: prog.pos}
		got, why := symbolic(t, lib, p, c)
		followed++
		if why != "" {
			if testing.Verbose() {
				t.Logf("F%d(%v) is not known: %s", c.fn, c, why)
			}
			continue
		}
		known++
		if got != want[i] {
			t.Errorf("F%d(%d, %d, %d, %q, %q): the terms say %s, the program says %s\n%s", c.fn, c.a, c.b, c.c, c.s,
				c.p, got, want[i], functionText(text.String(), c.fn))
			if t.Failed() && i > 0 && known > 3 {
				return
			}
		}
	}
	t.Logf("%d of %d calls of %d functions were followed, all alike", known, followed, len(seeds))
	if known < followed*8/10 { // some of the functions have too many states, and a sample may have more of them
		t.Errorf("only %d of %d calls were followed", known, followed)
	}
}

func functionText(text string, fn int) string {
	_, rest, _ := strings.Cut(text, fmt.Sprintf("func F%d(", fn))
	body, _, _ := strings.Cut(rest, "\nfunc ")
	return "func (" + body
}

// A call is the arguments of one.
type call struct {
	fn   int
	a    int64
	b    uint32
	c    int8
	s, p string
}

func randomCases(n int) []call {
	r := rand.New(rand.NewPCG(*seedFlag, 9))
	text := func() string {
		b := make([]byte, r.IntN(7))
		for i := range b {
			switch r.IntN(4) {
			case 0:
				b[i] = byte(r.Uint32())
			case 1:
				b[i] = "é€a0_ \xff\x80\x00"[r.IntN(11)]
			default:
				b[i] = byte('a' + r.IntN(6))
			}
		}
		return string(b)
	}
	var out []call
	for fn := range n {
		for k := range 12 {
			c := call{fn: fn, a: int64(r.Uint64()), b: r.Uint32(), c: int8(r.Uint32()), s: text(), p: text()}
			if k%2 == 0 {
				c.a, c.b = int64(r.IntN(20)-5), uint32(r.IntN(9))
			}
			if k == 3 {
				c.a, c.b, c.c = -1<<63, 1<<32-1, -128
			}
			out = append(out, c)
		}
	}
	return out
}

// compiled runs the calls in a program.
func compiled(t *testing.T, text string, cases []call) []string {
	t.Helper()
	dir := t.TempDir()
	var main strings.Builder
	text = strings.Replace(text, "package p", "package main", 1)
	main.WriteString(strings.Replace(text, "import (", "import (\n\t\"fmt\"\n\t\"os\"", 1))
	main.WriteString(randomMain)
	main.WriteString("var cases = []struct{fn int; a int64; b uint32; c int8; s, p string}{\n")
	for _, c := range cases {
		fmt.Fprintf(&main, "{%d, %d, %d, %d, %q, %q},\n", c.fn, c.a, c.b, c.c, c.s, c.p)
	}
	main.WriteString("}\n")
	for name, body := range map[string]string{"main.go": main.String(), "go.mod": "module ex.com/random\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := osexec.Command("go", "run", "-gcflags=-e", ".")
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.3000s", err, out)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d lines of %d cases", len(lines), len(cases))
	}
	return lines
}

// symbolic runs a call on symbols and evaluates what comes out.
func symbolic(t *testing.T, lib *Library, p *Program, c call) (got, why string) {
	pool := term.NewPool(200_000, nil)
	m := NewMachine(t.Context(), p, lib, pool)
	m.States = 5000
	defer func() {
		switch r := recover().(type) {
		case nil:
		case LimitReached:
			why = r.Why
		case term.Limit:
			why = r.Error()
		default:
			panic(fmt.Sprintf("F%d: %v", c.fn, r))
		}
	}()
	in := m.Input(p.Params(), Shape{len(c.s), len(c.p)})
	values := map[*term.Term]uint64{
		in.Params[0].Term: uint64(c.a),
		in.Params[1].Term: uint64(c.b),
		in.Params[2].Term: uint64(uint8(c.c)),
	}
	for i, b := range in.Params[3].Bytes {
		values[b] = uint64(c.s[i])
	}
	for i := range in.Params[4].Elems {
		values[in.Params[4].Elems[i].Term] = uint64(c.p[i])
	}
	list := m.Run(in)
	e := pool.Eval(values)
	for _, o := range list {
		if e.Value(o.When) == 0 {
			continue
		}
		if got != "" || why != "" {
			t.Errorf("F%d: two outcomes hold at once", c.fn)
		}
		switch o.Kind {
		case Unknown:
			why = o.Why
		case Panicked:
			got = "panic"
		default:
			got = printed(m, e, o)
		}
	}
	if got == "" && why == "" {
		t.Errorf("F%d: no outcome holds", c.fn)
	}
	return got, why
}

func printed(m *Machine, e *term.Evaluation, o *Outcome) string {
	bytes := func(v Value) string {
		var out []byte
		for _, x := range m.contents(&state{heap: o.heap}, v) {
			out = append(out, byte(e.Value(x.(*term.Term))))
		}
		return string(out)
	}
	num := func(i int) uint64 { return e.Value(o.Results[i].(*term.Term)) }
	after := &Slice{At: Ptr{Obj: 1}, Len: len(o.heap[0].(*Agg).Elems)}
	return fmt.Sprintf("%d %d %q %q %v %q", int(num(0)), num(1), bytes(o.Results[2]), bytes(o.Results[3]),
		num(4) == 1, bytes(after))
}

const randomHeader = `package p

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

var _ = bytes.Equal
var _ = binary.LittleEndian
var _ = bits.Len
var _ = strings.HasPrefix
var _ = utf8.RuneLen

var table = [256]uint16{}
var small = []byte("0123456789abcdef")
var words = [4]string{"", "a", "bc", "bcd"}

func init() {
	for i := range table {
		table[i] = uint16(i*i>>3) ^ 0x55
	}
}

type pair struct {
	x int
	y byte
	n [3]uint32
}

func (p *pair) add(k int) int { p.x += k; p.n[k&1]++; return p.x }
func (p pair) sum() int       { return p.x + int(p.y) + int(p.n[0]) + 2*int(p.n[1]) }

func id[T any](x T) T { return x }

func twice(f func(int) int, n int) int { return f(f(n)) }

func helper(s string, k int) (int, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == byte(k) {
			return i, true
		}
	}
	return len(s), false
}
`

const randomMain = `
func try(fn int, a int64, b uint32, c int8, s, p string) {
	defer func() {
		if recover() != nil {
			println2("panic")
		}
	}()
	buf := make([]byte, len(p))
	copy(buf, p)
	buf = buf[:len(p):len(p)]
	r0, r1, r2, r3, r4 := all[fn](int(a), b, c, s, buf)
	println2(fmt.Sprintf("%d %d %q %q %v %q", r0, r1, r2, r3, r4, buf))
}

func println2(s string) { os.Stdout.WriteString(s + "\n") }

func main() {
	for _, c := range cases {
		try(c.fn, c.a, c.b, c.c, c.s, c.p)
	}
}
`
