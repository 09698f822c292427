package rt

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the generated tables again")

// hashes are the short hashes that programs use for strings, by name.
var hashes = []struct {
	name string
	of   func(s []byte) uint32
}{
	{"FNV-1", func(s []byte) uint32 { h := fnv.New32(); h.Write(s); return h.Sum32() }},
	{"FNV-1a", func(s []byte) uint32 { h := fnv.New32a(); h.Write(s); return h.Sum32() }},
	{"FNV-1a of 64 bits, low half", func(s []byte) uint32 { h := fnv.New64a(); h.Write(s); return uint32(h.Sum64()) }},
	{"FNV-1a of 64 bits, high half", func(s []byte) uint32 { h := fnv.New64a(); h.Write(s); return uint32(h.Sum64() >> 32) }},
	{"CRC-32", crc32.ChecksumIEEE},
	{"CRC-32C", func(s []byte) uint32 { return crc32.Checksum(s, crc32.MakeTable(crc32.Castagnoli)) }},
	{"Adler-32", adler32.Checksum},
	{"times 33 plus", multiplied(5381, 33, false)},
	{"times 33 xor", multiplied(5381, 33, true)},
	{"times 31 plus", multiplied(0, 31, false)},
	{"times 65599 plus", multiplied(0, 65599, false)},
	{"one at a time", oneAtATime},
}

func multiplied(h0, by uint32, xor bool) func([]byte) uint32 {
	return func(s []byte) uint32 {
		h := h0
		for _, c := range s {
			if h *= by; xor {
				h ^= uint32(c)
			} else {
				h += uint32(c)
			}
		}
		return h
	}
}

func oneAtATime(s []byte) uint32 {
	h := uint32(0)
	for _, c := range s {
		h += uint32(c)
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	return h + h<<15
}

// collide finds two strings of eight letters with one hash, by their birthdays.
func collide(of func([]byte) uint32) [2]string {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[uint32]string{}
	s := make([]byte, 8)
	for {
		for i := range s {
			s[i] = 'a' + byte(rng.IntN(26))
		}
		h := of(s)
		if was, ok := seen[h]; ok && was != string(s) {
			return [2]string{was, string(s)}
		}
		seen[h] = string(s)
	}
}

// TestCollisions generates the table again: go test -run TestCollisions -update.
func TestCollisions(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("package rt\n\n// collisions are pairs of strings of one length and one hash, by the hash. " +
		"TestCollisions\n// in collisions_test.go generates them.\nvar collisions = [][2]string{\n")
	var want [][2]string
	for _, h := range hashes {
		pair := collide(h.of)
		want = append(want, pair)
		fmt.Fprintf(&b, "\t{%q, %q}, // %s\n", pair[0], pair[1], h.name)
	}
	b.WriteString("}\n")
	if *update {
		text, err := format.Source(b.Bytes())
		if err == nil {
			err = os.WriteFile("collisions_table.go", text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if !slices.Equal(collisions, want) {
		t.Error("collisions_table.go is not what this test generates: run it with -update")
	}
}
