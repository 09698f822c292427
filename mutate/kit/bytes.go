package kit

import (
	"bytes"
	"encoding/binary"
)

// HasPrefixText is bytes.HasPrefix for a text.
func HasPrefixText(b []byte, s string) bool {
	return len(b) >= len(s) && string(b[:len(s)]) == s
}

// HasSuffixText is bytes.HasSuffix for a text.
func HasSuffixText(b []byte, s string) bool {
	return len(b) >= len(s) && string(b[len(b)-len(s):]) == s
}

// TrimPrefixText is bytes.TrimPrefix for a text.
func TrimPrefixText(b []byte, s string) []byte {
	if len(b) >= len(s) && string(b[:len(s)]) == s {
		return b[len(s):]
	}
	return b
}

// TrimSuffixText is bytes.TrimSuffix for a text.
func TrimSuffixText(b []byte, s string) []byte {
	if len(b) >= len(s) && string(b[len(b)-len(s):]) == s {
		return b[:len(b)-len(s)]
	}
	return b
}

// CutPrefixText is bytes.CutPrefix for a text.
func CutPrefixText(b []byte, s string) ([]byte, bool) {
	if len(b) >= len(s) && string(b[:len(s)]) == s {
		return b[len(s):], true
	}
	return b, false
}

// CutSuffixText is bytes.CutSuffix for a text.
func CutSuffixText(b []byte, s string) ([]byte, bool) {
	if len(b) >= len(s) && string(b[len(b)-len(s):]) == s {
		return b[:len(b)-len(s)], true
	}
	return b, false
}

// EncodeHex is hex.Encode, two bytes at a time.
func EncodeHex(dst, src []byte) {
	for len(src) >= 2 {
		binary.LittleEndian.PutUint32(dst, uint32(HexDigits[src[0]])|uint32(HexDigits[src[1]])<<16)
		dst, src = dst[4:], src[2:]
	}
	if len(src) > 0 {
		binary.LittleEndian.PutUint16(dst, HexDigits[src[0]])
	}
}

// HexDigits are both hexadecimal digits of each byte.
var HexDigits = func() (t [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return t
}()

// HexText is hex.EncodeToString, with its digits on the stack where they are few.
func HexText(src []byte) string {
	var room [64]byte
	dst := room[:]
	if 2*len(src) > len(dst) {
		dst = make([]byte, 2*len(src))
	}
	EncodeHex(dst, src)
	return string(dst[:2*len(src)])
}

// CutBytes is bytes.Cut with a separator of one byte.
func CutBytes(s []byte, sep byte) (head, tail []byte, found bool) {
	if i := bytes.IndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, nil, false
}
