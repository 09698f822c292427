package main

import (
	"bytes"
	stdzlib "compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// An unpacker undoes a compression of a whole body. Out has room for all of it.
type unpacker struct {
	name   string
	zstd   bool
	unpack func(out, packed []byte) ([]byte, error)
}

// inC are the libraries in C, in a build with the tag clibs.
var inC []unpacker

// decompress compares libraries with bodies of the sizes of the third post.
func decompress(o *options, args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	t := &table{
		Name:    "Decompression: us a body",
		Columns: []string{"bytes", "packed", "library", "us", "times as fast"},
	}
	if len(inC) == 0 {
		t.Notes = []string{"Built without the tag clibs: zlib, libdeflate and zstd in C are left out."}
	}
	for _, size := range []int{1071, 99_963, 410_523} {
		if err := o.decompressRows(t, size); err != nil {
			return err
		}
	}
	return o.print(t)
}

// decompressRows adds a row for each library that unpacks a body of a size. All write into existing
// memory: the table compares the unpacking alone.
func (o *options) decompressRows(t *table, size int) error {
	plain := payload(size)
	deflated, zstded := pack(plain)
	var ways []way
	var failed error
	// Zstandard reads other bytes of the same body, so a row says how many those are.
	libraries := append(append(inGo(deflated), inC...), zstdInGo())
	for _, l := range libraries {
		packed := deflated
		if l.zstd {
			packed = zstded
		}
		out := make([]byte, 0, len(plain)+64)
		// Unpack once beforehand and compare: a library that is fast because it stops early has no
		// row.
		if got, err := l.unpack(out, packed); err != nil || !bytes.Equal(got, plain) {
			return fmt.Errorf("%s: %d bytes of %d, %v", l.name, len(got), len(plain), err)
		}
		ways = append(ways, way{name: l.name, run: func(n int) {
			for range n {
				if _, err := l.unpack(out, packed); err != nil {
					failed = err
				}
			}
		}})
	}
	all := o.times(ways...)
	// The first library once more is the noise.
	for i, l := range append(libraries, unpacker{name: again}) {
		packed := len(deflated)
		if l.zstd {
			packed = len(zstded)
		}
		t.add(len(plain), packed, l.name, median(all[i])/1000, ratioOf(all[0], all[i]))
	}
	return failed
}

// payload returns a JSON body of about that many bytes with random values.
func payload(size int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	var b bytes.Buffer
	b.WriteString(`{"series":[`)
	for b.Len() < size-150 {
		if b.Len() > 20 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b,
			`{"metric":"service%d.request.latency","host":"web-%02d","tags":["env:prod","pod:%x"],"points":[[%d,%.6f]]}`,
			rng.IntN(20), rng.IntN(40), rng.Uint32(), 1700000000+rng.IntN(600), rng.Float64())
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func pack(plain []byte) (deflated, zstded []byte) {
	var b bytes.Buffer
	w := stdzlib.NewWriter(&b)
	w.Write(plain)
	w.Close()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only for options that do not go together
	}
	return b.Bytes(), e.EncodeAll(plain, nil)
}

// readInto reads all of r into out, which has room.
func readInto(out []byte, r io.Reader) ([]byte, error) {
	out = out[:cap(out)]
	n, err := io.ReadFull(r, out)
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return out[:n], err
}

// inGo returns the ways of zlib in Go; kept readers have read a body before.
func inGo(packed []byte) []unpacker {
	kept, err := stdzlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // it has just been packed
	}
	klauspost, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err)
	}
	// A new reader each time is what a handler does without a pool; Reset is what a pool gives.
	return []unpacker{
		{"compress/zlib, a new reader", false, func(out, packed []byte) ([]byte, error) {
			r, err := stdzlib.NewReader(bytes.NewReader(packed))
			if err != nil {
				return nil, err
			}
			return readInto(out, r)
		}},
		{"compress/zlib, Reset", false, func(out, packed []byte) ([]byte, error) {
			if err := kept.(stdzlib.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
				return nil, err
			}
			return readInto(out, kept)
		}},
		{"klauspost zlib, a new reader", false, func(out, packed []byte) ([]byte, error) {
			r, err := zlib.NewReader(bytes.NewReader(packed))
			if err != nil {
				return nil, err
			}
			return readInto(out, r)
		}},
		{"klauspost zlib, Reset", false, func(out, packed []byte) ([]byte, error) {
			if err := klauspost.(zlib.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
				return nil, err
			}
			return readInto(out, klauspost)
		}},
	}
}

func zstdInGo() unpacker {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err) // only for options that do not go together
	}
	return unpacker{"klauspost zstd", true, func(out, packed []byte) ([]byte, error) {
		return d.DecodeAll(packed, out[:0])
	}}
}
