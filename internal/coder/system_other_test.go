//go:build !unix

package coder

import (
	"errors"
	"testing"

	"github.com/beagle-go/beagle"
)

// makePipe is never called: there are no agents here.
func makePipe(string) error { return errors.ErrUnsupported }

// TestAgentsAreRefused checks that what is not possible is said, with what to do.
func TestAgentsAreRefused(t *testing.T) {
	var bad *beagle.UsageError
	if _, err := new(Coder).Ask(t.Context(), question()); !errors.As(err, &bad) || bad.Remedy == "" {
		t.Errorf("got %v", err)
	}
}
