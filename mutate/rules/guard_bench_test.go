package rules_test

import (
	"os"
	"testing"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// BenchmarkMoves measures what it costs to ask all rules for their moves, with and without the
// guard.
func BenchmarkMoves(b *testing.B) {
	src, err := os.ReadFile("testdata/posts/tags.go")
	if err != nil {
		b.Fatal(err)
	}
	for name, guard := range map[string]*mutate.Guard{"guarded": {}, "bare": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p, err := mutate.Check(string(src), "Normalize", mostlyClean())
				if err != nil {
					b.Fatal(err)
				}
				p.Guard = guard
				b.StartTimer()
				mutate.Moves(p, rules.All)
			}
		})
	}
}
