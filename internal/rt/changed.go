package rt

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Records are the only texts of which it is known that the target makes sense
// of them. They are changed as a whole, in their numbers, and byte by byte.

// titled returns b with the first letter of each word in upper case.
func titled(b []byte) []byte {
	b = slices.Clone(b)
	for i, c := range b {
		if 'a' <= c && c <= 'z' && (i == 0 || !isLetter(b[i-1])) {
			b[i] = c - 'a' + 'A'
		}
	}
	return b
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wholeChanges change a record from end to end.
var wholeChanges = []func(b []byte) []byte{
	bytes.ToUpper, bytes.ToLower,
	titled,
	replaceBytes('0', '9', '0'), replaceBytes('0', '9', '9'),
	letters('a'), letters('f'), letters('z'),
	func(b []byte) []byte { r := slices.Clone(b); slices.Reverse(r); return r },
	func(b []byte) []byte { return slices.Concat(b, b) },
	func(b []byte) []byte { return slices.Concat(b, []byte(" "), b) },
	func(b []byte) []byte { return slices.Concat(b, []byte("\n"), b) },
	func(b []byte) []byte { return bytes.Repeat(b, 40) },
	func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(" "), []byte("  ")) },
	func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(" "), nil) },
	func(b []byte) []byte { return b[:len(b)/2] },
	func(b []byte) []byte { return b[len(b)/2:] },
	func(b []byte) []byte { return bytes.Map(wideLetter, b) },
}

// replaceBytes replaces the bytes from lo to hi by one of them.
func replaceBytes(lo, hi, by byte) func([]byte) []byte {
	return func(b []byte) []byte {
		out := slices.Clone(b)
		for i, c := range out {
			if lo <= c && c <= hi {
				out[i] = by
			}
		}
		return out
	}
}

// letters makes all letters one, in their case.
func letters(by byte) func([]byte) []byte {
	small, large := replaceBytes('a', 'z', by), replaceBytes('A', 'Z', by-'a'+'A')
	return func(b []byte) []byte { return large(small(b)) }
}

// wideLetter makes the letters of ASCII their wide forms, which fold and lower too.
func wideLetter(r rune) rune {
	if kindOfByte(byte(r)) > 0 && r < utf8.RuneSelf {
		return r - '!' + '\uff01'
	}
	return r
}

// brinks are the numbers at which types end, as texts.
var brinks = []string{"", "0", "00", "-0", "-1", "+1", "1", "127", "128", "129", "254", "255", "256", "257", "-128",
	"-129", "32767", "32768", "65535", "65536", "65537",
	"-32769", "2147483647", "2147483648", "4294967295", "4294967296", "4294967297", "-2147483649",
	"9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
	"18446744073709551617", "36893488147419103233",
	"340282366920938463463374607431768211457", "99999999999999999999", "1e3", "0x1", "0b1", "0o7", "1_0", "1.5", ".",
	"٣", "\uff11"}

// numberChanges returns replacements for a run of digits: the numbers at which types end, and the
// run itself with zeros and signs in front.
func numberChanges(digits string) []string {
	list := slices.Clone(brinks)
	for _, before := range []string{"0", "00", strings.Repeat("0", 30), strings.Repeat("0", 300), "+", "-",
		" ", "_", "0x"} {
		list = append(list, before+digits)
	}
	for _, more := range []string{"4294967296", "18446744073709551616", "256", "65536"} { // each wraps to itself
		list = append(list, decimalSum(more, digits))
	}
	return append(list, digits+"0", digits+" ", digits+digits, digits+".", digits+"e1")
}

// decimalSum returns the sum of two numbers.
func decimalSum(a, b string) string {
	width := max(len(a), len(b)) + 1
	a, b = strings.Repeat("0", width-len(a))+a, strings.Repeat("0", width-len(b))+b
	out, carry := make([]byte, width), byte(0)
	for i := width - 1; i >= 0; i-- {
		d := a[i] - '0' + b[i] - '0' + carry
		out[i], carry = '0'+d%10, d/10
	}
	return strings.TrimLeft(string(out), "0")
}

// visitChanged visits the records' texts in all these ways.
func (x *exhauster) visitChanged(yield func() bool) {
	for _, change := range []func(s spot, text []byte, try func([]byte) bool) bool{x.changeWhole, x.changeNumbers,
		x.changeBytes, x.stretch} {
		seen := map[string]bool{}
		// Texts that occur in several records are changed once.
		ok := x.args.everySpot(1, func(s spot, text []byte) bool {
			if len(text) == 0 || len(text) > 1<<16 || s.elem == whole && seen[string(text)] {
				return true
			}
			seen[string(text)] = true
			return change(s, text, func(b []byte) bool {
				if !x.affords(len(b)) {
					x.pass(1)
					return true
				}
				x.args.put(s, b)
				return yield()
			})
		})
		if !ok {
			return
		}
	}
}

// outerTexts is put before and after a whole text.
var outerTexts = []string{"\n", "\r\n", " ", "\t", "\x00", "\ufeff", "\"", "'", "#", ",", ";", "\\", "\u00a0", "\u205f"}

func (x *exhauster) changeWhole(_ spot, text []byte, try func([]byte) bool) bool {
	for _, f := range wholeChanges {
		if !try(f(slices.Clone(text))) {
			return false
		}
	}
	// Characters outside of the text's language come before it, after it, and on both sides.
	for _, o := range outerTexts {
		if !try(slices.Concat([]byte(o), text)) || !try(slices.Concat(text, []byte(o))) ||
			!try(slices.Concat([]byte(o), text, []byte(o))) {
			return false
		}
	}
	return true
}

// maxRuns bounds the numbers of one text.
const maxRuns = 12

// changeNumbers replaces each run of digits by other numbers, such as larger ones and those with a
// sign.
func (x *exhauster) changeNumbers(_ spot, text []byte, try func([]byte) bool) bool {
	runs := 0
	// Each stretch of digits is one number.
	for from := 0; from < len(text); from++ {
		to := from
		for to < len(text) && kindOfByte(text[to]) == 1 {
			to++
		}
		if to == from {
			continue
		}
		// In a text full of numbers, the first ones are enough.
		if runs++; runs > maxRuns {
			break
		}
		for _, n := range numberChanges(string(text[from:to])) {
			if !try(slices.Concat(text[:from], []byte(n), text[to:])) {
				return false
			}
		}
		from = to
	}
	return true
}

// changeBytes leaves out, doubles, exchanges and replaces the byte at each
// place.
func (x *exhauster) changeBytes(_ spot, text []byte, try func([]byte) bool) bool {
	marks := x.marks()
	n := min(len(text), 200)
	for i := range n {
		// Leave a byte out, or double it; then change its case, its top bit, its value or its
		// place.
		if !try(slices.Concat(text[:i], text[i+1:])) || !try(slices.Concat(text[:i], text[i:i+1], text[i:])) {
			return false
		}
		for _, b := range []byte{text[i] ^ 0x20, text[i] ^ 0x80, text[i] + 1, text[i] - 1, text[(i+1)%n]} {
			if !try(slices.Concat(text[:i], []byte{b}, text[i+1:])) {
				return false
			}
		}
	}
	for _, m := range marks {
		for i := range n {
			if !try(slices.Concat(text[:i], []byte(m), text[i+1:])) {
				return false
			}
		}
	}
	return true
}

// stretchedTo are the lengths to which one byte of a record is repeated: long ones, and those that
// make a counter of 8 or 16 bits start anew.
var stretchedTo = []int{20, 255, 256, 257, 300, 5000, 65_536, 70_000}

// stretch repeats the first byte of each word and of each separator.
func (x *exhauster) stretch(_ spot, text []byte, try func([]byte) bool) bool {
	// A brief check has no time for long texts.
	for _, times := range stretchedTo {
		if x.brief() && times > briefLength {
			return true
		}
		done := 0
		for i := range text {
			if i > 0 && kindOfByte(text[i]) == kindOfByte(text[i-1]) && kindOfByte(text[i]) != 0 {
				continue
			}
			if done++; done > maxCuts {
				break
			}
			if !try(slices.Concat(text[:i], bytes.Repeat(text[i:i+1], times), text[i:])) {
				return false
			}
		}
	}
	return true
}
