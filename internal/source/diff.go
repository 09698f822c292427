package source

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Diff returns the unified diff of two texts of a file. "" before means that the file is new.
func Diff(path, before, after string) string { return unified(path, before, after, before == "") }

// unified returns the unified diff of two texts with three lines of context, in the form that git
// and patch apply.
func unified(path, before, after string, isNew bool) string {
	a, b := syntax.Lines(before), syntax.Lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	// Only what lies between the common ends is compared: the matcher's time
	// grows with the square of a file's repetitions.
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const context = 3
	head, tail = max(0, head-context), max(0, tail-context)
	m := difflib.NewMatcherWithJunk(a[head:len(a)-tail], b[head:len(b)-tail], false, nil)
	var out strings.Builder
	for _, g := range m.GetGroupedOpCodes(context) {
		if len(g) == 1 && g[0].Tag == 'e' {
			continue
		}
		first, last := g[0], g[len(g)-1]
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", hunkRange(head+first.I1, head+last.I2),
			hunkRange(head+first.J1, head+last.J2))
		for _, c := range g {
			if c.Tag == 'e' {
				hunkLines(&out, ' ', a[head+c.I1:head+c.I2])
				continue
			}
			hunkLines(&out, '-', a[head+c.I1:head+c.I2])
			hunkLines(&out, '+', b[head+c.J1:head+c.J2])
		}
	}
	if out.Len() == 0 {
		return ""
	}
	from := "a/" + path
	if isNew {
		from = "/dev/null"
	}
	return "--- " + from + "\n+++ b/" + path + "\n" + out.String()
}

func hunkLines(out *strings.Builder, sign byte, ls []string) {
	for _, l := range ls {
		out.WriteByte(sign)
		out.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// hunkRange writes lines [start, end) as a hunk header does: from 1, and an
// empty range by the line before it.
func hunkRange(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}
