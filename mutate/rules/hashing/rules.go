// Package hashing holds the rewrites of hashes and checksums.
package hashing

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	unorderedFold,
	checksumStd,
	checksumSlicing,
}
