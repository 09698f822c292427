package main

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/beagle-go/beagle/internal/chat"
)

// messages asks with Anthropic's library, as Beagle did until it had package chat.
func messages(ctx context.Context, s chat.Server, r chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		opts := []option.RequestOption{option.WithBaseURL(strings.TrimSuffix(s.URL, "/v1")),
			option.WithHTTPClient(s.HTTP), option.WithMaxRetries(0)}
		for name := range s.Header {
			opts = append(opts, option.WithHeader(name, s.Header.Get(name)))
		}
		if s.Key != "" {
			opts = append(opts, option.WithAPIKey(string(s.Key)))
		}
		service := anthropic.NewMessageService(opts...)
		stream := service.NewStreaming(ctx, anthropicParams(r))
		defer stream.Close()
		stopped, ended := false, false
		for stream.Next() {
			event := stream.Current()
			e := anthropicEvent(event)
			stopped, ended = stopped || e.Stop != "", ended || event.Type == "message_stop"
			if !yield(e, nil) {
				return
			}
		}
		if err := anthropicError(stream.Err()); err != nil {
			yield(chat.Event{}, err)
		} else if !stopped || !ended {
			yield(chat.Event{}, chat.ErrBrokeOff)
		}
	}
}

func anthropicParams(r chat.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: r.Model, MaxTokens: int64(r.MaxTokens)}
	if r.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	for _, t := range r.Turns {
		if t.Role == "assistant" {
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(t.Text)))
		} else {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(t.Text)))
		}
	}
	if r.Temperature > 0 {
		p.Temperature = anthropic.Float(min(r.Temperature, 1))
	}
	return p
}

func anthropicEvent(event anthropic.MessageStreamEventUnion) chat.Event {
	switch event.Type {
	case "message_start":
		u := event.Message.Usage
		return chat.Event{Usage: &chat.Usage{In: u.InputTokens, CacheWrite: u.CacheCreationInputTokens,
			CacheRead: u.CacheReadInputTokens, Start: true}}
	case "content_block_delta":
		if event.Delta.Type == "text_delta" {
			return chat.Event{Text: event.Delta.Text}
		}
	case "message_delta":
		e := chat.Event{Stop: chat.End, Usage: &chat.Usage{In: event.Usage.InputTokens, Out: event.Usage.OutputTokens}}
		switch event.Delta.StopReason {
		case "max_tokens", "model_context_window_exceeded":
			e.Stop = chat.Length
		case "refusal":
			e.Stop = chat.Refusal
		}
		return e
	}
	return chat.Event{}
}

func anthropicError(err error) error {
	var api *anthropic.Error
	switch {
	case errors.As(err, &api) && api.StatusCode != http.StatusOK:
		return &chat.StatusError{Status: api.StatusCode}
	case errors.As(err, &api):
		return &chat.StreamError{Body: []byte(api.RawJSON())}
	}
	return err
}
