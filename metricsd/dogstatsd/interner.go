package dogstatsd

import "strings"

// DefaultStrings is how many strings a parser keeps, as many as Datadog's Agent.
const DefaultStrings = 4096

// longestInterned bounds the strings that are kept. Names and tags are shorter; what
// is longer, a hostile client's, is not worth its place.
const longestInterned = 256

// Interner gives equal bytes the same string, so that a name or a tag that is
// seen again costs no allocation. When it is full it starts afresh: simple, and
// a client with random tags cannot make it grow.
type Interner struct {
	strings map[string]string
	max     int
	resets  uint64
}

// NewInterner makes an interner for at most max strings.
func NewInterner(max int) *Interner {
	return &Interner{strings: make(map[string]string), max: max}
}

// String returns b as a string of valid UTF-8.
func (in *Interner) String(b []byte) string {
	if s, ok := in.strings[string(b)]; ok {
		return s
	}
	if len(b) > longestInterned {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	if len(in.strings) >= in.max {
		in.strings = make(map[string]string)
		in.resets++
	}
	key := string(b)
	s := strings.ToValidUTF8(key, "\uFFFD")
	in.strings[key] = s
	return s
}

// Resets counts how often the interner was full: many resets a second mean that
// it is too small for the traffic, or that a client sends random tags.
func (in *Interner) Resets() uint64 { return in.resets }
