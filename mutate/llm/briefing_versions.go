package llm

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/beagle-go/beagle"
)

// goodInWords shows other versions worth knowing, beside the version to change. It shows a version
// only if it fits whole, because half a version teaches nothing.
func goodInWords(good []Version, parent string, limit int) string {
	var b strings.Builder
	for _, v := range good {
		head := versionInWords(&v) + "\n"
		whole := versionBeside(&v, parent) + "\n"
		switch {
		case b.Len()+len(whole) <= limit:
			b.WriteString(whole)
		case b.Len()+len(head)+1 <= limit:
			b.WriteString(head + "\n")
		}
	}
	return b.String()
}

// versionBeside shows a version to a reader of another: as the lines that differ where these are
// less than half of it, else whole.
func versionBeside(v *Version, other string) string {
	const context, most = 2, 32 << 10 // the time grows with the square of a text's repetitions
	if len(v.Source) > most || len(other) > most {
		return versionInWords(v) + "\n" + Block("go", v.Source)
	}
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(other), B: difflib.SplitLines(v.Source), Context: context,
	})
	if err != nil || 2*len(diff) > len(v.Source) {
		return versionInWords(v) + "\n" + Block("go", v.Source)
	}
	return versionInWords(v) + " It differs from the version to change in this:\n" + Block("text", diff)
}

// versionInWords describes a version in a line or two.
func versionInWords(v *Version) string {
	says := "The original"
	if len(v.Steps) > 0 {
		names := make([]string, len(v.Steps))
		for i, s := range v.Steps {
			names[i] = word(s.Mutator)
		}
		says = "Made by " + strings.Join(names, ", then ")
	}
	if v.Ratio != nil && len(v.Steps) > 0 {
		says += ": " + v.Ratio.Spelled() + " as fast as the original"
	}
	says += "."
	if classes := classesInWords(v.Classes); classes != "" {
		says += " By kind of input, each timed alone: " + classes + "."
	}
	return says
}

// classesInWords describes how fast a version is on each kind of input.
func classesInWords(list []InputClass) string {
	var out []string
	for _, c := range list {
		if c.Ratio != nil {
			out = append(out,
				fmt.Sprintf("%s (%s of the calls) %s", word(c.Name), percent(c.Share), c.Ratio.Spelled()))
		}
	}
	return strings.Join(out, "; ")
}

// costInWords states the cost of a call.
func costInWords(c *beagle.Resources) string {
	says := fmt.Sprintf("about %.0f ns", c.Nanos)
	if c.Nanos < 10 {
		says = fmt.Sprintf("about %.1f ns", c.Nanos)
	}
	if c.Allocs < 0.005 {
		return says + " and allocates nothing"
	}
	return says + fmt.Sprintf(", with %.2f allocations of %.0f bytes together", c.Allocs, c.Bytes)
}
