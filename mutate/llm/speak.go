package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/beagle-go/beagle"
)

// A call is one attempt to have a request answered.
type call struct {
	model   Model
	key     Key
	request Request
	quirks  quirks
	http    *http.Client
	maxText int
	closed  int // answers of earlier attempts that are of no use, and that the server may have kept
}

// The headers of idempotency keys are those of the IETF's draft and of the
// services that have such keys, Stripe's first. Neither provider says that it
// knows them, and neither Go library sends them (those in other languages make a
// key and never send it): they are for servers and gateways in between that do.
// Others ignore them.
const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed" // of an answer that was made before
)

// idempotencyKey is the same for attempts that ask the same, whichever process
// makes them, so that of an answer that was lost on its way a server may send
// what it has instead of making another. Attempts that say it in other fields,
// or that follow an answer which the server may have kept, have another key; see
// [closed].
func (c call) idempotencyKey() string {
	if c.request.Once == "" {
		return ""
	}
	return "beagle-" + beagle.HashOf("idempotency key", c.request.Once, fmt.Sprint(c.quirks), c.closed)
}

// heard is what came of an attempt before it ended, well or not.
type heard struct {
	text  strings.Builder
	stop  string // "" until the server says why it ended
	usage Usage
	told  bool // the server counted the tokens
	lied  bool // to numbers that no count can come to
}

// maxCount is more than any model reads or writes at once. A larger count, like a
// negative one, would make a budget meaningless.
const maxCount = 100_000_000

// count takes a server's count of the tokens, unless it cannot be true.
func (h *heard) count(in, out int64) {
	for _, n := range []int64{in, out} {
		h.lied = h.lied || n < 0 || n > maxCount
	}
	if h.told = !h.lied; h.told {
		h.usage = Usage{In: int(in), Out: int(out)}
	}
}

// add takes a piece of text; it reports false when the text is as long as it
// may be.
func (h *heard) add(piece string, most int) bool {
	if room := most - h.text.Len(); len(piece) > room {
		h.text.WriteString(strings.ToValidUTF8(piece[:room], ""))
		h.stop = StopOversize
		return false
	}
	h.text.WriteString(piece)
	return true
}

var errBrokeOff = errors.New("the reply broke off")

// speakOpenAI asks by chat completions, the protocol that most servers share.
func speakOpenAI(ctx context.Context, c call, h *heard) error {
	opts := []option.RequestOption{option.WithBaseURL(c.model.URL), option.WithHTTPClient(c.http), option.WithMaxRetries(0)}
	if key := c.idempotencyKey(); key != "" {
		opts = append(opts, option.WithHeader(idempotencyHeader, key))
	}
	if c.key.Known() {
		opts = append(opts, option.WithAPIKey(c.key.secret))
	}
	service := openai.NewChatCompletionService(opts...)
	stream := service.NewStreaming(ctx, openaiParams(c))
	defer stream.Close()
	for stream.Next() {
		chunk := stream.Current()
		if u := chunk.Usage; u.TotalTokens != 0 || u.PromptTokens != 0 || u.CompletionTokens != 0 {
			h.count(u.PromptTokens, u.CompletionTokens)
		}
		for _, choice := range chunk.Choices[:min(1, len(chunk.Choices))] {
			if choice.FinishReason != "" {
				h.stop = openaiStop(choice.FinishReason)
			}
			if choice.Delta.Refusal != "" {
				h.stop = StopRefusal
			}
			if !h.add(choice.Delta.Content+choice.Delta.Refusal, c.maxText) {
				return nil
			}
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if h.stop == "" {
		return errBrokeOff
	}
	return nil
}

func openaiParams(c call) openai.ChatCompletionNewParams {
	r := c.request
	p := openai.ChatCompletionNewParams{Model: r.Model}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for _, t := range r.History {
		if t.Role == "assistant" {
			p.Messages = append(p.Messages, openai.AssistantMessage(t.Text))
		} else {
			p.Messages = append(p.Messages, openai.UserMessage(t.Text))
		}
	}
	p.Messages = append(p.Messages, openai.UserMessage(r.User))
	if c.quirks.completionTokens {
		p.MaxCompletionTokens = openai.Int(int64(r.maxTokens()))
	} else {
		p.MaxTokens = openai.Int(int64(r.maxTokens()))
	}
	if t := c.temperature(); t > 0 && !c.quirks.noTemperature {
		p.Temperature = openai.Float(t)
	}
	if r.Seed != 0 && !c.quirks.noSeed {
		p.Seed = openai.Int(r.Seed)
	}
	if !c.quirks.noStreamOptions {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	return p
}

func (c call) temperature() float64 {
	if c.request.Temperature > 0 {
		return c.request.Temperature
	}
	return c.model.Temperature
}

func openaiStop(reason string) string {
	switch reason {
	case "length":
		return StopLength
	case "content_filter":
		return StopRefusal
	}
	return StopEnd
}

// speakAnthropic asks by messages.
func speakAnthropic(ctx context.Context, c call, h *heard) error {
	opts := []anthropicoption.RequestOption{anthropicoption.WithBaseURL(strings.TrimSuffix(c.model.URL, "/v1")),
		anthropicoption.WithHTTPClient(c.http), anthropicoption.WithMaxRetries(0)}
	if key := c.idempotencyKey(); key != "" {
		opts = append(opts, anthropicoption.WithHeader(idempotencyHeader, key))
	}
	if c.key.Known() {
		opts = append(opts, anthropicoption.WithAPIKey(c.key.secret))
	}
	service := anthropic.NewMessageService(opts...)
	stream := service.NewStreaming(ctx, anthropicParams(c))
	defer stream.Close()
	ended := false
	in := int64(0)
	for stream.Next() {
		event := stream.Current()
		switch event.Type {
		case "message_start":
			u := event.Message.Usage
			for _, n := range []int64{u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens} {
				h.count(n, 0)
				in = added(in, n)
			}
			h.told = false // of the reply nothing is known yet
		case "content_block_delta":
			if event.Delta.Type == "text_delta" && !h.add(event.Delta.Text, c.maxText) {
				return nil
			}
		case "message_delta":
			h.stop = anthropicStop(string(event.Delta.StopReason))
			h.count(max(in, event.Usage.InputTokens), event.Usage.OutputTokens)
		case "message_stop":
			ended = true
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if !ended || h.stop == "" {
		return errBrokeOff
	}
	return nil
}

func anthropicParams(c call) anthropic.MessageNewParams {
	r := c.request
	p := anthropic.MessageNewParams{Model: r.Model, MaxTokens: int64(r.maxTokens())}
	if r.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	for _, t := range r.History {
		if t.Role == "assistant" {
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(t.Text)))
		} else {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(t.Text)))
		}
	}
	p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(r.User)))
	if t := c.temperature(); t > 0 && !c.quirks.noTemperature {
		p.Temperature = anthropic.Float(min(t, 1))
	}
	return p
}

func anthropicStop(reason string) string {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return StopLength
	case "refusal":
		return StopRefusal
	}
	return StopEnd
}
