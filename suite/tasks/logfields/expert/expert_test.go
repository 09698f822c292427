package logfields

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/logfields"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	pieces := []string{" ", "=", `"`, "a", "level", "Z", "É", "\xff", "\xc2", "\u00a0", "\u2003", "\t", "\n", "\v",
		"\x00", "1", "[", "@"}
	for range 60_000 {
		var line strings.Builder
		few := 1 + rng.IntN(len(pieces))
		for range rng.IntN(24) {
			line.WriteString(pieces[rng.IntN(few)])
		}
		got, want := Split(line.String()), original.Split(line.String())
		if !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("Split(%q) = %q, want %q", line.String(), got, want)
		}
	}
}
