package rules_test

import (
	"testing"

	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/example/exampletest"
)

// TestExamples runs Before and After of every example on drawn inputs.
func TestExamples(t *testing.T) {
	for _, r := range example.Registered() {
		t.Run(r.Name, func(t *testing.T) {
			for i, p := range r.Pairs {
				if err := exampletest.Pair(r.Class, p, 2000); err != nil {
					t.Errorf("pair %d: %v", i, err)
				}
			}
		})
	}
}
