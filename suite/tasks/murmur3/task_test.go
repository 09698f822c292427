package murmur3

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// keys is what a service hashes: 8,192 texts, six in ten of them single tags of
// 8 to 60 bytes, the others whole metric contexts (a name with its tags) of 60
// to 500.
var keys = makeKeys(8192)

func makeKeys(n int) [][]byte {
	rng := rand.New(rand.NewPCG(9, 10))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	word := func() string { return fmt.Sprintf("%x", rng.Uint64()>>(4*rng.IntN(12))) }
	tag := func() string {
		key := pick("env", "service", "host", "pod_name", "kube_namespace", "version", "http.status_code",
			"availability-zone")
		return key + ":" +
			pick("prod", "staging", "intake-"+word(), "i-"+word()+word(), "web_"+word()+"."+word(),
				"/api/v2/"+word()+"/"+word())
	}
	keys := make([][]byte, n)
	for i := range keys {
		if rng.IntN(10) < 6 {
			keys[i] = []byte(tag())
			continue
		}
		tags := make([]string, 3+rng.IntN(12))
		for j := range tags {
			tags[j] = tag()
		}
		keys[i] = []byte("service." + pick("requests", "latency", "errors", "queue.depth") + "|" +
			strings.Join(tags, ","))
	}
	return keys
}

// TestSum128 compares with sums of the reference implementation, with seed 0.
func TestSum128(t *testing.T) {
	for text, want := range map[string][2]uint64{
		"":      {0, 0},
		"hello": {0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19},
		"The quick brown fox jumps over the lazy dog": {0xe34bbc7bbc071b6c, 0x7a433ca9c49a9347},
	} {
		if h1, h2 := Sum128([]byte(text)); h1 != want[0] || h2 != want[1] {
			t.Errorf("Sum128(%q) = %#x, %#x, want %#x", text, h1, h2, want)
		}
	}
}

func TestSpread(t *testing.T) {
	seen := map[uint64]string{}
	for _, key := range keys {
		h, _ := Sum128(key)
		if other, ok := seen[h]; ok && other != string(key) {
			t.Errorf("%q and %q have the same hash", key, other)
		}
		seen[h] = string(key)
	}
}

func BenchmarkSum128(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Sum128(keys[i%len(keys)])
	}
}
