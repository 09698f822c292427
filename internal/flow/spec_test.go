package flow

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestAnchor checks that a run goes on where it began, or not at all.
func TestAnchor(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := Spec{Dir: "m", CorpusFile: "calls.jsonl", Target: "./p.F"}
	if err := s.Anchor(); err != nil || s.Dir != filepath.Join(dir, "m") ||
		s.CorpusFile != filepath.Join(dir, "calls.jsonl") {
		t.Fatalf("%v: %+v", err, s)
	}
	refused := func(s *Spec, want string) {
		t.Helper()
		var bad *beagle.UsageError
		if err := s.Anchored("3f2a"); !errors.As(err, &bad) || !strings.Contains(bad.What, want) || bad.Remedy == "" {
			t.Errorf("%v, want one about %q with a remedy", err, want)
		}
	}
	refused(&s, "began in "+s.Dir)
	refused(&Spec{Dir: "."}, "does not say")
	if err := os.Mkdir("m", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := s.Anchored("3f2a"); err != nil {
		t.Error(err)
	}
}
