//lint:file-ignore S1001 a Before is what the rule replaces

package loops

import (
	"bytes"
	_ "embed"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed repeat_text.go
var repeatTextSource string

// growingText is *strings.Builder or *bytes.Buffer: nothing sees in how many steps it grows.
type growingText interface {
	*strings.Builder | *bytes.Buffer
	WriteByte(byte) error
	WriteRune(rune) (int, error)
	WriteString(string) (int, error)
}

// repeatText (catalogue L10 for padding) matches loops that write, append or join the same text
// again and again. It repeats the text by the library.
var repeatText = example.Rule{
	Name: "repeat-text",
	Doc: "Repeat a text by strings.Repeat or bytes.Repeat instead of a loop: the library copies what it has, twice " +
		"as much each time, and holds runs of blanks, zeros and dashes ready, which it cuts without an allocation. " +
		"The loop writes a constant text, and nobody sees in how many steps. A negative length of new bytes panics " +
		"with another text.",
	Class:  beagle.E1,
	Gain:   1.6,
	Source: repeatTextSource,
	Pairs: []example.Pair{
		{Before: fillText, After: repeatFill, When: isPlainByte, Given: someTimes},
		{Before: fillBytes, After: repeatBytes, Given: someTimes},
		{Before: writeBytes[*strings.Builder], After: writeRepeatedByte[*strings.Builder], When: isPlainByte,
			Given: fewTimes},
		{Before: writeRunes[*strings.Builder], After: writeRepeatedRune[*strings.Builder], When: isRune,
			Given: fewTimes},
		{Before: writeTexts[*strings.Builder], After: writeRepeated[*strings.Builder], When: isShortText,
			Given: fewTimes},
		{Before: joinBehind, After: repeatBehind, When: isShortText, Given: fewTimes, Go: 21},
		{Before: joinInFront, After: repeatInFront, When: isShortText, Given: fewTimes, Go: 21},
		{Before: padBehind, After: repeatPadBehind, When: isOneByte, Given: fewTimes},
		{Before: padInFront, After: repeatPadInFront, When: isOneByte, Given: fewTimes},
	},
}.Mutator()

func fewTimes(n int) bool       { return n < 1000 }
func someTimes(n int) bool      { return 0 <= n && n < 1000 } // the panics differ in their text
func isRune(r rune) bool        { return utf8.ValidRune(r) }
func isShortText(x string) bool { return len(x) > 0 }
func isPlainByte(c byte) bool   { return c < utf8.RuneSelf }
func isOneByte(x string) bool   { return len(x) == 1 }

func fillText(n int, c byte) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = c
	}
	return string(b)
}

func repeatFill(n int, c byte) string { return strings.Repeat(string(rune(c)), n) }

func fillBytes(n int, c byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = c
	}
	return b
}

func repeatBytes(n int, c byte) []byte {
	b := bytes.Repeat([]byte{c}, n)
	return b
}

func writeBytes[B growingText](b B, n int, c byte) {
	for i := 0; i < n; i++ {
		b.WriteByte(c)
	}
}

func writeRepeatedByte[B growingText](b B, n int, c byte) {
	if n > 0 {
		b.WriteString(strings.Repeat(string(rune(c)), n))
	}
}

func writeRunes[B growingText](b B, n int, r rune) {
	for i := 0; i < n; i++ {
		b.WriteRune(r)
	}
}

func writeRepeatedRune[B growingText](b B, n int, r rune) {
	if n > 0 {
		b.WriteString(strings.Repeat(string(r), n))
	}
}

func writeTexts[B growingText](b B, n int, x string) {
	for i := 0; i < n; i++ {
		b.WriteString(x)
	}
}

func writeRepeated[B growingText](b B, n int, x string) {
	if n > 0 {
		b.WriteString(strings.Repeat(x, n))
	}
}

func joinBehind(s string, n int, x string) string {
	for i := 0; i < n; i++ {
		s += x
	}
	return s
}

func repeatBehind(s string, n int, x string) string {
	s += strings.Repeat(x, max(n, 0))
	return s
}

func joinInFront(s string, n int, x string) string {
	for i := 0; i < n; i++ {
		s = x + s
	}
	return s
}

func repeatInFront(s string, n int, x string) string {
	s = strings.Repeat(x, max(n, 0)) + s
	return s
}

func padBehind(s string, n int, x string) string {
	for len(s) < n {
		s += x
	}
	return s
}

func repeatPadBehind(s string, n int, x string) string {
	if len(s) < n {
		s += strings.Repeat(x, n-len(s))
	}
	return s
}

func padInFront(s string, n int, x string) string {
	for len(s) < n {
		s = x + s
	}
	return s
}

func repeatPadInFront(s string, n int, x string) string {
	if len(s) < n {
		s = strings.Repeat(x, n-len(s)) + s
	}
	return s
}
