package proof_test

import (
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
)

// TestWraps: sums that are too narrow, or blocks that are too long, far beyond
// any proof.
func TestWraps(t *testing.T) {
	lib := exec.NewLibrary(".")
	const sum = `func F(s string) uint32 { n := uint32(0); for i := 0; i < len(s); i++ { n += uint32(s[i]) }; return n }`
	const narrow = `func F(s string) uint32 { n := uint16(0); for i := 0; i < len(s); i++ { n += uint16(s[i]) }; return uint32(n) }`
	const hash = `func F(s string) uint32 { n := uint32(1); for i := 0; i < len(s); i++ { n = n*31 + uint32(s[i]) }; return n }`
	const hash2 = `func F(s string) uint32 { n := uint32(1); for _, c := range []byte(s) { n *= 31; n += uint32(c) }; return n }`
	for _, c := range []struct{ name, a, b, want string }{
		{"sum of 16 bits", sum, narrow, "16 bits on line 2 of the candidate wraps from length 258 on"},
		{"a hash wraps in both", hash, hash2, ""},
		{"the same", sum, sum, ""},
	} {
		o, err := lib.FromText("package p\n"+c.a, "F")
		if err != nil {
			t.Fatal(err)
		}
		d, err := lib.FromText("package p\n"+c.b, "F")
		if err != nil {
			t.Fatal(err)
		}
		x := proof.Wraps(t.Context(), o, d, lib, 20*time.Second)
		got := strings.Join(x.Notes, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if (c.want != "") != (len(x.Inputs) > 0) {
			t.Errorf("%s: %d inputs", c.name, len(x.Inputs))
		}
	}
}
