//go:build !race

package simdtest

const raceEnabled = false
