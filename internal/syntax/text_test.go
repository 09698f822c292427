package syntax

import (
	"slices"
	"testing"
)

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":         {},
		"a":        {"a"},
		"a\n":      {"a\n"},
		"a\n\nb":   {"a\n", "\n", "b"},
		"a\n\nb\n": {"a\n", "\n", "b\n"},
	} {
		if got := Lines(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
