package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Programs are started by a process of its own, the porter. A process that
// goes into a new user namespace is forked with a copy of its parent's page
// tables, and every page that the parent writes afterwards is copied too: a
// parent with a heap of 300 MB paid 120 ms for each start (see
// BenchmarkStartLarge). The porter is this executable, as small as it is before
// its packages are initialised.
//
// A request is one message: an entry, the descriptors of a door, and a line. Over
// the line the porter answers twice: admitted at first, and left in the end. A
// closed line is the order to kill, so that a killed parent leaves nothing behind.
const (
	porterName = "beagle-porter" // argv[0]
	porterFD   = 3
	entryFDs   = 6 // that come with an entry: standard input, output and error, orders, faults and the line
)

// superviseDelay bounds the time in which a supervisor ends the other processes. It takes
// milliseconds, and seconds on a busy machine. If it is killed itself, the remaining processes
// stay.
const superviseDelay = 10 * time.Second

// An entry is the porter's part of orders.
type entry struct{ Supervise, Namespaces, Root bool }

// admitted says that a door is open.
type admitted struct {
	Pid   int
	Fault string // why it is not
}

// departed says how the process ended.
type departed struct {
	Status syscall.WaitStatus
	Usage  syscall.Rusage
}

// A line is one end of a socket whose messages arrive whole.
type line int

const maxMessage = 1 << 12

func newLines() (ours, theirs line, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return line(fds[0]), line(fds[1]), err
}

func (l line) close() { unix.Close(int(l)) }

// hangUp ends this side's messages; the other side may go on.
func (l line) hangUp() { unix.Shutdown(int(l), unix.SHUT_WR) }

func (l line) say(v any, fds ...int) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	for {
		err = unix.Sendmsg(int(l), text, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

var errHungUp = errors.New("the other side hung up")

// hear waits for a message, and the descriptors that came with it.
func (l line) hear(v any) ([]int, error) {
	buf, oob := make([]byte, maxMessage), make([]byte, 256)
	n, oobn, _, _, err := unix.Recvmsg(int(l), buf, oob, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, oobn, _, _, err = unix.Recvmsg(int(l), buf, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errHungUp
	}
	var fds []int
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := range messages {
		var more []int
		if err == nil {
			more, err = unix.ParseUnixRights(&messages[i])
		}
		fds = append(fds, more...)
	}
	return fds, errors.Join(err, json.Unmarshal(buf[:n], v))
}

// porters is the parent's side: one porter for the process, and another when it
// is gone.
var porters struct {
	mu    sync.Mutex
	hired bool
	line  line
	gone  chan struct{} // closed when the porter has ended
}

// call asks the porter for a door. The descriptors stay the caller's.
func call(e entry, fds ...int) error {
	porters.mu.Lock()
	defer porters.mu.Unlock()
	if porters.hired {
		if porters.line.say(e, fds...) == nil {
			return nil
		}
		porters.line.close()
		porters.hired = false
	}
	l, gone, err := hire()
	if err != nil {
		return fmt.Errorf("start the porter: %w", err)
	}
	porters.line, porters.gone, porters.hired = l, gone, true
	return l.say(e, fds...)
}

// leaveDelay bounds how long Leave waits. Programs end within a moment of their parent, and on a
// busy machine within seconds.
const leaveDelay = 20 * time.Second

// Leave ends what Run started and waits for it, so that its processor time counts
// as this process's. It is the last call of a main function, and nothing runs after it.
func Leave() {
	porters.mu.Lock()
	defer porters.mu.Unlock()
	if !porters.hired {
		return
	}
	porters.line.close()
	porters.hired = false
	select {
	case <-porters.gone:
	case <-time.After(leaveDelay):
	}
}

// hire starts a porter. The channel is closed when it has ended.
func hire() (line, chan struct{}, error) {
	ours, theirs, err := newLines()
	if err != nil {
		return 0, nil, err
	}
	f := os.NewFile(uintptr(theirs), "porter")
	defer f.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{porterName}, Env: []string{}, ExtraFiles: []*os.File{f},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // a Ctrl-C is for its parent to act on
	}
	if err := cmd.Start(); err != nil {
		ours.close()
		return 0, nil, err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		cmd.Wait()
	}()
	return ours, gone, nil
}

// porter serves until its parent hangs up, and until all that it has let in is
// gone.
func porter() {
	// Nothing that this process was given is for a program between the walls,
	// not what its parent had open for children of its own either.
	if unix.CloseRange(porterFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		syscall.CloseOnExec(porterFD)
	}
	// Service managers end a whole group of processes; the parent must then end in good order.
	// Ignored signals would be inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	var inside sync.WaitGroup
	for {
		var e entry
		fds, err := line(porterFD).hear(&e)
		if err != nil {
			break
		}
		inside.Go(func() { admit(e, fds) })
	}
	inside.Wait()
	os.Exit(0)
}

// admit starts a program and waits for its end. The last of the descriptors is the line to the
// parent. If this process may not open that many more, the kernel leaves the last ones out, and
// the parent sees its line closed.
func admit(e entry, fds []int) {
	if len(fds) != entryFDs {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return
	}
	l, files := line(fds[len(fds)-1]), make([]*os.File, len(fds)-1)
	defer l.close()
	for i := range files {
		files[i] = os.NewFile(uintptr(fds[i]), "")
	}
	runtime.LockOSThread() // the child is killed when the thread ends that started it
	defer runtime.UnlockOSThread()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{doorName}, Env: []string{},
		Stdin: files[0], Stdout: files[1], Stderr: files[2], ExtraFiles: files[3:],
		SysProcAttr: e.attributes(),
	}
	err := cmd.Start()
	for _, f := range files {
		f.Close()
	}
	if err != nil {
		l.say(admitted{Fault: err.Error()})
		return
	}
	l.say(admitted{Pid: cmd.Process.Pid})
	l.say(attend(e, l, cmd))
}

// attend waits for the end of a child, and kills it when its parent hangs up.
func attend(e entry, l line, cmd *exec.Cmd) departed {
	var mu sync.Mutex
	over := false
	go func() {
		l.hear(new(struct{}))
		if e.Supervise { // it ends the others, once it sees the orders pipe close
			time.Sleep(superviseDelay)
		}
		mu.Lock()
		defer mu.Unlock()
		if !over { // then the number is still the child's
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Process.Kill()
		}
	}()
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	mu.Lock()
	over = true
	mu.Unlock()
	cmd.Wait()
	st := cmd.ProcessState
	out := departed{Status: st.Sys().(syscall.WaitStatus)}
	if usage, ok := st.SysUsage().(*syscall.Rusage); ok {
		out.Usage = *usage
	}
	return out
}
