package rt

import (
	"io"
	"reflect"
)

// Tests write to buffers that take everything, and read from texts that give
// all that is asked for. Callers have files, sockets and pipes. These writers
// and readers do what the interfaces allow and what buffers never do.

// A Sink is a writer that takes a given number of bytes, and then fails.
type Sink struct {
	Got  []byte
	Room int
}

func (s *Sink) Write(p []byte) (int, error) {
	n := max(min(len(p), s.Room), 0)
	s.Got = append(s.Got, p[:n]...)
	s.Room -= n
	if n < len(p) {
		return n, ErrMadeUp
	}
	return n, nil
}

// WriteString is Write for a string.
func (s *Sink) WriteString(p string) (int, error) { return s.Write([]byte(p)) }

// WriteByte is Write for one byte.
func (s *Sink) WriteByte(c byte) error {
	_, err := s.Write([]byte{c})
	return err
}

// A Spring is a reader that gives a text in pieces.
type Spring struct {
	Text   string
	Piece  int  // the most bytes that one call gives
	Beside bool // the last bytes come with the error
	Fails  bool // the error is not io.EOF
	Pauses bool // every other call gives nothing
	Paused bool // the last call gave nothing
}

func (s *Spring) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.Paused = s.Pauses && !s.Paused; s.Paused {
		return 0, nil
	}
	n := copy(p[:min(len(p), max(s.Piece, 1))], s.Text)
	s.Text = s.Text[n:]
	if n > 0 && (s.Text != "" || !s.Beside) {
		return n, nil
	}
	if s.Fails {
		return n, ErrMadeUp
	}
	return n, io.EOF
}

// faultyTypes are the types whose values stand for files and sockets.
var faultyTypes = []reflect.Type{reflect.TypeFor[*Sink](), reflect.TypeFor[*Spring]()}

// springTexts are what springs give, beside the constants of the versions.
var springTexts = []string{"", "a", "some words,\nanother line;\n\n1 2 3\n", "{\"a\": [1, 2]}\r\nno end of the line"}

// faulty makes writers and readers for an interface that they implement.
func (d *domain) faulty(t reflect.Type, add func(reflect.Value)) {
	if t.NumMethod() == 0 {
		return
	}
	of := func(x any) { add(reflect.ValueOf(x).Convert(t)) }
	if faultyTypes[0].Implements(t) {
		for _, room := range []int{0, 1, 2, 3, 5, 8, 13, 40, 300, 5000} {
			of(&Sink{Room: room})
		}
	}
	if faultyTypes[1].Implements(t) {
		for _, s := range []Spring{{Piece: 1}, {Piece: 3, Beside: true}, {Piece: 7, Fails: true},
			{Piece: 2, Pauses: true}, {Piece: 1 << 20, Beside: true, Fails: true}, {Piece: 1 << 20, Fails: true},
			{Piece: 1 << 20, Beside: true}, {Piece: 5, Pauses: true, Beside: true}} {
			for _, s.Text = range append(springTexts, first(d.strings, 4)...) {
				spring := s
				of(&spring)
			}
		}
	}
}
