package chat

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// said is what a reader yields, for comparison.
func said(read func(io.Reader, func(Event, error) bool), r io.Reader) (out string, text int) {
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

// FuzzReplies reads arbitrary answers by each protocol, streamed and in one
// piece, at once and in pieces.
func FuzzReplies(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"refusal\":\"b\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":\"1\",\"total_tokens\":1e3}}\n\ndata: [DONE]\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}],"error":null}`))
	f.Add([]byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1.5}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte(`{"type":"message","content":[{"type":"text","text":"a"},{"type":"x"}],"stop_reason":"end_turn","usage":{"output_tokens":-1}}`))
	f.Add([]byte("event: error\ndata: {\"type\":\"error\"}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, read := range map[string]func(io.Reader, func(Event, error) bool){"completions": readCompletions, "completion": readCompletion,
			"messages": readMessages, "message": readMessage} {
			whole, text := said(read, strings.NewReader(string(data)))
			pieces, _ := said(read, iotest.HalfReader(iotest.DataErrReader(strings.NewReader(string(data)))))
			if whole != pieces || strings.Contains(whole, "after the error") {
				t.Errorf("%s:\n%s\n%s", name, whole, pieces)
			}
			if text > 3*len(data) { // a broken byte becomes a sign of three
				t.Errorf("%s: %d bytes of text of %d", name, text, len(data))
			}
		}
	})
}

func TestStatusError(t *testing.T) {
	for name, ask := range map[string]func(s Server) error{
		"completions": func(s Server) error { return last(Completions(t.Context(), s, Request{Model: "m"})) },
		"messages":    func(s Server) error { return last(Messages(t.Context(), s, Request{Model: "m"})) },
	} {
		for _, status := range []int{204, 307, 400, 429, 503, 529} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(status)
				if status != 204 {
					io.WriteString(w, strings.Repeat("why", 1<<16))
				}
			}))
			h := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			err := ask(Server{URL: s.URL, HTTP: h})
			var e *StatusError
			switch {
			case status == 204:
				if !errors.Is(err, ErrBrokeOff) {
					t.Errorf("%s: %v", name, err)
				}
			case !errors.As(err, &e) || e.Status != status || e.Header.Get("Retry-After") != "7" || len(e.Body) != maxError:
				t.Errorf("%s %d: %+v", name, status, err)
			}
			s.Close()
		}
	}
}

// last is the error of a reply.
func last(events func(func(Event, error) bool)) (err error) {
	for _, e := range events {
		err = e
	}
	return err
}

// A caller that stops reading ends the answer at the server.
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
		if s := fmt.Sprintf(verb, server); strings.Contains(s, "secret") || strings.Contains(s, fmt.Sprintf("%x", "secret")) {
			t.Errorf("%s: %s", verb, s)
		}
	}
}

// Escaped signs of an address stay as they are.
func TestAddress(t *testing.T) {
	paths := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { paths <- req.RequestURI }))
	defer s.Close()
	for base, want := range map[string]string{"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/a%2Fb/v1/": "/a%2Fb/v1/messages"} {
		last(Messages(t.Context(), Server{URL: s.URL + base}, Request{Model: "m"}))
		if got := <-paths; got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
	for base, want := range map[string]string{"": "/chat/completions", "/a%2Fb/v1/": "/a%2Fb/v1/chat/completions"} {
		last(Completions(t.Context(), Server{URL: s.URL + base}, Request{Model: "m"}))
		if got := <-paths; got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
}
