// Package rules is the catalogue of the rewrites that need no model. They stand in packages by
// subject, one rule a file, with one golden archive a rule (testdata/<rule>.txtar).
//
// A rule looks only at the present code, not at a sequence of rules. Each recognises what other
// rules write, and the search finds the order. A rule leaves a place out if it is in doubt. If its
// legality class allows, it may still propose what types and syntax cannot prove; the checks of
// that class then decide.
package rules

import (
	"slices"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/bounds"
	"github.com/beagle-go/beagle/mutate/rules/branches"
	"github.com/beagle-go/beagle/mutate/rules/calls"
	"github.com/beagle-go/beagle/mutate/rules/gofix"
	"github.com/beagle-go/beagle/mutate/rules/hashing"
	"github.com/beagle-go/beagle/mutate/rules/loops"
	"github.com/beagle-go/beagle/mutate/rules/mapping"
	"github.com/beagle-go/beagle/mutate/rules/memory"
	"github.com/beagle-go/beagle/mutate/rules/numbers"
	"github.com/beagle-go/beagle/mutate/rules/patterns"
	"github.com/beagle-go/beagle/mutate/rules/recursion"
	"github.com/beagle-go/beagle/mutate/rules/sorting"
	"github.com/beagle-go/beagle/mutate/rules/text"
)

// All lists every rule, in the order of the catalogue and of `beagle explain`. The last are the Go
// team's.
var All = slices.Concat(
	bounds.Rules,
	loops.Rules,
	branches.Rules,
	text.Rules,
	patterns.Rules,
	memory.Rules,
	mapping.Rules,
	sorting.Rules,
	hashing.Rules,
	recursion.Rules,
	calls.Rules,
	numbers.Rules,
	gofix.Rules,
)

// docs/rewrites.md lists the catalogue's entries with their rules, and says why some have none.
// Changes that depend on promises outside the source are in Advice.

// Named returns the rule of that name, or nil.
func Named(name string) *mutate.Mutator {
	for _, m := range All {
		if m.Name == name {
			return m
		}
	}
	return nil
}
