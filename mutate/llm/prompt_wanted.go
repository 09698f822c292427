package llm

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A wish is an idea that a call may ask for, with its possible gain.
type wish struct {
	text string
	gain float64
}

// wantedIdea names the idea that this call should bring. Calls of different seeds ask for different
// ideas, the most promising first, so that concurrent calls do not bring the same.
func (e *Briefing) wantedIdea(seed uint64) string {
	all := e.wishes()
	return all[seed%uint64(len(all))].text
}

// wishes returns the ideas that the briefing suggests, the most promising first: measurements come
// before the look of the code.
func (e *Briefing) wishes() []wish {
	known := e.Facts()
	var out []wish
	add := func(when bool, gain float64, format string, args ...any) {
		if when {
			out = append(out, wish{fmt.Sprintf(format, args...), gain})
		}
	}
	// Measured: the line that takes the time, what a call allocates, and how the inputs behave. The
	// gain grows with the measured share.
	if line, share := e.hottest(); share >= 0.25 {
		add(true, 0.3+share,
			"The idea wanted from this call is about line %d, which takes %s of the time: avoid its work, "+
				"do it once instead of each time, or do it for several elements at once.", line, percent(share))
	}
	if t := e.Target; t != nil && len(t.Group) > 0 {
		add(true, 0.8, "The idea wanted from this call is another layout of the data that the functions share, in "+
			"which the most expensive of them has less to do; change all that touch it.")
	}
	if c := e.Parent.Cost; c != nil && c.Allocs >= 0.5 {
		add(true, 0.3+min(0.7, 50*c.Allocs/max(c.Nanos, 1)),
			"The idea wanted from this call is one allocation less: a call "+
				"makes %.1f of %.0f bytes together.", c.Allocs, c.Bytes)
	}
	if f := e.Facets; f != nil {
		add(f.Errors >= 0.1, f.Errors, "The idea wanted from this call is the error path: %s of the calls take it.",
			percent(f.Errors))
		add(f.Identity >= 0.3, f.Identity,
			"The idea wanted from this call is to find out early, and cheaply, that the "+
				"result equals the first argument, as in %s of the calls.", percent(f.Identity))
	}
	// Seen in the code only: what it consists of. Allocations count here if nobody measured them.
	add(e.Parent.Cost == nil && known["alloc"] > 0, 0.5,
		"The idea wanted from this call is one allocation less, of those that the caller cannot see.")
	add(known["loop"] > 0, 0.45,
		"The idea wanted from this call is a loop that takes several elements a turn, or none.")
	add(known["branch"] > 0, 0.4, "The idea wanted from this call is a table or arithmetic in place of a decision.")
	add(known["bounds-check"] > 0, 0.35*known["bounds-check"],
		"The idea wanted from this call is a form in which the compiler proves the hot loop's bounds.")
	add(known["map"] > 0, 0.4,
		"The idea wanted from this call is something simpler than a map, for keys that are few or small.")
	add(known["recursion"] > 0, 0.5, "The idea wanted from this call is what the recursion computes again and again.")
	// These two fit any code, so no call is without an idea.
	add(true, 0.3, "The idea wanted from this call is another algorithm for the same answer, with fewer steps and not "+
		"cheaper ones.")
	add(true, 0.25, "The idea wanted from this call is a short way for what nearly all inputs have in common.")
	// Ideas of equal gain need an order of their own, so that a seed always asks for the same.
	inorder.By(out, func(a, b wish) int {
		switch {
		case a.gain > b.gain:
			return -1
		case a.gain < b.gain:
			return 1
		}
		return strings.Compare(a.text, b.text)
	})
	return out
}

// hottest returns the line of the version to change that takes most time, and its share.
func (e *Briefing) hottest() (line int, share float64) {
	for l, s := range e.Parent.Profile {
		if s > share || s == share && l < line {
			line, share = l, s
		}
	}
	return line, share
}
