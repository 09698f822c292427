package flow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/llm"
)

const barrenSource = `package p

func Nothing(a, b uint64) uint64 { return a ^ b>>33 }

func Sum(xs []int) (n int) {
	for i := 0; i < len(xs); i++ {
		n += xs[i]
	}
	return n
}

func Short(text string) bool { return len(text) < 8 && text == "short" }
`

// TestBarren checks that a function without a place for any rewrite is known at once, and that one
// with a place is left to the search, also when only rare inputs or a model would take it up.
func TestBarren(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": barrenSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(name string, change func(*Spec)) string {
		spec := Defaults()
		spec.Dir, spec.Target = dir, name
		change(&spec)
		u, err := source.Load(t.Context(), spec.Load())
		if err != nil {
			t.Fatal(err)
		}
		why, err := Barren(t.Context(), u, spec)
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	plain := func(*Spec) {}
	why := ask("Nothing", func(s *Spec) { s.Rules = []string{"unroll", "sprintf"} })
	if !strings.Contains(why, "None of the 2") {
		t.Errorf("Nothing: %q", why)
	}
	if why := ask("Sum", plain); why != "" {
		t.Errorf("Sum: %q", why)
	}
	if why := ask("Sum", func(s *Spec) { s.Rules, s.NoLift = []string{"sprintf"}, true }); why == "" {
		t.Error("Sum has no text to format")
	}
	withModel := func(s *Spec) { s.Rules, s.Models.Ask = []string{"sprintf"}, []llm.Model{{Name: "m"}} }
	if why := ask("Nothing", withModel); why != "" {
		t.Errorf("a model may change it: %q", why)
	}
}
