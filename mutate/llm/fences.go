package llm

import "strings"

// A fence is a code block of a reply.
type fence struct {
	lang   string // the first word after the opening, in lower case
	text   string // without the fence's own indentation
	closed bool
}

func (f fence) isGo() bool {
	switch f.lang {
	case "", "go", "golang":
		return true
	}
	return false
}

func (f fence) isDiff() bool { return f.lang == "diff" || f.lang == "patch" || f.lang == "udiff" }

// fences splits a reply into its code blocks and the prose around them.
func fences(text string) (blocks []fence, prose string) {
	var around, inside strings.Builder
	var open *fence
	var mark, indent string
	for line := range strings.Lines(text) {
		if len(blocks) > maxFences {
			return blocks, "" // the caller refuses that number
		}
		trimmed := strings.TrimSpace(line)
		m, info, opens := blockStart(trimmed)
		switch {
		case open != nil && closes(trimmed, mark):
			open.text, open.closed = inside.String(), true
			blocks, open = append(blocks, *open), nil
		case opens && (open == nil || info != "" && len(m) >= len(mark)):
			if open != nil { // nothing closed it
				open.text = inside.String()
				blocks = append(blocks, *open)
			}
			mark, indent = m, line[:strings.IndexByte(line, m[0])]
			open = &fence{lang: language(info)}
			inside.Reset()
		case open == nil:
			around.WriteString(line)
		default:
			inside.WriteString(strings.TrimPrefix(line, indent))
		}
	}
	if open != nil {
		open.text = inside.String()
		blocks = append(blocks, *open)
	}
	return blocks, around.String()
}

// blockStart reports whether a line begins a block. It returns the mark, three or more backticks or
// tildes, and the words after it.
func blockStart(line string) (mark, info string, ok bool) {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return "", "", false
	}
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, c) {
			return line[:n], strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}

// closes reports whether a line ends the block that mark began.
func closes(line, mark string) bool {
	return len(line) >= len(mark) && strings.Trim(line, mark[:1]) == ""
}

func language(info string) string {
	word, _, _ := strings.Cut(info, " ")
	word, _, _ = strings.Cut(word, ":")
	word = strings.Trim(strings.ToLower(word), "{}.")
	if strings.HasSuffix(strings.ToLower(info), ".go") {
		return "go"
	}
	return word
}

// bareCode returns the Go code of a reply without fences: from the first line that begins a
// declaration to the last line that ends one.
func bareCode(text string) string {
	lines := strings.SplitAfter(text, "\n")
	from, to := -1, -1
	for i, line := range lines {
		if from < 0 && beginsCode(line) {
			from = i
		}
		if from >= 0 && endsCode(line) {
			to = i + 1
		}
	}
	if from < 0 || to <= from {
		return ""
	}
	return strings.Join(lines[from:to], "")
}

func beginsCode(line string) bool {
	for _, word := range []string{"package ", "import ", "func ", "type ", "var ", "const ", "//go:"} {
		if strings.HasPrefix(line, word) {
			rest := strings.TrimSpace(line[len(word):])
			// Prose begins with such words too: "type of", "import the".
			return word == "//go:" || word == "package " || strings.ContainsAny(rest, "({=\"[") ||
				len(strings.Fields(rest)) == 2
		}
	}
	return false
}

func endsCode(line string) bool {
	line = strings.TrimRight(line, " \t\n")
	return strings.HasPrefix(line, "}") || strings.HasPrefix(line, ")") ||
		strings.HasPrefix(line, "func ") && strings.HasSuffix(line, "}") ||
		(strings.HasPrefix(line, "var ") || strings.HasPrefix(line, "const ") || strings.HasPrefix(line, "type ")) &&
			len(strings.Fields(line)) >= 3
}
