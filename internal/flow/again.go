package flow

import (
	"fmt"

	"github.com/beagle-go/beagle"
)

// The report times the steps of a winner in programs of their own, after the full measurement, over
// fewer layouts and beside other versions. That is a second measurement of the winner, under other
// conditions. An interval holds the noise of its own measurement only: a change of machine code may
// gain by the addresses of its branches, or by what the other half of a core does meanwhile. Such a
// gain is sure in one measurement and absent in the next.

// refuted returns the reason to refuse a winner that its second measurement contradicts: that
// interval lies below the quoted one and shows no gain. It returns "" for all other winners.
func refuted(quoted, again beagle.Ratio) string {
	if !liesBelow(again, quoted) || again.Low > 1 {
		return ""
	}
	return fmt.Sprintf("a second measurement, beside its steps, shows no gain: %s, where the first says %s",
		again.Spelled(), quoted.Spelled())
}

// againWarnings warn of a gain that the second measurement shows to be smaller.
func againWarnings(quoted, again beagle.Ratio) []string {
	if !liesBelow(again, quoted) {
		return nil
	}
	return []string{fmt.Sprintf("the gain depends on neighbours in the program: a second measurement, beside its "+
		"steps, gives %s, the quoted one %s", again.Spelled(), quoted.Spelled())}
}

// liesBelow reports whether one interval lies below another. The zero Ratio is not known.
func liesBelow(a, b beagle.Ratio) bool { return a.Low > 0 && a.High < b.Low }
