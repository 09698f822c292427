//go:build linux

package uprobe

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/probe/wire"
)

// childVariable has a copy of the test's program attach to a process and wait.
const childVariable = "BEAGLE_UPROBE_TEST_CHILD"

// child attaches to the process, prints that it captured a call, and goes on until its input ends.
func child(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	cost, err := Measure()
	if err != nil {
		return err
	}
	b, err := Open(n, "")
	if err != nil {
		return err
	}
	all, err := b.Find(pkg + "Many")
	if err != nil {
		return err
	}
	v, err := NewServer(b, all, cost)
	if err != nil {
		return err
	}
	go v.Run(nil)
	r, _, err := v.carryOut(&wire.Request{Verb: wire.VerbStart,
		Start: &wire.Start{Sites: []string{pkg + "Many"}, Raw: true, Rate: 1000}})
	if err != nil {
		return err
	}
	parent := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		parent <- err
	}()
	told, began := false, time.Now()
	for lease := r.Lease; ; { // a capture without heartbeats ends
		r, _, err := v.carryOut(&wire.Request{Verb: wire.VerbBeat, Lease: lease})
		switch {
		case err != nil:
			return err
		case told:
		case r.Status.Session.Waiting > 0:
			fmt.Println("captured")
			told = true
		case time.Since(began) > patience:
			return fmt.Errorf("nothing was captured: %+v", r.Status)
		}
		select {
		case err := <-parent:
			return err
		case <-time.After(tick):
		}
	}
}

// spawn starts a child for a process, and returns when it has captured something.
func spawn(t *testing.T, program string, pid int, attr *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	c := exec.Command(program)
	c.Env = append(os.Environ(), childVariable+"="+strconv.Itoa(pid))
	c.SysProcAttr, c.Stderr = attr, os.Stderr
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "captured\n" {
		t.Fatalf("the child says %q", line)
	}
	return c
}

// TestKilled: when the program that attached uprobes is killed, the process is as it was.
func TestKilled(t *testing.T) {
	privileged(t)
	p := start(t, build(t), "-pause", "20ms")
	v := serve(t, p.Process.Pid, "", pkg+"Many")
	before := codeOf(t, v)
	c := spawn(t, os.Args[0], p.Process.Pid, nil)
	if bytes.Equal(before, codeOf(t, v)) {
		t.Fatal("nothing is attached")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); !bytes.Equal(before, codeOf(t, v)); time.Sleep(tick) {
		if time.Since(began) > patience {
			t.Fatal("the probe stays")
		}
	}
	if err := p.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the service is gone: %v", err)
	}
}

// TestCapabilities: an ordinary user needs no more than CAP_BPF and CAP_PERFMON, for a process of
// its own.
func TestCapabilities(t *testing.T) {
	privileged(t)
	if os.Getuid() != 0 {
		t.Skip("only root can give capabilities")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "beagle-uprobe-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var paths []string
	for i, from := range []string{os.Args[0], build(t)} {
		to := filepath.Join(dir, strconv.Itoa(i))
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, to)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	user := &syscall.Credential{Uid: nobody, Gid: nobody}
	p := exec.Command(paths[1], "-pause", "20ms")
	p.SysProcAttr, p.Dir = &syscall.SysProcAttr{Credential: user}, "/"
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	spawn(t, paths[0], p.Process.Pid, &syscall.SysProcAttr{Credential: user,
		AmbientCaps: []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}})
}
