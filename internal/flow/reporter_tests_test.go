package flow

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// TestTestFile checks that the committed test says where its calls are from, and uses nothing that
// the module's own Go version lacks.
func TestTestFile(t *testing.T) {
	dir := t.TempDir()
	target := &beagle.Target{
		Dir: dir, PkgDir: dir, PkgName: "p", Name: "Parse", Go: "1.18",
		Params:  []beagle.Param{{Name: "s", Type: "string", Kind: "string"}},
		Results: []beagle.Param{{Type: "int", Kind: "int"}, {Type: "error", Kind: "interface"}},
	}
	seven := rt.SpelledCall{Args: []string{`"7"`}, Results: []string{"7", `""`}}
	calls := []rt.SpelledCall{seven, seven}
	for _, c := range []struct {
		version   string
		generated bool
		has       []string
	}{
		{"1.18", true, []string{"these generated calls must", "BenchmarkParseGenerated", "i < b.N; i++", "import \"testing\"\n"}},
		{"1.24", false, []string{"most of them recorded", "BenchmarkParseRecorded", "b.Loop()", "result 1 is %v, want %q"}},
	} {
		target.Go = c.version
		// an error is spelled as text
		file, ok := testFile(target, calls, calls, []string{"errors", "testing"}, c.generated)
		if !ok {
			t.Fatal("no file")
		}
		// the test holds a call once, the benchmark as often as it was recorded
		if n := strings.Count(file.After, `{"7"`); n != 3 {
			t.Errorf("go %s: the call stands %d times, want 3 times:\n%s", c.version, n, file.After)
		}
		for _, want := range c.has {
			if !strings.Contains(file.After, want) {
				t.Errorf("go %s, generated %v: no %q in\n%s", c.version, c.generated, want, file.After)
			}
		}
	}
}
