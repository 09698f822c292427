package hotspots

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	linker "github.com/beagle-go/beagle/internal/symbol"
)

// Why answers for functions, by target, linker name or the end of one, why
// they have no entry in the ranking. Functions that have one are in entries.
func (t *Table) Why(name string) (dropped []beagle.DroppedFunction, entries []beagle.Hotspot, err error) {
	for _, c := range byCost(t.ranking.order) {
		if !c.matches(name) {
			continue
		}
		if c.entry {
			entries = append(entries, t.hotspot(c))
		} else {
			dropped = append(dropped, t.describeDropped(c))
		}
	}
	if len(dropped)+len(entries) > 0 {
		return dropped, entries, nil
	}
	return nil, nil, &beagle.UsageError{
		What: fmt.Sprintf("%s is in none of the profiles (%d samples)", name, t.Samples),
		Remedy: fmt.Sprintf("with 95 %% confidence it has less than %.3g %% of the time; or the compiler "+
			"inlined it, or its name is another",
			100*ruleOfThree(t.Effective)),
	}
}

// ruleOfThree bounds the share of something that n samples did not show.
func ruleOfThree(n float64) float64 { return min(1, 3/max(n, 1)) }

// matches reports whether a cost is of the function that a person means: the whole
// name, or its end from a separator on.
func (c *cost) matches(name string) bool {
	plain := func(s string) string {
		return strings.NewReplacer("(*", "", ")", "").Replace(linker.WithoutTypeArgs(s))
	}
	name = strings.TrimPrefix(plain(name), "./")
	for _, have := range append([]string{c.fn.key, c.fn.target}, c.fn.symbols...) {
		have = strings.TrimPrefix(plain(have), "./")
		head, ok := strings.CutSuffix(have, name)
		if ok && name != "" && (head == "" || strings.HasSuffix(head, "/") || strings.HasSuffix(head, ".")) {
			return true
		}
	}
	return false
}
