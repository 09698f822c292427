// Package symbol reads the names that the linker gives to functions, as profiles hold them, and the
// paths of packages.
package symbol

import "strings"

// WithoutTypeArgs drops type arguments, which profiles write as [...] or in full, as in
// [go.shape.int]. They may nest, and hold dots and slashes.
func WithoutTypeArgs(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch {
		case r == '[':
			depth++
		case r == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Standard reports whether a package is of the standard library: the first element of its path has
// no dot. Modules may break that rule, so look for own code first.
func Standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}
