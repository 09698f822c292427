package tagascii

import "encoding/binary"

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
