package sandbox

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A kernel for amd64 runs programs for 386 too. Those enter it by another table, in which numbers
// mean other calls and one number stands for many (socketcall, ipc). So the filter for them lists
// the allowed calls: those of a Go program that computes, reads its files and answers.

// compatAllowed are the numbers for 386; package unix has those of this
// program's own machine.
var compatAllowed = []uint32{
	0,      // restart_syscall
	1, 252, // exit, exit_group
	3, 4, 6, // read, write, close
	180, 181, 145, 146, // pread64, pwrite64, readv, writev
	19, 140, // lseek, _llseek
	20, 224, // getpid, gettid
	33, 307, // access, faccessat
	45, 91, 125, // brk, munmap, mprotect
	144, 163, // msync, mremap
	218, 219, // mincore, madvise
	76, 77, 191, // getrlimit, getrusage, ugetrlimit
	78, 265, 403, // gettimeofday, clock_gettime and its form with 64 bits
	119, 173, // sigreturn, rt_sigreturn
	174, 175, // rt_sigaction, rt_sigprocmask
	186,      // sigaltstack
	122,      // uname
	155, 242, // sched_getparam, sched_getaffinity
	158,           // sched_yield
	162, 267, 407, // nanosleep, clock_nanosleep and its form with 64 bits
	168,     // poll
	183,     // getcwd
	85, 305, // readlink, readlinkat
	195, 196, 197, // stat64, lstat64, fstat64
	300, 383, // fstatat64, statx
	55, 220, 221, // fcntl, getdents64, fcntl64
	199, 200, 201, 202, // ids of the user and the group
	240, 422, // futex and its form with 64 bits
	243, 244, // set_thread_area, get_thread_area
	258, 311, // set_tid_address, set_robust_list
	386,                // rseq
	255, 256, 319, 329, // epoll_ctl, epoll_wait, epoll_pwait, epoll_create1
	328, 331, // eventfd2, pipe2
	340, // prlimit64, as the limits are hard ones
	355, // getrandom
}

// Numbers for 386 that are allowed with some arguments only.
const (
	compatKill   = 37
	compatTgkill = 270
	compatClone  = 120
	compatMmap2  = 192
	compatOpenat = 295
)

// Runs reports whether programs for another architecture can run between the
// walls as they are.
func (s *Sandbox) Runs(goarch string) bool {
	return goarch == runtime.GOARCH || goarch == "386" && runtime.GOARCH == "amd64" && runtime.GOOS == "linux"
}

// checkMachine returns an error if a command for another architecture cannot run.
func (c *Command) checkMachine() error {
	switch {
	case c.Machine == "" || c.Machine == runtime.GOARCH:
		return nil
	case c.Machine != "386" || runtime.GOARCH != "amd64":
		return fmt.Errorf("no filter is written for programs of %s on %s", c.Machine, runtime.GOARCH)
	case c.Profile != Run:
		return fmt.Errorf("programs of %s run in the profile %v only, not in %v", c.Machine, Run, c.Profile)
	}
	return nil
}

// compat is the part of the filter for calls by the table of 386. Calls by
// the machine's own table skip it, and meet the rest.
func compat(o *orders) []unix.SockFilter {
	var a assembler
	a.load(dataNr)
	self := uint32(os.Getpid())
	a.argNot(compatKill, self, eperm)
	a.argNot(compatTgkill, self, eperm)
	a.argClear(compatClone, unix.CLONE_THREAD, eperm)
	a.argAll(compatMmap2, 3, unix.MAP_SHARED|unix.MAP_ANONYMOUS, eperm)
	if o.counted() {
		a.argAll(compatOpenat, 2, unix.O_TMPFILE&^unix.O_DIRECTORY, enosys)
	}
	for _, nr := range append([]uint32{compatKill, compatTgkill, compatClone, compatMmap2, compatOpenat},
		compatAllowed...) {
		a.retIf(nr, unix.SECCOMP_RET_ALLOW)
	}
	a.emit(opRet, 0, 0, enosys)
	return a.code
}
