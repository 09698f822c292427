package llm

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/chat"
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

	prompt int64 // tokens of the prompt, when the server counts them before the reply
}

// maxCount is more than any model reads or writes at once. A larger count, like a
// negative one, would make a budget meaningless.
const maxCount = 100_000_000

// count takes a server's counts of the tokens, unless they cannot be true.
// Those at the start of a reply cover the prompt alone, in three parts.
func (h *heard) count(u *chat.Usage) {
	for _, n := range []int64{u.In, u.CacheWrite, u.CacheRead, u.Out} {
		h.lied = h.lied || n < 0 || n > maxCount
	}
	if u.Start {
		h.prompt = added(u.In, added(u.CacheWrite, u.CacheRead))
		return
	}
	in := max(h.prompt, u.In)
	h.lied = h.lied || in > maxCount
	if h.told = !h.lied; h.told {
		h.usage = Usage{In: int(in), Out: int(u.Out)}
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

// speak asks once, by the protocol of the model's server.
func speak(ctx context.Context, c call, h *heard) error {
	ask := chat.Completions
	if c.model.Provider == Anthropic {
		ask = chat.Messages
	}
	server := chat.Server{URL: c.model.URL, Key: chat.Secret(c.key.secret), Header: http.Header{}, HTTP: c.http}
	if key := c.idempotencyKey(); key != "" {
		server.Header.Set(idempotencyHeader, key)
	}
	for event, err := range ask(ctx, server, c.question()) {
		if err != nil {
			return err
		}
		if event.Usage != nil {
			h.count(event.Usage)
		}
		if event.Stop != "" {
			h.stop = string(event.Stop)
		}
		if !h.add(event.Text, c.maxText) {
			return nil
		}
	}
	return nil
}

// question returns the request without what the server is known to refuse.
func (c call) question() chat.Request {
	r := c.request
	q := chat.Request{Model: r.Model, System: r.System,
		MaxTokens: r.maxTokens(), Seed: r.Seed, Temperature: r.Temperature,
		CompletionTokens: c.quirks.completionTokens, NoUsage: c.quirks.noStreamOptions}
	if q.Temperature <= 0 {
		q.Temperature = max(0, c.model.Temperature)
	}
	if c.quirks.noTemperature {
		q.Temperature = 0
	}
	if c.quirks.noSeed {
		q.Seed = 0
	}
	for _, t := range append(slices.Clip(r.History), Turn{Role: "user", Text: r.User}) {
		if t.Role != "assistant" {
			t.Role = "user"
		}
		q.Turns = append(q.Turns, chat.Turn(t))
	}
	return q
}
