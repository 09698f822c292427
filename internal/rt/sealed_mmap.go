//go:build unix && !(aix || solaris)

package rt

import "syscall"

// newPages returns memory of whole pages outside of Go's heap.
func newPages(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

// protect makes pages read-only, or writable again.
func protect(pages []byte, sealed bool) error {
	if sealed {
		return syscall.Mprotect(pages, syscall.PROT_READ)
	}
	return syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_WRITE)
}
