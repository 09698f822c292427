package contextkey

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/contextkey"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 6_000 {
		tags := make([]string, rng.IntN(40))
		if round%100 == 0 {
			tags = make([]string, 100+rng.IntN(400))
		}
		many := 1 + rng.IntN(300)
		for i := range tags {
			tags[i] = strings.Repeat("x", rng.IntN(3)*rng.IntN(20)) + fmt.Sprint(rng.IntN(many))
			if rng.IntN(30) == 0 {
				tags[i] = ""
			}
		}
		name, host := fmt.Sprint("n", rng.IntN(100)), strings.Repeat("h", rng.IntN(40))
		if got, want := Key(name, host, tags), original.Key(name, host, tags); got != want {
			t.Fatalf("Key(%q, %q, %q) = %x, want %x", name, host, tags, got, want)
		}
	}
}
