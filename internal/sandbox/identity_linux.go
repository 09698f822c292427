package sandbox

import (
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// wallCaps are the capabilities for building the walls, within a new user namespace.
var wallCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// unusedUID returns an identity that owns nothing on this machine. The limit of processes does not
// bind root. The kernel counts a user's processes in each user namespace by itself; where there is
// none, each program gets an identity of its own, as far as there are enough, or they would share
// one limit.
func unusedUID(namespace bool) int {
	m := identityMap("uid")
	if len(m) == 0 {
		return -1
	}
	last := m[len(m)-1]
	top := min(last.ContainerID+last.Size-2, 1_879_048_191) // below what container managers hand out
	if namespace || last.Size < 1<<20 {
		return top
	}
	const each = 1 << 6 // programs at once in a process, and 1<<12 processes
	return top - os.Getpid()%(1<<12)*each - int(identities.Add(1)%each)
}

var identities atomic.Int64

// becomeNobody gives up the identity and all capabilities, except that a
// program started by root may still read what root may, of the little that is
// visible.
func becomeNobody(o *orders) error {
	if !o.Kernel.Namespaces && !o.Root {
		return nil // nothing to give up
	}
	secure := uintptr(1<<0 | 1<<1 | 1<<2 | 1<<3) // SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, both locked
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secure, 0, 0, 0); err != nil {
		if o.Kernel.Namespaces {
			return err
		}
		// A container may hold the right for that back. This keeps the one
		// capability over the change of identity too, until the program starts.
		if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := switchUID(o.UID); err != nil {
		return err
	}
	var keep uint32
	if o.Root {
		keep = 1 << unix.CAP_DAC_OVERRIDE
	}
	if err := onlyCaps(keep); err != nil || keep == 0 {
		return err
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_DAC_OVERRIDE, 0, 0)
}

// switchUID changes this thread alone, which is the one that goes on.
func switchUID(uid int) error {
	if uid < 0 {
		return nil
	}
	id := uintptr(uid)
	for _, call := range []struct{ nr, a, b, c uintptr }{
		{unix.SYS_SETGROUPS, 0, 0, 0}, {unix.SYS_SETRESGID, id, id, id}, {unix.SYS_SETRESUID, id, id, id},
	} {
		if _, _, errno := unix.RawSyscall(call.nr, call.a, call.b, call.c); errno != 0 {
			return errno
		}
	}
	return nil
}

func onlyCaps(low uint32) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: low, Permitted: low, Inheritable: low}}
	return unix.Capset(&hdr, &data[0])
}

// tasksOf counts the threads of a user.
func tasksOf(uid int) int {
	n := 0
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		info, err := os.Stat("/proc/" + p.Name() + "/task")
		if err != nil || !ownedBy(info, uid) {
			continue
		}
		tasks, _ := os.ReadDir("/proc/" + p.Name() + "/task")
		n += len(tasks)
	}
	return n
}

// status returns the value of a line of /proc/PID/status.
func status(pid, field string) string {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
