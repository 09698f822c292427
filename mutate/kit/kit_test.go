//lint:file-ignore SA6005 the helpers are compared with what they replace

package kit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
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

func TestParseShort(t *testing.T) {
	check := func(s string) {
		t.Helper()
		got, err := kit.ParseShort(s)
		want, wantErr := strconv.ParseFloat(s, 64)
		if math.Float64bits(got) != math.Float64bits(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("ParseShort(%q) = %v, %v, want %v, %v", s, got, err, want, wantErr)
		}
	}
	for _, s := range []string{"", ".", "..", "0", "5.", ".5", "1.2.3", "-1", "+1", "1e3", "0x1p3", "1_0", "Inf", "nan",
		"999999999999999", "9999999999999999", "0.00000000000001", ".99999999999999", "123456789.123456", "00.10", "1 ",
		"/", ":", "\xff", "9007199254740993"} {
		check(s)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const alphabet = "0123456789.0123456789.e-"
	for range 200_000 {
		b := make([]byte, rng.IntN(18))
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		check(string(b))
	}
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
