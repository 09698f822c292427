package crc

import (
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"
)

func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		a, b := random(r, r.IntN(500)), random(r, r.IntN(1<<r.IntN(19)))
		all := append(append([]byte(nil), a...), b...)
		if got, want := Combine(Update(0, a), Update(0, b), int64(len(b))), Update(0, all); got != want {
			t.Fatalf("Castagnoli, %d and %d bytes: got %08x, want %08x", len(a), len(b), got, want)
		}
		if got, want := CombineIEEE(UpdateIEEE(0, a), UpdateIEEE(0, b), int64(len(b))),
			crc32.ChecksumIEEE(all); got != want {
			t.Fatalf("IEEE, %d and %d bytes: got %08x, want %08x", len(a), len(b), got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	for _, n := range []int64{0, 1, 16, 255, 1024, 8191, 1 << 40} {
		for _, a := range []uint32{0, 1, 0x80000000, 0xdeadbeef, ^uint32(0)} {
			if got, want := NewBlock(n).Combine(a, 77), Combine(a, 77, n); got != want {
				t.Errorf("Castagnoli, length %d, %08x: got %08x, want %08x", n, a, got, want)
			}
			if got, want := NewBlockIEEE(n).Combine(a, 77), CombineIEEE(a, 77, n); got != want {
				t.Errorf("IEEE, length %d, %08x: got %08x, want %08x", n, a, got, want)
			}
		}
	}
}

// TestCombineHugeLength checks that the shift of a huge length is the shift of its halves, one
// after the other.
func TestCombineHugeLength(t *testing.T) {
	for _, n := range []int64{1 << 20, 1<<40 + 12345, 1 << 62} {
		half := Combine(Combine(0x12345678, 0, n/2), 0, n-n/2)
		if got := Combine(0x12345678, 0, n); got != half {
			t.Errorf("length %d: %08x in one step, %08x in two", n, got, half)
		}
	}
}

func TestCombineNegativeLength(t *testing.T) {
	for _, f := range []func(){func() { Combine(1, 2, -1) }, func() { Combine(1, 2, math.MinInt64) }, func() {
		NewBlock(-1)
	}} {
		panics(t, f)
	}
}

func panics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

func TestPairIsTwoPasses(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var p Pair
	var q PairIEEE
	var run, runIEEE uint32
	for _, n := range []int{0, 1, 15, 16, 63, 64, 255, 256, 1024, 8191, 8192, 1 << 16, pairLimit - 1, pairLimit,
		pairLimit + 1, 1 << 20, 3} {
		b := random(r, n)
		p.Write(b)
		q.Write(b)
		run, runIEEE = crc32.Update(run, castagnoli, b), crc32.Update(runIEEE, crc32.IEEETable, b)
		if p.Sum != crc32.Checksum(b, castagnoli) || p.Running != run {
			t.Fatalf("Castagnoli after %d bytes: %+v, want running %08x", n, p, run)
		}
		if q.Sum != crc32.ChecksumIEEE(b) || q.Running != runIEEE {
			t.Fatalf("IEEE after %d bytes: %+v, want running %08x", n, q, runIEEE)
		}
	}
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
