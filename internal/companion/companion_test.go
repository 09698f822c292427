package companion

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFindNamed: a program that is named relative to here is found from elsewhere too.
func TestFindNamed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(here, "bin", "helper.exe")
	if err := os.Mkdir("bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BEAGLE_HELPER", "."+string(filepath.Separator)+filepath.Join("bin", "helper.exe"))
	if got, err := Find("helper", "BEAGLE_HELPER", "the test"); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
