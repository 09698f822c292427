package proof_test

import (
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/solve"
)

// TestSeeds: a side that a magic word guards is reached, and one that contradicts what was tested
// before is dead.
func TestSeeds(t *testing.T) {
	if len(solve.Installed()) == 0 {
		t.Skip("no solver is installed: apt install z3")
	}
	const text = `package p

func F(s string) int {
	if len(s) == 4 && uint32(s[0])<<24|uint32(s[1])<<16|uint32(s[2])<<8|uint32(s[3]) == 0x6d616763 {
		return 1
	}
	for i := 0; i < len(s); i++ {
		if s[i] > 'z' {
			return 2
		}
		if s[i] == '~' {
			return 3
		}
	}
	return 0
}
`
	lib := exec.NewLibrary(".")
	p, err := lib.FromText(text, "F")
	if err != nil {
		t.Fatal(err)
	}
	reached, dead := 0, 0
	for _, s := range proof.Seeds(t.Context(), p, p, lib, 6, 60*time.Second) {
		if s.Input != nil {
			reached++
		}
		if s.Dead {
			dead++
		}
		if s.Line == 4 && s.True && s.Input == nil {
			t.Errorf("the magic word was not found: %+v", s)
		}
		if s.Line == 11 && s.True && !s.Dead {
			t.Errorf("%+v is not dead", s)
		}
	}
	t.Logf("%d reached, %d dead", reached, dead)
	if reached < 8 || dead == 0 {
		t.Errorf("%d sides were reached", reached)
	}
}
