package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// otherTable tries, as a program for 386, what no candidate may: by the
// numbers of that table, where one call stands for many.
const otherTable = `package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

func try(name string, nr uintptr, args ...uintptr) {
	for len(args) < 3 {
		args = append(args, 0)
	}
	_, _, errno := syscall.Syscall(nr, args[0], args[1], args[2])
	fmt.Printf("%s: %v\n", name, errno)
}

func main() {
	three := [3]uintptr{2, 1, 0}
	try("socketcall", 102, 1, uintptr(unsafe.Pointer(&three[0])))
	try("socket", 359, 2, 1)
	try("shmget", 117, 23, 0, 4096)
	try("memfd", 356, uintptr(unsafe.Pointer(&[]byte("x\x00")[0])))
	try("fork", 2)
	try("vfork", 190)
	try("clone", 120, 17)
	try("kill", 37, uintptr(os.Getppid()), 0)
	try("mount", 21)
	try("ptrace", 26, 0)
	try("execve", 11)
	_, err := syscall.Mmap(-1, 0, 4096, 3, syscall.MAP_SHARED|syscall.MAP_ANON)
	fmt.Println("shared:", err)
	text, err := os.ReadFile("input")
	fmt.Println("input:", string(text), err)
	done := make(chan int)
	go func() { done <- 42 }()
	fmt.Println("thread:", <-done)
}
`

// TestOtherTable: the walls hold for a program that enters the kernel by the
// table of 386, and such a program can compute.
func TestOtherTable(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("programs for 386 run on amd64")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": otherTable,
		"go.mod":  "module ex.com/other\n\ngo 1.24\n",
		"input":   "read me",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "other")
	build := exec.Command("go", "build", "-o", exe, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, s := range systems(t) {
		if !s.kernel.Seccomp {
			continue
		}
		c := Command{
			Profile: Run,
			Machine: "386",
			Path:    exe,
			Files:   []File{{Name: "input", Host: filepath.Join(dir, "input")}},
		}
		r, err := s.Run(context.Background(), c)
		if err != nil {
			if strings.Contains(err.Error(), "exec format error") {
				t.Skip("this kernel runs no programs for 386")
			}
			t.Fatal(err)
		}
		lines := map[string]string{}
		for line := range strings.Lines(string(r.Stdout)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
			lines[k] = v
		}
		t.Log(name, lines)
		for _, k := range []string{"socketcall", "socket", "shmget", "memfd", "fork", "vfork", "clone", "kill", "mount",
			"ptrace", "execve", "shared"} {
			if v := lines[k]; v != "function not implemented" && v != "operation not permitted" {
				t.Errorf("%s: %s was not stopped by the filter: %q", name, k, v)
			}
		}
		if lines["input"] != "read me <nil>" || lines["thread"] != "42" || !r.OK() {
			t.Errorf("%s: a program for 386 does not run: %v %s", name, lines, r.Stderr)
		}
		c.Machine = ""
		if r, err := s.Run(context.Background(), c); err == nil && (r.OK() || r.Signal != "bad system call") {
			t.Errorf("%s: a program for 386 ran without a filter for it: %+v", name, r)
		}
		c.Machine, c.Profile = "386", Test
		if _, err := s.Run(context.Background(), c); err == nil {
			t.Errorf("%s: a program for 386 ran in a profile that has no filter for it", name)
		}
	}
}
