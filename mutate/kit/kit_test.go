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

func TestCase(t *testing.T) {
	check := func(s, x string) {
		t.Helper()
		lower, upper := strings.ToLower(s), strings.ToUpper(s)
		for _, c := range []struct {
			name      string
			got, want bool
		}{
			{"LowerIs", kit.LowerIs(s, x), lower == x},
			{"UpperIs", kit.UpperIs(s, x), upper == x},
			{"LowerStarts", kit.LowerStarts(s, x), strings.HasPrefix(lower, x)},
			{"UpperStarts", kit.UpperStarts(s, x), strings.HasPrefix(upper, x)},
			{"LowerEnds", kit.LowerEnds(s, x), strings.HasSuffix(lower, x)},
			{"UpperEnds", kit.UpperEnds(s, x), strings.HasSuffix(upper, x)},
			{"AppendLower", string(kit.AppendLower(make([]byte, 0, 4), s)) == lower, true},
			{"AppendUpper", string(kit.AppendUpper(make([]byte, 0, 4), s)) == upper, true},
		} {
			if c.got != c.want {
				t.Fatalf("%s(%q, %q) = %v", c.name, s, x, c.got)
			}
		}
	}
	// Characters whose other case is ASCII, whose case has another length, and what is no rune.
	parts := []string{"a", "A", "z", "Z", "k", "K", "\u212a", "s", "\u017f", "i", "I", "\u0130", "\u0131", "@", "[",
		"`", "{", "é", "É", "\xff", "\xc3", "Ⱥ"}
	texts := []string{"", "a", "A", "k", "K", "ks", "KS", "is", "IS", "kiss", "@[`{", "az", "AZ"}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				for _, x := range texts {
					check(a+b+c, x)
					check(a+b, x)
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		s := ""
		for range rng.IntN(7) {
			s += parts[rng.IntN(len(parts))]
		}
		check(s, texts[rng.IntN(len(texts))])
		x := strings.ToLower(s)
		if rng.IntN(2) == 0 {
			x = strings.ToUpper(s)
		}
		if from := rng.IntN(len(x) + 1); kit.AllASCII(x) {
			check(s, x[from:])
			check(s, x[:from])
		}
	}
}

func TestRuneText(t *testing.T) {
	for r := rune(-2); r < 0x110002; r++ {
		if got, want := kit.RuneText(r), string(r); got != want {
			t.Fatalf("RuneText(%#x) = %q, want %q", r, got, want)
		}
	}
	var text string
	if n := testing.AllocsPerRun(100, func() { text = kit.RuneText('a') }); n != 0 || text != "a" {
		t.Errorf("RuneText('a') = %q with %v allocations, want none", text, n)
	}
}
