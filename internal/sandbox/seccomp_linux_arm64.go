package sandbox

import "golang.org/x/sys/unix"

var (
	archDenied = []uint32{unix.SYS_KEXEC_FILE_LOAD}
	archForks  []uint32 // arm64 has clone alone
	archOpen   []uint32 // and openat
)
