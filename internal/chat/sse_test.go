package chat

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads all events of a stream.
func readAll(r io.Reader) (out []sse, err error) {
	s := newStream(r)
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, sse{e.name, bytes.Clone(e.data)})
	}
}

func TestStream(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		want []sse
	}{
		"names and data":   {"event: a\ndata: 1\n\ndata: 2\n\n", []sse{{"a", []byte("1")}, {"", []byte("2")}}},
		"several lines":    {"data: 1\ndata\ndata:2\ndata:  3\n\n", []sse{{"", []byte("1\n\n2\n 3")}}},
		"ends of lines":    {"data: 1\r\n\r\ndata: 2\r\rdata: 3\n\r\n", []sse{{"", []byte("1")}, {"", []byte("2")}, {"", []byte("3")}}},
		"byte order mark":  {"\ufeffdata: 1\n\n\ufeffdata: 2\n\n", []sse{{"", []byte("1")}}},
		"comments":         {": a\n:\ndata: 1\nid: 5\nretry: 7\nnonsense\n\n", []sse{{"", []byte("1")}}},
		"name alone":       {"event: a\n\ndata: 1\n\n", []sse{{"", []byte("1")}}},
		"cut off":          {"data: 1\n\ndata: 2\n", []sse{{"", []byte("1")}}},
		"cut off in line":  {"data: 1\n\ndata: 2", []sse{{"", []byte("1")}}},
		"nothing":          {"", nil},
		"empty lines only": {"\n\r\r\n\n", nil},
	} {
		whole := strings.NewReader(x.text)
		pieces := iotest.OneByteReader(strings.NewReader(x.text))
		for _, r := range []io.Reader{whole, pieces} {
			if got, err := readAll(r); err != nil || !reflect.DeepEqual(got, x.want) {
				t.Errorf("%s, %T: %q %v, want %q", name, r, got, err, x.want)
			}
		}
	}
}

// TestStreamDoesNotWait: an event is there as soon as its empty line is, though more may follow.
func TestStreamDoesNotWait(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		r, w := io.Pipe()
		go w.Write([]byte("data: 1" + end))
		if e, err := newStream(r).next(); err != nil || string(e.data) != "1" {
			t.Errorf("%q: %q %v", end, e, err)
		}
		w.Close()
	}
}

func TestStreamErrors(t *testing.T) {
	broken := errors.New("broken")
	half := io.MultiReader(strings.NewReader("data: 1\n\ndata"), iotest.ErrReader(broken))
	if _, err := readAll(half); !errors.Is(err, broken) {
		t.Error(err)
	}
	endless := func(piece string) io.Reader { return &repeat{piece: piece} }
	for _, piece := range []string{"data", "data: " + strings.Repeat("x", 1<<16) + "\n"} {
		if _, err := readAll(endless(piece)); !errors.Is(err, ErrTooLong) {
			t.Error(err)
		}
	}
}

// repeat is a text without end.
type repeat struct {
	piece string
	at    int
}

func (r *repeat) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], r.piece[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.piece)
	}
	return n, nil
}

// FuzzStream reads arbitrary bytes at once and byte by byte: the events are the
// same, and their data is in the bytes.
func FuzzStream(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\r\r\ndata:2\n\n"))
	f.Add([]byte("\ufeff: x\ndata\n\n"))
	f.Add([]byte("data: {\"a\":\ndata: 1}\n\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := readAll(bytes.NewReader(data))
		pieces, err2 := readAll(iotest.OneByteReader(bytes.NewReader(data)))
		if err != nil || err2 != nil || !reflect.DeepEqual(whole, pieces) {
			t.Fatalf("%q %v\n%q %v", whole, err, pieces, err2)
		}
		for _, e := range whole {
			for line := range bytes.SplitSeq(e.data, []byte("\n")) {
				if !bytes.Contains(data, line) || bytes.ContainsAny(line, "\r") {
					t.Errorf("%q is not in the stream", line)
				}
			}
		}
	})
}
