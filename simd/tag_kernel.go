//go:build !(archsimd && goexperiment.simd && amd64 && go1.26 && !go1.27 && !purego)

package simd

// TagValid reports whether every byte of b is one of a-z, 0-9, _ : . / and -.
// The empty tag is valid.
func TagValid(b []byte) bool { return tagIndex(b) == len(b) }

// TagValidString is TagValid for a string.
func TagValidString(s string) bool { return tagIndexString(s) == len(s) }
