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

// TestThisMachineBuild checks that settings which change the machine code, or what it does, tell
// machines apart, and that defaults don't.
func TestThisMachineBuild(t *testing.T) {
	for _, name := range []string{"GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFLAGS", "GODEBUG"} {
		t.Setenv(name, "")
	}
	usual := settings{GOAMD64: "v1", GOARM64: "v8.0"}
	for _, row := range []struct {
		s                   settings
		arch, godebug, want string
	}{
		{usual, "amd64", "", ""},
		{usual, "arm64", "", ""},
		{settings{GOAMD64: "v3"}, "amd64", "", "GOAMD64=v3"},
		{settings{GOAMD64: "v1", GOARM64: "v9.0"}, "amd64", "", ""},
		{settings{GOARM64: "v9.0"}, "arm64", "", "GOARM64=v9.0"},
		{settings{GOAMD64: "v1", GOFLAGS: "-gcflags=-l"}, "amd64", "panicnil=1", "GOFLAGS=-gcflags=-l GODEBUG=panicnil=1"},
	} {
		if got := row.s.build(row.arch, row.godebug); got != row.want {
			t.Errorf("%+v on %s, GODEBUG %q: %q, want %q", row.s, row.arch, row.godebug, got, row.want)
		}
	}
	plain := ThisMachine("")
	t.Setenv("GOFLAGS", "-gcflags=-N")
	if other := ThisMachine(""); kind(plain) == kind(other) {
		t.Errorf("programs without optimisation share measurements with others: %+v", other)
	}
}
