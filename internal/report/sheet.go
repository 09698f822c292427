package report

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

// A sheet takes a report's parts, in the order of reading. There are two: Markdown and a page.
//
// Neither is a template of the standard library. Those call methods by name, so the linker keeps
// each exported method of everything that is linked: a twelfth of the program.
type sheet interface {
	heading(level int, title ...span)
	para(text ...span)
	warn(text ...span) // a paragraph that no reader should miss
	table(head []column, rows [][]cell)
	list(numbered bool, items ...[]span)
	diff(patch string)

	// These are on a page only.
	figure(text string)
	plot(title, svg string)
	fold(summary string, head []column, rows [][]cell)
}

// A span is a piece of text in one style. Each sheet escapes it in its own way.
type span struct {
	text  string
	style style
}

type style int

const (
	plain style = iota
	fixed       // code
	bold
)

// say makes a span of plain text. It stands in each line of a report, and is not put in its place.
//
//go:noinline
func say(format string, args ...any) span { return span{fmt.Sprintf(format, args...), plain} }

// marked takes plain text apart at the code in backticks that sentences have, as in documents.
// Backticks that do not pair are text.
func marked(text []span) (out []span) {
	for _, s := range text {
		parts := strings.Split(s.text, "`")
		if s.style != plain || len(parts)%2 == 0 || strings.Contains(s.text, "``") {
			out = append(out, s)
			continue
		}
		for i, part := range parts {
			out = append(out, span{part, style(i % 2)}) // plain and fixed take turns
		}
	}
	return out
}

func code(text string) span   { return span{text, fixed} }
func strong(text string) span { return span{text, bold} }

// A cell of a table.
type cell []span

// row makes a row of cells of plain text.
func row(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, t := range texts {
		out[i] = cell{{t, plain}}
	}
	return out
}

// A column of a table.
type column struct {
	name   string
	number bool // stands at the right
}

// columns names the columns of a table; > stands before those of numbers.
func columns(names ...string) []column {
	out := make([]column, len(names))
	for i, name := range names {
		out[i].name, out[i].number = strings.CutPrefix(name, ">")
	}
	return out
}

// markdown is the sheet for a code review.
type markdown struct{ strings.Builder }

func (m *markdown) heading(level int, title ...span) {
	fmt.Fprintf(m, "%s %s\n\n", strings.Repeat("#", level), m.line(title))
}

func (m *markdown) para(text ...span) { fmt.Fprintf(m, "%s\n\n", m.line(text)) }
func (m *markdown) warn(text ...span) { m.para(text...) }

func (m *markdown) table(head []column, rows [][]cell) {
	rules := make([]string, len(head))
	names := make([]string, len(head))
	for i, c := range head {
		names[i], rules[i] = c.name, "---"
		if c.number {
			rules[i] = "---:"
		}
	}
	fmt.Fprintf(m, "| %s |\n|%s|\n", strings.Join(names, " | "), strings.Join(rules, "|"))
	for _, cells := range rows {
		for _, c := range cells {
			fmt.Fprintf(m, "| %s ", strings.ReplaceAll(m.line(c), "|", "\\|"))
		}
		m.WriteString("|\n")
	}
	m.WriteString("\n")
}

func (m *markdown) list(numbered bool, items ...[]span) {
	for i, item := range items {
		mark := "-"
		if numbered {
			mark = fmt.Sprintf("%d.", i+1)
		}
		fmt.Fprintf(m, "%s %s\n", mark, m.line(item))
	}
	m.WriteString("\n")
}

func (m *markdown) diff(patch string) {
	f := fence(patch, "```")
	fmt.Fprintf(m, "%sdiff\n%s%s\n\n", f, patch, f)
}

func (*markdown) figure(string)                   {}
func (*markdown) plot(string, string)             {}
func (*markdown) fold(string, []column, [][]cell) {}

// line is Markdown for a text, on one line: after a line's end anything could begin.
func (*markdown) line(text []span) string {
	var b strings.Builder
	for _, s := range marked(text) {
		words := strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s.text)
		switch s.style {
		case fixed:
			mark, gap := fence(words, "`"), ""
			if strings.HasPrefix(words, "`") || strings.HasSuffix(words, "`") {
				gap = " " // Markdown drops one on both sides
			}
			fmt.Fprintf(&b, "%s%s%s%[2]s%[1]s", mark, gap, words)
		case bold:
			fmt.Fprintf(&b, "**%s**", literal(words))
		default:
			b.WriteString(literal(words))
		}
	}
	return b.String()
}

// literal escapes what Markdown would take for a mark, a tag or an entity. So <nil> stays on the
// page, and the backslashes of quoted strings.
func literal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		next := byte(' ')
		if i+1 < len(text) {
			next = text[i+1]
		}
		letter := 'a' <= next|0x20 && next|0x20 <= 'z'
		marks := false
		switch text[i] {
		case '*', '`':
			marks = true
		case '<':
			marks = letter || strings.IndexByte("/!?", next) >= 0
		case '&':
			marks = letter || next == '#'
		case '\\':
			marks = '!' <= next && next <= '~' && !letter && !('0' <= next && next <= '9')
		}
		if marks {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// fence returns a fence that the text cannot close, of at least this length.
func fence(text, least string) string {
	for strings.Contains(text, least) {
		least += "`"
	}
	return least
}

// page is the sheet for reading: HTML without external resources.
type page struct{ strings.Builder }

//go:embed page.css
var styles string

// newPage begins a page.
func newPage(title string) *page {
	p := new(page)
	fmt.Fprintf(p, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>\n%s</style>\n",
		html.EscapeString(title), styles)
	return p
}

func (p *page) heading(level int, title ...span) {
	fmt.Fprintf(p, "<h%d>%s</h%[1]d>\n", level, p.line(title))
}

func (p *page) para(text ...span) { fmt.Fprintf(p, "<p>%s</p>\n", p.line(text)) }
func (p *page) warn(text ...span) { fmt.Fprintf(p, "<p class=\"warn\">%s</p>\n", p.line(text)) }

func (p *page) table(head []column, rows [][]cell) {
	p.WriteString("<table>\n<tr>")
	for _, c := range head {
		fmt.Fprintf(p, "<th>%s</th>", html.EscapeString(c.name))
	}
	p.WriteString("</tr>\n")
	for _, cells := range rows {
		p.WriteString("<tr>")
		for i, c := range cells {
			class := ""
			if head[i].number {
				class = ` class="n"`
			}
			fmt.Fprintf(p, "<td%s>%s</td>", class, p.line(c))
		}
		p.WriteString("</tr>\n")
	}
	p.WriteString("</table>\n")
}

func (p *page) list(numbered bool, items ...[]span) {
	kind := "ul"
	if numbered {
		kind = "ol"
	}
	fmt.Fprintf(p, "<%s>\n", kind)
	for _, item := range items {
		fmt.Fprintf(p, "<li>%s</li>\n", p.line(item))
	}
	fmt.Fprintf(p, "</%s>\n", kind)
}

func (p *page) diff(patch string) {
	p.WriteString("<pre>")
	for line := range strings.Lines(patch) {
		class := ""
		switch line[0] {
		case '+':
			class = "add"
		case '-':
			class = "del"
		case '@':
			class = "hunk"
		}
		fmt.Fprintf(p, `<span class="%s">%s</span>`, class, html.EscapeString(line))
	}
	p.WriteString("</pre>\n")
}

func (p *page) figure(text string) {
	fmt.Fprintf(p, "<p class=\"figure\">%s</p>\n", html.EscapeString(text))
}

func (p *page) plot(title, svg string) {
	p.heading(2, say("%s", title))
	fmt.Fprintf(p, "<div class=\"plot\">%s</div>\n", svg)
}

func (p *page) fold(summary string, head []column, rows [][]cell) {
	fmt.Fprintf(p, "<details><summary>%s</summary>\n", html.EscapeString(summary))
	p.table(head, rows)
	p.WriteString("</details>\n")
}

// line is HTML for a text.
func (*page) line(text []span) string {
	var b strings.Builder
	for _, s := range marked(text) {
		escaped := html.EscapeString(s.text)
		if tag := [...]string{fixed: "code", bold: "b"}[s.style]; tag != "" {
			escaped = fmt.Sprintf("<%s>%s</%[1]s>", tag, escaped)
		}
		b.WriteString(escaped)
	}
	return b.String()
}
