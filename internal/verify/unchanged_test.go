package verify

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// onceSource has callees with a table that the first call fills, and with a count of calls.
const onceSource = `package k

import (
	"sync"
	"sync/atomic"
)

var (
	once   sync.Once
	widths []int
	calls  atomic.Int64
	seen   = map[string]int{}
)

func Width(s string) int {
	n := 0
	for _, r := range s {
		if r == ' ' {
			continue
		}
		n += wide(r)
	}
	size := len(s)
	note(s, size)
	mark([]byte(s))
	return n
}

func wide(r rune) int {
	once.Do(fill)
	x := int(r)
	if x < len(widths) {
		return widths[x]
	}
	return twice(r)
}

func twice(r rune) int {
	weight := int64(1)
	calls.Add(weight)
	x := int(r)
	return x * 2
}

func note(s string, n int) {
	if n > 100 {
		seen[s] = seen[s] + 1
	}
	m := 0
	for i := range s {
		if s[i] == 'x' {
			m++
		}
	}
	_ = m
}

func mark(b []byte) {
	copied := len(b)
	seen[string(b)] = copied
}

func fill() { widths = append(widths, 1, 2) }

func Others(s string) int { note(s, wide('a')); mark(nil); return twice('b') + wide('c') }
`

// TestUnchanged checks that copies in a version that is compared by records may do what their
// originals do, by the same statements, as often and with the same operands, and nothing else.
func TestUnchanged(t *testing.T) {
	u := lone(t, onceSource, "./.Width")
	wide, copies := u.Copies.Widen(u.Target.Source)
	if len(copies) != 4 {
		t.Fatalf("copies %v of\n%s", copies, wide)
	}
	changed := strings.NewReplacer("return x * 2", "return 2 * x", "s[i] == 'x'", "'x' == s[i]").Replace(wide)
	static(t, u, "changes elsewhere", changed, false, beagle.Equal)
	for name, edit := range map[string][2]string{
		"a count twice":                {"calls.Add(weight)", "calls.Add(weight)\ncalls.Add(weight)"},
		"a count of another size":      {"weight := int64(1)", "weight := int64(r)"},
		"a count in a loop":            {"calls.Add(weight)", "for range 2 {\ncalls.Add(weight)\n}"},
		"a count under a condition":    {"calls.Add(weight)", "if r > 9 {\ncalls.Add(weight)\n}"},
		"a way past the count":         {"weight := int64(1)", "if r < 9 {\nreturn int(2 * r)\n}\nweight := int64(1)"},
		"what was counted":             {"return 2 * x", "if calls.Load() > 9999 {\nreturn 0\n}\nreturn 2 * x"},
		"another value for a callee":   {"twiceForWidth(r)", "twiceForWidth(r&^1) + int(r&1)*2"},
		"the table in the target":      {"n += wideForWidth(r)", "if n < len(widths) {\nn += wideForWidth(r)\n}"},
		"a call left out":              {"noteForWidth(s, size)", "if size > 100 {\nnoteForWidth(s, size)\n}"},
		"results in the callees' map":  {"seen[s] = seen[s] + 1", "seen[s] = n"},
		"a key for its own results":    {"if n > 100 {", "s += \"#\"\nif n > 100 {"},
		"a key by another name":        {"copied := len(b)", "copied := len(b)\na := b\na[0] = '#'"},
		"an end before the last count": {"continue", "break"},
		"another order":                {"once.Do(fill)\n\tx := int(r)", "x := int(r)\n\tx += len(widths)\n\tonce.Do(fill)"},
	} {
		cheat := strings.Replace(changed, edit[0], edit[1], 1)
		if cheat == changed {
			t.Fatalf("no place for %s in\n%s", name, changed)
		}
		static(t, u, name, cheat, false, beagle.Forbidden)
	}
}

// toldSource has callees that give operands to others, and that tell what they keep.
const toldSource = `package k

import (
	"sync/atomic"
	"time"
)

var (
	calls atomic.Int64
	seen  = map[string]int{}
)

func Width(s string) int {
	n := len(s)
	m := table()
	k := size(m, s)
	note(key(s), n)
	if t := stamp(); t > 5 {
		note(s, n)
	}
	mark(s)
	each(s)
	again(s)
	g := grow(s)
	return n + g + k*0
}

func table() map[string]int { return seen }

func size(m map[string]int, s string) int { return len(m) * len(s) }

func key(s string) string { return s + "." }

func note(s string, n int) {
	const weight = 2
	add := func() { calls.Add(weight) }
	add()
	bump()
	seen[s] = seen[s] + n
}

func bump() { calls.Add(1) }

func stamp() int64 { return time.Now().Unix() }

func mark(s string) {
	switch {
	case len(s) < 3:
	case len(s) < 9:
		seen[s] = 3
	}
}

func each(s string) {
	for range 3 {
		seen[s] = 1
		seen["#"] = 2
	}
}

func again(s string) {
	i, j := 0, 0
top:
	j++
	i++
	calls.Add(1)
	if i < 3 {
		goto top
	}
}

func grow(s string) int {
	x := len(s)
	if len(seen) > 1000 {
		calls.Add(1)
	}
	i := 0
	for {
		if calls.Load() > 5000 || i > 3 {
			break
		}
		i++
	}
	c := calls.Add(1)
	c &= 0
	return x*2 + int(c)*0
}

func Others(s string) int {
	table()
	stamp()
	mark(s)
	each(s)
	again(s)
	note(key(s), size(nil, s))
	return grow(s)
}
`

// TestUnchangedValues checks that what copies do outside of a call has the same operands as in the
// original, also where other functions compute them, and that what the copies learn there decides
// nothing else.
func TestUnchangedValues(t *testing.T) {
	u := lone(t, toldSource, "./.Width")
	wide, _ := u.Copies.Widen(u.Target.Source)
	changed := strings.Replace(wide, "\tx := len(s)", "\tx := 0\n\tfor range s {\n\tx++\n\t}\n\tx = len(s)", 1)
	static(t, u, "changes elsewhere", changed, false, beagle.Equal)
	const jump = "top:\n\tj++\n\ti++\n\tcalls.Add(1)"
	for name, edit := range map[string][2]string{
		"a memo in the callees' map": {"return len(m) * len(s)",
			"if n, ok := m[\"#\"+s]; ok {\nreturn n\n}\nm[\"#\"+s] = len(m) * len(s)\nreturn len(m) * len(s)"},
		"a key in the callees' map":    {"return len(m) * len(s)", "m[\"#\"] = len(s)\nreturn len(m) * len(s)"},
		"a key from another function":  {`return s + "."`, `return "." + s`},
		"another constant":             {"const weight = 2", "const weight = 3"},
		"a literal that runs twice":    {"\tadd()\n", "\tadd()\n\tadd()\n"},
		"a literal that counts twice":  {"calls.Add(weight) }", "calls.Add(weight); calls.Add(weight) }"},
		"a function that counts twice": {"{ calls.Add(1) }", "{ calls.Add(1); calls.Add(1) }"},
		"an earlier case":              {"case len(s) < 3:", "case len(s) < 2:"},
		"two loops":                    {"\tseen[\"#\"] = 2\n", "}\nfor range 3 {\nseen[\"#\"] = 2\n"},
		"a label elsewhere":            {jump, "i++\ncalls.Add(1)\ntop:\nj++\ni++"},
		"a clock that decides":         {"noteForWidth(s, n)\n\t}", "noteForWidth(s, n)\nk++\n}"},
		"a clock's value":              {"t > 5 {", "t > 5 {\nk += int(t & 1)"},
		"state that decides":           {"> 1000 {", "> 1000 {\nx = 0"},
		"a count that decides":         {"c &= 0", "if c > 9999 {\nx = 0\n}\nc &= 0"},
		"a count in the result":        {"c &= 0", "c &= 1 << 20"},
		"a loop that state ends":       {"c &= 0", "if i < 2 {\nx = 0\n}\nc &= 0"},
		"a call by another name":       {"\tmarkForWidth(s)\n", "\tmarkForWidth(s)\n\tanother(s)\n"},
	} {
		cheat := strings.Replace(changed, edit[0], edit[1], 1)
		if strings.Contains(cheat, "another(s)") {
			cheat += "\nvar another = markForWidth\n"
		}
		if !strings.Contains(changed, edit[0]) {
			t.Fatalf("no place for %s in\n%s", name, changed)
		}
		static(t, u, name, cheat, false, beagle.Forbidden)
	}
}

// methodSource has a method that an interface leads to.
const methodSource = `package k

import "sync/atomic"

var calls atomic.Int64

type Line struct{ n int }

type sized interface{ Size(n int) int }

func (l *Line) Size(n int) int {
	x := l.n
	if n > 0 {
		count()
		x += 2 * n
	}
	return x
}

func count() {
	x := 1
	x++
	calls.Add(1)
}

func Others(s sized) int { count(); return s.Size(1) }
`

// TestUnchangedMethod checks that a version does not count more by calling itself through an
// interface.
func TestUnchangedMethod(t *testing.T) {
	u := lone(t, methodSource, "./.Line.Size")
	wide, _ := u.Copies.Widen(u.Target.Source)
	changed := strings.Replace(wide, "x := 1\n", "x := 2\n", 1)
	static(t, u, "changes elsewhere", changed, false, beagle.Equal)
	again := "\tif n > 1 {\n\t\tx += 0 * sized(l).Size(1)\n\t}\n"
	cheat := strings.Replace(changed, "\tx := l.n\n", "\tx := l.n\n"+again, 1)
	if cheat == changed {
		t.Fatalf("no place in\n%s", changed)
	}
	static(t, u, "another call of itself", cheat, false, beagle.Forbidden)
}
