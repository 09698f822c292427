package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/report"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
	"github.com/beagle-go/beagle/mutate/rules"
)

var explainCommand = &command{
	name: "explain", args: "[RULE]",
	short: "list the rewrites, or explain one",
	long: `
Without an argument, lists the rewrites with their legality class and their gain on their
own example with the toolchain that built this program. With one, prints what the rewrite
does, why it pays, when it is legal, its gain with each measured toolchain, and code
before and after. "No gain": the measurement excludes a gain of 5 % for the example, on
generated inputs, with that toolchain. "Stopped paying": an older toolchain still had the
gain. "Unsure": the measurement shows neither. Other code may gain all the same; the
search measures it.

A rewrite that the list marks as off applies in the suite, and to no public function that
was counted. A search uses it when --rules names it, or the set "suite" or "all".

Legality classes: E0 exact for all inputs; E1 exact unless the function panics; E2 the
representation may differ; E3 exact behind a guard that the rewrite emits; E4 another
algorithm for the same specification. The class decides which checks a version must pass.
What is not equivalent (E5), and what the list calls advice, is never applied.

Examples:
  beagle explain
  beagle explain unsigned-index`,
}

func init() { explainCommand.run = runExplain }

// ruleDoc is a rule as --json shows it.
type ruleDoc struct {
	Name   string       `json:"name"`
	Doc    string       `json:"doc"`
	Class  beagle.Class `json:"class"`
	Before string       `json:"before"`
	After  string       `json:"after"`

	Recall *rules.Recall `json:"recall,omitempty"` // on public packages; none for rules of Go's own tools
	Off    bool          `json:"off,omitempty"`    // a search uses it only when --rules names it
	Stays  string        `json:"stays,omitempty"`  // why a rare rule is on

	// on the rule's own example, with the toolchain of this program
	Measured *rules.Measurement `json:"measured,omitempty"`
}

// runExplain describes one rewrite or advice, or lists all.
func runExplain(_ context.Context, c *command, args []string, std stdio) (int, error) {
	f := c.flags(std)
	asJSON := f.Bool("json", false, "print JSON")
	rest, err := parse(f, args, 0, 1)
	if err != nil {
		return exitUsage, err
	}
	// One rewrite, an advice, or all.
	chosen := rules.All
	if len(rest) == 1 {
		m := rules.Named(rest[0])
		if rest[0] == lift.Name {
			m = lift.Mutator(nil)
		}
		if a := advice(rest[0]); a != nil && !*asJSON {
			fmt.Fprintf(std.out, "%s, advice: never applied\n\n%s\n", a.Name, a.Doc)
			return exitOK, nil
		}
		if m == nil {
			return exitUsage, &beagle.UsageError{
				What:   fmt.Sprintf("there is no rewrite %q", rest[0]),
				Remedy: "'beagle explain' lists them",
			}
		}
		chosen = []*mutate.Mutator{m}
	}
	// Print it.
	switch {
	case *asJSON:
		docs, here := make([]ruleDoc, len(chosen)), rules.MeasuredHere()
		for i, m := range chosen {
			// Beside what a rule says of itself stands what was counted and measured.
			before, after := m.Example()
			docs[i] = ruleDoc{Name: m.Name, Doc: m.Doc, Class: m.Class, Before: before, After: after,
				Off: isOff(m), Stays: rules.Reason(m.Name)}
			if r, ok := rules.RecallOf(m.Name); ok {
				docs[i].Recall = &r
			}
			if here != nil {
				measured := here.Of(m.Name)
				docs[i].Measured = &measured
			}
		}
		return exitOK, json.NewEncoder(std.out).Encode(docs)
	case len(rest) == 1:
		explainRule(std.out, chosen[0])
		return exitOK, nil
	}
	return exitOK, listRules(std.out, chosen)
}

// listRules prints a line for each rewrite and advice.
func listRules(w io.Writer, all []*mutate.Mutator) error {
	t, here := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), rules.MeasuredHere()
	for _, m := range all {
		first, _, _ := strings.Cut(m.Doc, ". ")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", m.Name, m.Class, gainWord(here.Of(m.Name)),
			strings.TrimSuffix(first, ".")+offMark(m))
	}
	for _, a := range rules.Advice {
		first, _, _ := strings.Cut(a.Doc, ". ")
		fmt.Fprintf(t, "%s\tadvice\t-\t%s\n", a.Name, strings.TrimSuffix(first, "."))
	}
	return t.Flush()
}

// advice returns the advisory of that name, or nil.
func advice(name string) *rules.Advisory {
	for _, a := range rules.Advice {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// gainWord returns a rule's gain in a word.
func gainWord(got rules.Measurement) string {
	switch {
	case got.Ratio.Point == 0:
		return "-"
	case got.Pays():
		return report.Digits(got.Ratio.Point) + "x"
	case got.Paid != "":
		return "stopped paying"
	case got.Vain():
		return "no gain"
	}
	return "unsure"
}

// explainRule prints all that is known of a rewrite.
func explainRule(w io.Writer, m *mutate.Mutator) {
	fmt.Fprintf(w, "%s, class %s\n\n%s\n", m.Name, m.Class, m.Doc)
	fmt.Fprintln(w)
	// Print the measurements of the rule on its example.
	on := func(toolchain string, t *rules.Table) {
		fmt.Fprintf(w, "On its example, with %s on %s: %s\n", toolchain, runtime.GOARCH, t.Of(m.Name))
	}
	if rules.MeasuredHere() == nil {
		on(runtime.Version(), nil)
	}
	for _, t := range rules.Tables(runtime.GOARCH) {
		on(t.Go, t)
	}
	// Print how often it finds a place, and why it is on or off.
	if r, ok := rules.RecallOf(m.Name); ok {
		fmt.Fprintln(w, recalled(r))
	}
	if isOff(m) {
		fmt.Fprintln(w, "Off by default, since only the suite is known to need it: --rules default,"+m.Name+
			" uses it.")
	} else if reason := rules.Reason(m.Name); reason != "" {
		fmt.Fprintln(w, "It stays on:", reason)
	}
	// Print the rewrite itself.
	before, after := m.Example()
	for _, part := range []struct{ title, code string }{{"Before", before}, {"After", after}} {
		if part.code != "" {
			fmt.Fprintf(w, "\n%s:\n\n\t%s\n", part.title,
				strings.ReplaceAll(strings.TrimSpace(part.code), "\n", "\n\t"))
		}
	}
}

// isOff reports whether a search uses the rule only when the user names it.
func isOff(m *mutate.Mutator) bool { return slices.Contains(rules.Suite, m) }

// offMark returns the mark of a rule that is off by default, or "".
func offMark(m *mutate.Mutator) string {
	if isOff(m) {
		return " (off)"
	}
	return ""
}

// recalled describes how often a rule applies to public code.
func recalled(r rules.Recall) string {
	least := ""
	if r.AtLeast {
		least = "at least "
	}
	text := fmt.Sprintf("On %d functions of %d public packages: it finds a place in %s%d", r.Functions,
		r.Packages, least, r.Found)
	if r.Rare() {
		text += ", which is rare"
	}
	return text + "."
}
