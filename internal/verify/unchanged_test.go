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
	note(s, n)
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
		"a call left out":              {"noteForWidth(s, n)", "if n > 100 {\nnoteForWidth(s, n)\n}"},
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
