//lint:file-ignore SA6005 the helpers are compared with what they replace

package kit_test

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate/kit"
)

func TestMod(t *testing.T) {
	for x := range 256 {
		for n := 1; n < 256; n++ {
			if got, want := kit.Mod(uint8(x), uint8(n)), uint8(x)%uint8(n); got != want {
				t.Fatalf("Mod(%d, %d) = %d, want %d", x, n, got, want)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Mod(1, 0) does not panic")
		}
	}()
	kit.Mod(uint(1), 0)
}

func TestEqual(t *testing.T) {
	words := []string{"", "a", "A", "k", "K", "\u212a", "s", "\u017f", "ß", "SS", "é", "É", "\xff", "a\xffb",
		"A\xffB", "İ", "i̇"}
	for _, a := range words {
		for _, b := range words {
			if got, want := kit.EqualLower(a, b), strings.ToLower(a) == strings.ToLower(b); got != want {
				t.Errorf("EqualLower(%q, %q) = %v", a, b, got)
			}
			if got, want := kit.EqualUpper(a, b), strings.ToUpper(a) == strings.ToUpper(b); got != want {
				t.Errorf("EqualUpper(%q, %q) = %v", a, b, got)
			}
		}
	}
}
