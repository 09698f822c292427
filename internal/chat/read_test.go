package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// said returns a reader's output, for comparison.
func said(read reader, r io.Reader) (out string, text int) {
	var b strings.Builder
	ended := false
	read(r, func(e Event, err error) bool {
		if ended {
			b.WriteString("an event after the error\n")
		}
		ended = err != nil
		text += len(e.Text)
		fmt.Fprintf(&b, "%q %s %+v %v\n", e.Text, e.Stop, e.Usage, err)
		return true
	})
	return b.String(), text
}

// A reader reads a reply of one protocol and form.
type reader = func(io.Reader, func(Event, error) bool)

var readers = map[string]reader{
	"completions": readCompletions, "completion": readCompletion, "messages": readMessages, "message": readMessage,
}

// replies are seeds, some for each reader.
var replies = []string{
	`data: {"choices":[{"delta":{"content":"a","refusal":"b"},"finish_reason":"stop"}],
data: "usage":{"prompt_tokens":"1","total_tokens":1e3}}

data: [DONE]

`,
	`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}],"error":null}`,
	`event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":1.5}}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}

event: message_stop
data: {"type":"message_stop"}

`,
	`{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"output_tokens":-1}}`,
	"event: error\ndata: {\"type\":\"error\"}\n\n",
}

// FuzzReplies reads arbitrary answers by each protocol, streamed and in one
// piece, at once and in pieces.
func FuzzReplies(f *testing.F) {
	for _, seed := range replies {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, read := range readers {
			whole, text := said(read, bytes.NewReader(data))
			pieces, _ := said(read, iotest.HalfReader(iotest.DataErrReader(bytes.NewReader(data))))
			if whole != pieces || strings.Contains(whole, "after the error") {
				t.Errorf("%s:\n%s\n%s", name, whole, pieces)
			}
			if text > 3*len(data) { // a broken byte becomes a sign of three
				t.Errorf("%s: %d bytes of text of %d", name, text, len(data))
			}
		}
	})
}

// protocols are the two ways to ask.
var protocols = map[string]func(context.Context, Server, Request) iter.Seq2[Event, error]{
	"completions": Completions, "messages": Messages,
}

// last asks and returns the error that ends the reply.
func last(t *testing.T, protocol string, s Server) (err error) {
	for _, e := range protocols[protocol](t.Context(), s, Request{Model: "m"}) {
		err = e
	}
	return err
}

// TestStatusError: a refusal keeps its status, its headers and the beginning of its body.
func TestStatusError(t *testing.T) {
	for protocol := range protocols {
		for _, status := range []int{307, 400, 429, 503, 529} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(status)
				io.WriteString(w, strings.Repeat("why", 1<<16))
			}))
			stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			err := last(t, protocol, Server{URL: s.URL, HTTP: &http.Client{CheckRedirect: stay}})
			var e *StatusError
			if !errors.As(err, &e) || e.Status != status ||
				e.Header.Get("Retry-After") != "7" || len(e.Body) != maxError {
				t.Errorf("%s %d: %+v", protocol, status, err)
			}
			s.Close()
		}
	}
}

// TestStopReading: a caller that stops reading ends the answer at the server.
func TestStopReading(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(gone)
		for req.Context().Err() == nil {
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"more\"}}]}\n\n")
			http.NewResponseController(w).Flush()
		}
	}))
	defer s.Close()
	for e, err := range Completions(t.Context(), Server{URL: s.URL}, Request{Model: "m"}) {
		if err != nil || e.Text != "more" {
			t.Fatal(e, err)
		}
		break
	}
	<-gone
}

func TestSecret(t *testing.T) {
	server := Server{URL: "http://192.0.2.1", Key: "test-secret"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		s := fmt.Sprintf(verb, server)
		if strings.Contains(s, "secret") || strings.Contains(s, fmt.Sprintf("%x", "secret")) {
			t.Errorf("%s: %s", verb, s)
		}
	}
}

// TestAddress: escaped signs of a base address stay as they are.
func TestAddress(t *testing.T) {
	paths := make(chan string, 1)
	note := func(_ http.ResponseWriter, req *http.Request) { paths <- req.RequestURI }
	s := httptest.NewServer(http.HandlerFunc(note))
	defer s.Close()
	for _, x := range []struct{ protocol, base, want string }{
		{"messages", "", "/v1/messages"},
		{"messages", "/", "/v1/messages"},
		{"messages", "/v1", "/v1/messages"},
		{"messages", "/a%2Fb/v1/", "/a%2Fb/v1/messages"},
		{"completions", "", "/chat/completions"},
		{"completions", "/a%2Fb/v1/", "/a%2Fb/v1/chat/completions"},
	} {
		last(t, x.protocol, Server{URL: s.URL + x.base})
		if got := <-paths; got != x.want {
			t.Errorf("%s at %q: %s, want %s", x.protocol, x.base, got, x.want)
		}
	}
}
