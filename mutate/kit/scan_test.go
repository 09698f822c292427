package kit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle/mutate/kit"
)

// TestScan checks that Sscanf reads what a function of the kit reads, and leaves the same rest.
func TestScan(t *testing.T) {
	taken := map[string]int{}
	// same reads the rest after a mark: %c needs no blank in front of it.
	same := func(verb, s, rest string, ok bool, got any, want func(format string, rest *rune) (any, int, error)) {
		t.Helper()
		if !ok {
			return
		}
		taken[verb]++
		next := rune(-1)
		v, n, err := want("%"+verb+"%c", &next)
		differs := n < 1 || n < 2 && rest != "" || n == 1 && err == nil || got != v
		if differs || rest != "" && []rune(rest)[0] != next {
			t.Fatalf("%%%s of %q = %v, rest %q; want %v, %q, after %d: %v", verb, s, got, rest, v, next, n, err)
		}
	}
	check := func(s string) {
		t.Helper()
		i, rest, ok := kit.ScanInt(s, 9, true)
		same("d", s, rest, ok, int32(i), func(format string, next *rune) (any, int, error) {
			var v int32
			n, err := fmt.Sscanf(s, format, &v, next)
			return v, n, err
		})
		i, rest, ok = kit.ScanInt(s, 2, true)
		same("d", s, rest, ok, int8(i), func(format string, next *rune) (any, int, error) {
			var v int8
			n, err := fmt.Sscanf(s, format, &v, next)
			return v, n, err
		})
		u, rest, ok := kit.ScanDigits(s, 18, true)
		same("d", s, rest, ok, u, func(format string, next *rune) (any, int, error) {
			var v uint64
			n, err := fmt.Sscanf(s, format, &v, next)
			return v, n, err
		})
		u, rest, ok = kit.ScanHex(s, 7, true)
		same("x", s, rest, ok, int32(u), func(format string, next *rune) (any, int, error) {
			var v int32
			n, err := fmt.Sscanf(s, format, &v, next)
			return v, n, err
		})
		word, rest, ok := kit.ScanWord(s, true)
		same("s", s, rest, ok, word, func(format string, next *rune) (any, int, error) {
			var v string
			n, err := fmt.Sscanf(s, format, &v, next)
			return v, n, err
		})
		f, rest, ok := kit.ScanFloat(s, true)
		same("f", s, rest, ok, math.Float64bits(f), func(format string, next *rune) (any, int, error) {
			var v float64
			n, err := fmt.Sscanf(s, format, &v, next)
			return math.Float64bits(v), n, err
		})
	}
	parts := []string{"0", "1", "9", "12", "99999999", "-", "+", "_", ".", "a", "f", "F", "x", "e", "E5", "p", "n",
		"inf", " ", "  ", "\t", "\n", "\r\n", "\x00", "é", "\xff", "\u00a0", "\u0660", "~", "\x7f", "%", ","}
	for _, a := range parts {
		check(a)
		for _, b := range parts {
			check(a + b)
			for _, c := range parts {
				check(a + b + c)
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		s := ""
		for range rng.IntN(12) {
			s += parts[rng.IntN(len(parts))]
		}
		check(s)
	}
	for _, verb := range []string{"d", "x", "s", "f"} {
		if taken[verb] < 1000 {
			t.Errorf("%%%s was read %d times only", verb, taken[verb])
		}
	}
}

// TestScanBetween checks that text and blanks between verbs match what Sscanf matches.
func TestScanBetween(t *testing.T) {
	for _, s := range []string{"", " ", "1", "1 ", "1.", "1.2", "1. 2", "1 .2", "1  2", "1\t2", "1\n2", "1 \n2", "1 é",
		"1   2",
		"1" + fmt.Sprintf("%70s", "2"), "1..2", "1,2"} {
		for _, format := range []string{"%d.%d", "%d %d", "%d..%d", "%d . %d"} {
			a, rest, ok := kit.ScanInt(s, 9, true)
			for _, c := range format[2 : len(format)-2] {
				if c == ' ' {
					rest, ok = kit.ScanBlanks(rest, ok)
				} else {
					rest, ok = kit.ScanText(rest, string(c), ok)
				}
			}
			b, _, ok := kit.ScanInt(rest, 9, ok)
			var x, y int
			n, err := fmt.Sscanf(s, format, &x, &y)
			if ok && (n != 2 || err != nil || a != int64(x) || b != int64(y)) {
				t.Errorf("%q with %q = %d, %d; want %d, %d after %d: %v", s, format, a, b, x, y, n, err)
			}
			if !ok && n == 2 && s == "1.2" {
				t.Errorf("%q with %q is left to Sscanf", s, format)
			}
		}
	}
}
