package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	check := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the file holds %q (%v), want %q", got, err, want)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("its mode is %v (%v), want 0640", st.Mode(), err)
		}
	}
	// A new file, and one in its place.
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		check(text)
	}
	// Errors: there is no directory, and a directory has the file's name.
	if err := Replace(filepath.Join(dir, "none", "file"), nil, 0o640); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the directory Replace returned %v, want fs.ErrNotExist", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "taken", "by"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "taken"), nil, 0o640); err == nil {
		t.Error("Replace replaced a directory")
	}
	// No other file is left.
	check("second")
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("the directory holds %v, want the file and the directory alone", all)
	}
}
