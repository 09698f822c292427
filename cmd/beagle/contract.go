package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/report"
)

// contractFlags declares the flags of a version's contract.
func contractFlags(f *flagSet, s *flow.Spec) {
	f.StringVar(&s.Requires, "requires", "",
		"a Go `condition` on the parameters: only inputs that keep to it count (docs/contracts.md); for a group "+
			"'NAME: CONDITION; NAME: CONDITION'")
	f.Var(listFlag{&s.Ignore}, "ignore",
		"`differences` that do not count: error-text, panic-value, nil-empty, capacity, scratch")
	f.BoolVar(&s.Strict, "strict", false,
		"reject at once: do not search some seconds for a contract under which a version would be right")
}

// writeGuarded writes the guarded form of a near miss, if there is one.
func writeGuarded(path string, v *beagle.Verdict) error {
	switch {
	case path == "":
		return nil
	case v.NearMiss == nil || v.NearMiss.Guarded == nil:
		return &beagle.UsageError{
			What:   "--guarded " + path + ": there is no guarded form to write",
			Remedy: "only a near miss has one, whose contract is a condition on the inputs",
		}
	}
	return os.WriteFile(path, []byte(v.NearMiss.Guarded.Source), 0o644)
}

// printContract says under which contract a verdict holds, and under which one
// a rejected version would be right.
func printContract(w io.Writer, v *beagle.Verdict) {
	if !v.Contract.IsZero() {
		fmt.Fprintf(w, "  under the contract  %s\n", report.Contract(v.Contract))
	}
	n := v.NearMiss
	if n == nil {
		return
	}
	// A near miss is a rejected version that a contract would make right: print its support and its
	// gain, so that a person can decide whether the contract is worth it.
	fmt.Fprintf(w, "  near miss    right under the contract: %s\n", report.Contract(n.Contract))
	fmt.Fprintf(w, "               kept to by %s\n", report.Support(n))
	if n.Gain != nil {
		fmt.Fprintf(w, "               then faster by %s, in a quick measurement\n", report.Ratio(*n.Gain))
	}
	fmt.Fprintf(w, "               accept it with %s\n", strings.TrimSpace(n.Flag))
	// Its guarded form needs no contract.
	g := n.Guarded
	switch {
	case g == nil:
	case g.Status == beagle.Accepted:
		fmt.Fprintf(w, "  guarded      accepted without a contract, faster by %s: --guarded FILE writes it\n",
			report.Ratio(g.Measure.Corrected))
	case g.Status == beagle.Equal && g.Measure == nil:
		fmt.Fprintf(w, "  guarded      equal without a contract, not measured: --guarded FILE writes it\n")
	default:
		fmt.Fprintf(w, "  guarded      with the original for all other inputs: %s, %s\n", g.Status, g.Reason)
	}
}
