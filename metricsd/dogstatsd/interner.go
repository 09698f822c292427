package dogstatsd

import (
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// DefaultStrings is the number of places for strings in a parser: twice as many as Datadog's Agent
// keeps, since a set can be full while others have free places.
const DefaultStrings = 8192

// longestInterned bounds the strings that are kept. Names and tags are shorter; a longer string
// comes from a hostile client and is not worth its place.
const longestInterned = 256

// mostBroken bounds the strings of invalid UTF-8 that are kept.
const mostBroken = 256

// Interner gives equal bytes the same string, so that a repeated name or tag costs no allocation,
// and neither does its hash, which the context's key needs. A string has its place in one small
// set, where a new one drives out the oldest that was not used again. So random tags cannot make it
// grow. Where there are more names than places, each costs the making of a string and no more.
type Interner struct {
	sets   []internedSet // as many as a power of two
	broken map[string]interned
	seed   uint64
	misses uint64
}

// interned is a string with facts that are computed once.
type interned struct {
	text string
	hash uint64
	// internal says that the tag describes its sender, see [Parser.takeInternal].
	internal bool
}

// place holds a string. again says that it was used since it came, or since it was last passed
// over.
type place struct {
	interned
	again bool
}

// internedSet holds the places that a string's hash allows. The next new string takes the place
// that hand points to.
type internedSet struct {
	places [8]place
	hand   uint8
}

// NewInterner makes an interner with places for size strings, or somewhat more, with the seed of
// their hashes.
func NewInterner(size int, seed uint64) *Interner {
	sets := 1
	for sets*len(internedSet{}.places) < size {
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
	for i := range set.places {
		if e := &set.places[i]; e.hash == hash && e.text == string(b) {
			if !e.again { // what is written each time is slower to read
				e.again = true
			}
			return e.interned
		}
	}
	if !utf8.Valid(b) {
		return in.mend(b)
	}
	e := in.make(string(b), hash)
	if len(b) <= longestInterned {
		set.put(e)
	}
	return e
}

func (in *Interner) make(s string, hash uint64) interned {
	in.misses++
	return interned{text: s, hash: hash, internal: isInternal(s)}
}

// put enters a string in the place of the oldest that was not used again. A string that is passed
// over must be used again to stay the next time.
func (s *internedSet) put(e interned) {
	at := &s.places[s.next()]
	for at.again {
		at.again = false
		at = &s.places[s.next()]
	}
	*at = place{interned: e}
}

func (s *internedSet) next() uint8 {
	at := s.hand % uint8(len(s.places))
	s.hand++
	return at
}

// mend returns b as valid UTF-8. The few repaired strings are kept in a map of their own by their
// original bytes; when it is full, it is emptied.
func (in *Interner) mend(b []byte) interned {
	if e, ok := in.broken[string(b)]; ok {
		return e
	}
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	e := in.make(text, murmur3.Sum64(text, in.seed))
	if len(b) > longestInterned {
		return e
	}
	if in.broken == nil || len(in.broken) >= mostBroken {
		in.broken = make(map[string]interned)
	}
	in.broken[string(b)] = e
	return e
}

// Misses counts new strings. If there are as many as messages, the interner is too small for the
// traffic, or a client sends random tags.
func (in *Interner) Misses() uint64 { return in.misses }
