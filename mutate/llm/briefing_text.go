package llm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine bounds a line of text that was captured or written by others.
const maxLine = 400

// Clean makes text safe to show. It returns valid UTF-8 without control or invisible characters, so
// nothing in the text can hide or reorder what stands around it.
func Clean(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(cleanLine(strings.TrimSuffix(line, "\n")))
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func cleanLine(s string) string {
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= maxLine {
			fmt.Fprintf(&b, " [%d more bytes]", len(s)-i)
			break
		}
		switch {
		case r == utf8.RuneError && s[i] != "\uFFFD"[0]:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t', unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(fmt.Sprintf("%+q", r), "'"))
		}
	}
	return b.String()
}

// OneLine is Clean for a text inside a sentence.
func OneLine(s string) string {
	return cleanLine(strings.Join(strings.Fields(s), " "))
}

// Block puts text between marks that do not occur in it, so that nothing in the text can end the
// block.
func Block(lang, text string) string {
	mark := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return mark + lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark + "\n"
}

func longestRun(s string, c byte) int {
	best, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		best = max(best, run)
	}
	return best
}

// codeBlockWithin is Block for as much of the text as fits into limit bytes together with the
// marks.
func codeBlockWithin(lang, text string, limit int) string {
	overhead := 2*max(3, longestRun(text, '`')+1) + len(lang) + 3
	shown := cut(text, limit-overhead)
	if shown == "" {
		return ""
	}
	return Block(lang, shown)
}

// cut shortens text to limit bytes at the end of a line, with a mark that says
// what is missing. It is empty when not even a line and the mark fit.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	kept, n := 0, 0
	for kept < len(lines) && n+len(lines[kept])+len(cutMark(text, n, len(lines)-kept)) <= limit {
		n += len(lines[kept])
		kept++
	}
	if kept == 0 {
		return ""
	}
	return text[:n] + cutMark(text, n, len(lines)-kept)
}

func cutMark(text string, shown, lines int) string {
	return fmt.Sprintf("[cut: %d of %d bytes left out, %d lines]\n", len(text)-shown, len(text), lines)
}

// list joins pieces until they do not fit any more, and says how many are
// missing.
func list(pieces []string, limit int, what string) string {
	var b strings.Builder
	for i, p := range pieces {
		mark := fmt.Sprintf("[cut: %d more %s]\n", len(pieces)-i, what)
		room := limit - b.Len()
		if last := i == len(pieces)-1; len(p) > room || !last && len(p)+len(mark) > room {
			if len(mark) <= room {
				b.WriteString(mark)
			}
			break
		}
		b.WriteString(p)
	}
	return b.String()
}

// word is OneLine for what stands outside of code blocks: it can neither begin
// nor end one.
func word(s string) string { return strings.ReplaceAll(OneLine(s), "`", "'") }
