// Package sampletest lets a test try a sample of its cases, drawn anew in each run. So each case
// still fails some run for its reason, and .ci/night tries all.
package sampletest

import (
	"cmp"
	"flag"
	"hash/fnv"
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

// OneIn reports whether this run is the one of n that tries an expensive test. Each test draws for
// itself, so that no run tries all expensive tests.
func OneIn(t testing.TB, n int) bool {
	t.Helper()
	if *all {
		return true
	}
	t.Logf("one of %d runs tries it; -sample.seed %d draws the same again", n, seed())
	name := fnv.New64a()
	name.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed(), name.Sum64())).IntN(n) == 0
}

// Rarely skips an expensive test in all runs but one of n.
func Rarely(t testing.TB, n int) {
	t.Helper()
	if !OneIn(t, n) {
		t.Skip("not drawn; -sample.all tries it in each run")
	}
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
