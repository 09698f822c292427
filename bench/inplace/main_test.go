package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	text := "# drawn with seed 1\nexample.com/m@v1.0.0 ./pkg.Func and why\n\nexample.com/n@v2.0.0 Other\nshort\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := read(path)
	want := [][2]string{{"example.com/m@v1.0.0", "./pkg.Func"}, {"example.com/n@v2.0.0", "Other"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := read(path + ".missing"); err == nil {
		t.Error("a missing list is no error")
	}
}
