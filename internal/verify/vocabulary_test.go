package verify

import (
	"slices"
	"testing"
	"unicode"

	"path/filepath"
)

// TestVocabularyOfVersions checks what the code contributes: lengths from constants, sizes, masks,
// shifts and narrow types; characters from comparisons; the ends of classes from the library.
func TestVocabularyOfVersions(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/v\n\ngo 1.24\n")
	const src = `package p

import (
	"strings"
	"unicode"
)

var table [192]uint16

// F is read.
func F(s string) int {
	n := 0
	for i, r := range strings.TrimSpace(s) {
		if r == '_' || unicode.Is(unicode.Thai, r) || unicode.IsDigit(r) {
			n += int(table[i%192]) + int(uint16(i))&1023 + i>>11
		}
	}
	return n % 5552
}
`
	put(t, filepath.Join(dir, "p", "p.go"), src)
	e := environment(t, dir, "./p.F")
	orig, err := e.original()
	if err != nil {
		t.Fatal(err)
	}
	v := vocabularyOf(orig)
	for _, n := range []int{192, 1 << 16, 1 << 15, 1024, 1 << 11, 5552} {
		if !slices.Contains(v.lens, n) {
			t.Errorf("no length %d in %v", n, v.lens)
		}
	}
	if !slices.Contains(v.marks, '_') {
		t.Errorf("no mark '_' in %q", v.marks)
	}
	thai := unicode.Thai.R16
	for _, r := range []rune{0x205f, 0x3000, rune(thai[0].Lo), rune(thai[len(thai)-1].Hi), 0x0660, 0x0669} {
		if !slices.Contains(v.runes, r) {
			t.Errorf("no rune %U", r)
		}
	}
}
