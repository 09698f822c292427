// Package tail keeps the end of a program's output, shortens texts and errors, and
// counts things, for messages.
package tail

import (
	"strings"
	"sync"
)

// A Writer keeps the last [Most] bytes written to it.
type Writer struct {
	mu   sync.Mutex
	text []byte
}

// Most is the number of kept bytes.
const Most = 2 << 10

func (t *Writer) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - Most; over > 0 {
		t.text = t.text[over:]
	}
	return len(b), nil
}

// String returns the text as UTF-8, without the space around it.
func (t *Writer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.text)), "?")
}

// Of returns the end of an output that is there whole, as a [Writer] keeps it.
func Of(output []byte) string {
	var t Writer
	t.Write(output)
	return t.String()
}
