//go:build unix && !(aix || solaris)

package rt

import (
	"os"
	"syscall"
	"unsafe"
)

// mapCounts makes a file of n words and maps it. The pages belong to the
// file, so that the counts outlive the process.
func mapCounts(path string, n int) ([]uint64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A mapping beyond the file's end could not be written.
	if err := f.Truncate(int64(8 * n)); err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, 8*n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(mem))), n), nil
}
