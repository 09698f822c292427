package sandbox

import (
	"context"
	"testing"
)

// BenchmarkStart is the cost of the walls: start, wait and clean up of a
// program that does nothing.
func BenchmarkStart(b *testing.B) {
	s, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []Profile{Run, Fuzz, Build, Test} {
		b.Run(p.String(), func(b *testing.B) {
			for b.Loop() {
				r, err := s.Run(context.Background(), Command{Profile: p, Path: "/bin/true"})
				if err != nil || !r.OK() {
					b.Fatal(r, err)
				}
			}
		})
	}
}
