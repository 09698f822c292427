package logfields

import "strings"

// Split looks for the next space with the library's vector code, makes the list
// as long as it can get, and calls the general functions only for what needs
// them: names with capitals, words that begin or end with something rare.
func Split(line string) []Field {
	var fields []Field
	for len(line) > 0 {
		part := line
		if end := strings.IndexByte(line, ' '); end >= 0 {
			part, line = line[:end], line[end+1:]
		} else {
			line = ""
		}
		if len(part) == 0 {
			continue
		}
		if odd(part[0]) || odd(part[len(part)-1]) {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
		}
		if fields == nil {
			fields = make([]Field, 0, strings.Count(line, " ")+2)
		}
		fields = append(fields, field(part))
	}
	return fields
}

// odd reports whether a byte may belong to white space at the end of a word.
func odd(c byte) bool { return c <= ' ' || c >= 0x80 }

func field(part string) Field {
	at, plain := 0, true
	for ; ; at++ {
		if at == len(part) {
			return Field{Value: part}
		}
		c := part[at]
		if c == '=' {
			break
		}
		plain = plain && c-'A' > 'Z'-'A' && c < 0x80
	}
	name, value := part[:at], part[at+1:]
	if !plain {
		name = strings.ToLower(name)
	}
	for len(value) > 0 && value[0] == '"' {
		value = value[1:]
	}
	for len(value) > 0 && value[len(value)-1] == '"' {
		value = value[:len(value)-1]
	}
	return Field{Name: name, Value: value}
}
