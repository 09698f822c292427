package main

import "strings"

// lintMarkdown checks the columns of running text.
func lintMarkdown(name, text string) (found []finding) {
	fenced, comment := "", false
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		if fence := fenceOf(bare); fence != "" && (fenced == "" || fenced == fence) {
			if fenced == "" {
				fenced = fence
			} else {
				fenced = ""
			}
			continue
		}
		comment = comment || strings.HasPrefix(bare, "<!--")
		exempt := fenced != "" || comment || strings.HasPrefix(bare, "|")
		comment = comment && !strings.Contains(bare, "-->")
		if !exempt {
			found = append(found, tooWide(name, i+1, line, textColumns, "wrap the paragraph")...)
		}
	}
	return found
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
