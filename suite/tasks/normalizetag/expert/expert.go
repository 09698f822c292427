package normalizetag

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// NormalizeTag tells clean tags eight bytes at a time. Others it takes through a
// table as far as they are ASCII, asks about runes only beyond it, and puts the
// result together on the stack.
func NormalizeTag(tag string) string {
	if isNormalizedASCIITag(tag) {
		return tag
	}
	return rewrite(tag)
}

func rewrite(tag string) string {
	var room [208]byte // longer results are rare
	out := room[:0]
	runes, gap := 0, false
	for i := 0; i < len(tag) && runes < 200; {
		r, size := rune(tag[i]), 1
		if r < utf8.RuneSelf {
			r = lowered[r&0x7f]
		} else {
			r, size = utf8.DecodeRuneInString(tag[i:])
			r = letterOrDigit(r)
		}
		i += size
		switch {
		case runes == 0 && !(r >= 'a' && r <= 'z' || r == ':' || r >= utf8.RuneSelf && unicode.IsLetter(r)):
			continue
		case r == 0:
			gap = true
			continue
		case gap:
			if runes+1 >= 200 {
				return string(out)
			}
			out = append(out, '_')
			runes++
			gap = false
		}
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
		} else {
			out = utf8.AppendRune(out, r)
		}
		runes++
	}
	return string(out)
}

// letterOrDigit returns what becomes of a rune beyond ASCII, 0 for nothing.
func letterOrDigit(r rune) rune {
	r = unicode.ToLower(r)
	if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return 0
	}
	return r
}

// lowered holds what becomes of an ASCII character, 0 for nothing.
var lowered = func() (t [128]rune) {
	for c := range rune(128) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= '-' && c <= '/', c == ':':
			t[c] = c
		case c >= 'A' && c <= 'Z':
			t[c] = c + 'a' - 'A'
		}
	}
	return t
}()

// isNormalizedASCIITag looks at eight bytes at a time. Each of them is told by
// additions that carry into its high bit but not into the next byte: whether it
// is in "-./0123456789:", in "a-z", or an underscore. The last word overlaps the
// one before it, so that there is no tail.
func isNormalizedASCIITag(tag string) bool {
	n := len(tag)
	if n == 0 || n > 200 {
		return false
	}
	if c := tag[0]; c-'a' > 'z'-'a' && c != ':' || tag[n-1] == '_' {
		return false
	}
	if n < 8 {
		return wordIsNormalized(short(tag)) != rejected
	}
	rest := tag
	behind := uint64(0) // whether the word before ended with an underscore
	for len(rest) >= 8 {
		gaps := wordIsNormalized(word(rest))
		if gaps == rejected || gaps&behind != 0 {
			return false
		}
		behind = gaps >> 56
		rest = rest[8:]
	}
	if len(rest) == 0 {
		return true
	}
	return wordIsNormalized(word(tag[n-8:])) != rejected
}

const (
	ones     = 0x0101010101010101
	highs    = 0x80 * ones
	rejected = 1 // no high bit of any byte
)

// wordIsNormalized returns the high bits of the bytes that are underscores, or
// rejected when a byte is not allowed or two underscores stand together.
func wordIsNormalized(w uint64) uint64 {
	signs := (w + (0x80-'-')*ones) &^ (w + (0x7f-':')*ones)
	letters := (w + (0x80-'a')*ones) &^ (w + (0x7f-'z')*ones)
	good := (signs | letters) &^ w & highs
	if good == highs {
		return 0
	}
	x := w ^ '_'*ones
	gaps := ^(x + 0x7f*ones) &^ w & highs
	if good|gaps != highs || gaps&(gaps<<8) != 0 {
		return rejected
	}
	return gaps
}

func word(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }

// short makes a word of fewer than eight bytes, filled up with letters.
func short(s string) uint64 {
	w := uint64('a' * ones)
	for i := len(s) - 1; i >= 0; i-- {
		w = w<<8 | uint64(s[i])
	}
	return w
}
