package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/tail"
)

const tableHead = `| module | function | kind | verdict | stage | reason | under its contract |
|---|---|---|---|---|---|---|
`

// row prints an outcome as a line of the table.
func row(w io.Writer, o *Outcome) {
	verdict, stage, reason := "not judged", "", o.Problem
	if v := o.Strict; v != nil {
		verdict, stage, reason = string(v.Status), v.Stage, v.Reason
		if x := v.Counterexample; x != nil {
			reason = fmt.Sprintf("%s: before %s, after %s", x.Go, x.Want, x.Got)
		}
		if o.Problem != "" {
			reason += "; " + o.Problem
		}
		if v.Status == beagle.Accepted && v.Final != nil {
			reason = ratio(v)
		}
	}
	contract := ""
	if o.Contract != nil {
		contract = string(o.Contract.Status)
	}
	fmt.Fprintf(w, "| %s | `%s` | %s | %s | %s | %s | %s |\n", strings.TrimPrefix(o.Entry.Module, "github.com/"),
		o.Entry.Function, o.Entry.Kind, verdict, stage, cell(reason), contract)
}

func ratio(v *beagle.Verdict) string {
	return fmt.Sprintf("%.2f times as fast", v.Final.Corrected.Point)
}

// cell makes a text fit one cell.
func cell(s string) string {
	return strings.ReplaceAll(tail.Short(tail.First(s), 160), "|", "\\|")
}

// counterexamples prints the call that shows each wrong verdict.
func counterexamples(w io.Writer, all []Outcome) {
	first := true
	for _, o := range all {
		if o.Strict == nil || o.Strict.Counterexample == nil {
			continue
		}
		if first {
			fmt.Fprint(w, "\nCounterexamples, each replayed on both versions:\n\n")
			first = false
		}
		x := o.Strict.Counterexample
		fmt.Fprintf(w, "- `%s`: `%s`\n  before: `%s`\n  after: `%s`\n", o.Entry.Name(), cell(x.Go),
			cell(x.Want), cell(x.Got))
	}
}

// totals prints how many entries of a half ended with each verdict.
func totals(w io.Writer, half string, all []Outcome) {
	strict, contract := map[string]int{}, map[string]int{}
	n, shown := 0, 0
	for _, o := range all {
		if o.Half != half {
			continue
		}
		n++
		final := o.Strict
		if o.Contract != nil {
			final = o.Contract
		}
		strict[status(o.Strict)]++
		contract[status(final)]++
		if o.Strict != nil && o.Strict.Status == beagle.Wrong && o.Strict.Counterexample != nil {
			shown++
		}
	}
	fmt.Fprintf(w,
		"\n%s half: %d entries; strict: %s; under their contracts: %s; %d of %d wrong with a counterexample\n",
		half, n, inWords(strict), inWords(contract), shown, strict[string(beagle.Wrong)])
}

func status(v *beagle.Verdict) string {
	if v == nil {
		return "not judged"
	}
	return string(v.Status)
}

// inWords words counts, the largest first.
func inWords(m map[string]int) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", m[k], k)
	}
	if len(keys) == 0 {
		return "none"
	}
	return strings.Join(keys, ", ")
}
