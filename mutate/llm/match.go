package llm

import (
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// span is the part of the parent that an edit replaces.
type span struct {
	start, end int
	text       string
	edit       int
}

// applyEdits finds every search in the parent and replaces all at once.
func applyEdits(parent string, edits []Edit) (string, error) {
	m := newMatcher(parent)
	var spans []span
	for i, e := range edits {
		s, err := m.find(e, i)
		if err != nil {
			return "", err
		}
		spans = append(spans, s)
	}
	inorder.By(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	last := 0
	for i, s := range spans {
		if i > 0 && s.start < last {
			return "", badReply("SEARCH blocks %d and %d overlap: make one block of them", spans[i-1].edit+1, s.edit+1)
		}
		b.WriteString(parent[last:s.start] + s.text)
		last = s.end
	}
	b.WriteString(parent[last:])
	return b.String(), nil
}

// A matcher finds lines of a text. All edits share one.
type matcher struct {
	text    string
	lines   []string // with their line ends
	starts  []int    // the offset of each line, and the length of the text
	exact   haystack // without spaces at the ends of lines
	trimmed haystack // nor at their starts
}

// A haystack is a text in which every line stands between line ends.
type haystack struct {
	text   string
	starts []int // the offset of each line's text
}

func newMatcher(text string) *matcher {
	m := &matcher{text: text, lines: syntax.Lines(text)}
	at := 0
	for _, l := range m.lines {
		m.starts = append(m.starts, at)
		at += len(l)
	}
	m.starts = append(m.starts, at)
	m.exact, m.trimmed = stack(m.lines, trimRight), stack(m.lines, strings.TrimSpace)
	return m
}

func trimRight(s string) string { return strings.TrimRight(s, " \t\n") }

func stack(lines []string, trim func(string) string) haystack {
	var b strings.Builder
	var h haystack
	b.WriteByte('\n')
	for _, l := range lines {
		h.starts = append(h.starts, b.Len())
		b.WriteString(trim(l) + "\n")
	}
	h.text = b.String()
	return h
}

// find returns the span of one edit.
func (m *matcher) find(e Edit, i int) (span, error) {
	search := syntax.Lines(plainLines(e.Search))
	for len(search) > 0 && strings.TrimSpace(search[0]) == "" {
		search = search[1:]
	}
	for len(search) > 0 && strings.TrimSpace(search[len(search)-1]) == "" {
		search = search[:len(search)-1]
	}
	if len(search) == 0 {
		return span{}, badReply("SEARCH block %d is empty: repeat the lines that the new text stands beside", i+1)
	}
	for _, plain := range []bool{false, true} {
		if plain {
			spaced := strings.Join(search, "")
			if plainSpaces(spaced) == spaced {
				break
			}
			search = syntax.Lines(plainSpaces(spaced))
		}
		for _, try := range []struct {
			h    haystack
			trim func(string) string
		}{{m.exact, trimRight}, {m.trimmed, strings.TrimSpace}} {
			at := try.h.places(search, try.trim)
			// A text with less indentation is a part of the same text with more.
			if within := m.trimmed.places(search, strings.TrimSpace); len(at) > 0 && len(within) > 1 {
				return span{}, ambiguous(i, within)
			}
			switch {
			case len(at) == 1:
				return m.lineSpan(at[0], len(search), e.Replace, i), nil
			case len(at) > 1:
				return span{}, ambiguous(i, at)
			}
		}
	}
	return m.inLine(e, i, search)
}

// places returns the lines where the search matches, maxPlaces at most.
func (h haystack) places(search []string, trim func(string) string) []int {
	needle := stack(search, trim).text
	var out []int
	for from := 0; len(out) < maxPlaces; {
		at := strings.Index(h.text[from:], needle)
		if at < 0 {
			break
		}
		from += at + 1
		out = append(out, sort.SearchInts(h.starts, from))
	}
	return out
}

// maxPlaces bounds the places of a text that a message names.
const maxPlaces = 10

func ambiguous(i int, at []int) error {
	var lines []string
	for _, l := range at {
		lines = append(lines, fmt.Sprint(l+1))
	}
	return badReply("SEARCH block %d occurs %d times (lines %s), and which of them is meant is not clear: add lines "+
		"around it until it matches one place", i+1, len(at), strings.Join(lines, ", "))
}

// lineSpan replaces whole lines.
func (m *matcher) lineSpan(line, n int, replace string, i int) span {
	replace = plainLines(replace)
	if replace != "" && !strings.HasSuffix(replace, "\n") {
		replace += "\n"
	}
	return span{m.starts[line], m.starts[line+n], replace, i}
}

// inLine finds a search that is a part of a line, or begins or ends inside one.
func (m *matcher) inLine(e Edit, i int, search []string) (span, error) {
	text := strings.Trim(plainLines(e.Search), "\n")
	switch n := strings.Count(m.text, text); {
	case n == 1:
		at := strings.Index(m.text, text)
		return span{at, at + len(text), strings.Trim(plainLines(e.Replace), "\n"), i}, nil
	case n > 1:
		return span{}, badReply("SEARCH block %d matches %d places: repeat whole lines, with lines around them", i+1, n)
	}
	first := trimRight(search[0])
	return span{}, &ReplyError{
		What: fmt.Sprintf("SEARCH block %d (%q) matches nothing: repeat the lines letter for letter", i+1,
			shorten(strings.TrimSpace(first))),
		Show: m.nearestPart(search),
	}
}

func shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}

// nearestPart returns the part of the text that shares the most words with the search. It has as
// many lines as the search, but at most twelve. It is "" if they share no word.
func (m *matcher) nearestPart(search []string) string {
	n := min(len(search), 12, len(m.lines))
	want := map[string]int{}
	for _, l := range search[:min(len(search), 12)] {
		for _, w := range words(l) {
			want[w]++
		}
	}
	// A word counts as often as both texts have it. The window moves line by line, so every word
	// enters and leaves once.
	have, score, best, at := map[string]int{}, 0, 0, 0
	for i := range m.lines {
		for _, w := range words(m.lines[i]) {
			if have[w]++; have[w] <= want[w] {
				score++
			}
		}
		if i >= n {
			for _, w := range words(m.lines[i-n]) {
				if have[w] <= want[w] {
					score--
				}
				have[w]--
			}
		}
		if score > best && i >= n-1 {
			best, at = score, i-n+1
		}
	}
	if best == 0 {
		return ""
	}
	return strings.TrimRight(strings.Join(m.lines[at:at+n], ""), "\n")
}

func words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
}
