package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Limits bound one body.
type Limits struct {
	Body   int64 // bytes as received
	Opened int64 // bytes after decompression
	Series int   // series in one body
	Name   int   // bytes of a metric's name, a host, or a tag; longer ones are refused
	Tags   int   // tags of one series
}

// DefaultLimits returns limits above Datadog's API, which has 5 MB and 500 KB.
func DefaultLimits() Limits {
	return Limits{Body: 8 << 20, Opened: 64 << 20, Series: 100_000, Name: 1024, Tags: 1024}
}

// ErrTooLarge says that a body exceeds a bound. An HTTP server answers 413 for it.
var ErrTooLarge = errors.New("too large")

// Open reads a body and undoes its compression. The encoding is that of the
// Content-Encoding header.
func Open(body io.Reader, encoding string, l Limits) ([]byte, error) {
	packed := &bounded{from: body, left: l.Body, what: fmt.Sprintf("the body is longer than %d bytes", l.Body)}
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return io.ReadAll(packed)
	case "deflate", "zlib":
		return openZlib(packed, l)
	case "gzip":
		r, err := gzip.NewReader(packed)
		if err != nil {
			return nil, err
		}
		return swell(r, l)
	case "zstd":
		return openZstd(packed, l)
	}
	return nil, fmt.Errorf("the encoding %q is not known; send deflate, gzip, zstd or none", encoding)
}

// zlibReaders are kept: for usual bodies, resetting one costs a third of making one.
var zlibReaders sync.Pool

func openZlib(packed io.Reader, l Limits) ([]byte, error) {
	kept, _ := zlibReaders.Get().(io.ReadCloser)
	if kept == nil {
		r, err := zlib.NewReader(packed)
		if err != nil {
			return nil, err
		}
		kept = r
	} else if err := kept.(zlib.Resetter).Reset(packed, nil); err != nil {
		return nil, err
	}
	out, err := swell(kept, l)
	zlibReaders.Put(kept)
	return out, err
}

// zstdReaders are kept for the same reason. The window bounds the memory of each, and swell its
// output.
var zstdReaders = sync.Pool{New: func() any {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		panic(err) // only for options that do not go together
	}
	return r
}}

func openZstd(packed io.Reader, l Limits) ([]byte, error) {
	r := zstdReaders.Get().(*zstd.Decoder)
	defer zstdReaders.Put(r)
	if err := r.Reset(packed); err != nil {
		return nil, err
	}
	out, err := swell(r, l)
	r.Reset(nil) // releases the body
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return out, err
}

// swell reads the decompressed bytes, up to the bound.
func swell(r io.Reader, l Limits) ([]byte, error) {
	open := &bounded{
		from: r,
		left: l.Opened,
		what: fmt.Sprintf("the body is longer than %d bytes after decompression", l.Opened),
	}
	var out bytes.Buffer
	_, err := out.ReadFrom(open)
	return out.Bytes(), err
}

// bounded fails at the first byte over its bound.
type bounded struct {
	from io.Reader
	left int64
	what string
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("%w: %s", ErrTooLarge, b.what)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, fmt.Errorf("%w: %s", ErrTooLarge, b.what)
	}
	return n, err
}
