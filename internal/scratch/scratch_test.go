package scratch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain is also the process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_OWNER") == "" {
		os.Exit(m.Run())
	}
	d, err := New("test")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "file"), []byte("x"), 0o644); err != nil {
		panic(err)
	}
	fmt.Println(d.Path)
	io.Copy(io.Discard, os.Stdin) // until the other end is closed or this process killed
}

// owner starts a process with a directory of its own.
func owner(t *testing.T) (path string, kill func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SCRATCH_OWNER=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &path); err != nil {
		t.Fatal(err)
	}
	kill = func() { cmd.Process.Kill(); cmd.Wait(); in.Close() }
	t.Cleanup(kill)
	return path, kill
}

func TestKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead, kill := owner(t)
	alive, _ := owner(t)
	foreign := filepath.Join(os.TempDir(), "beagle-notes")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	kill()
	own, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	Sweep(os.TempDir())
	for path, want := range map[string]bool{dead: false, dead + suffix: false, alive: true,
		filepath.Join(alive, "file"): true, own.Path: true, foreign: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	if err := own.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(own.Path + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
