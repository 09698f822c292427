package chat

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A sse is one event of a stream, as the standard for server-sent events has it.
type sse struct {
	name string // "" when the server gave none
	data []byte // valid until the next event is read
}

// A stream reads server-sent events.
type stream struct {
	lines *bufio.Scanner
	data  []byte
}

func newStream(r io.Reader) *stream {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxReply)
	lines.Split(splitLines())
	return &stream{lines: lines}
}

// next returns the next event that holds data. The error is [io.EOF] after the
// last one. An event that the end of the stream cuts off does not count.
func (s *stream) next() (sse, error) {
	name := ""
	s.data = s.data[:0]
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if len(line) == 0 {
			if len(s.data) == 0 {
				name = ""
				continue
			}
			return sse{name, bytes.TrimSuffix(s.data, []byte("\n"))}, nil
		}
		// A line without a field name is a comment; fields that only serve
		// reconnection are of no use here.
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if len(s.data)+len(value) > maxReply {
				return sse{}, ErrTooLong
			}
			s.data = append(append(s.data, value...), '\n')
		}
	}
	switch err := s.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return sse{}, ErrTooLong
	case err != nil:
		return sse{}, err
	}
	return sse{}, io.EOF
}

// splitLines returns a split function for lines that end in \n, \r or \r\n. It
// drops a byte order mark before the first one.
func splitLines() bufio.SplitFunc {
	mark := []byte("\ufeff")
	first, afterCR := true, false
	return func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		skip := 0
		switch {
		case first && !atEOF && len(data) < len(mark) && bytes.HasPrefix(mark, data):
			return 0, nil, nil
		case first && bytes.HasPrefix(data, mark):
			skip = len(mark)
		// A \r ends its line at once, so that no event waits for more bytes. The
		// \n that may follow is skipped here.
		case afterCR && bytes.HasPrefix(data, []byte("\n")):
			skip = 1
		}
		end := bytes.IndexAny(data[skip:], "\r\n")
		switch {
		case end >= 0:
			end += skip
			first, afterCR = false, data[end] == '\r'
			return end + 1, data[skip:end], nil
		case atEOF:
			// An unfinished line belongs to an event that is cut off.
			return len(data), nil, nil
		}
		return 0, nil, nil
	}
}
