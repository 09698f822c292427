package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervise runs the program as a child and then ends every descendant of it, as a pid namespace
// would: a process that leaves the process group and loses its parent comes to the supervisor, and
// Landlock keeps it from sending signals here.
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
	ended, some, none := make(chan int, 1), make(chan struct{}, 1), make(chan struct{})
	go reap(child, ended, some, none)
	code := 128 + int(unix.SIGKILL)
	select {
	case code = <-ended:
	case <-stop:
	}
	tell.Close()
	killDescendants(some, none)
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

// reap waits for every child, and for the orphans that become children, until there are none, and
// reports when it had some. Only reap waits: two waiters would take each other's children.
func reap(child int, ended chan<- int, some, none chan<- struct{}) {
	defer close(none)
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return
		case pid == child && ws.Signaled():
			ended <- 128 + int(ws.Signal())
		case pid == child:
			ended <- ws.ExitStatus()
		}
		select {
		case some <- struct{}{}:
		default:
		}
	}
}

// killDescendants kills children until there are none: the children of a
// killed one become ours. It looks again as soon as one has ended, since others
// may have got away by starting another and ending in between.
func killDescendants(some, none <-chan struct{}) {
	for {
		for _, pid := range children() {
			unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-none:
			return
		case <-some:
		case <-time.After(5 * time.Millisecond):
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
