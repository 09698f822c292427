package kit

import "strings"

// AllASCII reports whether s holds no byte of a longer rune.
func AllASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// LowerIs is strings.ToLower(s) == x for an x of ASCII, without a copy.
func LowerIs(s, x string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			return strings.ToLower(s) == x
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if i >= len(x) || c != x[i] {
			return false
		}
	}
	return len(s) == len(x)
}

// LowerStarts is strings.HasPrefix(strings.ToLower(s), x) for an x of ASCII, without a copy.
func LowerStarts(s, x string) bool {
	for i := 0; i < len(x); i++ {
		if i >= len(s) {
			return false
		}
		c := s[i]
		if c >= 0x80 {
			return strings.HasPrefix(strings.ToLower(s), x)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != x[i] {
			return false
		}
	}
	return true
}

// LowerEnds is strings.HasSuffix(strings.ToLower(s), x) for an x of ASCII, without a copy.
func LowerEnds(s, x string) bool {
	for n := 1; n <= len(x); n++ {
		if n > len(s) {
			return false
		}
		c := s[len(s)-n]
		if c >= 0x80 {
			return strings.HasSuffix(strings.ToLower(s), x)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != x[len(x)-n] {
			return false
		}
	}
	return true
}

// AppendLower appends strings.ToLower(s) to b, which is empty.
func AppendLower(b []byte, s string) []byte {
	if len(s) > cap(b) {
		return append(b, strings.ToLower(s)...)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			return append(b[:0], strings.ToLower(s)...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// UpperIs is strings.ToUpper(s) == x for an x of ASCII, without a copy.
func UpperIs(s, x string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			return strings.ToUpper(s) == x
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if i >= len(x) || c != x[i] {
			return false
		}
	}
	return len(s) == len(x)
}

// UpperStarts is strings.HasPrefix(strings.ToUpper(s), x) for an x of ASCII, without a copy.
func UpperStarts(s, x string) bool {
	for i := 0; i < len(x); i++ {
		if i >= len(s) {
			return false
		}
		c := s[i]
		if c >= 0x80 {
			return strings.HasPrefix(strings.ToUpper(s), x)
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != x[i] {
			return false
		}
	}
	return true
}

// UpperEnds is strings.HasSuffix(strings.ToUpper(s), x) for an x of ASCII, without a copy.
func UpperEnds(s, x string) bool {
	for n := 1; n <= len(x); n++ {
		if n > len(s) {
			return false
		}
		c := s[len(s)-n]
		if c >= 0x80 {
			return strings.HasSuffix(strings.ToUpper(s), x)
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != x[len(x)-n] {
			return false
		}
	}
	return true
}

// AppendUpper appends strings.ToUpper(s) to b, which is empty.
func AppendUpper(b []byte, s string) []byte {
	if len(s) > cap(b) {
		return append(b, strings.ToUpper(s)...)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			return append(b[:0], strings.ToUpper(s)...)
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// RuneText is string(r). It allocates nothing for ASCII, since the runtime
// keeps all texts of one byte.
func RuneText(r rune) string {
	if 0 <= r && r < 0x80 {
		return string([]byte{byte(r)})
	}
	return string(r)
}

// AppendParts appends the pieces of s between separators, which are not empty. Like that of
// strings.Split, the result has no room for more.
func AppendParts(to []string, s, sep string) []string {
	for {
		i := strings.Index(s, sep)
		if i < 0 {
			to = append(to, s)
			return to[:len(to):len(to)]
		}
		to = append(to, s[:i])
		s = s[i+len(sep):]
	}
}

// AppendFirstParts appends the pieces of s between separators to an empty slice with room for most.
// The last one is the rest behind most-1 separators. Like that of strings.SplitN, the result has
// room for most pieces, or for one more than s has bytes.
func AppendFirstParts(to []string, s, sep string, most int) []string {
	room := len(s) + 1
	if room > most {
		room = most
	}
	for ; most > 1; most-- {
		i := strings.Index(s, sep)
		if i < 0 {
			break
		}
		to = append(to, s[:i])
		s = s[i+len(sep):]
	}
	to = append(to, s)
	if room > cap(to) {
		room = cap(to)
	}
	return to[:len(to):room]
}

// AppendFields appends the words of s to an empty slice. Like that of strings.Fields, which looks
// at texts that are not ASCII, the result has no room for more.
func AppendFields(to []string, s string) []string {
	start := -1 // of a word
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			to = append(to[:0], strings.Fields(s)...)
			return to[:len(to):len(to)]
		}
		space := c == ' ' || c >= '\t' && c <= '\r'
		if space && start >= 0 {
			to = append(to, s[start:i])
			start = -1
		} else if !space && start < 0 {
			start = i
		}
	}
	if start >= 0 {
		to = append(to, s[start:])
	}
	return to[:len(to):len(to)]
}

// CutByte is strings.Cut with a separator of one byte.
func CutByte(s string, sep byte) (head, tail string, found bool) {
	if i := strings.IndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
