package safetensors

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// file writes a header and numbers as a file.
func file(header string, numbers ...byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), numbers...)
}

func read(data []byte) (*File, error) { return Read(bytes.NewReader(data), int64(len(data))) }

const two = `{"__metadata__":{"format":"pt"},` +
	`"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  `

func TestFloats(t *testing.T) {
	f, err := read(file(two, 0, 0, 0xc0, 0x3f, 0x80, 0x3f, 0x00, 0xc0))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Names(), []string{"a", "b"}) {
		t.Errorf("names: %q", f.Names())
	}
	a, err := f.Floats("a")
	if err != nil || !slices.Equal(a, []float32{1.5}) {
		t.Errorf("a: %v, %v", a, err)
	}
	b, err := f.Floats("b", 2, 1)
	if err != nil || !slices.Equal(b, []float32{1, -2}) {
		t.Errorf("b: %v, %v", b, err)
	}
	for cause, ask := range map[string]func() ([]float32, error){
		`no tensor "c"`:            func() ([]float32, error) { return f.Floats("c") },
		"has shape [2 1], not [2]": func() ([]float32, error) { return f.Floats("b", 2) },
	} {
		if _, err := ask(); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("want %q: %v", cause, err)
		}
	}
}

// TestHalf reads all 65,536 halves, and compares them with their definition.
func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		exponent, fraction := bits>>10&31, float64(bits&1023)
		want := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction/1024, -14)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if bits>>15 == 1 {
			want = math.Copysign(want, -1)
		}
		got := float64(halfOf([]byte{byte(bits), byte(bits >> 8)}))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != (bits>>15 == 1) {
			t.Fatalf("%#04x: %g, want %g", bits, got, want)
		}
	}
}

func TestLongTensor(t *testing.T) {
	const n = 100_003 // more than one read
	numbers := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(numbers[4*i:], math.Float32bits(float32(i)))
	}
	f, err := read(file(`{"x":{"dtype":"F32","shape":[100003],"data_offsets":[0,400012]}}`, numbers...))
	if err != nil {
		t.Fatal(err)
	}
	x, err := f.Floats("x", n)
	if err != nil || len(x) != n || x[n-1] != n-1 || x[20_000] != 20_000 {
		t.Errorf("%d numbers, %v", len(x), err)
	}
}

// TestForeign: each kind of broken or foreign file is refused with its own cause.
func TestForeign(t *testing.T) {
	one := func(entry string) []byte { return file(`{"x":`+entry+`}`, 0, 0, 0, 0) }
	good := file(two, make([]byte, 8)...)
	for cause, data := range map[string][]byte{
		"too few for a header":         []byte("abc"),
		"header of":                    []byte("PK\x03\x04 a zip archive, as torch saves them"),
		"the file is cut: its header":  good[:40],
		"the file is cut: its numbers": good[:len(good)-1],
		"9 follow the header":          append(slices.Clone(good), 0),
		"does not begin with {":        file(`[1]`),
		"is not JSON":                  file(`{"a":`),
		"type \"F8\" is unknown":       one(`{"dtype":"F8","shape":[4],"data_offsets":[0,4]}`),
		"is not a range":               one(`{"dtype":"F32","shape":[1],"data_offsets":[4,0]}`),
		"takes 8 bytes":                one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4]}`),
		"is invalid":                   one(`{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}`),
		"begins at byte 2":             one(`{"dtype":"F16","shape":[1],"data_offsets":[2,4]}`),
		"unknown field":                one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}`),
	} {
		if _, err := read(data); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("want %q: %v", cause, err)
		}
	}
	f, err := read(one(`{"dtype":"I32","shape":[1],"data_offsets":[0,4]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Floats("x", 1); err == nil || !strings.Contains(err.Error(), "of type I32") {
		t.Errorf("whole numbers: %v", err)
	}
}

// FuzzRead: no file makes the reader panic, or hold more numbers than the file has bytes for.
func FuzzRead(f *testing.F) {
	f.Add(file(two, make([]byte, 8)...))
	f.Add(file(`{}`))
	f.Add(file(`{"x":{"dtype":"F16","shape":[0,7],"data_offsets":[0,0]}}`))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := read(data)
		if err != nil {
			return
		}
		total := 0
		for _, name := range file.Names() {
			shape := make([]int, len(file.tensors[name].Shape))
			for i, n := range file.tensors[name].Shape {
				shape[i] = int(n)
			}
			numbers, err := file.Floats(name, shape...)
			if err != nil && !strings.Contains(err.Error(), "are read") {
				t.Errorf("%q: %v", name, err)
			}
			total += 2 * len(numbers)
		}
		if total > len(data) {
			t.Errorf("%d bytes of numbers from %d bytes", total, len(data))
		}
	})
}
