package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestBuiltWith reads the version of Go in this program, and says what is wrong with other files.
func TestBuiltWith(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := builtWith(self); err != nil || got != runtime.Version() {
		t.Errorf("built with %q, %v; want %q", got, err, runtime.Version())
	}
	bad := map[string]string{"watch.go": "it is not a Go program", "nowhere": "no such file",
		".": "it is not a Go program"}
	if shell, err := exec.LookPath("sh"); err == nil {
		bad[shell] = "not a Go executable"
	}
	for file, want := range bad {
		if got, err := builtWith(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want an error with %q", file, got, err, want)
		}
	}
	t.Setenv("PATH", "")
	if _, err := builtWith(self); err == nil || !strings.Contains(err.Error(), "put go in PATH") {
		t.Errorf("without a go command: %v", err)
	}
}
