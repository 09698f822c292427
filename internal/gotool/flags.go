package gotool

import (
	"errors"
	"strings"
)

// Flag returns the value that GOFLAGS gives to a flag of the go command, or "". As for the go
// command, the last one counts.
func (t *Toolchain) Flag(name string) (value string, err error) {
	fields, err := splitQuoted(t.GOFLAGS)
	for _, f := range fields {
		if flag, v, _ := strings.Cut(f, "="); flag == "-"+name || flag == "--"+name {
			value = v
		}
	}
	return value, err
}

// splitQuoted splits a list of flags as the go command does: at spaces, and with quotes around what
// has some. A quote counts at the begin of a flag only, and there is no way to escape one.
func splitQuoted(s string) (out []string, err error) {
	const spaces = " \t\n\r"
	for s = strings.TrimLeft(s, spaces); s != ""; s = strings.TrimLeft(s, spaces) {
		field, rest := s, ""
		if quote := s[:1]; quote == `"` || quote == "'" {
			var closed bool
			if field, rest, closed = strings.Cut(s[1:], quote); !closed {
				return out, errors.New("GOFLAGS has a quote without its end: " + s)
			}
		} else if end := strings.IndexAny(s, spaces); end >= 0 {
			field, rest = s[:end], s[end:]
		}
		out, s = append(out, field), rest
	}
	return out, nil
}
