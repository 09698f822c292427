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

// A call is one attempt to get a request answered.
type call struct {
	model   Model
	key     Key
	request Request
	quirks  quirks
	http    *http.Client
	maxText int
	closed  int // useless answers of earlier attempts that the server may have stored
}

// These are the headers of idempotency keys, from the IETF's draft and from services with such
// keys, Stripe first. Neither provider says that it knows them, and neither Go library sends them.
// (Libraries in other languages make a key and never send it.) They serve servers and gateways in
// between that know them; others ignore them.
const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed" // marks an answer that the server made before
)

// idempotencyKey returns a key that is the same for attempts with the same question, in any
// process. If an answer was lost on its way, a server may then send that answer again and not make
// another. Attempts with other fields have another key, and so have attempts after an answer that
// the server may have stored; see [closed].
func (c call) idempotencyKey() string {
	if c.request.Once == "" {
		return ""
	}
	return "beagle-" + beagle.HashOf("idempotency key", c.request.Once, fmt.Sprint(c.quirks), c.closed)
}

// partialReply holds what an attempt brought before it ended, well or not.
type partialReply struct {
	text  strings.Builder
	stop  string // "" until the server says why it ended
	usage Usage
	told  bool // whether the server counted the tokens
	lied  bool // whether the counts were impossible

	prompt int64 // tokens of the prompt, if the server counts them before the reply
}

// maxCount is more than any model reads or writes at once. A larger count, or a negative one, would
// make a budget meaningless.
const maxCount = 100_000_000

// count takes a server's counts of the tokens, unless they cannot be true. Counts at the start of a
// reply cover the prompt alone, in three parts.
func (h *partialReply) count(u *chat.Usage) {
	for _, n := range []int64{u.In, u.CacheWrite, u.CacheRead, u.Out} {
		h.lied = h.lied || n < 0 || n > maxCount
	}
	if u.Start {
		h.prompt = saturatingSum(u.In, saturatingSum(u.CacheWrite, u.CacheRead))
		return
	}
	in := max(h.prompt, u.In)
	h.lied = h.lied || in > maxCount
	if h.told = !h.lied; h.told {
		h.usage = Usage{In: int(in), Out: int(u.Out)}
	}
}

// add takes a piece of text. It returns false if the text has reached its limit.
func (h *partialReply) add(piece string, most int) bool {
	if room := most - h.text.Len(); len(piece) > room {
		h.text.WriteString(strings.ToValidUTF8(piece[:room], ""))
		h.stop = StopOversize
		return false
	}
	h.text.WriteString(piece)
	return true
}

// speak asks once, by the protocol of the model's server.
func speak(ctx context.Context, c call, h *partialReply) error {
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

// question returns the request without the fields that the server is known to refuse.
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
