package flow

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// TestModulePGO: measurements build as production does, with the profile that GOFLAGS names, with
// that of the nearest main package, or with none.
func TestModulePGO(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "cmd", "near", "inner")
	for _, d := range []string{dir, filepath.Join(dir, "cmd", "near"), pkg} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	near := filepath.Join(dir, "cmd", "near", "default.pgo")
	for _, file := range []string{near, filepath.Join(dir, "default.pgo")} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	target := &source.Unit{Target: beagle.Target{Dir: dir, PkgDir: pkg}}
	for flags, want := range map[string]string{
		"":                           near,
		"-mod=mod":                   near,
		"-pgo=auto":                  near,
		"-pgo=off":                   "",
		"-mod=mod --pgo=off":         "",
		"-pgo=off -pgo=auto":         near,
		"-pgo=other.pgo -trimpath":   filepath.Join(dir, "other.pgo"),
		"-pgo=" + dir + "/deep.pgo":  filepath.Join(dir, "deep.pgo"),
		"'-pgo=" + dir + "/a b.pgo'": filepath.Join(dir, "a b.pgo"),
	} {
		t.Setenv("GOFLAGS", flags)
		if got, err := modulePGO(t.Context(), target); got != want || err != nil {
			t.Errorf("GOFLAGS=%q: %q, %v, want %q", flags, got, err, want)
		}
	}
	// go env -w writes to a file.
	written := filepath.Join(dir, "env")
	if err := os.WriteFile(written, []byte("GOFLAGS=-pgo=off\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", written)
	t.Setenv("GOFLAGS", "")
	if got, err := modulePGO(t.Context(), target); got != "" || err != nil {
		t.Errorf("GOENV: %q, %v, want none", got, err)
	}
}
