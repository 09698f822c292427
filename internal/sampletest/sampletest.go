// Package sampletest lets a test try a sample of its cases, drawn anew in each run. So each case
// still fails some run for its reason, and .ci/night tries all.
package sampletest

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
)

var (
	all      = flag.Bool("sample.all", false, "try all cases, not samples of them")
	seedFlag = flag.Uint64("sample.seed", 0, "draw the samples of this seed again; 0 draws others in each run")
	seed     = sync.OnceValue(func() uint64 { return cmp.Or(*seedFlag, rand.Uint64()) })
)

// All reports whether all cases run.
func All() bool { return *all }

// OneIn reports whether this run is the one of n that tries something dear.
func OneIn(t testing.TB, n int) bool {
	t.Helper()
	return Of(t, append([]bool{true}, make([]bool, n-1)...), 1)[0]
}

// Of draws n elements, or returns all of them. The log has the seed, with which a failure can be
// repeated.
func Of[T any](t testing.TB, from []T, n int) []T {
	t.Helper()
	if *all || n >= len(from) {
		return from
	}
	t.Logf("%d of %d; -sample.seed %d draws the same again", n, len(from), seed())
	var out []T
	for _, i := range rand.New(rand.NewPCG(seed(), 0)).Perm(len(from))[:n] {
		out = append(out, from[i])
	}
	return out
}
