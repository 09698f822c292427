package verify

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
)

var (
	seedFlag   = flag.Uint64("sample.seed", 0, "draw the samples of this seed again; 0 draws others in each run")
	sampleSeed = sync.OnceValue(func() uint64 { return cmp.Or(*seedFlag, rand.Uint64()) })
)

// sampleOf draws n elements, or returns all of them. The log has the seed, with which a failure can
// be repeated.
func sampleOf[T any](t *testing.T, from []T, n int, all bool) []T {
	t.Helper()
	if all || n >= len(from) {
		return from
	}
	t.Logf("%d of %d; -sample.seed %d draws the same again", n, len(from), sampleSeed())
	var out []T
	for _, i := range rand.New(rand.NewPCG(sampleSeed(), 0)).Perm(len(from))[:n] {
		out = append(out, from[i])
	}
	return out
}
