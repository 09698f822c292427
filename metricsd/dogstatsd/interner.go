package dogstatsd

import (
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// DefaultStrings is how many strings a parser has places for: twice as many as Datadog's Agent
// keeps, since a set can be full while others have places.
const DefaultStrings = 8192

// longestInterned bounds the strings that are kept. Names and tags are shorter; a longer string
// comes from a hostile client and is not worth its place.
const longestInterned = 256

// mostBroken bounds the strings of invalid UTF-8 that are kept.
const mostBroken = 256

// Interner gives equal bytes the same string, so that a name or a tag that is seen again costs no
// allocation, and its hash with it, which the context's key is made of. A string has its place in
// one small set, where a new one drives out the oldest that was not seen again. So a client with
// random tags cannot make it grow, and where there are more names than it has room for, each costs
// the making of a string and no more.
type Interner struct {
	sets   []internedSet // as many as a power of two
	broken map[string]interned
	seed   uint64
	misses uint64
}

// interned is a string with what is found out about it only once.
type interned struct {
	text string
	hash uint64
	// internal says that the tag describes its sender, see [Parser.takeInternal].
	internal bool
}

// place is where a string is kept. Again says that it was asked for since it came, or since it
// was last passed over.
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

// put enters a string in the place of the oldest that was not asked for again. A string that is
// passed over must be asked for again to stay the next time.
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

// mend returns bytes that are not UTF-8 as a string that is. These strings are kept under the bytes
// as they came, and apart, for they are few: when there are too many the keeping starts afresh.
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

// Misses counts the strings that were made. If there are as many as messages, the interner is too
// small for the traffic, or a client sends random tags.
func (in *Interner) Misses() uint64 { return in.misses }
