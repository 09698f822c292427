// Package zstd stands for a module of the Agent that the Go proxy does not have. The work is
// done by the library that Datadog has published for it.
package zstd

import (
	"io"

	"github.com/DataDog/zstd"
)

// Level is how hard to try, from 1 on.
type Level int

// LevelFromInt returns a level.
func LevelFromInt(level int) Level { return Level(level) }

// CompressLevel packs src and appends it to dst.
func CompressLevel(dst, src []byte, level Level) ([]byte, error) {
	return zstd.CompressLevel(dst, src, int(level))
}

// Decompress unpacks src and appends it to dst.
func Decompress(dst, src []byte) ([]byte, error) { return zstd.Decompress(dst, src) }

// CompressBound returns the largest size of n compressed bytes.
func CompressBound(n int) int { return zstd.CompressBound(n) }

// NewWriterLevel packs what is written to it.
func NewWriterLevel(w io.Writer, level Level) (*zstd.Writer, error) {
	return zstd.NewWriterLevel(w, int(level)), nil
}
