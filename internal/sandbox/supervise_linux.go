package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervise runs the program as a child and then ends every descendant of it.
// It is what a pid namespace would do: a process that leaves the process group
// and loses its parent comes to the supervisor, and Landlock keeps it from
// sending signals here.
func supervise(o *orders) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper: %w", err)
	}
	child, tell, err := startChild(o)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() { // the parent closes its end to stop us
		os.NewFile(ordersFD, "orders").Read(make([]byte, 1))
		close(stop)
	}()
	ended := make(chan int, 1)
	go func() { ended <- reapUntil(child) }()
	code := 128 + int(unix.SIGKILL)
	select {
	case code = <-ended:
	case <-stop:
	}
	tell.Close()
	killDescendants()
	os.Exit(code)
	return nil
}

// startChild starts this executable once more, to carry out the orders.
func startChild(o *orders) (pid int, tell *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	inner := *o
	inner.Supervise = false
	cmd := exec.Cmd{
		Path: "/proc/self/exe", Args: []string{doorName}, Env: []string{},
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		ExtraFiles:  []*os.File{r, os.NewFile(faultFD, "fault")},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start below the supervisor: %w", err)
	}
	r.Close()
	unix.Close(faultFD) // the child alone reports faults
	return cmd.Process.Pid, w, json.NewEncoder(w).Encode(&inner)
}

// reapUntil waits for the child, and for the orphans that end before it.
func reapUntil(child int) int {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 126
		case pid == child && ws.Signaled():
			return 128 + int(ws.Signal())
		case pid == child:
			return ws.ExitStatus()
		}
	}
}

// killDescendants kills children until there are none: the children of a
// killed one become ours. All that ended are reaped before the next look, since
// a look reads all of /proc.
func killDescendants() {
	for {
		killed := children()
		for _, pid := range killed {
			unix.Kill(pid, unix.SIGKILL)
		}
		for n := 0; n < max(1, len(killed)); n++ {
			if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
				return
			}
		}
	}
}

func children() []int {
	self := strconv.Itoa(os.Getpid())
	var out []int
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		if pid, err := strconv.Atoi(p.Name()); err == nil && status(p.Name(), "PPid") == self {
			out = append(out, pid)
		}
	}
	return out
}
