package datadog

import (
	"bytes"
	"compress/zlib"

	"github.com/klauspost/compress/zstd"
)

// compression makes a body small; encoding is its name in HTTP.
type compression struct {
	encoding string
	compress func([]byte) []byte
}

// compressions by the name in the configuration. The format called deflate is zlib's, RFC 1950.
var compressions = map[string]compression{
	"none":    {"", func(b []byte) []byte { return b }},
	"zlib":    {"deflate", compressZlib},
	"deflate": {"deflate", compressZlib},
	"zstd":    {"zstd", compressZstd},
}

func compressZlib(b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	w.Write(b) // a bytes.Buffer does not fail
	w.Close()
	return out.Bytes()
}

func compressZstd(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only for options that do not go together
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}
