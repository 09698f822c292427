// Package chattest records conversations of a client with a model server and
// plays them to another client. Package chat is tested with conversations of
// the providers' own libraries, which ../vendors records.
package chattest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/beagle-go/beagle/internal/chat"
	"github.com/beagle-go/beagle/internal/llmtest"
)

// A Client makes one attempt: [chat.Completions], [chat.Messages], or a
// provider's library in the same form.
type Client func(context.Context, chat.Server, chat.Request) iter.Seq2[chat.Event, error]

// A Conversation is one attempt with all that went over the wire. People write
// the first part, [Conversation.Record] the second.
type Conversation struct {
	Name    string            `json:"name"`
	Path    string            `json:"path"`             // of the base address
	Key     string            `json:"key,omitempty"`    // "" sends none
	Header  map[string]string `json:"header,omitempty"` // that the caller adds
	Request chat.Request      `json:"request"`
	Script  llmtest.Reply     `json:"script"`
	Instead *Override         `json:"instead,omitempty"` // nil when both are to understand the same

	Sent   SentRequest   `json:"sent"`
	Answer Answer        `json:"answer"`
	Heard  YieldedEvents `json:"heard"`
}

// Override holds the events that package chat is to yield where it differs from the provider's
// library on purpose.
type Override struct {
	Why   string        `json:"why"`
	Heard YieldedEvents `json:"heard"`
}

// SentRequest is a request on the wire.
type SentRequest struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
}

// Answer is the server's side.
type Answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
	Cut    bool              `json:"cut,omitempty"` // the connection broke after the body
}

// YieldedEvents holds the events that the client yielded.
type YieldedEvents struct {
	Text   string       `json:"text,omitempty"`
	Events []chat.Event `json:"events,omitempty"` // those that tell more than text
	Error  string       `json:"error,omitempty"`
}

// idle are headers that no server of a model acts on: they name the client or
// its machine, or belong to the connection.
var idle = []string{"User-Agent", "X-Stainless-", "Content-Length", "Accept-Encoding", "Date", "Transfer-Encoding"}

func headers(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[name] = strings.Join(values, ", ")
		for _, prefix := range idle {
			if strings.HasPrefix(name, prefix) {
				delete(out, name)
			}
		}
	}
	return out
}

// Load reads conversations from a file.
func Load(path string) ([]Conversation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	var all []Conversation
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("read conversations of %s: %w", path, err)
	}
	return all, nil
}

// Save writes conversations to a file.
func Save(path string, all []Conversation) error {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write conversations: %w", err)
	}
	return os.WriteFile(path, data.Bytes(), 0o644)
}

// Record has a client talk to a scripted server and keeps what both say.
func (c *Conversation) Record(ctx context.Context, client Client) error {
	s := &llmtest.Server{Script: llmtest.Always(c.Script)}
	if err := s.Start("127.0.0.1:0"); err != nil {
		return err
	}
	defer s.Close()
	w := &tap{prefix: strings.TrimSuffix(c.Path, "/v1")}
	c.Heard = c.listen(ctx, client, s.URL(), &http.Client{Transport: w})
	c.Sent, c.Answer = w.sent, w.answer
	return nil
}

// Play has a client talk to a server that replays a recording, and returns its request and its
// events.
func (c *Conversation) Play(ctx context.Context, client Client) (SentRequest, YieldedEvents) {
	w := &tap{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range c.Answer.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(c.Answer.Status)
		io.WriteString(w, c.Answer.Body)
		http.NewResponseController(w).Flush()
		if c.Answer.Cut {
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	s.Config.ErrorLog = nil
	heard := c.listen(ctx, client, s.URL, &http.Client{Transport: w})
	return w.sent, heard
}

// listen makes the attempt and notes the client's events.
func (c *Conversation) listen(ctx context.Context, client Client, address string, h *http.Client) YieldedEvents {
	server := chat.Server{URL: address + c.Path, Key: chat.Secret(c.Key), Header: http.Header{}, HTTP: h}
	for name, value := range c.Header {
		server.Header.Set(name, value)
	}
	var heard YieldedEvents
	for e, err := range client(ctx, server, c.Request) {
		if err != nil {
			heard.Error = describe(err)
			break
		}
		heard.Text += e.Text
		e.Text = ""
		if e != (chat.Event{}) {
			heard.Events = append(heard.Events, e)
		}
	}
	return heard
}

// describe names the kind of an error. For an error in the middle of a reply it repeats the
// server's words.
func describe(err error) string {
	var status *chat.StatusError
	var stream *chat.StreamError
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("status %d", status.Status)
	case errors.As(err, &stream):
		return fmt.Sprintf("in the stream: %s", bytes.TrimSpace(stream.Body))
	case errors.Is(err, chat.ErrBrokeOff):
		return "broke off"
	case errors.As(err, new(*json.SyntaxError)), errors.As(err, new(*json.UnmarshalTypeError)):
		return "malformed"
	}
	return "connection"
}
