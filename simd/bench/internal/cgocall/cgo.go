//go:build cgo

// Package cgocall is the call that the kernels are compared with.
package cgocall

// #include <stddef.h>
// static size_t noop(const unsigned char *p, size_t n) { return n; }
import "C"

import "unsafe"

// Available reports whether Noop measures anything.
const Available = true

// Noop returns n by way of C.
func Noop(p *byte, n int) int {
	return int(C.noop((*C.uchar)(unsafe.Pointer(p)), C.size_t(n)))
}
