package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkQueue measures what a payload costs from the agent's output to its sender: written,
// synced, read again and removed. An agent with 1,000 contexts writes payloads of 9 and 36 KB, one
// with 60,000 nearly all of 60 to 80 KB.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{9 << 10, 36 << 10, 70 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			q, err := Open(b.TempDir(), 1<<30)
			if err != nil {
				b.Fatal(err)
			}
			rng, payload := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
			for i := range payload {
				payload[i] = byte(rng.Uint32())
			}
			b.SetBytes(int64(n))
			for b.Loop() {
				if err := q.Put(payload); err != nil {
					b.Fatal(err)
				}
				_, id, ok := q.Oldest()
				if !ok {
					b.Fatal("the payload is not there")
				}
				if err := q.Remove(id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
