package patterns

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/mutate"
)

// A replPart is a piece of a replacement: a text, or what a group matched.
type replPart struct {
	text  string
	group int // -1 for a text
}

// firstMarker is a character of private use. It stands for the whole match where regexp expands a
// replacement, and those after it for the groups.
const firstMarker = '\ue000'

// takeApart returns the parts of the replacement. It has package regexp expand it for a match whose
// groups are markers, so that $1x, ${name} and $$ mean what they mean there. ok is false where the
// replacement holds a marker itself.
func (s *searchSite) takeApart(p *mutate.Pass) (parts []replPart, ok bool) {
	// An empty or a literal replacement has no groups.
	if s.repl == "" || s.method == "ReplaceAllLiteralString" {
		return []replPart{{s.repl, -1}}, true
	}
	// Each group gets a character of its own that stands for its text.
	marked := func(r rune) bool { return r >= firstMarker && r < firstMarker+rune(s.finder.groups) }
	re := patternOf(p, s.v, regexp.Compile)
	if re == nil || !utf8.ValidString(s.repl) || strings.ContainsFunc(s.repl, marked) {
		return nil, false
	}
	// Build a text of these markers, and the match whose group g is marker g.
	var src string
	var match []int
	for g := range s.finder.groups {
		match = append(match, len(src))
		src += string(firstMarker + rune(g))
		match = append(match, len(src))
	}
	// Expand the replacement, and split it at the markers. The text between them is fixed.
	text := ""
	for _, r := range string(re.ExpandString(nil, s.repl, src, match)) {
		if !marked(r) {
			text += string(r)
			continue
		}
		if text != "" {
			parts, text = append(parts, replPart{text, -1}), ""
		}
		parts = append(parts, replPart{group: int(r - firstMarker)})
	}
	if text != "" {
		parts = append(parts, replPart{text, -1})
	}
	return parts, true
}

// replaced writes what stands in place of a match.
func (s *searchSite) replaced() string {
	if s.method == "ReplaceAllStringFunc" {
		return "out.WriteString(f(s[m[0]:m[1]]))\n"
	}
	var out strings.Builder
	for _, part := range s.parts {
		switch g := part.group; {
		case g == 0:
			out.WriteString("out.WriteString(s[m[0]:m[1]])\n")
		case g > 0:
			// A group without a match is empty in the replacement.
			fmt.Fprintf(&out, "if m[%d] >= 0 {\nout.WriteString(s[m[%d]:m[%d]])\n}\n", 2*g, 2*g, 2*g+1)
		case part.text != "":
			fmt.Fprintf(&out, "out.WriteString(%s)\n", strconv.Quote(part.text))
		}
	}
	return out.String()
}
