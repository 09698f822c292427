package flow

import (
	"os"
	"path/filepath"
	"testing"
)

// TestThisMachine: the toolchain is the one that a module's own directory
// chooses. One that is not here is not fetched.
func TestThisMachine(t *testing.T) {
	if m := ThisMachine(""); m.Go == "" {
		t.Errorf("no toolchain here: %+v", m)
	}
	t.Setenv("GOTOOLCHAIN", "auto")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/later\n\ngo 1.999\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if m := ThisMachine(dir); m.Go != "" {
		t.Errorf("a module for Go 1.999 is measured with %s", m.Go)
	}
}
