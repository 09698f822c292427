package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// noteLines explains the compiler's account of a version, with the lines that it mentions. Lines
// that take most time come first.
func noteLines(v *Version) []string {
	text := strings.Split(v.Source, "\n")
	notes := slices.Clone(v.Static.Notes)
	inorder.By(notes, func(a, b beagle.Note) int {
		return cmp.Or(cmp.Compare(v.Profile[b.Line], v.Profile[a.Line]), cmp.Compare(a.Line, b.Line))
	})
	var out []string
	for _, n := range notes {
		says := NoteInWords(n)
		if says == "" {
			continue
		}
		line := fmt.Sprintf("line %d", n.Line)
		if share := v.Profile[n.Line]; share > 0 {
			line += ", " + percent(share) + " of the time"
		}
		if n.Line >= 1 && n.Line <= len(text) {
			says += "    | " + OneLine(text[n.Line-1])
		}
		out = append(out, line+": "+says+"\n")
	}
	return slices.Compact(out)
}

// NoteInWords explains one note. It returns "" for a note that suggests no change.
func NoteInWords(n beagle.Note) string {
	said := OneLine(n.Text)
	switch n.Code {
	case "isInBounds":
		return "a bounds check remains (isInBounds): a comparison, and a branch to runtime.panicBounds, each time"
	case "isSliceInBounds":
		return "a bounds check of slicing remains (isSliceInBounds)"
	case "escape", "escapes":
		if said == "" {
			return ""
		}
		return "goes to the heap: " + said
	case "cannotInlineFunction":
		return "is not inlined into its callers: " + said
	case "canInlineFunction":
		return "is inlined into its callers, " + said
	case "cannotInlineCall":
		return "the call is not inlined: " + said
	case "copy":
		return "copies " + said
	}
	return ""
}

// hotLines returns the lines that take the time, the hottest first.
func hotLines(v *Version) []string {
	const least = 0.01
	text := strings.Split(v.Source, "\n")
	var lines []int
	for line, share := range v.Profile {
		if share >= least && line >= 1 && line <= len(text) {
			lines = append(lines, line)
		}
	}
	inorder.By(lines, func(a, b int) int { return cmp.Or(cmp.Compare(v.Profile[b], v.Profile[a]), a-b) })
	var out []string
	for _, line := range lines {
		out = append(out, fmt.Sprintf("%s  line %d    | %s\n", percent(v.Profile[line]), line, OneLine(text[line-1])))
	}
	return out
}
