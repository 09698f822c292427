package arbtag

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// NormalizeTagArbTagValue returns a tag that is clean already as it is, having
// looked at eight bytes at a time. Of others it keeps the clean beginning, takes
// ASCII from a table, and asks about runes only beyond it. The result is put
// together on the stack.
func NormalizeTagArbTagValue(tag string) string {
	clean := cleanPrefix(tag[:min(len(tag), 208)]) // what is longer is cut, so the rest need not be looked at
	if clean == len(tag) && clean <= 200 {
		return tag
	}
	if clean >= 199 { // where the result ends, an underscore must not
		if clean = 199; tag[198] == '_' {
			clean = 198
		}
	}
	var room [208]byte // longer results are rare
	out := append(room[:0], tag[:clean]...)
	runes, gap := len(out), false
	for i := clean; i < len(tag) && runes < 200; {
		r := rune(tag[i])
		size := 1
		if r < utf8.RuneSelf {
			r = lowered[r&0x7f]
		} else {
			r, size = utf8.DecodeRuneInString(tag[i:])
			r = letterOrDigit(r)
		}
		i += size
		if r == 0 {
			gap = true
			continue
		}
		if gap && runes > 0 {
			if runes+1 >= 200 {
				break
			}
			out = append(out, '_')
			runes++
		}
		gap = false
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

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// cleanPrefix returns how many bytes at the start stay as they are: a number
// that is right when it is the length, and never too great.
func cleanPrefix(tag string) int {
	at := 0
	for ; len(tag)-at >= 8; at += 8 {
		w := binary.LittleEndian.Uint64([]byte(tag[at : at+8]))
		signs := (w + (0x80-'-')*ones) &^ (w + (0x7f-':')*ones)
		letters := (w + (0x80-'a')*ones) &^ (w + (0x7f-'z')*ones)
		good := (signs | letters) &^ w & highs
		if good == highs {
			continue
		}
		// Underscores are good between two others, so not at either end of the
		// word: those are looked at one by one.
		x := w ^ '_'*ones
		gaps := ^(x + 0x7f*ones) &^ w & highs
		if good|gaps != highs || gaps&(gaps<<8) != 0 || gaps&(0x80<<56|0x80) != 0 {
			break
		}
	}
	for at < len(tag) {
		switch c := tag[at]; {
		case c < 0x80 && lowered[c] == rune(c) && c != 0:
		case c == '_' && at > 0 && at+1 < len(tag) && tag[at+1] < 0x80 && tag[at+1] != 0 &&
			lowered[tag[at+1]] == rune(tag[at+1]):
			at++
		default:
			return at
		}
		at++
	}
	return at
}
