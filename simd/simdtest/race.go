//go:build race

package simdtest

// raceEnabled thins the cases out: the race detector makes each ten times slower.
const raceEnabled = true
