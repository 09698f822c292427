//go:build unix && !(aix || solaris)

package rt

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// mapWord maps the first word of a file. The pages belong to the file, so
// that they outlive the process however it ends.
func mapWord(path string) (*atomic.Int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*atomic.Int64)(unsafe.Pointer(unsafe.SliceData(mem))), nil
}
