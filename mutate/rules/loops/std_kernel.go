//lint:file-ignore S1001 a Before is what the rule replaces

package loops

import (
	"bytes"
	"cmp"
	_ "embed"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed std_kernel.go
var stdKernelSource string

// stdKernel (catalogue L10 and V1) matches a loop over bytes that a function of the standard
// library does in vector instructions: IndexByte, Count, Equal, Contains, Index, HasPrefix, copy.
var stdKernel = example.Rule{
	Name: "std-kernel",
	Doc: "Replace a hand-written search, count, comparison or copy by the standard library's, which works on 16 or " +
		"32 bytes at a time. Exact: the rule recognises the whole loop, with the code before and after it.",
	Class:  beagle.E0,
	Gain:   4,
	Source: stdKernelSource,
	Pairs: []example.Pair{
		{Before: scanIndex[string], After: kernelIndex[string]},
		{Before: scanIndexBytes, After: kernelIndexBytes},
		{Before: scanHas[string], After: kernelHas[string]},
		{Before: scanHasBytes, After: kernelHasBytes},
		{Before: scanLacks[string], After: kernelLacks[string]},
		{Before: scanLacksBytes, After: kernelLacksBytes},
		{Before: scanFirst[string], After: kernelFirst[string]},
		{Before: scanFirstBytes, After: kernelFirstBytes},
		{Before: scanFirstRune, After: kernelFirstLetter, When: isLetter},
		{Before: scanFirstRune, After: kernelFirstRune, When: isWhole},
		{Before: scanCount[string, int], After: kernelCountLetter[string, int], When: isASCIIByte},
		{Before: scanCount[string, uint8], After: kernelCount[string, uint8]},
		{Before: scanCountBytes[int], After: kernelCountBytes[int]},
		{Before: scanCountRunes[int], After: kernelCountRunes[int], When: isWhole},
		{Before: scanEqual[string], After: kernelEqual[string]},
		{Before: scanEqualBytes, After: kernelEqualBytes},
		{Before: scanPrefix[string], After: kernelPrefix[string]},
		{Before: scanPrefixBytes, After: kernelPrefixBytes},
		{Before: scanSubstring, After: kernelSubstring},
		{Before: scanSubstringEarly, After: kernelSubstring},
		{Before: scanContains, After: kernelContains},
		{Before: scanContainsEarly, After: kernelContains},
		{Before: storeAll[int], After: copyAll[int]},
		{Before: storeString, After: copyString},
	},
	Label: kernelLabel,
}.Mutator()

// kernelLabel names the function that the loop is.
func kernelLabel(m *example.Match) string { return "loop that is " + cmp.Or(m.Calls(), "a comparison") }

func isLetter(c rune) bool    { return 0 <= c && c < utf8.RuneSelf }
func isASCIIByte(c byte) bool { return c < utf8.RuneSelf }

// isWhole reports whether no part of another rune, and no invalid byte, looks like the rune.
func isWhole(c rune) bool { return utf8.ValidRune(c) && c != utf8.RuneError }

func scanIndex[S ~string](s S, c byte) int {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return i
		}
	}
	return -1
}

func kernelIndex[S ~string](s S, c byte) int { return strings.IndexByte(string(s), c) }

func scanIndexBytes(s []byte, c byte) int {
	for i := range s {
		if s[i] == c {
			return i
		}
	}
	return -1
}

func kernelIndexBytes(s []byte, c byte) int { return bytes.IndexByte(s, c) }

func scanHas[S ~string](s S, c byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return true
		}
	}
	return false
}

func kernelHas[S ~string](s S, c byte) bool { return strings.IndexByte(string(s), c) >= 0 }

func scanHasBytes(s []byte, c byte) bool {
	for _, x := range s {
		if x == c {
			return true
		}
	}
	return false
}

func kernelHasBytes(s []byte, c byte) bool { return bytes.IndexByte(s, c) >= 0 }

func scanLacks[S ~string](s S, c byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return false
		}
	}
	return true
}

func kernelLacks[S ~string](s S, c byte) bool { return strings.IndexByte(string(s), c) < 0 }

func scanLacksBytes(s []byte, c byte) bool {
	for _, x := range s {
		if x == c {
			return false
		}
	}
	return true
}

func kernelLacksBytes(s []byte, c byte) bool { return bytes.IndexByte(s, c) < 0 }

// The scans below do something with the first place, and leave the loop.

func scanFirst[S ~string](s S, c byte, found func(int)) {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			found(i)
			break
		}
	}
}

func kernelFirst[S ~string](s S, c byte, found func(int)) {
	if i := strings.IndexByte(string(s), c); i >= 0 {
		found(i)
	}
}

func scanFirstBytes(s []byte, c byte, found func(int)) {
	for i := range s {
		if s[i] == c {
			found(i)
			break
		}
	}
}

func kernelFirstBytes(s []byte, c byte, found func(int)) {
	if i := bytes.IndexByte(s, c); i >= 0 {
		found(i)
	}
}

func scanFirstRune(s string, c rune, found func(int)) {
	for i, r := range s {
		if r == c {
			found(i)
			break
		}
	}
}

func kernelFirstLetter(s string, c rune, found func(int)) {
	if i := strings.IndexByte(s, byte(c)); i >= 0 {
		found(i)
	}
}

func kernelFirstRune(s string, c rune, found func(int)) {
	if i := strings.IndexRune(s, c); i >= 0 {
		found(i)
	}
}

func scanCount[S ~string, N kit.Integer](s S, c byte, n N) N {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			n++
		}
	}
	return n
}

func kernelCountLetter[S ~string, N kit.Integer](s S, c byte, n N) N {
	n += N(strings.Count(string(s), string(rune(c))))
	return n
}

func kernelCount[S ~string, N kit.Integer](s S, c byte, n N) N {
	n += N(strings.Count(string(s), string([]byte{c})))
	return n
}

func scanCountBytes[N kit.Integer](s []byte, c byte, n N) N {
	for i := range s {
		if s[i] == c {
			n++
		}
	}
	return n
}

func kernelCountBytes[N kit.Integer](s []byte, c byte, n N) N {
	n += N(bytes.Count(s, []byte{c}))
	return n
}

func scanCountRunes[N kit.Integer](s string, c rune, n N) N {
	for _, r := range s {
		if r == c {
			n++
		}
	}
	return n
}

func kernelCountRunes[N kit.Integer](s string, c rune, n N) N {
	n += N(strings.Count(s, string(c)))
	return n
}

func scanEqual[S ~string](a, b S) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func kernelEqual[S ~string](a, b S) bool { return a == b }

func scanEqualBytes(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func kernelEqualBytes(a, b []byte) bool { return bytes.Equal(a, b) }

func scanPrefix[S ~string](s, head S) bool {
	if len(s) < len(head) {
		return false
	}
	for i := 0; i < len(head); i++ {
		if s[i] != head[i] {
			return false
		}
	}
	return true
}

func kernelPrefix[S ~string](s, head S) bool { return strings.HasPrefix(string(s), string(head)) }

func scanPrefixBytes(s, head []byte) bool {
	if len(s) < len(head) {
		return false
	}
	for i := range head {
		if s[i] != head[i] {
			return false
		}
	}
	return true
}

func kernelPrefixBytes(s, head []byte) bool { return bytes.HasPrefix(s, head) }

func scanSubstring(s, sub string) int {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return i
		}
	}
	return -1
}

func scanSubstringEarly(s, sub string) int {
	for i := 0; i <= len(s)-len(sub); i++ {
		if s[i:i+len(sub)] == sub {
			return i
		}
	}
	return -1
}

func kernelSubstring(s, sub string) int { return strings.Index(s, sub) }

func scanContains(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

func scanContainsEarly(s, sub string) bool {
	for i := 0; i <= len(s)-len(sub); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

func kernelContains(s, sub string) bool { return strings.Contains(s, sub) }

func storeAll[T any](from []T) []T {
	to := make([]T, len(from))
	for i, x := range from {
		to[i] = x
	}
	return to
}

func copyAll[T any](from []T) []T {
	to := make([]T, len(from))
	copy(to, from)
	return to
}

func storeString(from string) []byte {
	to := make([]byte, len(from))
	for i := 0; i < len(from); i++ {
		to[i] = from[i]
	}
	return to
}

func copyString(from string) []byte {
	to := make([]byte, len(from))
	copy(to, from)
	return to
}
