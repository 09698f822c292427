package capture

import (
	"strings"

	"github.com/beagle-go/beagle/probe/wire"
)

// alphabets are the characters that stand for a class of text.
var alphabets = []struct {
	class byte
	chars string
}{
	{wire.Lower, "etaoinshrdlu"}, {wire.Upper, "ETAOINSHRDLU"}, {wire.Digit, "0123456789"}, {wire.Space, " "},
	{wire.Punct, "-_.:/"},
}

// fakeText writes text of a hole's length with the classes of characters that it had. Equal holes
// of one process give equal text, different ones nearly always different text.
func fakeText(h wire.Hole) []byte {
	var chars string
	for _, a := range alphabets {
		if h.Class&a.class != 0 {
			chars += a.chars
		}
	}
	state := h.Hash*0x9e3779b97f4a7c15 + uint64(h.Class) + 1
	next := func(n int) int {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		return int(state % uint64(n))
	}
	if chars == "" {
		chars = "x"
	}
	text := make([]byte, h.Len)
	for i := range text {
		text[i] = chars[next(len(chars))]
	}
	if h.Reason == wire.Redacted {
		return []byte(strings.Repeat("x", len(text)))
	}
	// Each class that was there occurs: the first bytes are one of each.
	at := 0
	for _, a := range alphabets {
		if h.Class&a.class != 0 && at < len(text) {
			text[at] = a.chars[next(len(a.chars))]
			at++
		}
	}
	switch {
	case h.Class&wire.Wide != 0 && len(text) >= 2:
		copy(text[len(text)-2:], "é")
	case h.Class&wire.Invalid != 0 && len(text) >= 1:
		text[len(text)-1] = 0xff
	}
	return text
}
