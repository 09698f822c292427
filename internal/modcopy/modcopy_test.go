package modcopy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/modcopy/proxytest"
)

// TestGet: a copy can be written to, has a go.mod and no vendor directory; a
// second call takes it as it is, and a copy that was not made ready gets no place.
func TestGet(t *testing.T) {
	const module, version = "example.com/old", "v1.2.3"
	files := map[string]string{"a.go": "package a\n", "vendor/modules.txt": "\n"}
	proxytest.Serve(t, proxytest.Module{Path: module, Version: version, Files: files})
	dir := t.TempDir()
	failed := errors.New("not ready")
	if _, err := Get(t.Context(), dir, module, version, func(string) error { return failed }); !errors.Is(err, failed) {
		t.Fatalf("error %v, want %v", err, failed)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Fatalf("a failed call left %v", left)
	}
	to, err := Get(t.Context(), dir, module, version)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "go.mod")); err != nil || !strings.Contains(string(text), module) {
		t.Errorf("go.mod: %q, %v", text, err)
	}
	if Exists(filepath.Join(to, "vendor")) {
		t.Error("the vendor directory is still there")
	}
	if err := os.WriteFile(filepath.Join(to, "a.go"), []byte("package b\n"), 0o644); err != nil {
		t.Errorf("the copy cannot be written to: %v", err)
	}
	again, err := Get(t.Context(), dir, module, version, func(string) error { return failed })
	if err != nil || again != to {
		t.Errorf("a second call returns %s, %v; want %s", again, err, to)
	}
	if text, _ := os.ReadFile(filepath.Join(to, "a.go")); string(text) != "package b\n" {
		t.Error("a second call wrote over the copy")
	}
}

// TestGetNames: an error names the module that cannot be fetched.
func TestGetNames(t *testing.T) {
	files := map[string]string{"a.go": "package a\n"}
	proxytest.Serve(t, proxytest.Module{Path: "example.com/m", Version: "v1.0.0", Files: files})
	if _, err := Get(t.Context(), t.TempDir(), "example.com/none", "v1.0.0"); err == nil ||
		!strings.Contains(err.Error(), "example.com/none@v1.0.0") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Get(ctx, t.TempDir(), "example.com/m", "v1.0.0"); err == nil {
		t.Error("a call that was stopped ends without an error")
	}
}

func TestExists(t *testing.T) {
	dir := t.TempDir()
	if !Exists(dir) || Exists(filepath.Join(dir, "none")) {
		t.Error("Exists takes a directory for missing, or a missing file for one that is there")
	}
}
