package secure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func stream(t testing.TB, blocks ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, b := range blocks {
		if err := w.SecureWrite(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func random(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 11, MaxBlock - 1, MaxBlock, MaxBlock + 1, 3*MaxBlock + 5} {
		want := random(n)
		var out bytes.Buffer
		w := NewWriter(&out)
		if wrote, err := w.Write(want); wrote != n || err != nil {
			t.Fatalf("%d bytes: wrote %d, %v", n, wrote, err)
		}
		w.Close()
		got, err := ReadAll(&out, n)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestEveryFlippedBitAndCutIsFound(t *testing.T) {
	good := stream(t, random(40), random(7))
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := ReadAll(bytes.NewReader(bad), 1000); !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	for n := range len(good) {
		if _, err := ReadAll(bytes.NewReader(good[:n]), 1000); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestBlocksOutOfPlaceAreFound(t *testing.T) {
	a, b := random(20), random(21)
	whole := stream(t, a, b)
	first, second, end := whole[:headerSize+20], whole[headerSize+20:len(whole)-headerSize],
		whole[len(whole)-headerSize:]
	for name, parts := range map[string][][]byte{
		"swapped": {second, first, end},
		"missing": {second, end},
		"doubled": {first, first, second, end},
		"cut":     {first, end},
	} {
		if _, err := ReadAll(bytes.NewReader(bytes.Join(parts, nil)), 1000); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	if err := NewWriter(new(bytes.Buffer)).SecureWrite(make([]byte, MaxBlock+1)); err == nil {
		t.Error("a block over the limit was written")
	}
	if _, err := ReadAll(bytes.NewReader(stream(t, random(100))), 99); !errors.Is(err, ErrDamaged) {
		t.Errorf("a stream over the limit: %v", err)
	}
}

func FuzzReadAll(f *testing.F) {
	f.Add(stream(f, random(40), random(7)))
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, err := ReadAll(bytes.NewReader(in), 1<<20); err == nil && len(out) > len(in) {
			t.Error("more came out than went in")
		}
	})
}

// TestForm checks the sums on disk against those of the standard library, so that files of earlier
// versions stay readable.
func TestForm(t *testing.T) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	blocks := [][]byte{random(1), random(1024), random(MaxBlock), random(777)}
	written := stream(t, blocks...)
	var want []byte
	running := uint32(0)
	for _, b := range append(blocks, nil) {
		running = crc32.Update(running, castagnoli, b)
		want = binary.LittleEndian.AppendUint32(want, uint32(len(b)))
		want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(b, castagnoli))
		want = append(binary.LittleEndian.AppendUint32(want, running), b...)
	}
	if !bytes.Equal(written, want) {
		t.Error("the form on disk has changed")
	}
}

// BenchmarkSecure writes a payload and reads it again, without a disk.
func BenchmarkSecure(b *testing.B) {
	for _, n := range []int{1 << 10, 9 << 10, 36 << 10, 70 << 10} {
		payload := random(n)
		var disk bytes.Buffer
		b.Run(fmt.Sprintf("write/bytes=%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				disk.Reset()
				w := NewWriter(&disk)
				w.Write(payload)
				w.Close()
			}
		})
		b.Run(fmt.Sprintf("read/bytes=%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				if _, err := ReadAll(bytes.NewReader(disk.Bytes()), n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
