package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that no profile needs. They fail with ENOSYS, as on
// a kernel without them, so that programs which have a way round take it.
var denied = []uint32{
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_USERFAULTFD, unix.SYS_MEMFD_SECRET,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP,
	unix.SYS_CLONE3, // its flags cannot be filtered; all fall back to clone
}

// Offsets into struct seccomp_data.
const (
	dataNr    = 0
	dataArch  = 4
	dataArgLo = 16 // low half of the first argument, on little-endian machines
)

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

func seccomp(o *orders) error {
	if !o.Kernel.Seccomp {
		return nil
	}
	code := program(o)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("filter: %w", errno)
	}
	return nil
}

// program returns the filter: first the calls that are refused outright, then those that depend on
// an argument.
func program(o *orders) []unix.SockFilter {
	var a assembler
	a.load(dataArch)
	if o.Machine == "386" {
		other := compat(o)
		a.emit(opEqual, 1, 0, unix.AUDIT_ARCH_I386)
		a.emit(opSkip, 0, 0, uint32(len(other)))
		a.code = append(a.code, other...)
	}
	a.retUnless(auditArch[runtime.GOARCH], unix.SECCOMP_RET_KILL_PROCESS)
	a.load(dataNr)
	a.retFrom(0x40000000, enosys) // the x32 interface
	for _, nr := range append(denied, archDenied...) {
		a.retIf(nr, enosys)
	}
	if o.Profile != Test || !o.Kernel.Namespaces { // a network of its own is the only one that may be used
		a.retIf(unix.SYS_SOCKET, unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES))
	}
	if o.Profile == Run || o.Profile == Fuzz { // shared memory without a file, which no limit of data counts
		a.retIf(unix.SYS_MEMFD_CREATE, enosys)
		a.retIf(unix.SYS_SHMGET, enosys)
		a.argAll(unix.SYS_MMAP, 3, unix.MAP_SHARED|unix.MAP_ANONYMOUS, eperm)
	}
	if o.counted() {
		a.unnamedFiles()
	}
	if o.Profile != Run {
		a.argSet(unix.SYS_CLONE, newNamespaces, enosys)
		return a.end()
	}
	for _, nr := range append([]uint32{unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_TKILL,
		unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_SOCKETPAIR}, archForks...) {
		a.retIf(nr, eperm)
	}
	self := uint32(os.Getpid())
	a.argNot(unix.SYS_KILL, self, eperm)
	a.argNot(unix.SYS_TGKILL, self, eperm)
	a.argClear(unix.SYS_CLONE, unix.CLONE_THREAD, eperm)
	return a.end()
}

const (
	enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	eperm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
)

var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// An assembler writes classic BPF. Between its calls the accumulator holds
// the number of the system call.
type assembler struct{ code []unix.SockFilter }

func (a *assembler) emit(op uint16, jt, jf uint8, k uint32) {
	a.code = append(a.code, unix.SockFilter{Code: op, Jt: jt, Jf: jf, K: k})
}

const (
	opLoad  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opFrom  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opSet   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opSkip  = unix.BPF_JMP | unix.BPF_JA
	opRet   = unix.BPF_RET | unix.BPF_K
	opAnd   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
)

func (a *assembler) load(offset uint32)     { a.emit(opLoad, 0, 0, offset) }
func (a *assembler) retIf(k, action uint32) { a.emit(opEqual, 0, 1, k); a.emit(opRet, 0, 0, action) }
func (a *assembler) retUnless(k, action uint32) {
	a.emit(opEqual, 1, 0, k)
	a.emit(opRet, 0, 0, action)
}
func (a *assembler) retFrom(k, action uint32) { a.emit(opFrom, 0, 1, k); a.emit(opRet, 0, 0, action) }

// argNot takes the action when the call is nr and its first argument is not k;
// argSet and argClear when it has any, or none, of the bits.
func (a *assembler) argNot(nr, k, action uint32)      { a.arg(nr, opEqual, 1, 0, k, action) }
func (a *assembler) argSet(nr, bits, action uint32)   { a.arg(nr, opSet, 0, 1, bits, action) }
func (a *assembler) argClear(nr, bits, action uint32) { a.arg(nr, opSet, 1, 0, bits, action) }

func (a *assembler) arg(nr uint32, op uint16, jt, jf uint8, k, action uint32) {
	a.emit(opEqual, 0, 4, nr)
	a.load(dataArgLo)
	a.emit(op, jt, jf, k)
	a.emit(opRet, 0, 0, action)
	a.load(dataNr)
}

// argAll takes the action when argument i has all of the bits.
func (a *assembler) argAll(nr uint32, i int, bits, action uint32) {
	a.emit(opEqual, 0, 5, nr)
	a.load(dataArgLo + 8*uint32(i))
	a.emit(opAnd, 0, 0, bits)
	a.emit(opEqual, 0, 1, bits)
	a.emit(opRet, 0, 0, action)
	a.load(dataNr)
}

// unnamedFiles refuses files that no directory shows.
func (a *assembler) unnamedFiles() {
	const unnamed = unix.O_TMPFILE &^ unix.O_DIRECTORY
	a.argAll(unix.SYS_OPENAT, 2, unnamed, enosys)
	a.retIf(unix.SYS_OPENAT2, enosys) // its flags cannot be filtered; all fall back to openat
	for _, nr := range archOpen {
		a.argAll(nr, 1, unnamed, enosys)
	}
}

func (a *assembler) end() []unix.SockFilter {
	a.emit(opRet, 0, 0, unix.SECCOMP_RET_ALLOW)
	return a.code
}
