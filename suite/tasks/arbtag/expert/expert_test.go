package arbtag

import (
	"math/rand/v2"
	"strings"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/arbtag"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"a", "z", "0", ":", "-", "/", "_", "_", "A", " ", "@", "[", "`", "{", "é", "É", "東", "İ", "K",
		"٣", "�", "\xff", "\xc3", "\x00", "\x7f", "abcdefgh", "web_1"}
	for range 60_000 {
		var tag strings.Builder
		few := 1 + rng.IntN(len(pieces))
		for range rng.IntN(24) {
			tag.WriteString(pieces[rng.IntN(few)])
		}
		check(t, tag.String())
	}
	for n := 180; n < 215; n++ {
		for _, unit := range []string{"a", "é", "a_", "a ", "_"} {
			for _, end := range []string{"", "b", "_", "!b", "É"} {
				check(t, strings.Repeat(unit, n)+end)
				check(t, strings.Repeat(unit, n/2)+end)
				check(t, "x"+strings.Repeat("a", n-1)+end+unit)
			}
		}
	}
}

func check(t *testing.T, tag string) {
	t.Helper()
	if got, want := NormalizeTagArbTagValue(tag), original.NormalizeTagArbTagValue(tag); got != want {
		t.Fatalf("%q: %q, want %q", tag, got, want)
	}
}
