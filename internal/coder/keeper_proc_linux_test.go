package coder

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { behaviours["foreign proc"] = foreignProc }

// foreignProc launches an agent where /proc is that of another pid namespace, and returns the
// processes that are left. It is the first process of its namespace, so orphans come to it.
func foreignProc() {
	if os.Getpid() != 1 || ownProc() {
		os.Stdout.WriteString("cannot be alone")
		return
	}
	p, out := speaking("sh -c 'setsid sh -c \"sleep 3600 & sleep 3600\" & setsid -f sleep 3600; echo hello'")
	if p == nil {
		return
	}
	said := make([]byte, 100)
	n, _ := out.Read(said)
	os.Stdout.Write(said[:n])
	p.end()
	for {
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case errors.Is(err, syscall.ECHILD):
			os.Stdout.WriteString("nothing is left")
			return
		case pid <= 0:
			os.Stdout.WriteString("something is left")
			return
		}
	}
}

// TestSessionsEndWithoutProc checks that what moved to a session of its own is found whatever /proc
// says.
func TestSessionsEndWithoutProc(t *testing.T) {
	if out := aside(t, "foreign proc", "cannot be alone", &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID,
	}); out != "hello\nnothing is left" {
		t.Errorf("%q", out)
	}
}

// TestChildrenAreProbed checks that children are found by asking the kernel, whatever their numbers
// are.
func TestChildrenAreProbed(t *testing.T) {
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for _, from := range []int{pid, pid - 10, 1} {
		if from > 0 && !slices.Contains(probed(from), pid) {
			t.Errorf("%d is not found from %d on", pid, from)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if hasChild(unix.P_PID, pid) {
		t.Error("a child that was waited for is one")
	}
}
