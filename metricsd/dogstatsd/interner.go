package dogstatsd

import (
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// DefaultStrings is how many strings a parser keeps, as many as Datadog's Agent.
const DefaultStrings = 4096

// longestInterned bounds the strings that are kept. Names and tags are shorter; what
// is longer, a hostile client's, is not worth its place.
const longestInterned = 256

// Interner gives equal bytes the same string, so that a name or a tag that is
// seen again costs no allocation, and its hash with it, which the context's key is made
// of. A string has its place in one small set, where a new one drives the oldest
// out. So a client with random tags cannot make it grow, and where there are more names than it
// has room for, each costs the making of a string and no more.
type Interner struct {
	sets   []internedSet // as many as a power of two
	seed   uint64
	misses uint64
}

type interned struct {
	hash uint64
	text string
}

type internedSet [4]interned

// NewInterner makes an interner for about size strings, with the seed of their hashes.
func NewInterner(size int, seed uint64) *Interner {
	sets := 1
	for sets*len(internedSet{}) < size {
		sets *= 2
	}
	return &Interner{sets: make([]internedSet, sets), seed: seed}
}

// String returns b as a string of valid UTF-8.
func (in *Interner) String(b []byte) string {
	s, _ := in.Hashed(b)
	return s
}

// Hashed returns b as a string of valid UTF-8 and the string's hash, [murmur3.Sum64].
func (in *Interner) Hashed(b []byte) (string, uint64) {
	hash := murmur3.Sum64(b, in.seed)
	set := &in.sets[hash&uint64(len(in.sets)-1)]
	for i := range set {
		if e := &set[i]; e.hash == hash && e.text == string(b) {
			return e.text, hash
		}
	}
	in.misses++
	s := string(b)
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		return s, murmur3.Sum64(s, in.seed)
	}
	if len(s) <= longestInterned {
		copy(set[1:], set[:])
		set[0] = interned{hash, s}
	}
	return s, hash
}

// Misses counts the strings that were made: as many as messages mean that the interner is too small
// for the traffic, or that a client sends random tags.
func (in *Interner) Misses() uint64 { return in.misses }
