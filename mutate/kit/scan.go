package kit

import "strconv"

// The Scan functions read what a verb of fmt.Sscanf reads, one after another, as long as ok holds.
// They give up, with false, on all that Sscanf may treat in another way: then the caller calls it.

// ScanText cuts a text without blanks off the front of s.
func ScanText(s, text string, ok bool) (rest string, _ bool) {
	if !ok || len(s) < len(text) || s[:len(text)] != text {
		return s, false
	}
	return s[len(text):], true
}

// ScanBlanks cuts at least one blank off the front of s.
func ScanBlanks(s string, ok bool) (rest string, _ bool) {
	n := 0
	for n < len(s) && n < 64 && s[n] == ' ' {
		n++
	}
	return s[n:], ok && 0 < n && n < 64
}

// ScanDigits reads a decimal number of at most the given number of digits.
func ScanDigits(s string, most int, ok bool) (n uint64, rest string, _ bool) {
	i := 0
	for i < len(s) && i <= most && '0' <= s[i] && s[i] <= '9' {
		n = n*10 + uint64(s[i]-'0')
		i++
	}
	ends := i == len(s) || s[i] != '_'
	return n, s[i:], ok && 0 < i && i <= most && ends
}

// ScanInt reads a decimal number, perhaps a negative one, of at most the given number of digits.
func ScanInt(s string, most int, ok bool) (n int64, rest string, _ bool) {
	minus := len(s) > 0 && s[0] == '-'
	if minus {
		s = s[1:]
	}
	digits, rest, ok := ScanDigits(s, most, ok)
	n = int64(digits)
	if minus {
		n = -n
	}
	return n, rest, ok
}

// ScanHex reads a hexadecimal number of at most the given number of digits.
func ScanHex(s string, most int, ok bool) (n uint64, rest string, _ bool) {
	i := 0
	for i < len(s) && i <= most {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return n, s[i:], ok && 0 < i && c != '_'
		}
		n = n<<4 | uint64(c)
		i++
	}
	return n, s[i:], ok && 0 < i && i <= most
}

// ScanWord reads ASCII up to a blank or a newline.
func ScanWord(s string, ok bool) (word, rest string, _ bool) {
	i := 0
	for i < len(s) && '!' <= s[i] && s[i] <= '~' {
		i++
	}
	ends := i == len(s) || s[i] == ' ' || s[i] == '\n'
	return s[:i], s[i:], ok && 0 < i && i < 1<<20 && ends
}

// ScanFloat reads a decimal number that may have a minus sign and a fraction, up to a blank
// or a newline.
func ScanFloat(s string, ok bool) (f float64, rest string, _ bool) {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	for i < len(s) && ('0' <= s[i] && s[i] <= '9' || s[i] == '.') {
		i++
	}
	if !ok || i > 64 || i < len(s) && s[i] != ' ' && s[i] != '\n' {
		return 0, s, false
	}
	f, err := strconv.ParseFloat(s[:i], 64)
	return f, s[i:], err == nil
}
