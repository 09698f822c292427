package llm

import (
	"regexp"
	"strings"
)

// markedEdits reads blocks of this form, anywhere in the text:
//
//	<<<<<<< SEARCH
//	text of the parent
//	=======
//	text in its place
//	>>>>>>> REPLACE
//
// It returns nil if there are none. Go fences beside them that hold only imports add these imports.
func markedEdits(text string, blocks []fence) (edits []Edit, imports []string, err error) {
	const (
		outside = iota
		searching
		replacing
	)
	state, indent := outside, ""
	var search, replace strings.Builder
	for line := range strings.Lines(text) {
		// Lines of an indented block carry the indentation of its first marker.
		word := strings.TrimSpace(line)
		if state != outside {
			line = strings.TrimPrefix(line, indent)
		}
		switch {
		case state == outside && isMarker(word, '<', "search", "original", "old", "head", "before"):
			if len(edits) == maxEdits {
				return nil, nil, badReply("the reply holds more than %d blocks: send whole declarations instead",
					maxEdits)
			}
			state, indent = searching, line[:strings.IndexByte(line, '<')]
			search.Reset()
			replace.Reset()
		case state == searching && isMarker(word, '='):
			state = replacing
		case state == replacing && isMarker(word, '>', "replace", "updated", "new", "after"):
			edits = append(edits, Edit{Search: unfenced(search.String()), Replace: unfenced(replace.String())})
			state = outside
		case state != outside && isMarker(word, '<', "search", "original", "old", "before"):
			return nil, nil, badReply("SEARCH block %d is not finished before the next one begins", len(edits)+1)
		case state == searching:
			search.WriteString(line)
		case state == replacing:
			replace.WriteString(line)
		}
	}
	// A reply that ends inside a block was cut short.
	switch state {
	case searching:
		return nil, nil, badReply("SEARCH block %d has no ======= line", len(edits)+1)
	case replacing:
		return nil, nil, badReply("SEARCH block %d has no >>>>>>> REPLACE line: the reply was cut short", len(edits)+1)
	}
	if edits == nil {
		return nil, nil, nil
	}
	for i, e := range edits {
		if strings.TrimSpace(e.Search) == "" {
			return nil, nil, badReply("SEARCH block %d is empty: repeat the lines that the new text stands beside", i+1)
		}
	}
	return edits, fencedImports(blocks), nil
}

// isMarker reports whether a line is a run of a sign, followed by one of the words or by nothing.
func isMarker(line string, sign byte, words ...string) bool {
	rest := strings.TrimLeft(line, string(sign))
	if n := len(line) - len(rest); n < 5 || n > 9 {
		return false
	}
	rest = strings.ToLower(strings.Trim(rest, " :"))
	if rest == "" {
		return true
	}
	for _, w := range words {
		if rest == w {
			return true
		}
	}
	return false
}

// unfenced removes a code fence around a section.
func unfenced(section string) string {
	trimmed := strings.TrimSpace(section)
	first, rest, ok := strings.Cut(trimmed, "\n")
	if !ok {
		return section
	}
	mark, _, ok := blockStart(strings.TrimSpace(first))
	last := strings.LastIndexByte(rest, '\n') + 1
	if !ok || !closes(strings.TrimSpace(rest[last:]), mark) {
		return section
	}
	return rest[:last]
}

// fencedImports returns the imports of fences that hold only imports.
func fencedImports(blocks []fence) []string {
	var out []string
	for _, b := range blocks {
		if !b.isGo() || !strings.Contains(b.text, "import") || len(b.text) > 4096 {
			continue
		}
		if ps, imports, err := declarations(b.text); err == nil && len(ps) == 0 {
			out = append(out, imports...)
		}
	}
	return dropEqual(out)
}

var hunkHeader = regexp.MustCompile(`^@@+( |$)`)

// diffEdits reads unified diffs: those in fences that say so, or else any with hunk headers. It
// returns nil if there are none. It ignores line numbers, and searches for a hunk's old lines like
// any other text.
func diffEdits(text string, blocks []fence) ([]Edit, error) {
	var sources []string
	for _, b := range blocks {
		if b.isDiff() || b.isGo() && hasHunks(b.text) {
			sources = append(sources, b.text)
		}
	}
	if sources == nil && len(blocks) == 0 && hasHunks(text) {
		sources = append(sources, text)
	}
	var out []Edit
	for _, s := range sources {
		edits := hunks(s)
		if out = append(out, edits...); len(out) > maxEdits {
			return nil, badReply("the reply's diff has more than %d hunks: send whole declarations instead", maxEdits)
		}
	}
	if sources != nil && out == nil {
		return nil, badReply("the reply's diff changes nothing")
	}
	for i, e := range out {
		if strings.TrimSpace(e.Search) == "" {
			return nil,
				badReply("hunk %d of the diff has no old lines: repeat the lines that the new text stands beside", i+1)
		}
	}
	return out, nil
}

func hasHunks(text string) bool {
	for line := range strings.Lines(text) {
		if hunkHeader.MatchString(strings.TrimRight(line, "\n")) {
			return true
		}
	}
	return false
}

// hunks reads the hunks of a diff, or all its lines as one hunk if it has no headers.
func hunks(diff string) []Edit {
	var out []Edit
	var search, replace strings.Builder
	changed := false
	// flush ends a hunk. A hunk without changes is no edit.
	flush := func() {
		if changed {
			out = append(out, Edit{search.String(), replace.String()})
		}
		search.Reset()
		replace.Reset()
		changed = false
	}
	headed, in := hasHunks(diff), !hasHunks(diff)
	for line := range strings.Lines(diff) {
		switch {
		// The header of a file ends the hunk before it.
		case strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "--- ") ||
			strings.HasPrefix(line, "+++ "):
			if headed {
				flush()
				in = false
			}
		case hunkHeader.MatchString(strings.TrimRight(line, "\n")):
			flush()
			in = true
		// Ignore prose between hunks, and marks such as "\ No newline at end of file".
		case !in || strings.HasPrefix(line, `\`):
		case strings.HasPrefix(line, "-"):
			search.WriteString(line[1:])
			changed = true
		case strings.HasPrefix(line, "+"):
			replace.WriteString(line[1:])
			changed = true
		default:
			// Models forget the space before an unchanged line.
			line = strings.TrimPrefix(line, " ")
			search.WriteString(line)
			replace.WriteString(line)
		}
	}
	flush()
	return out
}
