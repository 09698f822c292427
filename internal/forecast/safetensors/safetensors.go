// Package safetensors reads files of weights. A header in JSON names tensors, and their numbers
// follow it, one tensor after the other. The package reads numbers of 32 and 16 bits, and does no
// I/O but through the reader that it is given.
//
// The files come from strangers. Read refuses a header that promises more than the file holds,
// before it allocates anything.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
)

// maxHeader is the longest header that is read: a hundred bytes a tensor are common.
const maxHeader = 4 << 20

// A Type is the encoding of a number.
type Type string

// The types that [File.Floats] reads.
const (
	F32  Type = "F32"
	F16  Type = "F16"
	BF16 Type = "BF16"
)

// widths are the bytes of a number of each type of the format. Those without a reader count for the
// layout of the file.
var widths = map[Type]int64{F32: 4, F16: 2, BF16: 2, "F64": 8, "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2,
	"U16": 2, "I8": 1, "U8": 1, "BOOL": 1}

// A tensor is an entry of the header.
type tensor struct {
	Type  Type    `json:"dtype"`
	Shape []int64 `json:"shape"`
	Range []int64 `json:"data_offsets"`
}

// A File is a file whose header was read.
type File struct {
	r       io.ReaderAt
	data    int64 // where the numbers begin
	tensors map[string]tensor
}

// Read reads the header of a file of size bytes, and checks that the file holds all that the header
// promises.
func Read(r io.ReaderAt, size int64) (*File, error) {
	var first [8]byte
	if size < int64(len(first)) {
		return nil, fmt.Errorf("no safetensors file: %d bytes are too few for a header", size)
	}
	if err := readAt(r, first[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(first[:])
	switch {
	case n > maxHeader:
		return nil, fmt.Errorf("no safetensors file: its first 8 bytes give a header of %d bytes, more than %d", n,
			maxHeader)
	case int64(n) > size-8:
		return nil, fmt.Errorf("the file is cut: its header takes %d bytes, and %d are left", n, size-8)
	}
	text := make([]byte, n)
	if err := readAt(r, text, 8); err != nil {
		return nil, err
	}
	f := &File{r: r, data: 8 + int64(n)}
	if err := f.parse(text); err != nil {
		return nil, err
	}
	return f, f.check(size - f.data)
}

// parse reads the header.
func (f *File) parse(text []byte) error {
	if len(text) == 0 || text[0] != '{' {
		return errors.New("no safetensors file: its header does not begin with {")
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return fmt.Errorf("not a safetensors file: its header is not JSON: %w", err)
	}
	delete(entries, "__metadata__")
	f.tensors = make(map[string]tensor, len(entries))
	for name, entry := range entries {
		var t tensor
		d := json.NewDecoder(bytes.NewReader(entry))
		d.DisallowUnknownFields()
		if err := d.Decode(&t); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.tensors[name] = t
	}
	return nil
}

// check holds the tensors against the bytes that are there: they must fill them without gaps.
func (f *File) check(left int64) error {
	for name, t := range f.tensors {
		if err := t.check(left); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
	}
	end := int64(0)
	for _, name := range f.inOrder() {
		r := f.tensors[name].Range
		if r[0] != end {
			return fmt.Errorf("tensor %q begins at byte %d, and the one before it ends at %d", name, r[0], end)
		}
		end = r[1]
	}
	if end != left {
		return fmt.Errorf("the tensors take %d bytes, and %d follow the header", end, left)
	}
	return nil
}

// inOrder lists the names by the place of their numbers.
func (f *File) inOrder() []string {
	return inorder.Collect(maps.Keys(f.tensors), func(a, b string) int {
		return slices.Compare(f.tensors[a].Range, f.tensors[b].Range)
	})
}

// check returns an error unless the header's type, shape and range agree. left is the size of all
// numbers.
func (t tensor) check(left int64) error {
	width := widths[t.Type]
	if width == 0 {
		return fmt.Errorf("type %q is unknown", t.Type)
	}
	if len(t.Range) != 2 || t.Range[0] < 0 || t.Range[1] < t.Range[0] {
		return fmt.Errorf("data_offsets %d is not a range", t.Range)
	}
	if t.Range[1] > left {
		return fmt.Errorf("the file is cut: its numbers end at byte %d, and %d follow the header", t.Range[1], left)
	}
	size := width
	for _, n := range t.Shape {
		if n < 0 || n > 0 && size > math.MaxInt64/n {
			return fmt.Errorf("shape %d is invalid", t.Shape)
		}
		size *= n
	}
	if size != t.Range[1]-t.Range[0] {
		return fmt.Errorf("%s of shape %d takes %d bytes, and data_offsets gives %d", t.Type, t.Shape, size,
			t.Range[1]-t.Range[0])
	}
	return nil
}

// Names lists the tensors by name.
func (f *File) Names() []string { return inorder.Keys(f.tensors) }

// Floats reads a tensor of numbers of 32 or 16 bits, which must have the shape. A shape without
// sides is one number.
func (f *File) Floats(name string, shape ...int) ([]float32, error) {
	t, ok := f.tensors[name]
	if !ok {
		return nil, fmt.Errorf("there is no tensor %q", name)
	}
	// Check the shape and the type.
	want := make([]int64, len(shape))
	for i, n := range shape {
		want[i] = int64(n)
	}
	if !slices.Equal(t.Shape, want) {
		return nil, fmt.Errorf("tensor %q has shape %d, not %d", name, t.Shape, want)
	}
	decode := map[Type]func([]byte) float32{F32: float32Of, F16: halfOf, BF16: brainOf}[t.Type]
	if decode == nil {
		return nil, fmt.Errorf("tensor %q is of type %s: F32, F16 and BF16 are read", name, t.Type)
	}
	// Read and decode a part at a time.
	width := widths[t.Type]
	out := make([]float32, 0, (t.Range[1]-t.Range[0])/width)
	buffer := make([]byte, 1<<16)
	for at := t.Range[0]; at < t.Range[1]; {
		part := buffer[:min(int64(len(buffer)), t.Range[1]-at)]
		if err := readAt(f.r, part, f.data+at); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		at += int64(len(part))
		for ; len(part) > 0; part = part[width:] {
			out = append(out, decode(part))
		}
	}
	return out, nil
}

func float32Of(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// brainOf reads a bfloat16: the upper half of a float32.
func brainOf(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// halfOf reads an IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction.
func halfOf(b []byte) float32 {
	bits := uint32(binary.LittleEndian.Uint16(b))
	sign, exponent, fraction := bits>>15<<31, bits>>10&31, bits&1023
	switch exponent {
	case 0: // subnormal: the fraction counts 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31: // infinite, or no number
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// readAt fills the buffer.
func readAt(r io.ReaderAt, buffer []byte, at int64) error {
	n, err := r.ReadAt(buffer, at)
	switch {
	case n == len(buffer):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("the file is cut: it ends at byte %d, within %d bytes from %d", at+int64(n), len(buffer), at)
	}
	return err
}
