// Package patterns holds the rewrites of regular expressions: they are compiled once, or become
// code.
package patterns

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	hoistCompile,
	regexpMatch,
	regexpFind,
}
