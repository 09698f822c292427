package patterns

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestDFA compares automata with the regexp package on texts over each pattern's own alphabet: all
// texts up to four bytes, and long random ones.
func TestDFA(t *testing.T) {
	for pattern, alphabet := range map[string]string{
		`^\d{4}-\d\d$`: "09-/:", `^[a-z_]+(:[a-z]+)*$`: "az_:A", `ab|cd`: "abcd", `a.c`: "ac\n", `(?i)k`: "kKlj",
		`^$`: "a", `a*$`: "ab",
		`x?y+z$`: "xyz", `^(a|ab)(c|bcd)$`: "abcd", `[^,]+,`: "a,\x7f", `error|fatal`: "erofatl", `^a|b$`: "abc",
		`a{2,3}b`: "ab", `^(?:a|b)*abb$`: "ab",
	} {
		d, err := newDFA(pattern)
		if err != nil {
			if pattern != `a*$` {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		re := regexp.MustCompile(pattern)
		check := func(s string) {
			if is, ask := d.match(s); ask || is != re.MatchString(s) {
				t.Fatalf("%s: %q gives %v", pattern, s, is)
			}
		}
		var words func(prefix string, n int)
		words = func(prefix string, n int) {
			check(prefix)
			for i := range len(alphabet) {
				if n > 0 {
					words(prefix+alphabet[i:i+1], n-1)
				}
			}
		}
		words("", 4)
		rng := rand.New(rand.NewPCG(1, uint64(len(pattern))))
		for range 300 {
			b := make([]byte, rng.IntN(30))
			for i := range b {
				b[i] = alphabet[rng.IntN(len(alphabet))]
			}
			check(string(b))
		}
	}
	for _, pattern := range []string{`\bword\b`, `(?m)^a`, `(a|b)*a(a|b){7}`, `a**`, ``, `a*`} {
		if _, err := newDFA(pattern); err == nil {
			t.Errorf("%q was not refused", pattern)
		}
	}
	if _, ask := (&dfa{next: make([][128]int, 1), final: make([]bool, 1)}).match("é"); !ask {
		t.Error("a text beyond ASCII was answered")
	}
}
