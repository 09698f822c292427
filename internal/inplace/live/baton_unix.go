//go:build unix && go1.21

package live

import (
	"io"
	"syscall"
	"unsafe"
)

// openPipe opens both ends of a named pipe, so that opening blocks on no other process.
func openPipe(name string) (fd int, err error) {
	return syscall.Open(name, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
}

// readBaton waits for a baton. Nothing else of this process runs in the meantime, its garbage
// collector included: a version's garbage is collected in its own slices.
func readBaton(fd int) (b [8]byte, err error) {
	for n := 0; n < len(b); {
		got, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[n])),
			uintptr(len(b)-n))
		switch {
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			return b, errno
		case got == 0:
			return b, io.ErrUnexpectedEOF
		}
		n += int(got)
	}
	return b, nil
}

func writeBaton(fd int, b [8]byte) error {
	_, err := syscall.Write(fd, b[:])
	return err
}
