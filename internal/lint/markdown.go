package main

import (
	"iter"
	"strings"
)

// lintMarkdown checks the columns of running text.
func lintMarkdown(name, text string) (found []finding) {
	number := 0
	for line, exempt := range markdownLines(text) {
		number++
		if !exempt {
			found = append(found, tooWide(name, number, line, textColumns, "wrap the paragraph")...)
		}
	}
	return found
}

// markdownLines returns the lines of a text. Exempt are those that are no running text: tables,
// fenced blocks and HTML comments.
func markdownLines(text string) iter.Seq2[string, bool] {
	return func(yield func(line string, exempt bool) bool) {
		fenced, comment := "", false
		for line := range strings.SplitSeq(text, "\n") {
			bare := strings.TrimSpace(line)
			if fence := fenceOf(bare); fence != "" && (fenced == "" || fenced == fence) {
				if fenced == "" {
					fenced = fence
				} else {
					fenced = ""
				}
				if !yield(line, true) {
					return
				}
				continue
			}
			comment = comment || strings.HasPrefix(bare, "<!--")
			exempt := fenced != "" || comment || strings.HasPrefix(bare, "|")
			comment = comment && !strings.Contains(bare, "-->")
			if !yield(line, exempt) {
				return
			}
		}
	}
}

// fenceOf returns the characters that open or close a fenced block, or "".
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, c); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}
