package verify

import (
	"testing"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// TestFuzzTimeIsOver: the fuzzer's own end is no failure, anything else that it
// does not explain is.
func TestFuzzTimeIsOver(t *testing.T) {
	const end = "fuzz: elapsed: 2s, execs: 30470 (13588/sec), new interesting: 32 (total: 224)\n--- FAIL: FuzzBeagle (2.29s)\n    context deadline exceeded\nFAIL\n"
	for out, wrong := range map[string]bool{
		end: false,
		end + "    Failing input written to testdata/fuzz/FuzzBeagle/1\n":   true,
		"--- FAIL: FuzzBeagle (2.29s)\n    no space left on device\nFAIL\n": true,
	} {
		finding, err := new(Job).fuzzed(t.Context(), &sandbox.Result{Code: 1}, "", out)
		if finding != nil || (err != nil) != wrong {
			t.Errorf("%q: %v, %v", out, finding, err)
		}
	}
}
