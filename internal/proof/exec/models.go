package exec

// modelText stands for functions of the standard library that have no Go body,
// or one that is made for speed. A test compares each with the real one.
const modelText = `package models

type builder struct {
	addr *builder
	buf  []byte
}

func (b *builder) check() {
	if b.addr == nil {
		b.addr = b
	} else if b.addr != b {
		panic("copied")
	}
}

func (b *builder) WriteByte(c byte) error            { b.check(); b.buf = append(b.buf, c); return nil }
func (b *builder) WriteString(s string) (int, error) { b.check(); b.buf = append(b.buf, s...); return len(s), nil }
func (b *builder) Write(p []byte) (int, error)       { b.check(); b.buf = append(b.buf, p...); return len(p), nil }
func (b *builder) WriteRune(r rune) (int, error) {
	b.check()
	s := runeString(int64(r))
	b.buf = append(b.buf, s...)
	return len(s), nil
}
func (b *builder) String() string { return string(b.buf) }
func (b *builder) Len() int       { return len(b.buf) }
func (b *builder) Reset()         { b.addr = nil; b.buf = nil }
func (b *builder) Grow(n int) {
	b.check()
	if n < 0 {
		panic("negative")
	}
}

type errorString struct{ s string }

func (e *errorString) Error() string { return e.s }

func newError(s string) error { return &errorString{s} }

func runeString(r int64) string {
	if r < 0 || r > 0x10ffff || 0xd800 <= r && r <= 0xdfff {
		return "\xef\xbf\xbd"
	}
	if r < 0x80 {
		return string([]byte{byte(r)})
	}
	if r < 0x800 {
		return string([]byte{0xc0 | byte(r>>6), 0x80 | byte(r)&0x3f})
	}
	if r < 0x10000 {
		return string([]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f})
	}
	return string([]byte{0xf0 | byte(r>>18), 0x80 | byte(r>>12)&0x3f, 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f})
}

// decodeRune is utf8.DecodeRuneInString with plain branches only.
func decodeRune(s string) (rune, int) {
	n := len(s)
	if n < 1 {
		return 0xfffd, 0
	}
	a := s[0]
	if a < 0x80 {
		return rune(a), 1
	}
	if a < 0xc2 || a > 0xf4 || n < 2 {
		return 0xfffd, 1
	}
	b := s[1]
	if a < 0xe0 {
		if b&0xc0 != 0x80 {
			return 0xfffd, 1
		}
		return rune(a&0x1f)<<6 | rune(b&0x3f), 2
	}
	if b&0xc0 != 0x80 || a == 0xe0 && b < 0xa0 || a == 0xed && b > 0x9f || a == 0xf0 && b < 0x90 || a == 0xf4 && b > 0x8f || n < 3 {
		return 0xfffd, 1
	}
	c := s[2]
	if c&0xc0 != 0x80 {
		return 0xfffd, 1
	}
	if a < 0xf0 {
		return rune(a&0x0f)<<12 | rune(b&0x3f)<<6 | rune(c&0x3f), 3
	}
	if n < 4 {
		return 0xfffd, 1
	}
	d := s[3]
	if d&0xc0 != 0x80 {
		return 0xfffd, 1
	}
	return rune(a&0x07)<<18 | rune(b&0x3f)<<12 | rune(c&0x3f)<<6 | rune(d&0x3f), 4
}

func decodeRuneBytes(p []byte) (rune, int) { return decodeRune(string(p[:min(len(p), 4)])) }

func toRunes(s string) []rune {
	out := []rune{}
	for len(s) > 0 {
		r, n := decodeRune(s)
		out = append(out, r)
		s = s[n:]
	}
	return out
}

func fromRunes(list []rune) string {
	out := ""
	for i := 0; i < len(list); i++ {
		out += runeString(int64(list[i]))
	}
	return out
}

func indexByteString(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return i
		}
	}
	return -1
}

func indexByte(b []byte, c byte) int { return indexByteString(string(b), c) }

func lastIndexByteString(s string, c byte) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == c {
			return i
		}
	}
	return -1
}

func lastIndexByte(b []byte, c byte) int { return lastIndexByteString(string(b), c) }

func countString(s string, c byte) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			n++
		}
	}
	return n
}

func count(b []byte, c byte) int { return countString(string(b), c) }

func index(s, sub string) int {
	n := len(sub)
	for i := 0; i+n <= len(s); i++ {
		if s[i:i+n] == sub {
			return i
		}
	}
	return -1
}

func indexBytes(s, sub []byte) int { return index(string(s), string(sub)) }

func compareStrings(a, b string) int {
	if a == b {
		return 0
	}
	if a < b {
		return -1
	}
	return 1
}

func compare(a, b []byte) int { return compareStrings(string(a), string(b)) }

// trailing64 is bits.TrailingZeros64 with plain branches only.
func trailing64(x uint64) int {
	n := uint64(0)
	if x&0xffffffff == 0 {
		n += 32
		x >>= 32
	}
	if x&0xffff == 0 {
		n += 16
		x >>= 16
	}
	if x&0xff == 0 {
		n += 8
		x >>= 8
	}
	if x&0xf == 0 {
		n += 4
		x >>= 4
	}
	if x&3 == 0 {
		n += 2
		x >>= 2
	}
	if x&1 == 0 {
		n++
		x >>= 1
	}
	if x&1 == 0 {
		n = 64
	}
	return data(n)
}

// data keeps a number from being taken for a position, of which each value
// would be followed apart.
func data(n uint64) int {
	var out [1]int
	out[0] = int(n)
	return out[0]
}

func trailing32(x uint32) int { return min(trailing64(uint64(x)), 32) }
func trailing16(x uint16) int { return min(trailing64(uint64(x)), 16) }
func trailing8(x uint8) int   { return min(trailing64(uint64(x)), 8) }

// len64 is bits.Len64 with plain branches only.
func len64(x uint64) int {
	n := uint64(0)
	if x >= 1<<32 {
		n += 32
		x >>= 32
	}
	if x >= 1<<16 {
		n += 16
		x >>= 16
	}
	if x >= 1<<8 {
		n += 8
		x >>= 8
	}
	if x >= 1<<4 {
		n += 4
		x >>= 4
	}
	if x >= 1<<2 {
		n += 2
		x >>= 2
	}
	if x >= 1<<1 {
		n += 1
		x >>= 1
	}
	return data(n + x)
}

func len32(x uint32) int { return len64(uint64(x)) }
func len16(x uint16) int { return len64(uint64(x)) }
func len8(x uint8) int   { return len64(uint64(x)) }
`

// models names what stands for a function of the standard library.
var models = map[string]string{
	"(*strings.Builder).WriteByte":   "(*models.builder).WriteByte",
	"(*strings.Builder).WriteString": "(*models.builder).WriteString",
	"(*strings.Builder).Write":       "(*models.builder).Write",
	"(*strings.Builder).WriteRune":   "(*models.builder).WriteRune",
	"(*strings.Builder).String":      "(*models.builder).String",
	"(*strings.Builder).Len":         "(*models.builder).Len",
	"(*strings.Builder).Reset":       "(*models.builder).Reset",
	"(*strings.Builder).Grow":        "(*models.builder).Grow",

	"errors.New": "models.newError",

	"unicode/utf8.DecodeRuneInString": "models.decodeRune",
	"unicode/utf8.DecodeRune":         "models.decodeRuneBytes",

	"internal/bytealg.IndexByteString":     "models.indexByteString",
	"internal/bytealg.IndexByte":           "models.indexByte",
	"internal/bytealg.LastIndexByteString": "models.lastIndexByteString",
	"internal/bytealg.LastIndexByte":       "models.lastIndexByte",
	"internal/bytealg.CountString":         "models.countString",
	"internal/bytealg.Count":               "models.count",
	"internal/bytealg.CompareString":       "models.compareStrings",
	"internal/bytealg.Compare":             "models.compare",
	"strings.IndexByte":                    "models.indexByteString",
	"bytes.IndexByte":                      "models.indexByte",
	"strings.Index":                        "models.index",
	"bytes.Index":                          "models.indexBytes",
	"strings.Compare":                      "models.compareStrings",
	"bytes.Compare":                        "models.compare",

	"math/bits.TrailingZeros64": "models.trailing64",
	"math/bits.TrailingZeros32": "models.trailing32",
	"math/bits.TrailingZeros16": "models.trailing16",
	"math/bits.TrailingZeros8":  "models.trailing8",
	"math/bits.TrailingZeros":   "models.trailing64",
	"math/bits.Len64":           "models.len64",
	"math/bits.Len32":           "models.len32",
	"math/bits.Len16":           "models.len16",
	"math/bits.Len8":            "models.len8",
	"math/bits.Len":             "models.len64",
}
