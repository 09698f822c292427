//go:build linux || darwin

package scratch

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReplaceFull: a file that cannot be written whole is not there in part, and an older one
// stays. A limit on the size of files stands for a full disk.
func TestReplaceFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	for _, before := range []string{"", "older"} {
		if before != "" {
			if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := replaceWithin(t, 6, file, "the whole text"); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("Replace returned %v, want EFBIG", err)
		}
		if b, _ := os.ReadFile(file); string(b) != before {
			t.Errorf("%q is there, want %q", b, before)
		}
	}
	if all, _ := os.ReadDir(filepath.Dir(file)); len(all) != 1 {
		t.Errorf("%d files are left", len(all))
	}
}

// replaceWithin replaces a file while this process may write files of most bytes only.
func replaceWithin(t *testing.T, most uint64, file, text string) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limited := old
	limited.Cur = most
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	return Replace(file, []byte(text), 0o644)
}

// TestReplaceNoFile: a link stays one, and a pipe gets the data.
func TestReplaceNoFile(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("file", link), syscall.Mkfifo(pipe, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "text" {
		t.Errorf("the file of the link holds %q: %v", got, err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Replace(pipe, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(pipe); err != nil || st.Mode().Type() != os.ModeNamedPipe {
		t.Fatalf("the pipe is %v now: %v", st.Mode(), err)
	}
	got := make([]byte, 10)
	if n, err := reader.Read(got); err != nil || string(got[:n]) != "text" {
		t.Errorf("the pipe had %q: %v", got[:n], err)
	}
}
