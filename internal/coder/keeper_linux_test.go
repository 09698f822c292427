package coder

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/mutate/llm"
)

func init() {
	behaviours["moves"], behaviours["procless"] = move, procless
}

// move leaves the group for the keeper's.
func move() {
	group, err := syscall.Getpgid(os.Getppid())
	if err == nil {
		err = syscall.Setpgid(0, group)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return
	}
	os.Stdout.WriteString("!")
	time.Sleep(time.Hour)
}

// soon fails a test that waits for what never comes.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute): // generous: the machine is shared
		t.Fatal(what)
	}
}

// started starts a process and returns its standard output.
func started(t *testing.T, p *process) io.Reader {
	t.Helper()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPipesAreTheAgentsAlone checks that an agent that closes its pipes and goes on is noticed: the
// keeper has none of them.
func TestPipesAreTheAgentsAlone(t *testing.T) {
	p := launch("sh -c 'exec 1>&- 0<&-; sleep 3600'", t.TempDir())
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := started(t, p)
	defer p.end()
	soon(t, "standard output stays open", func() {
		if text, err := io.ReadAll(out); len(text) > 0 || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
	})
	soon(t, "standard input stays open", func() {
		if _, err := in.Write(make([]byte, 1<<20)); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("written: %v", err)
		}
	})
}

// TestAnAgentThatLeftItsGroup checks that the lifeline ends an agent that left the group which it
// was started in.
func TestAnAgentThatLeftItsGroup(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := launch("env "+behaviour+"=moves "+self, t.TempDir())
	out := started(t, p)
	defer p.end()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the agent does not come up: %v; %s", err, p.tail.String())
	}
	p.line.Close()
	p.farEnd.Close()
	soon(t, "the agent goes on", func() { p.cmd.Wait() })
	if p.cmd.ProcessState.ExitCode() != 128+int(syscall.SIGKILL) {
		t.Errorf("the keeper ended with %v", p.cmd.ProcessState)
	}
}

// TestOnlyChildrenAreKilled checks that only a child is killed, whose number cannot have become
// another's.
func TestOnlyChildrenAreKilled(t *testing.T) {
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !hasChild(unix.P_PID, pid) {
		t.Error("a child is none")
	}
	if found := listed(os.Getpid()); !slices.Contains(found, pid) {
		t.Errorf("%d is not among %v", pid, found)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, stranger := range []int{pid, os.Getppid(), os.Getpid(), 1} {
		if hasChild(unix.P_PID, stranger) {
			t.Errorf("%d is a child", stranger)
		}
	}
}

// procless launches a program where there is no /proc, in a mount namespace of its own.
func procless() {
	if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
		os.Stdout.WriteString("cannot hide /proc: " + err.Error())
		return
	}
	p, out := speaking("echo hello")
	if p == nil {
		return
	}
	io.Copy(os.Stdout, out)
	p.end()
}

// speaking launches a program and what it says; nil and a word on the output when
// it does not start.
func speaking(command string) (*process, io.Reader) {
	p := launch(command, "/")
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return nil, nil
	}
	return p, out
}

// aside runs this program in namespaces of its own with a behaviour, and returns
// what it says. The test is skipped where that begins with cannot: there are no namespaces.
func aside(t *testing.T, name, cannot string, attr *syscall.SysProcAttr) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), behaviour+"="+name)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.HasPrefix(string(out), cannot) {
		t.Skipf("no such namespace can be made here: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return string(out)
}

func TestAgentsStartWithoutProc(t *testing.T) {
	if out := aside(t, "procless", "cannot hide /proc", &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
	}); out != "hello\n" {
		t.Errorf("%q", out)
	}
}

// TestAKeeperThatCannotStartTheAgent checks that what a keeper cannot do is not said to be the
// command's fault.
func TestAKeeperThatCannotStartTheAgent(t *testing.T) {
	p := launch("true", t.TempDir())
	p.cmd.Args[1] = t.TempDir() // a directory is no program
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.cmd.Wait()
	p.end()
	if code := p.cmd.ProcessState.ExitCode(); code != statusNotKept {
		t.Fatalf("status %d", code)
	}
	turn := &turn{coder: &Coder{}, exit: statusNotKept, stderr: p.tail.String()}
	var e *llm.Error
	if err := turn.fault(t.Context(), io.EOF); !errors.As(err, &e) ||
		!strings.Contains(e.Message, "permission denied") || !strings.Contains(e.Remedy, "prctl") {
		t.Errorf("got %v", err)
	}
}

func TestWantOfRoomIsNotTheModulesFault(t *testing.T) {
	full := os.WriteFile("/dev/full", []byte("x"), 0o644)
	if full == nil {
		t.Skip("/dev/full takes what is written to it")
	}
	for _, err := range []error{full, errors.New("go: creating work dir: mkdir /tmp/x: no space left on device"),
		errors.New("fork/exec /usr/bin/go: too many open files")} {
		if !scarce(err) {
			t.Errorf("%v is the module's", err)
		}
	}
	if err := errors.New("p.go:3:8: package example.com/n is not in std"); scarce(err) {
		t.Errorf("%v is the machine's", err)
	}
}
