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

// Completions asks by chat completions and yields the reply as it comes. An
// error ends it: a [*StatusError], a [*StreamError], [ErrBrokeOff], one of
// encoding/json, or one of the connection.
func Completions(ctx context.Context, s Server, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		own := http.Header{}
		if s.Key != "" {
			own.Set("Authorization", "Bearer "+string(s.Key))
		}
		res, err := s.post(ctx, strings.TrimRight(s.URL, "/")+"/chat/completions", own, completionsBody(r))
		events(res, err, readCompletions, readCompletion, yield)
	}
}

type completionsMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type completionsRequest struct {
	Model               string               `json:"model"`
	Messages            []completionsMessage `json:"messages"`
	MaxTokens           int                  `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                  `json:"max_completion_tokens,omitempty"`
	Temperature         float64              `json:"temperature,omitempty"`
	Seed                int64                `json:"seed,omitempty"`
	Stream              bool                 `json:"stream"`
	StreamOptions       *streamOptions       `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func completionsBody(r Request) completionsRequest {
	body := completionsRequest{Model: r.Model, Temperature: r.Temperature, Seed: r.Seed, Stream: true}
	if r.System != "" {
		body.Messages = append(body.Messages, completionsMessage{"system", r.System})
	}
	for _, t := range r.Turns {
		body.Messages = append(body.Messages, completionsMessage{t.Role, t.Text})
	}
	if r.CompletionTokens {
		body.MaxCompletionTokens = r.MaxTokens
	} else {
		body.MaxTokens = r.MaxTokens
	}
	if !r.NoUsage {
		body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	return body
}

// A completion is a chunk of a streamed reply, or a reply in one piece: they
// differ in the name of a choice's text.
type completion struct {
	Choices []struct {
		Delta        completionText `json:"delta"`
		Message      completionText `json:"message"`
		FinishReason string         `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
		Total      count `json:"total_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type completionText struct {
	Content string `json:"content"`
	Refusal string `json:"refusal"`
}

// event returns the event of a chunk. The request asks for one choice; of several the first counts.
func (c *completion) event() Event {
	var e Event
	if u := c.Usage; u.Prompt != 0 || u.Completion != 0 || u.Total != 0 {
		e.Usage = &Usage{In: int64(u.Prompt), Out: int64(u.Completion)}
	}
	if len(c.Choices) == 0 {
		return e
	}
	choice := &c.Choices[0]
	for _, t := range []completionText{choice.Delta, choice.Message} {
		e.Text += t.Content + t.Refusal
	}
	switch {
	case choice.Delta.Refusal != "" || choice.Message.Refusal != "" || choice.FinishReason == "content_filter":
		e.Stop = Refusal
	case choice.FinishReason == "length":
		e.Stop = Length
	case choice.FinishReason != "":
		e.Stop = End
	}
	return e
}

// readCompletion yields a reply in one piece.
func readCompletion(body io.Reader, yield func(Event, error) bool) {
	data, err := readWhole(body)
	if err != nil {
		yield(Event{}, err)
		return
	}
	e, err := decodeCompletion(data)
	if err == nil && e.Stop == "" {
		err = ErrBrokeOff
	}
	if e != (Event{}) && !yield(e, nil) {
		return
	}
	if err != nil {
		yield(Event{}, err)
	}
}

// readCompletions yields a streamed reply. A refusal stays one, whatever reason
// the server gives for the end of its text.
func readCompletions(body io.Reader, yield func(Event, error) bool) {
	stop := Stop("")
	for s := newStream(body); ; {
		event, err := s.next()
		if errors.Is(err, io.EOF) || err == nil && bytes.HasPrefix(event.data, []byte("[DONE]")) {
			break
		}
		var e Event
		if err == nil {
			e, err = decodeCompletion(event.data)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		if stop == Refusal && e.Stop != "" {
			e.Stop = Refusal
		}
		if e.Stop != "" {
			stop = e.Stop
		}
		if e != (Event{}) && !yield(e, nil) {
			return
		}
	}
	if stop == "" {
		yield(Event{}, ErrBrokeOff)
	}
}

func decodeCompletion(data []byte) (Event, error) {
	var c completion
	if err := decode(data, &c); err != nil {
		return Event{}, err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return Event{}, &StreamError{Body: bytes.Clone(data)}
	}
	return c.event(), nil
}
