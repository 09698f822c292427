package report

import (
	"fmt"

	"github.com/beagle-go/beagle"
)

// Rate prints a rate with its interval.
func Rate(r beagle.Rate) string {
	return fmt.Sprintf("%d of %d (95 %%: %.1f to %.1f %%)", r.Hits, r.Trials, 100*r.Low, 100*r.High)
}

// RatesWhere describes where and how the rates were measured, and what to do when that was
// elsewhere.
func RatesWhere(r *beagle.ErrorRates) string {
	m := r.Machine
	text := fmt.Sprintf("Measured on %s, %d processors, %s/%s, %s, with --measure %gs --min-gain %g; %d of the "+
		"trials under a load that was made on purpose.",
		m.CPU, m.Cores, m.OS, m.Arch, m.Go, r.Seconds, r.MinGain, r.Loaded)
	if r.Elsewhere {
		text += " This machine or its toolchain is another: `beagle rates` measures it here."
	}
	return text
}
