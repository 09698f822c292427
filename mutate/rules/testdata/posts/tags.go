// Package tags holds the functions of the posts as an ordinary author writes
// them.
package tags

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTagLength = 200

// Valid is a state machine over the bytes of a tag.
func Valid(tag string) bool {
	if len(tag) == 0 || len(tag) > maxTagLength {
		return false
	}
	underscore := true // a tag does not begin with an underscore
	for i := 0; i < len(tag); i++ {
		c := tag[i]
		switch {
		case isTagChar(c):
			underscore = false
		case c == '_':
			if underscore {
				return false
			}
			underscore = true
		default:
			return false
		}
	}
	return !underscore
}

func isTagChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ':' || c == '.' || c == '/' || c == '-'
}

// Normalize makes a tag of whatever a client sent.
func Normalize(tag string) string {
	var out strings.Builder
	runes := 0
	gap := false
	for _, r := range tag {
		r = unicode.ToLower(r)
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(":./-", r) {
			gap = true
			continue
		}
		if gap && runes > 0 {
			if runes+1 >= maxTagLength {
				break
			}
			out.WriteRune('_')
			runes++
		}
		gap = false
		out.WriteRune(r)
		runes++
		if runes == maxTagLength {
			break
		}
	}
	return out.String()
}

// Merge returns the tags of both lists, sorted, each once.
func Merge(a, b []string) []string {
	merged := append(append([]string{}, a...), b...)
	sort.Strings(merged)
	unique := []string{}
	for i, tag := range merged {
		if i == 0 || tag != merged[i-1] {
			unique = append(unique, tag)
		}
	}
	return unique
}

// Fibonacci returns the nth Fibonacci number.
func Fibonacci(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return Fibonacci(n-1) + Fibonacci(n-2)
}

// Sum is the CRC-32 of data.
func Sum(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc = crcTable[byte(crc)^b] ^ crc>>8
	}
	return ^crc
}

var crcTable = makeTable()

func makeTable() (t [256]uint32) {
	for i := range t {
		c := uint32(i)
		for range 8 {
			if c&1 == 1 {
				c = c>>1 ^ 0xedb88320
			} else {
				c >>= 1
			}
		}
		t[i] = c
	}
	return t
}

// Hash is MurmurHash3 for 32 bits.
func Hash(data []byte) uint32 {
	h := uint32(0)
	blocks := len(data) / 4
	for i := 0; i < blocks; i++ {
		k := uint32(data[i*4]) | uint32(data[i*4+1])<<8 | uint32(data[i*4+2])<<16 | uint32(data[i*4+3])<<24
		k *= 0xcc9e2d51
		k = k<<15 | k>>17
		k *= 0x1b873593
		h ^= k
		h = h<<13 | h>>19
		h = h*5 + 0xe6546b64
	}
	tail := data[blocks*4:]
	k := uint32(0)
	for i := len(tail) - 1; i >= 0; i-- {
		k = k<<8 | uint32(tail[i])
	}
	k *= 0xcc9e2d51
	k = k<<15 | k>>17
	k *= 0x1b873593
	h ^= k
	h ^= uint32(len(data))
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// Key identifies a metric by its name and its tags in any order.
func Key(name string, tags []string) uint32 {
	key := Hash([]byte(name))
	unique := append([]string(nil), tags...)
	sort.Strings(unique)
	for i, tag := range unique {
		if i > 0 && tag == unique[i-1] {
			continue
		}
		key ^= Hash([]byte(tag))
	}
	return key
}
