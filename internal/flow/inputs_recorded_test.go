package flow

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFingerprint checks that a recording is taken again only when no file of the module, of its
// workspace and of its replacements changed: neither a name nor a content.
func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		t.Helper()
		print, known := modulesPrint(filepath.Join(dir, "m"), []string{filepath.Join(dir, "m/version.go")})
		if !known {
			t.Fatal("the files are too many")
		}
		return print
	}
	t.Setenv("GOWORK", "")
	write("m/go.mod", "module example.com/m\n\ngo 1.26\n\nreplace example.com/r => ../r\n")
	write("m/m.go", "package m\n")
	write("r/go.mod", "module example.com/r\n\nreplace example.com/s => ../s\n")
	write("s/go.mod", "module example.com/s\n")
	write("w/go.mod", "module example.com/w\n")
	write("go.work", "go 1.26\n\nuse (\n\t./m\n\t./w\n)\n")
	seen := []string{state()}
	if again := state(); again != seen[0] {
		t.Error("the same files have two fingerprints")
	}
	for _, name := range []string{"m/testdata/in.txt", "r/r.go", "s/s.go", "w/w.go", "m/data.json", "m/in/in_test.go"} {
		write(name, "new")
		now := state()
		if slices.Contains(seen, now) {
			t.Errorf("a new %s is not seen", name)
		}
		seen = append(seen, now)
	}
	for _, name := range []string{"m/version.go", "m/out/result.json", "m/.git/HEAD", "m/_old/m.go"} {
		write(name, "new")
		if now := state(); now != seen[len(seen)-1] {
			t.Errorf("%s counts, which no test is made of", name)
		}
	}
	write("m/testdata/in.txt", "old")
	if slices.Contains(seen, state()) {
		t.Error("a file of the same length with other content is not seen")
	}
}
