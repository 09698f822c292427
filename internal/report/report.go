// Package report writes a run's result for people: Markdown for a code
// review, one self-contained HTML page with a plot for reading. It knows
// nothing but [beagle.Result], so that any stored result can be shown again.
package report

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"io"
	"math"
	"strings"
	texttemplate "text/template"

	"github.com/beagle-go/beagle"
)

//go:embed report.md.tmpl report.html.tmpl
var templates embed.FS

// funcs are the functions of both templates.
var funcs = map[string]any{
	"ratio":   Ratio,
	"percent": func(f float64) string { return fmt.Sprintf("%.3g %%", 100*f) },
	"nanos":   Nanos,
	"rate":    Rate,
	"where":   RatesWhere,
	"count":   Count,
	"lineage": func() string { return besideEachOther },
	"inc":     func(i int) int { return i + 1 },
	"short":   Short,
	"cell":    cell,
	"plot":    plot,
	"path":    path,
	"fence":   fence,
	"diff":    diff,
	"main":    ChangedOnly,
	"added":   Added,
	"again":   again,
	"timed":   timed,

	"contract": Contract,
	"support":  Support,
}

var (
	markdown = texttemplate.Must(texttemplate.New("report.md.tmpl").Funcs(funcs).ParseFS(templates, "report.md.tmpl"))
	page     = htmltemplate.Must(htmltemplate.New("report.html.tmpl").Funcs(funcs).
			ParseFS(templates, "report.html.tmpl"))
)

// Markdown writes the report that goes beside a pull request.
func Markdown(w io.Writer, r *beagle.Result) error { return markdown.Execute(w, r) }

// HTML writes the same as one page without external resources.
func HTML(w io.Writer, r *beagle.Result) error { return page.Execute(w, r) }

// Ratio prints a ratio with its interval, with the digits that mean something. Too few layouts give
// an interval without end.
func Ratio(r beagle.Ratio) string {
	if r.High >= math.MaxFloat64 {
		return fmt.Sprintf("%sx (95 %%: from %s up, without end)", Digits(r.Point), Digits(r.Low))
	}
	return fmt.Sprintf("%sx (95 %%: %s to %s)", Digits(r.Point), Digits(r.Low), Digits(r.High))
}

// Digits prints a ratio: two decimals up to 10, one up to 100, then whole.
func Digits(f float64) string {
	switch {
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	case f < 100:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// Nanos prints a duration given in nanoseconds.
func Nanos(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}

// besideEachOther says what the figures of a lineage are.
const besideEachOther = "Timed beside each other over several link layouts, briefly, after the full measurement: " +
	"these ratios are no part of the figure to quote, and that of the last step need not equal it."

// Count prints an average a call over a sample. It drops digits that depend on the drawn calls.
func Count(f float64) string {
	s := fmt.Sprintf("%.2f", f)
	switch {
	case f > 0 && f < 0.005:
		return "<0.01"
	case f >= 100:
		s = fmt.Sprintf("%.0f", f)
	case f >= 10:
		s = fmt.Sprintf("%.1f", f)
	}
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// again says what the command that makes a result again takes from the store.
func again(command string) string {
	if strings.Contains(command, " --anew") {
		return ""
	}
	return " (what this machine's store knows is not measured again, unless --anew is given too)"
}

// timed says what the figure to quote was measured on.
func timed(r *beagle.Result) string {
	if r.Score != nil && len(r.Score.Benchmarks) > 0 {
		return "the time of " + r.Score.Where()
	}
	return "training inputs"
}

// Short is the beginning of an ID, enough to name it in a run.
func Short(id string) string { return id[:min(len(id), 8)] }

// cell keeps a text inside a Markdown table cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ").Replace(s)
}

// fence returns a code fence that the text cannot close.
func fence(text string) string {
	f := "```"
	for strings.Contains(text, f) {
		f += "`"
	}
	return f
}

// path names how a candidate came about, step by step.
func path(steps []beagle.Step) string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Mutator
		if s.Mutator == "model" { // whose parameter is a candidate's ID
			names[i] += " " + s.Site
			continue
		}
		if s.Param != "" {
			names[i] += "(" + s.Param + ")"
		}
	}
	return strings.Join(names, " → ")
}

// diff colours a unified diff; everything in it is escaped.
func diff(patch string) htmltemplate.HTML {
	var b strings.Builder
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
		fmt.Fprintf(&b, `<span class="%s">%s</span>`, class, htmltemplate.HTMLEscapeString(line))
	}
	return htmltemplate.HTML(b.String())
}

// ChangedOnly returns the part of a patch that changes existing files, which a reviewer reads
// first. New files, such as the test of the change, can be long.
func ChangedOnly(patch string) string {
	var b strings.Builder
	for _, file := range files(patch) {
		if !strings.HasPrefix(file, "--- /dev/null") {
			b.WriteString(file)
		}
	}
	return b.String()
}

// Added names the new files of a patch.
func Added(patch string) []string {
	var names []string
	for _, file := range files(patch) {
		if rest, ok := strings.CutPrefix(file, "--- /dev/null\n+++ b/"); ok {
			name, _, _ := strings.Cut(rest, "\n")
			names = append(names, name)
		}
	}
	return names
}

// files cuts a unified diff into the parts for each file.
func files(patch string) []string {
	var out []string
	lines := strings.SplitAfter(patch, "\n")
	for i, line := range lines {
		starts := strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
		if starts || len(out) == 0 {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}
