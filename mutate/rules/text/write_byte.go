package text

import (
	"bufio"
	"bytes"
	_ "embed"
	"io"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed write_byte.go
var writeByteSource string

// A buffer is *strings.Builder, *bytes.Buffer or *bufio.Writer.
type buffer interface {
	*strings.Builder | *bytes.Buffer | *bufio.Writer
	WriteByte(byte) error
	WriteRune(rune) (int, error)
	WriteString(string) (int, error)
	Write([]byte) (int, error)
}

// writeByte (catalogue S13) matches a write of one constant ASCII character as a rune or string, a
// write of a list of one byte, and fmt.Fprintf of a constant text. It calls WriteByte or
// WriteString.
var writeByte = example.Rule{
	Name: "write-byte",
	Doc: "Write one constant ASCII character as a byte, and a constant text without fmt. Legal because the same " +
		"bytes arrive and the results of the call are not used.",
	Class:  beagle.E0,
	Gain:   1.1,
	Source: writeByteSource,
	Pairs: []example.Pair{{
		Before: writeRune[*strings.Builder], After: writeRuneByte[*strings.Builder],
		When: func(r rune) bool { return 0 <= r && r < 0x80 },
	}, {
		Before: writeLetter[*bytes.Buffer], After: writeLetterByte[*bytes.Buffer],
		When: func(s string) bool { return len(s) == 1 && s[0] < 0x80 },
	}, {
		Before: writeSlice[*bytes.Buffer], After: writeSliceByte[*bytes.Buffer],
	}, {
		Before: anyWriter[*strings.Builder], After: writeText[*strings.Builder], // as fmt.Fprint is spelled too
	}},
}.Mutator()

func writeRune[B buffer](b B, r rune)         { b.WriteRune(r) }
func writeRuneByte[B buffer](b B, r rune)     { b.WriteByte(byte(r)) }
func writeLetter[B buffer](b B, s string)     { b.WriteString(s) }
func writeLetterByte[B buffer](b B, s string) { b.WriteByte(s[0]) }
func writeSlice[B buffer](b B, c byte)        { b.Write([]byte{c}) }
func writeSliceByte[B buffer](b B, c byte)    { b.WriteByte(c) }
func anyWriter[B buffer](b B, s string)       { io.WriteString(b, s) }
func writeText[B buffer](b B, s string)       { b.WriteString(s) }
