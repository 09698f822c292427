package simd

import (
	"strings"
	"testing"
	"unsafe"
)

// TestTagValidIsTheTable tries every byte at every place of every length to 100, at all alignments.
// The generated tests draw their inputs at random.
func TestTagValidIsTheTable(t *testing.T) {
	room := []byte(strings.Repeat("env:prod-7", 30))
	eachTier(t, func(t *testing.T) {
		for n := range 101 {
			b := room[n%64:][:n:n]
			for i := range b {
				old := b[i]
				for c := 0; c < 256; c += 1 + n/8 {
					b[i] = byte(c)
					checkTag(t, b)
				}
				b[i] = old
			}
			checkTag(t, b)
		}
		for _, n := range []int{1000, 1 << 18, 1<<18 + 33} {
			checkTag(t, []byte(strings.Repeat("x", n)))
			checkTag(t, []byte(strings.Repeat("x", n-1)+"X"))
		}
	})
}

func checkTag(t *testing.T, b []byte) {
	t.Helper()
	want := tagIndexGo(b) == len(b)
	if TagValid(b) != want || TagValidString(unsafe.String(unsafe.SliceData(b), len(b))) != want {
		t.Fatalf("tier %v, length %d: %q: want %v", tier, len(b), b, want)
	}
}
