package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Main is the first call of every main function and TestMain. By then a process
// that [Sandbox.Run] started has become its program already; in all others Main
// says that this executable may be started as one.
func Main() { doorOpen = true }

// init is the door, and not Main, because initialising the packages that come
// after this one takes longer than the walls do.
func init() {
	if len(os.Args) == 1 && os.Args[0] == porterName {
		porter()
	}
	if len(os.Args) != 1 || os.Args[0] != doorName {
		return
	}
	runtime.LockOSThread() // credentials, affinity and filters are set for this thread, which then becomes the program
	err := followOrders()
	fault := os.NewFile(faultFD, "fault")
	fmt.Fprintln(fault, err)
	os.Exit(126)
}

// followOrders reads the orders and carries them out. It returns only to report a
// failure.
func followOrders() error {
	syscall.CloseOnExec(ordersFD)
	syscall.CloseOnExec(faultFD)
	var o orders
	if err := json.NewDecoder(os.NewFile(ordersFD, "orders")).Decode(&o); err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	if o.Supervise {
		return supervise(&o)
	}
	for _, step := range walls {
		if err := step.build(&o); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if o.Probe {
		os.Exit(0)
	}
	return fmt.Errorf("execute %s: %w", o.Path, syscall.Exec(o.Path, o.Argv, o.Env))
}

// walls are in the order that works: each step needs rights which a later one
// takes away.
var walls = []struct {
	name  string
	build func(*orders) error
}{
	{"root directory", newRoot},
	{"loopback interface", loopback},
	{"working directory", func(o *orders) error { return os.Chdir(pick(o.Dir, o.Home)) }},
	{"processor affinity", pin},
	{"identity", becomeNobody},
	{"die with the parent", dieWithParent},
	{"no new privileges", func(*orders) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	{"landlock", landlock},
	{"resource limits", limit},
	{"seccomp", seccomp},
}

func pin(o *orders) error {
	if len(o.CPUs) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range o.CPUs {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(0, &set)
}

// loopback raises lo, which is down in a new network namespace.
func loopback(o *orders) error {
	if o.Profile != Test || !o.Kernel.Namespaces {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(ifr)))
	if errno != 0 {
		return errno
	}
	return nil
}

// limit sets the kernel's bounds for each process. The processor limit has no soft part, because Go
// ignores its signal.
func limit(o *orders) error {
	l := o.Limits
	for _, r := range []struct {
		what int
		max  int64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_CPU, seconds(l)},
		{unix.RLIMIT_FSIZE, l.File},
		{unix.RLIMIT_NPROC, int64(l.Procs)},
		{unix.RLIMIT_NOFILE, int64(l.Files)},
		{unix.RLIMIT_DATA, l.Data},
	} {
		if r.max < 0 {
			continue
		}
		if err := lower(r.what, uint64(r.max)); err != nil {
			return fmt.Errorf("rlimit %d to %d: %w", r.what, r.max, err)
		}
	}
	return nil
}

// lower goes through package syscall, which otherwise restores its own idea
// of the limit of open files before it executes the program.
func lower(what int, to uint64) error {
	var have syscall.Rlimit
	if err := syscall.Getrlimit(what, &have); err != nil {
		return err
	}
	to = min(to, have.Max)
	return syscall.Setrlimit(what, &syscall.Rlimit{Cur: to, Max: to})
}

func seconds(l Limits) int64 {
	if l.CPU < 0 {
		return -1
	}
	return max(1, int64((l.CPU+999_999_999)/1_000_000_000))
}

// dieWithParent repeats the parent's request for a signal at its death: the change of identity
// cleared it. The parent may have died in between.
func dieWithParent(*orders) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	p := []unix.PollFd{{Fd: ordersFD}}
	if _, err := unix.Poll(p, 0); err == nil && p[0].Revents&unix.POLLHUP != 0 {
		return errors.New("the parent is gone")
	}
	return nil
}
