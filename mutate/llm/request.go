package llm

import (
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/chat"
)

// A Request is one question to a model.
type Request struct {
	Model   string `json:"model"` // the name of one of the client's models
	System  string `json:"system,omitempty"`
	History []Turn `json:"history,omitempty"` // the conversation before User, the oldest turn first
	User    string `json:"user"`
	// the limit for the reply; 0 means [DefaultMaxTokens]
	MaxTokens   int     `json:"max_tokens"`
	Temperature float64 `json:"temperature,omitempty"` // 0 means the model's
	Seed        int64   `json:"seed,omitempty"`        // sent if the protocol has one; 0 is not sent
	Sample      int     `json:"sample,omitempty"`      // separates equal questions that want different answers
	// for a coding agent: the version to start from; models find it in the text
	Code string `json:"code,omitempty"`
	// a server that knows idempotency keys answers requests with the same key once; "" sends none
	Once  string        `json:"-"`
	Limit time.Duration `json:"-"` // for the whole call and its retries; 0 means [DefaultLimit]

	// Retry receives, before each further attempt, the cost of the earlier ones. Its error ends the
	// call. It may be nil.
	Retry func(Tried) error `json:"-"`
}

// Tried holds the cost of a call's attempts that brought no reply.
type Tried struct {
	Attempts int    `json:"attempts"`
	Wasted   Usage  `json:"wasted,omitzero"` // the most that they may have used
	Cost     Micros `json:"cost,omitzero"`   // of that, each attempt priced alone
}

// These are the defaults of a [Request].
const (
	DefaultMaxTokens = 8192
	DefaultLimit     = 10 * time.Minute
)

// A Turn is one earlier message of a conversation.
type Turn struct {
	Role string `json:"role"` // "user" or "assistant"
	Text string `json:"text"`
}

// ID identifies the request by all that may change the reply. The same question has the same ID in
// every run. Addresses, prices and time limits do not count.
func (r Request) ID() string { return beagle.HashOf("model request", r) }

// A Reply is a model's answer.
type Reply struct {
	Model    string  `json:"model"`
	Text     string  `json:"text"`
	Stop     string  `json:"stop"` // why it ended: [StopEnd], [StopLength], [StopOversize] or [StopRefusal]
	Usage    Usage   `json:"usage"`
	Wasted   Usage   `json:"wasted,omitzero"` // the most that broken-off attempts may have cost besides
	Cost     Micros  `json:"cost,omitzero"`   // of all attempts, each priced alone; a coding agent says it itself
	Seconds  float64 `json:"seconds"`         // from the first attempt to the last byte
	Attempts int     `json:"attempts"`
}

// These constants say why a reply ended.
const (
	StopEnd      = string(chat.End)     // it is whole
	StopLength   = string(chat.Length)  // it reached the limit of its tokens
	StopOversize = "oversize"           // it was longer than the client takes, and the client did not read the rest
	StopRefusal  = string(chat.Refusal) // the model or its server declined
)

// Usage counts tokens.
type Usage struct {
	In        int  `json:"in"`
	Out       int  `json:"out"`
	Estimated bool `json:"estimated,omitempty"` // an upper bound, since the server did not say
}

// Add returns the sum of two usages. The sum has no price, since a price may depend on the length
// of each prompt.
func (u Usage) Add(v Usage) Usage {
	in, out := saturatingSum(int64(u.In), int64(v.In)), saturatingSum(int64(u.Out), int64(v.Out))
	return Usage{In: int(in), Out: int(out), Estimated: u.Estimated || v.Estimated}
}

// Bound returns the most that the request can use in one attempt. A token stands for at least one
// byte of text, and each message has a few tokens of its own.
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
