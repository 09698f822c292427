package companion

import (
	"fmt"
	"io"
	"strings"

	"github.com/beagle-go/beagle"
)

// Explain prints bad input as all verbs of beagle do: the mistake, and below it the remedy.
func Explain(w io.Writer, verb string, bad *beagle.UsageError) {
	fmt.Fprintf(w, "beagle %s: %s\n", verb, bad.What)
	if bad.Remedy != "" {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(bad.Remedy, "\n", "\n  "))
	}
}

// Explained returns the last mistake that a verb explained in its output, or nil.
func Explained(printed, verb string) *beagle.UsageError {
	begin := "beagle " + verb + ": "
	at := strings.LastIndex("\n"+printed, "\n"+begin)
	if at < 0 {
		return nil
	}
	what, remedy, _ := strings.Cut(strings.TrimSpace(printed[at+len(begin):]), "\n  ")
	return &beagle.UsageError{What: what, Remedy: strings.ReplaceAll(remedy, "\n  ", "\n")}
}
