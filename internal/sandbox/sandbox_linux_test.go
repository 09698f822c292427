package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDoorMustBeOpen(t *testing.T) {
	doorOpen = false
	defer func() { doorOpen = true }()
	if _, err := New(Options{}); !errors.Is(err, ErrDoor) {
		t.Errorf("New without Main: %v", err)
	}
}

func TestRequire(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Options{Require: true})
	if missing := len(s.MissingWalls()) > 0; missing != (err != nil) {
		t.Errorf("missing %q, and Require says %v", s.MissingWalls(), err)
	}
}

func TestErrorsOfTheMachinery(t *testing.T) {
	for name, s := range systems(t) {
		for what, c := range map[string]Command{
			"no such program":     {Profile: Run, Path: "/no/such/program"},
			"no such directory":   {Profile: Run, Path: self(t), Dir: "/no/such/dir"},
			"a name with slashes": {Profile: Run, Path: self(t), Files: []File{{Name: "../x", Host: "/etc/passwd"}}},
		} {
			if r, err := s.Run(context.Background(), c); err == nil {
				t.Errorf("%s: %s: no error, ended with %s", name, what, r.Ended)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		r, err := s.Run(ctx, Command{Profile: p, Path: self(t), Args: []string{"attack", "sleep"}})
		if err != nil || r.Ended != Canceled {
			t.Errorf("ended with %s, %v", r.Ended, err)
		}
		leftBehind(t)
	})
}

// attackedParent is an ordinary user of the sandbox, about to be killed.
func attackedParent(args []string) {
	s, err := New(Options{})
	if err != nil {
		panic(err)
	}
	s.kernel.Namespaces = s.kernel.Namespaces && args[0] == "full"
	fmt.Println("ready")
	s.Run(context.Background(), Command{Profile: Fuzz, Path: os.Args[0], Args: []string{"attack", "escapes"}})
}

func TestParentKilled(t *testing.T) {
	for name := range systems(t) {
		cmd := exec.Command(self(t), "attack", "parent", name)
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready := make([]byte, 6)
		if n, err := io.ReadFull(out, ready); string(ready[:n]) != "ready\n" {
			t.Fatalf("%s: the parent says %q, %v", name, ready[:n], err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		within(t, name+": the attack does not begin", func() bool { return len(left(t)) > 20 })
		cmd.Process.Kill()
		cmd.Wait()
		within(t, name+": its parent was killed, and something lives on", func() bool { return len(left(t)) == 0 })
	}
}

// within waits until something is so. A loaded machine takes its time to start or
// to end 300 processes.
func within(t *testing.T, otherwise string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %q", otherwise, left(t))
		}
	}
}

func TestBuildsGo(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "m.go"), "package main\n\nfunc main() { println(\"built\") }\n")
	goroot, cache := goEnv(t, "GOROOT"), goEnv(t, "GOCACHE")
	for name, s := range systems(t) {
		r, err := s.Run(context.Background(), Command{
			Profile: Build, Path: filepath.Join(goroot, "bin", "go"),
			Args: []string{"build", "-o", filepath.Join(bin, "m"), "."},
			Dir:  dir, Read: []string{goroot, dir}, Write: []string{cache, bin},
			Env: []string{"GOCACHE=" + cache, "GOFLAGS="},
		})
		if err != nil || !r.OK() {
			t.Fatalf("%s: %v: %s %s", name, err, r.Ended, r.Stderr)
		}
		r, err = s.Run(context.Background(), Command{Profile: Run, Path: filepath.Join(bin, "m")})
		if err != nil || string(r.Stderr) != "built\n" {
			t.Errorf("%s: %v: %q", name, err, r.Stderr)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestCgroupPlaces(t *testing.T) {
	mount := t.TempDir()
	for _, d := range []string{"user/leaf", "memory/here", "pids"} {
		if err := os.MkdirAll(filepath.Join(mount, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(mount, "user/cgroup.subtree_control"), "cpu memory pids\n")
	if got := findCgroups(mount, "0::/user/leaf\n"); !got.unified || got.dirs[0] != filepath.Join(mount, "user") {
		t.Errorf("version 2: %+v", got)
	}
	if got := findCgroups(mount, "8:pids:/gone\n4:memory:/here\n0::/\n"); len(got.dirs) != 2 || got.unified {
		t.Errorf("version 1: %+v", got)
	}
	if got := findCgroups(mount, "4:memory:/here\n"); len(got.dirs) != 0 {
		t.Errorf("memory alone is no place: %+v", got)
	}
}
