package dogstatsd

import "bytes"

// cursor walks over the fields of a line. The current field is line[start:end]; positions in errors
// come from it.
type cursor struct {
	line       []byte
	start, end int
}

// fields returns a cursor before the first field of line[from:].
func fields(line []byte, from int) cursor { return cursor{line: line, start: from, end: from - 1} }

// next moves to the following field; false after the last one.
func (c *cursor) next() bool {
	if c.end >= len(c.line) {
		return false
	}
	c.start = c.end + 1
	rest := c.line[c.start:]
	if i := bytes.IndexByte(rest, '|'); i >= 0 {
		c.end = c.start + i
	} else {
		c.end = len(c.line)
	}
	return true
}

func (c *cursor) field() []byte { return c.line[c.start:c.end] }

// after returns the text after prefix in the current field.
func (c *cursor) after(prefix string) ([]byte, bool) {
	return bytes.CutPrefix(c.field(), []byte(prefix))
}

func (c *cursor) fail(offset int, problem, remedy string) *SyntaxError {
	return syntaxError(c.line, offset, problem, remedy)
}
