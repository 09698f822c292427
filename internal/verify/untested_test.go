package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// frameModule has Frame, which decodes what stands behind a checksum that no search guesses.
const frameModule = `package p

import "errors"

var errShort = errors.New("short")

func Frame(b []byte) (int, error) {
	if len(b) < 16 {
		return 0, errShort
	}
	n := 0
	for _, c := range b[:8] {
		n += int(c)
	}
	if sum(b[8:]) == 0x1234567890abcdef {
		flags := int(b[0])
		if flags&1 == 0 {
			return n, nil
		}
		n += flags << 1
		return n, nil
	} else if n < 0 {
		return 1, nil
	}
	return -n, nil
}

func sum(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
		h ^= h >> 29
	}
	return h
}
`

// changesDrawn is the number of changes that a run tries, drawn anew each time.
const changesDrawn = 3

// changesToFrame holds what the judge says of each.
var changesToFrame = []struct {
	name    string
	edits   []string // pairs
	lines   string   // "" when nothing is refused
	entered string   // in the assurance
	steps   []beagle.Step
}{
	{name: "a constant", edits: []string{"flags << 1", "flags << 2"}, lines: "the changed line 20"},
	{name: "left out", edits: []string{"\t\tn += flags << 1\n", ""},
		lines: "line 20 of the original, which the version leaves out"},
	{name: "added", edits: []string{"flags := int(b[0])\n", "flags := int(b[0])\n\t\tn++\n"}, lines: "the changed line 17"},
	{name: "inner condition", edits: []string{"flags&1 == 0", "flags&3 == 0"}, lines: "the changed lines 17 to 19"},
	{name: "an import with it", edits: []string{"import \"errors\"", "import (\n\t\"errors\"\n\t\"math/bits\"\n)",
		"flags << 1", "bits.Len(uint(flags))"}, lines: "the changed line 23"},
	{name: "reached", edits: []string{"return -n, nil", "return 0 - n, nil"}},
	{name: "layout and comments", edits: []string{"n += flags << 1", "// twice\n\t\tn += flags <<\n\t\t\t1"}},
	{name: "two at once", edits: []string{"flags := int(b[0])", "flags := uint(b[0])", "flags << 1", "int(flags << 1)"},
		lines: "the changed line 16, nor the changed line 20"},
	{name: "with one that is reached", edits: []string{"n := 0", "n := uint(0)", "n += int(c)", "n += uint(c)",
		"flags << 1\n\t\treturn n, nil", "uint(flags << 1)\n\t\treturn int(n), nil",
		"\t\t\treturn n,", "\t\t\treturn int(n),",
		"n < 0", "int(n) < 0", "-n,", "-int(n),"}, entered: "the changed line"},
	{name: "by rules", edits: []string{"flags << 1", "flags * 2"}, entered: "the changed line 20",
		steps: []beagle.Step{{Mutator: "bounds-hint", Class: beagle.E0}}},
	{name: "by a model", edits: []string{"flags << 1", "flags * 2"}, lines: "the changed line 20",
		steps: []beagle.Step{{Mutator: "model"}}},
	{name: "rewritten", edits: []string{"if sum(b[8:]) == 0x1234567890abcdef {", "if x := sum(b[8:]); x == 0x1234567890abcdef {",
		"flags << 1", "flags * 2"}},
}

// TestUntested: a change by itself of what no input reaches is refused; one that
// comes with another, or that an input reaches, is not.
func TestUntested(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/untested\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), frameModule)
	e := environment(t, dir, "./p.Frame")
	for _, c := range sampletest.Of(t, changesToFrame, changesDrawn) {
		t.Run(c.name, func(t *testing.T) {
			src := e.Unit.Target.Source
			pairs := c.edits
			for i := 0; i < len(pairs); i += 2 {
				if !strings.Contains(src, pairs[i]) {
					t.Fatalf("%q is not in the original:\n%s", pairs[i], src)
				}
				src = strings.Replace(src, pairs[i], pairs[i+1], 1)
			}
			v := judgeUntested(t, e, beagle.NewCandidate(src, nil, c.steps))
			t.Log(v.Reason)
			missed := fmt.Sprint(v.Assurance.NotChecked)
			switch {
			case c.lines == "" && !v.OK():
				t.Errorf("%s at %s: %s", v.Status, v.Stage, v.Reason)
			case c.lines != "" &&
				(v.Status != beagle.Forbidden || v.Stage != "untested" || !strings.Contains(v.Reason, c.lines+",")):
				t.Errorf("%s at %s: %s, want a refusal that names %q", v.Status, v.Stage, v.Reason, c.lines)
			case !strings.Contains(missed, c.entered), c.entered == "" && c.lines == "" &&
				strings.Contains(missed, "no input reached"):
				t.Errorf("the assurance is %s, want %q", missed, c.entered)
			}
		})
	}
}

// judgeUntested takes a candidate through the checks that find what no input
// reached.
func judgeUntested(t *testing.T, e *Env, c beagle.Candidate) *beagle.Verdict {
	t.Helper()
	ladder := slices.DeleteFunc(slices.Clone(FullLadder), func(k Check) bool {
		return !slices.Contains([]string{"parse", "compile", "fuzz", "untested"}, k.Name)
	})
	budget := Budget{Fuzz: 300 * time.Millisecond, Exhaust: 300 * time.Millisecond}
	j := &Job{Env: e, Candidate: c, Corpus: &beagle.Corpus{}, Budget: budget.orDefaults()}
	v, err := ladder.climb(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if j.bin != nil {
		j.bin.Remove()
	}
	if j.held != nil {
		j.held.Remove()
	}
	return v
}
