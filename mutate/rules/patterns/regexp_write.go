package patterns

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
)

// A pathWriter writes a pathFinder as a Go function.
type pathWriter struct {
	*pathFinder
	name    string // of the function
	pattern string // the variable of the compiled pattern
}

// text writes the function. Its states are those of the finder.
func (w *pathWriter) text() string {
	var out strings.Builder
	slots := 2 * w.groups
	fmt.Fprintf(&out, `// %[1]s finds the first match of %[2]s in s that begins at from or behind it:
// the begin and the end of the match and of each group, or -1. plain is false where it gave up, so
// that package regexp has to look%[3]s.
func %[1]s(s string, from int) (m [%[4]d]int, found, plain bool) {
`, w.name, w.pattern, w.why(), slots)
	if w.anchored() {
		out.WriteString("if from > 0 {\nreturn m, false, true\n}\n")
	}
	if w.back {
		fmt.Fprintf(&out, `steps := 8*len(s) + 64 // before it gives up
type way struct {
	at    [%d]int
	i     int
	state uint8
}
var ways [%d]way // to go back to
`, slots, maxBack)
	}
	if w.anchored() {
		out.WriteString("const start = 0\n")
	} else {
		out.WriteString("for start := from; ; start++ {\n" + w.skip())
	}
	fmt.Fprintf(&out, "at := [%d]int{start%s}\ni, state := start, uint8(%d)\n", slots,
		strings.Repeat(", -1", slots-1), w.begin())
	if !w.anchored() && !w.oneStart() {
		fmt.Fprintf(&out, "if start == 0 {\nstate = %d\n}\n", w.first)
	}
	out.WriteString(w.walk())
	if w.anchored() {
		return out.String() + "return m, found, true\n}"
	}
	return out.String() + "if found || start >= len(s) {\nreturn m, found, true\n}\n}\n}"
}

func (w *pathWriter) why() string {
	var reasons []string
	if w.looksBeyond() {
		reasons = append(reasons, "at a byte that is not ASCII")
	}
	if w.back {
		reasons = append(reasons, "after many steps")
	}
	if len(reasons) == 0 {
		return ": never"
	}
	return ": " + strings.Join(reasons, ", or ")
}

func (w *pathWriter) looksBeyond() bool {
	for _, s := range w.states {
		if s.beyond() {
			return true
		}
	}
	return false
}

func (s *passState) beyond() bool {
	for _, e := range s.edges {
		if e.beyond {
			return true
		}
	}
	return false
}

func (w *pathWriter) begin() int {
	if w.anchored() {
		return w.first
	}
	return w.later
}

// skip writes a loop over the bytes with which no match begins.
func (w *pathWriter) skip() string {
	var any characters.Class
	// In any state but the first, bytes that begin no match are passed over.
	s := w.states[w.later]
	for _, e := range s.edges {
		for c := range any {
			any[c] = any[c] || e.set[c]
		}
	}
	cond := "start < len(s)"
	// At the start of a text more may match, as with ^, so that place is always looked at.
	if !w.oneStart() {
		cond = "start > 0 && " + cond
	}
	beyond := ""
	if s.beyond() {
		beyond = "if c >= 0x80 {\nreturn m, false, false\n}\n"
	}
	return fmt.Sprintf("for %s {\nc := s[start]\nif %s {\nbreak\n}\n%sstart++\n}\n", cond,
		characters.Comparisons(any), beyond)
}

// walk writes the way through the states from one start.
func (w *pathWriter) walk() string {
	// With several ways for one byte the code keeps the others on a stack.
	var out strings.Builder
	if w.back {
		out.WriteString("n := 0 // ways\n")
	}
	out.WriteString("walk:\nfor {\nif i < len(s) {\nc := s[i]\n")
	if w.back {
		out.WriteString("if steps--; steps < 0 {\nreturn m, false, false\n}\n")
	}
	out.WriteString("switch state {\n")
	// Each state is a case: it may complete a match, keep a way to come back to, and go on along
	// its edges.
	for k, s := range w.states {
		if len(s.edges)+len(w.complete(s.done)) > 0 && w.reached(k) {
			fmt.Fprintf(&out, "case %d:\n%s%s%s", k, w.complete(s.done), w.keep(s), w.edges(s))
		}
	}
	out.WriteString("}\n}")
	// At the end of the text only states that are complete there go on.
	if ends := w.ends(); ends != "" {
		fmt.Fprintf(&out, " else {\nswitch state {\n%s}\n}", ends)
	}
	out.WriteString("\n")
	if !w.back {
		return out.String() + "break\n}\n"
	}
	// If no alternative is left, the search ends; otherwise try the one kept last.
	return out.String() + "if n == 0 {\nbreak\n}\nn--\nat, i, state = ways[n].at, ways[n].i, ways[n].state\n}\n"
}

// reached reports whether the function ever is in a state: one of the two starts may be unused.
func (w *pathWriter) reached(k int) bool {
	return k != w.later && k != w.first || k == w.begin() || k == w.first && !w.oneStart()
}

// complete writes that the match is complete at i. The code that it kept so far comes after it.
func (w *pathWriter) complete(e *passEnd) string {
	if e == nil {
		return ""
	}
	text := "m, found = at, true\nm[1] = i\n"
	for _, slot := range e.slots {
		text += fmt.Sprintf("m[%d] = i\n", slot)
	}
	if w.back {
		text += "n = 0\n"
	}
	return text
}

// keep writes which ways to come back to, the last choice first.
func (w *pathWriter) keep(s passState) string {
	text := ""
	// Take the edges from the lowest priority up, so that the highest one is kept last and tried
	// first. A way is kept for those bytes that an edge of higher priority takes as well.
	for k := len(s.edges) - 1; k > 0; k-- {
		var both characters.Class
		for _, other := range s.edges[:k] {
			for c := range both {
				both[c] = both[c] || other.set[c] && s.edges[k].set[c]
			}
		}
		// Where no byte leads both ways, there is nothing to come back to.
		if both.Len() == 0 {
			continue
		}
		// The list of ways has a bound; beyond it, regexp answers.
		text += fmt.Sprintf("if %s {\nif n == len(ways) {\nreturn m, false, false\n}\nways[n] = way{at, i + 1, %d}\n",
			characters.Comparisons(both), s.edges[k].to)
		for _, slot := range s.edges[k].slots {
			text += fmt.Sprintf("ways[n].at[%d] = i\n", slot)
		}
		text += "n++\n}\n"
	}
	return text
}

// edges writes the step from a state to the next one for each set of bytes. A byte of a longer
// character that the pattern may accept ends the walk, because the finder knows nothing of runes.
func (w *pathWriter) edges(s passState) string {
	if len(s.edges) == 0 {
		return ""
	}
	text := "switch {\n"
	if s.beyond() {
		text += "case c >= 0x80:\nreturn m, false, false\n"
	}
	for _, e := range s.edges {
		text += fmt.Sprintf("case %s:\n", characters.Comparisons(e.set))
		for _, slot := range e.slots {
			text += fmt.Sprintf("at[%d] = i\n", slot)
		}
		text += fmt.Sprintf("i, state = i+1, %d\ncontinue walk\n", e.to)
	}
	return text + "}\n"
}

// ends writes in which states a match is complete at the end of the text.
func (w *pathWriter) ends() string {
	text := ""
	for k, s := range w.states {
		if s.doneEnd != nil && w.reached(k) {
			text += fmt.Sprintf("case %d:\n%s", k, w.complete(s.doneEnd))
		}
	}
	return text
}
