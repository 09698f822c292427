package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestCache(t *testing.T) {
	t.Setenv("BEAGLE_HOME", t.TempDir())
	key := keyOf("a", "b")
	if key == keyOf("ab") || key == keyOf("a", "b", "") || kept(key) != nil {
		t.Error("keys are not told apart")
	}
	keep(key, []byte("archive"))
	if got := string(kept(key)); got != "archive" {
		t.Errorf("kept %q", got)
	}
	path := filepath.Join(cacheDir(), key+".a")
	if err := os.Truncate(path, 10); err != nil || kept(key) != nil {
		t.Errorf("a torn file was taken: %v", err)
	}
	for i := range maxKept + 5 {
		keep(keyOf(fmt.Sprint(i)), []byte("x"))
	}
	if left, _ := os.ReadDir(cacheDir()); len(left) != maxKept {
		t.Errorf("%d archives are kept, want %d", len(left), maxKept)
	}
}
