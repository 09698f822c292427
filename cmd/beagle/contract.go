package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/report"
)

// contractFlags are the flags that say what is demanded of a version.
func contractFlags(f *flagSet, s *flow.Spec) {
	f.StringVar(&s.Requires, "requires", "", "a Go `condition` on the parameters: only inputs that keep to it count (docs/contracts.md)")
	f.Var(listFlag{&s.Ignore}, "ignore", "`differences` that do not count: error-text, panic-value, nil-empty, capacity, scratch")
	f.BoolVar(&s.Strict, "strict", false, "look for no contract under which a rejected version would be right, which takes some seconds")
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
	fmt.Fprintf(w, "  near miss    right under the contract: %s\n", report.Contract(n.Contract))
	fmt.Fprintf(w, "               kept to by %s\n", report.Support(n))
	if n.Gain != nil {
		fmt.Fprintf(w, "               then faster by %s, in a quick measurement\n", report.Ratio(*n.Gain))
	}
	fmt.Fprintf(w, "               accept it with %s\n", strings.TrimSpace(n.Flag))
}
