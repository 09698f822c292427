package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
)

// messagesVersion is the version of the protocol that is spoken.
const messagesVersion = "2023-06-01"

// Messages asks by messages and yields the reply as it comes. Its errors are
// those of [Completions].
func Messages(ctx context.Context, s Server, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		own := http.Header{}
		own.Set("Anthropic-Version", messagesVersion)
		if s.Key != "" {
			own.Set("X-Api-Key", string(s.Key))
		}
		base := strings.TrimSuffix(strings.TrimRight(s.URL, "/"), "/v1")
		res, err := s.post(ctx, base+"/v1/messages", own, messagesBody(r))
		events(res, err, readMessages, readMessage, yield)
	}
}

// A textBlock is text in a message. Its type is always "text".
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messagesMessage struct {
	Role    string      `json:"role"`
	Content []textBlock `json:"content"`
}

type messagesRequest struct {
	Model       string            `json:"model"`
	MaxTokens   int               `json:"max_tokens"`
	System      []textBlock       `json:"system,omitempty"`
	Messages    []messagesMessage `json:"messages"`
	Temperature float64           `json:"temperature,omitempty"`
	Stream      bool              `json:"stream"`
}

// messagesBody makes the body of a request. Temperatures end at 1 here, where
// those of chat completions end at 2.
func messagesBody(r Request) messagesRequest {
	body := messagesRequest{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: min(r.Temperature, 1), Stream: true}
	if r.System != "" {
		body.System = []textBlock{{"text", r.System}}
	}
	for _, t := range r.Turns {
		body.Messages = append(body.Messages, messagesMessage{t.Role, []textBlock{{"text", t.Text}}})
	}
	return body
}

type messagesUsage struct {
	In         count `json:"input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	Out        count `json:"output_tokens"`
}

// A messagesEvent is one event of a stream. Its fields depend on its type.
type messagesEvent struct {
	Type    string `json:"type"`
	Message struct {
		Usage messagesUsage `json:"usage"`
	} `json:"message"`
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage messagesUsage `json:"usage"`
}

// prompt returns the tokens that the start of a reply reports.
func (u messagesUsage) prompt() *Usage {
	return &Usage{In: int64(u.In), CacheWrite: int64(u.CacheWrite), CacheRead: int64(u.CacheRead), Start: true}
}

// total returns the tokens that its end reports.
func (u messagesUsage) total() *Usage { return &Usage{In: int64(u.In), Out: int64(u.Out)} }

func (e *messagesEvent) event() Event {
	switch e.Type {
	case "message_start":
		return Event{Usage: e.Message.Usage.prompt()}
	case "content_block_delta":
		if e.Delta.Type == "text_delta" {
			return Event{Text: e.Delta.Text}
		}
	case "message_delta":
		return Event{Stop: messagesStop(e.Delta.StopReason), Usage: e.Usage.total()}
	}
	return Event{}
}

func messagesStop(reason string) Stop {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return Length
	case "refusal":
		return Refusal
	}
	return End
}

// readMessages yields a streamed reply.
func readMessages(body io.Reader, yield func(Event, error) bool) {
	stopped, ended := false, false
	for s := newStream(body); ; {
		event, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && event.name == "error" {
			err = &StreamError{Body: bytes.Clone(event.data)}
		}
		var m messagesEvent
		if err == nil && event.name != "" && event.name != "ping" { // all events of the protocol have names
			err = decode(event.data, &m)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		e := m.event()
		stopped, ended = stopped || e.Stop != "", ended || m.Type == "message_stop"
		if e != (Event{}) && !yield(e, nil) {
			return
		}
	}
	if !stopped || !ended {
		yield(Event{}, ErrBrokeOff)
	}
}

// A message is a reply in one piece.
type message struct {
	Type       string          `json:"type"`
	Content    []textBlock     `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      messagesUsage   `json:"usage"`
	Error      json.RawMessage `json:"error"`
}

// readMessage yields a whole reply as two events: the tokens of the prompt, and the text.
func readMessage(body io.Reader, yield func(Event, error) bool) {
	data, err := readWhole(body)
	var m message
	if err == nil {
		err = decode(data, &m)
	}
	switch {
	case err != nil:
	case m.Type == "error" || len(m.Error) > 0 && string(m.Error) != "null":
		err = &StreamError{Body: data}
	case m.StopReason == "":
		err = ErrBrokeOff
	}
	if err != nil {
		yield(Event{}, err)
		return
	}
	last := Event{Stop: messagesStop(m.StopReason), Usage: m.Usage.total()}
	for _, b := range m.Content {
		if b.Type == "text" {
			last.Text += b.Text
		}
	}
	if yield(Event{Usage: m.Usage.prompt()}, nil) {
		yield(last, nil)
	}
}
