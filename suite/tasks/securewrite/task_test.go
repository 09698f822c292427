package securewrite

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// A write is a block and the checksum of what stands before it.
type write struct {
	running uint32
	block   []byte
}

// writes are 4,096 blocks of 200 bytes to 16 KB, small ones more often, as a
// service writes them to its queue.
var writes = makeWrites(4096)

func makeWrites(n int) []write {
	rng := rand.New(rand.NewPCG(13, 14))
	pool := make([]byte, 1<<20)
	for i := range pool {
		pool[i] = byte(rng.Uint32())
	}
	writes := make([]write, n)
	for i := range writes {
		size := 200 + rng.IntN(1<<(8+rng.IntN(7)))
		at := rng.IntN(len(pool) - size)
		writes[i] = write{rng.Uint32(), bytes.Clone(pool[at : at+size])}
	}
	return writes
}

func TestSecureWrite(t *testing.T) {
	running := uint32(0)
	var stream []byte
	for _, w := range writes[:64] {
		stream = append(stream, w.block...)
		header, total := SecureWrite(running, w.block)
		if want := crc32.ChecksumIEEE(stream); total != want {
			t.Fatalf("total = %#x after %d bytes, want %#x", total, len(stream), want)
		}
		if n := binary.LittleEndian.Uint32(header[0:]); int(n) != len(w.block) {
			t.Fatalf("length = %d, want %d", n, len(w.block))
		}
		if sum := binary.LittleEndian.Uint32(header[4:]); sum != crc32.ChecksumIEEE(w.block) {
			t.Fatalf("sum = %#x", sum)
		}
		if sum := binary.LittleEndian.Uint32(header[8:]); sum != total {
			t.Fatalf("total in the header = %#x", sum)
		}
		running = total
	}
}

func TestNothing(t *testing.T) {
	if _, total := SecureWrite(7, nil); total != 7 {
		t.Errorf("total = %d, want 7", total)
	}
}

func BenchmarkSecureWrite(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		w := &writes[i%len(writes)]
		SecureWrite(w.running, w.block)
	}
}
