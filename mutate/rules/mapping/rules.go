// Package mapping holds the rewrites of maps.
package mapping

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	mapUpdate,
	mapEntry,
	byteMap,
	mapSwitch,
	mapClear,
}
