package llm

import (
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/chat"
)

// A Request is one question to a model.
type Request struct {
	Model       string        `json:"model"` // the name of one of the client's models
	System      string        `json:"system,omitempty"`
	History     []Turn        `json:"history,omitempty"` // what was said before User, the oldest first
	User        string        `json:"user"`
	MaxTokens   int           `json:"max_tokens"`            // the most that the reply may have; 0 means [DefaultMaxTokens]
	Temperature float64       `json:"temperature,omitempty"` // 0 takes the model's
	Seed        int64         `json:"seed,omitempty"`        // sent where the protocol has one; 0 is not sent
	Sample      int           `json:"sample,omitempty"`      // tells equal questions apart that want different answers
	Code        string        `json:"code,omitempty"`        // for a coding agent: the version to start from; models find it in the text
	Once        string        `json:"-"`                     // a server that knows idempotency keys answers requests of the same key once; "" sends none
	Limit       time.Duration `json:"-"`                     // for the whole call, its retries included; 0 means [DefaultLimit]

	// Retry is told before each further attempt what those before came to; its
	// error ends the call. nil is not told.
	Retry func(Tried) error `json:"-"`
}

// Tried is what the attempts of a call came to that brought no reply.
type Tried struct {
	Attempts int    `json:"attempts"`
	Wasted   Usage  `json:"wasted,omitzero"` // the most that they may have used
	Cost     Micros `json:"cost,omitzero"`   // of that, each attempt priced alone
}

// Defaults of a [Request].
const (
	DefaultMaxTokens = 8192
	DefaultLimit     = 10 * time.Minute
)

// A Turn is one earlier message of a conversation.
type Turn struct {
	Role string `json:"role"` // "user" or "assistant"
	Text string `json:"text"`
}

// ID identifies the request by all that may change the reply: the same
// question has the same ID in every run. Addresses, prices and time limits do
// not count.
func (r Request) ID() string { return beagle.HashOf("model request", r) }

// A Reply is what a model answered.
type Reply struct {
	Model    string  `json:"model"`
	Text     string  `json:"text"`
	Stop     string  `json:"stop"` // why it ended: [StopEnd], [StopLength], [StopOversize] or [StopRefusal]
	Usage    Usage   `json:"usage"`
	Wasted   Usage   `json:"wasted,omitzero"` // the most that attempts which broke off may have cost besides
	Cost     Micros  `json:"cost,omitzero"`   // of all attempts, each priced alone; of a coding agent, what it says
	Seconds  float64 `json:"seconds"`         // from the first attempt to the last byte
	Attempts int     `json:"attempts"`
}

// Why a reply ended.
const (
	StopEnd      = string(chat.End)     // it is whole
	StopLength   = string(chat.Length)  // it reached its tokens
	StopOversize = "oversize"           // it was longer than the client takes, and the rest was not read
	StopRefusal  = string(chat.Refusal) // the model or its server declined
)

// Usage counts tokens.
type Usage struct {
	In        int  `json:"in"`
	Out       int  `json:"out"`
	Estimated bool `json:"estimated,omitempty"` // the server did not say; an upper bound stands in
}

// Add is the sum of two usages. It has no price: a price may hang on how long a
// prompt is.
func (u Usage) Add(v Usage) Usage {
	in, out := added(int64(u.In), int64(v.In)), added(int64(u.Out), int64(v.Out))
	return Usage{In: int(in), Out: int(out), Estimated: u.Estimated || v.Estimated}
}

// Bound is the most that the request can use in one attempt. A token stands
// for at least one byte of text; each message has a few of its own besides.
func (r Request) Bound() Usage {
	bytes, messages := len(r.System)+len(r.User), 2
	for _, t := range r.History {
		bytes += len(t.Text)
		messages++
	}
	return Usage{In: bytes + 16*messages + 64, Out: r.maxTokens(), Estimated: true}
}

func (r Request) retry(t Tried) error {
	if r.Retry == nil {
		return nil
	}
	return r.Retry(t)
}

func (r Request) maxTokens() int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return DefaultMaxTokens
}

func (r Request) limit() time.Duration {
	if r.Limit > 0 {
		return r.Limit
	}
	return DefaultLimit
}
