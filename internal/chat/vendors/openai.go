package main

import (
	"context"
	"errors"
	"iter"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/beagle-go/beagle/internal/chat"
)

// completions asks with OpenAI's library, as Beagle did until it had package chat.
func completions(ctx context.Context, s chat.Server, r chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		opts := []option.RequestOption{option.WithBaseURL(s.URL),
			option.WithHTTPClient(s.HTTP), option.WithMaxRetries(0)}
		for name := range s.Header {
			opts = append(opts, option.WithHeader(name, s.Header.Get(name)))
		}
		if s.Key != "" {
			opts = append(opts, option.WithAPIKey(string(s.Key)))
		}
		service := openai.NewChatCompletionService(opts...)
		stream := service.NewStreaming(ctx, openaiParams(r))
		defer stream.Close()
		stop := chat.Stop("")
		for stream.Next() {
			e := openaiEvent(stream.Current())
			if e.Stop != "" {
				stop = e.Stop
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := openaiError(stream.Err()); err != nil {
			yield(chat.Event{}, err)
		} else if stop == "" {
			yield(chat.Event{}, chat.ErrBrokeOff)
		}
	}
}

// openaiParams returns a request in the form of the SDK.
func openaiParams(r chat.Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: r.Model}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for _, t := range r.Turns {
		if t.Role == "assistant" {
			p.Messages = append(p.Messages, openai.AssistantMessage(t.Text))
		} else {
			p.Messages = append(p.Messages, openai.UserMessage(t.Text))
		}
	}
	if r.CompletionTokens {
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	} else {
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	if r.Temperature > 0 {
		p.Temperature = openai.Float(r.Temperature)
	}
	if r.Seed != 0 {
		p.Seed = openai.Int(r.Seed)
	}
	if !r.NoUsage {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	return p
}

func openaiEvent(chunk openai.ChatCompletionChunk) chat.Event {
	var e chat.Event
	if u := chunk.Usage; u.TotalTokens != 0 || u.PromptTokens != 0 || u.CompletionTokens != 0 {
		e.Usage = &chat.Usage{In: u.PromptTokens, Out: u.CompletionTokens}
	}
	if len(chunk.Choices) == 0 {
		return e
	}
	choice := chunk.Choices[0]
	e.Text = choice.Delta.Content + choice.Delta.Refusal
	switch reason := choice.FinishReason; {
	case choice.Delta.Refusal != "", reason == "content_filter":
		e.Stop = chat.Refusal
	case reason == "length":
		e.Stop = chat.Length
	case reason != "":
		e.Stop = chat.End
	}
	return e
}

func openaiError(err error) error {
	var status *openai.Error
	var stream *ssestream.StreamError
	switch {
	case errors.As(err, &status):
		return &chat.StatusError{Status: status.StatusCode}
	case errors.As(err, &stream):
		return &chat.StreamError{Body: stream.Event.Data}
	}
	return err
}
