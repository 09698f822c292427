package sandbox

import "golang.org/x/sys/unix"

var (
	archDenied = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_MODIFY_LDT, unix.SYS_USTAT}
	archOpen  = []uint32{unix.SYS_OPEN}
	archForks = []uint32{unix.SYS_FORK, unix.SYS_VFORK}
)
