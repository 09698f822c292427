// Package secure writes and reads streams of blocks that carry checksums, so that
// a payload that comes back from a disk is the one that went there.
//
// Every block has two CRC-32 (Castagnoli): its own, and that of all bytes of the
// stream up to its end. The first finds a block that has changed, the second also
// finds one that is missing, doubled, out of place, or from another stream. An
// empty block with the second sum ends the stream, so that a stream cut between two
// blocks is not taken for a whole one.
//
//	block = length, sum of the block, sum of the stream (4 bytes each, little end first), bytes
//
// # Limits
//
// Checksums find accidents, not intent: a program that can write the file can make
// them match.
package secure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/beagle-go/beagle/simd/crc"
)

// MaxBlock is the largest block that is written or read.
const MaxBlock = 64 << 10

const headerSize = 12

// Writer writes one stream.
type Writer struct {
	w    io.Writer
	sums crc.Pair
}

// NewWriter starts a stream on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// SecureWrite writes one block of at most MaxBlock bytes.
func (w *Writer) SecureWrite(block []byte) error {
	if len(block) == 0 || len(block) > MaxBlock {
		return fmt.Errorf("block of %d bytes; write 1 to %d", len(block), MaxBlock)
	}
	w.sums.Write(block)
	if err := w.header(len(block), w.sums.Sum); err != nil {
		return err
	}
	_, err := w.w.Write(block)
	return err
}

func (w *Writer) header(length int, sum uint32) error {
	var header [headerSize]byte
	binary.LittleEndian.PutUint32(header[0:], uint32(length))
	binary.LittleEndian.PutUint32(header[4:], sum)
	binary.LittleEndian.PutUint32(header[8:], w.sums.Running)
	_, err := w.w.Write(header[:])
	return err
}

// Write writes p in as many blocks as it needs.
func (w *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		block := p[:min(len(p), MaxBlock)]
		if err := w.SecureWrite(block); err != nil {
			return n, err
		}
		n, p = n+len(block), p[len(block):]
	}
	return n, nil
}

// Close ends the stream. It does not close the underlying writer.
func (w *Writer) Close() error { return w.header(0, 0) }

// ErrDamaged is wrapped by the error of every failed check.
var ErrDamaged = errors.New("stream is damaged")

// ReadAll reads a whole stream of at most limit bytes.
func ReadAll(r io.Reader, limit int) ([]byte, error) {
	var out []byte
	var sums crc.Pair
	for number := 1; ; number++ {
		var header [headerSize]byte
		if _, err := io.ReadFull(r, header[:]); err != nil {
			return nil, damaged(number, "its header ends early", err)
		}
		length := int64(binary.LittleEndian.Uint32(header[0:]))
		total := binary.LittleEndian.Uint32(header[8:])
		if length > MaxBlock || int64(len(out))+length > int64(limit) {
			return nil, damaged(number, fmt.Sprintf("its length %d is over the limit", length), nil)
		}
		start := len(out)
		out = append(out, make([]byte, length)...)
		if _, err := io.ReadFull(r, out[start:]); err != nil {
			return nil, damaged(number, "its bytes end early", err)
		}
		sums.Write(out[start:])
		switch {
		case sums.Sum != binary.LittleEndian.Uint32(header[4:]):
			return nil, damaged(number, "its bytes have changed", nil)
		case sums.Running != total:
			return nil, damaged(number, "it is not the block that followed here", nil)
		case length == 0:
			return out, nil
		}
	}
}

func damaged(number int, what string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: block %d: %s: %w", ErrDamaged, number, what, err)
	}
	return fmt.Errorf("%w: block %d: %s", ErrDamaged, number, what)
}
