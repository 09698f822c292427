package tablecrc

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// messages are 4,096 payloads of metrics, of 450 bytes to 7.3 KB, as an intake
// receives them after compression: they look random.
var messages = makeMessages(4096)

func makeMessages(n int) [][]byte {
	rng := rand.New(rand.NewPCG(11, 12))
	pool := make([]byte, 1<<20)
	for i := range pool {
		pool[i] = byte(rng.Uint32())
	}
	messages := make([][]byte, n)
	for i := range messages {
		size := 450 + rng.IntN(6900)
		at := rng.IntN(len(pool) - size)
		messages[i] = bytes.Clone(pool[at : at+size])
	}
	return messages
}

func TestChecksum(t *testing.T) {
	if got := Checksum([]byte("123456789")); got != 0xcbf43926 {
		t.Errorf("Checksum = %#x", got)
	}
	if got := Checksum(nil); got != 0 {
		t.Errorf("Checksum(nil) = %#x", got)
	}
	for _, m := range messages {
		if got, want := Checksum(m), crc32.ChecksumIEEE(m); got != want {
			t.Fatalf("Checksum of %d bytes = %#x, want %#x", len(m), got, want)
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Checksum(messages[i%len(messages)])
	}
}
