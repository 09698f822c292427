package wire

import (
	"bytes"
	stdzlib "compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// payload returns a JSON body of about that many bytes. Its values are random, so that it packs as
// badly as real ones: the sizes are those of the table in Datadog's post "Performance in Go:
// real-world lessons".
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

// BenchmarkDecompress undoes a body's compression in four ways: with a new reader of the standard
// library, with the same reader reset, and with the door's zlib and zstd.
func BenchmarkDecompress(b *testing.B) {
	for _, size := range []int{1071, 99963, 410523} {
		body := payload(size)
		deflated, zstded := packers["deflate"](body), packers["zstd"](body)
		run := func(name string, do func() error) {
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("std, new", func() error {
			r, err := stdzlib.NewReader(bytes.NewReader(deflated))
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			return err
		})
		kept, err := stdzlib.NewReader(bytes.NewReader(deflated))
		if err != nil {
			b.Fatal(err)
		}
		run("std, reset", func() error {
			err := kept.(stdzlib.Resetter).Reset(bytes.NewReader(deflated), nil)
			if err == nil {
				_, err = io.Copy(io.Discard, kept)
			}
			return err
		})
		open := func(encoding string, packed []byte) func() error {
			return func() error {
				_, err := Open(bytes.NewReader(packed), encoding, DefaultLimits())
				return err
			}
		}
		run("door, deflate", open("deflate", deflated))
		run("door, zstd", open("zstd", zstded))
		d, err := zstd.NewReader(nil)
		if err != nil {
			b.Fatal(err)
		}
		var out []byte
		run("zstd, one call", func() (err error) {
			out, err = d.DecodeAll(zstded, out[:0])
			return err
		})
	}
}

// BenchmarkBatch measures what a message of the queue costs each of its 128 series.
func BenchmarkBatch(b *testing.B) {
	series, err := SeriesV1(payload(128*110), DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	series = series[:min(len(series), 128)]
	batch := []Parcel{{ID: ID{1}, Series: series}}
	packed := Encode(batch)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			Encode(batch)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(series)), "ns/series")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := Decode(packed); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(series)), "ns/series")
	})
}
