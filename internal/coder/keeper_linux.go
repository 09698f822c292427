package coder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keeperName is the first argument of a keeper: this program again, between Beagle and an agent. It
// is the parent that the kernel gives to every orphan of the agent's (PR_SET_CHILD_SUBREAPER), so
// that no change of session, group or environment hides one; Beagle itself cannot be it, since it
// has other children. It ends all of them when the agent ends, when its lifeline is closed, and so
// when Beagle dies, however that happens. If the keeper dies, the agent does (PR_SET_PDEATHSIG).
const keeperName = "beagle-agent-keeper"

// lifeline is the descriptor whose end says that Beagle has no more need of the agent.
const lifeline = 3

// init makes a keeper of a process that was started as one: whatever links this
// package can start one, tests too.
func init() {
	if len(os.Args) > 1 && os.Args[0] == keeperName {
		os.Exit(keepAgent(os.Args[1:]))
	}
}

// keep puts a keeper in front of the command, if this program can be found.
func (p *process) keep() {
	self := "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		self = executed // without /proc, or with that of another pid namespace
	}
	if _, err := os.Stat(self); err != nil {
		return
	}
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	p.cmd.Args = append([]string{keeperName, p.cmd.Path}, p.cmd.Args[1:]...)
	p.cmd.Path = self
	p.cmd.ExtraFiles = []*os.File{read} // the first is descriptor 3
	p.line, p.farEnd = write, read
}

// executed returns the file that the kernel runs as this program, or "" if it does not say.
var executed = func() string {
	const execFn = 31 // AT_EXECFN
	vector, err := unix.Auxv()
	if err != nil {
		return ""
	}
	for _, entry := range vector {
		if entry[0] != execFn {
			continue
		}
		path, err := filepath.Abs(unix.BytePtrToString(*(**byte)(unsafe.Pointer(&entry[1]))))
		if err == nil {
			return path
		}
	}
	return ""
}()

// keepAgent runs a command and returns its status when nothing of it is left.
func keepAgent(command []string) int {
	runtime.LockOSThread() // the death signal is for the death of the parent's thread
	syscall.CloseOnExec(lifeline)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "PR_SET_CHILD_SUBREAPER:", err)
		return statusNotKept
	}
	// the agent's end is the lifeline's
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusNotKept
	}
	os.Stdin.Close() // they are the agent's alone: Beagle must see that it closes them
	os.Stdout.Close()
	go func() {
		io.Copy(io.Discard, os.NewFile(lifeline, "lifeline"))
		cmd.Process.Kill() // nothing after Wait, when the number may be another's; endAll does the rest
	}()
	err := cmd.Wait()
	endAll(cmd.Process.Pid)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return 128 + int(syscall.SIGKILL)
}

// endAll kills children until none is left. Orphans come to the keeper, so no descendant is left
// then. The rest of the agent's group is found at once.
func endAll(agent int) {
	const most = time.Second // for processes that cannot be killed
	for pause := time.Millisecond; ; pause = min(2*pause, most) {
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid <= 0 {
				break
			}
			pause = time.Millisecond // its children are the keeper's now
		}
		if hasChild(unix.P_PGID, agent) {
			syscall.Kill(-agent, syscall.SIGKILL)
		}
		for _, pid := range children(agent) {
			if hasChild(unix.P_PID, pid) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		time.Sleep(pause)
	}
}

// children returns some of this process's children: at least one if there are any.
func children(agent int) []int {
	if ownProc() {
		if pids := listed(os.Getpid()); len(pids) > 0 {
			return pids
		}
	}
	return probed(agent)
}

// probed finds children with waitid(2), where /proc shows another namespace. It tries
// PIDs upwards from the agent's, whose descendants have higher ones, and stops 4,096
// PIDs after the last child that it found. To try all PIDs takes about a second.
func probed(agent int) (pids []int) {
	const numbers, further = 1 << 22, 1 << 12 // as many as there are on any Linux
	last := numbers
	for i := 0; i < numbers && i-last <= further; i++ {
		pid := (agent + i) % numbers
		if hasChild(unix.P_PID, pid) {
			pids, last = append(pids, pid), i
		}
	}
	return pids
}

// hasChild reports whether a process is a child of this one, or a group has one. If
// so, the number stays its own until the child is waited for.
func hasChild(kind, id int) bool {
	return unix.Waitid(kind, id, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil
}

// listed returns the children of a process from /proc. They may have ended since.
func listed(of int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name in brackets may hold anything; state and parent follow it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil && parent == of {
			pids = append(pids, pid)
		}
	}
	return pids
}
