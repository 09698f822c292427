package syntax

import (
	"slices"
	"testing"
)

func TestCutTypeArgs(t *testing.T) {
	for _, test := range []struct {
		in, bare string
		args     []string
	}{
		{"./tags.Normalize", "./tags.Normalize", nil},
		{"./murmur3.Sum[[]byte]", "./murmur3.Sum", []string{"[]byte"}},
		{"p.Map.Get[string, map[int]func(a, b int)]", "p.Map.Get", []string{"string", "map[int]func(a, b int)"}},
		{"p.F[struct{a, b int},int]", "p.F", []string{"struct{a, b int}", "int"}},
		{"[int]", "[int]", nil}, {"p.F[int", "p.F[int", nil}, {"p.F[]", "p.F", []string{""}},
	} {
		if bare, args := CutTypeArgs(test.in); bare != test.bare || !slices.Equal(args, test.args) {
			t.Errorf("%s: %q, %q", test.in, bare, args)
		}
	}
}
