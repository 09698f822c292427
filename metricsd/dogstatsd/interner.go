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

// interned is a string with what is found out about it only once.
type interned struct {
	text string
	hash uint64
	// internal says that it is a tag which tells of its sender, see [Parser.takeInternal].
	internal bool
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
func (in *Interner) String(b []byte) string { return in.intern(b).text }

// intern returns b as a string of valid UTF-8, with the string's [murmur3.Sum64].
func (in *Interner) intern(b []byte) interned {
	hash := murmur3.Sum64(b, in.seed)
	set := &in.sets[hash&uint64(len(in.sets)-1)]
	for i := range set {
		if e := &set[i]; e.hash == hash && e.text == string(b) {
			return *e
		}
	}
	in.misses++
	e := interned{text: string(b), hash: hash}
	valid := utf8.ValidString(e.text)
	if !valid {
		e.text = strings.ToValidUTF8(e.text, "\uFFFD")
		e.hash = murmur3.Sum64(e.text, in.seed)
	}
	e.internal = isInternal(e.text)
	if valid && len(b) <= longestInterned {
		copy(set[1:], set[:])
		set[0] = e
	}
	return e
}

// Misses counts the strings that were made: as many as messages mean that the interner is too small
// for the traffic, or that a client sends random tags.
func (in *Interner) Misses() uint64 { return in.misses }
