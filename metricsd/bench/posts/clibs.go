//go:build clibs

package main

/*
#cgo LDFLAGS: -lz -lzstd -ldeflate
#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

// unzlib opens, reads and closes in one call.
static int unzlib(void *out, unsigned long *outLen, void *in, unsigned long inLen) {
	return uncompress(out, outLen, in, inLen);
}

// inflate_kept resets a stream that is kept.
static int inflate_kept(z_stream *s, void *out, unsigned long *outLen, void *in,
	unsigned long inLen) {
	int r = inflateReset(s);
	s->next_in = in; s->avail_in = inLen;
	s->next_out = out; s->avail_out = *outLen;
	if (r == Z_OK) r = inflate(s, Z_FINISH);
	*outLen = s->total_out;
	return r == Z_STREAM_END ? Z_OK : r == Z_OK ? Z_BUF_ERROR : r;
}

static z_stream *stream(void) {
	z_stream *s = calloc(1, sizeof *s);
	return inflateInit(s) == Z_OK ? s : NULL;
}

*/
import "C"

import (
	"fmt"
	"unsafe"
)

// init makes the ways in C. Streams and contexts are made once, as a service would keep them; "one
// call" is the way that keeps none.
func init() {
	kept, context, deflate := C.stream(), C.ZSTD_createDCtx(), C.libdeflate_alloc_decompressor()
	inC = []unpacker{
		{"zlib in C, one call", false, func(out, packed []byte) ([]byte, error) {
			n := C.ulong(cap(out))
			r := C.unzlib(first(out), &n, first(packed), C.ulong(len(packed)))
			return whole(out, int(n), int(r))
		}},
		{"zlib in C, a kept stream", false, func(out, packed []byte) ([]byte, error) {
			n := C.ulong(cap(out))
			r := C.inflate_kept(kept, first(out), &n, first(packed), C.ulong(len(packed)))
			return whole(out, int(n), int(r))
		}},
		{"libdeflate in C", false, func(out, packed []byte) ([]byte, error) {
			var n C.size_t
			r := C.libdeflate_zlib_decompress(deflate, first(packed), C.size_t(len(packed)), first(out),
				C.size_t(cap(out)), &n)
			return whole(out, int(n), int(r))
		}},
		{"zstd in C", true, func(out, packed []byte) ([]byte, error) {
			n := C.ZSTD_decompressDCtx(context, first(out), C.size_t(cap(out)), first(packed), C.size_t(len(packed)))
			return whole(out, int(n), int(C.ZSTD_isError(n)))
		}},
	}
}

func first(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func whole(out []byte, n, failed int) ([]byte, error) {
	if failed != 0 {
		return nil, fmt.Errorf("the library says %d", failed)
	}
	return out[:n], nil
}
