package chat

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// A Server is a server of models, with the key for it.
type Server struct {
	URL    string       // the base address, as in https://api.openai.com/v1
	Key    Secret       // "" sends none
	Header http.Header  // sent with each request, beside the protocol's own headers
	HTTP   *http.Client // nil means [http.DefaultClient]
}

// A Secret is text that nothing prints or encodes.
type Secret string

// String returns a stand-in.
func (Secret) String() string { return "[key]" }

// Format writes the stand-in, whatever the verb.
func (Secret) Format(s fmt.State, _ rune) { io.WriteString(s, "[key]") }

// MarshalText returns the stand-in.
func (Secret) MarshalText() ([]byte, error) { return []byte("[key]"), nil }

// A Request is one question in the terms that both protocols share.
type Request struct {
	Model       string  `json:"model"`
	System      string  `json:"system,omitempty"`
	Turns       []Turn  `json:"turns"` // the oldest first; the last is the question
	MaxTokens   int     `json:"max_tokens"`
	Temperature float64 `json:"temperature,omitempty"` // 0 leaves it to the server
	Seed        int64   `json:"seed,omitempty"`        // 0 sends none; messages have no seed

	// Servers of chat completions differ in these.
	CompletionTokens bool `json:"completion_tokens,omitempty"` // the limit's name is max_completion_tokens
	NoUsage          bool `json:"no_usage,omitempty"`          // do not ask the server to count tokens
}

// A Turn is one message of a conversation.
type Turn struct {
	Role string `json:"role"` // "user" or "assistant"
	Text string `json:"text"`
}

// An Event is a step of a reply. Fields that the server did not send are zero.
type Event struct {
	Text  string `json:"text,omitempty"`  // the next piece
	Stop  Stop   `json:"stop,omitempty"`  // why the reply ends
	Usage *Usage `json:"usage,omitempty"` // the tokens, as far as the server knows them
}

// Stop is why a reply ends.
type Stop string

// Why replies end.
const (
	End     Stop = "end"     // the model was done
	Length  Stop = "length"  // the reply or the model's context is full
	Refusal Stop = "refusal" // the model or its server declined
)

// Usage counts tokens, as the server states them: they may be nonsense. In
// chat completions In holds all tokens of the prompt; in messages the tokens
// of the cache come on top.
type Usage struct {
	In         int64 `json:"in,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"` // written to the prompt cache
	CacheRead  int64 `json:"cache_read,omitempty"`  // read from the prompt cache
	Out        int64 `json:"out,omitempty"`
	Start      bool  `json:"start,omitempty"` // of the prompt only: the reply is not counted yet
}

var (
	// ErrBrokeOff is the error of a reply that ended without saying why.
	ErrBrokeOff = errors.New("the reply broke off")
	// ErrTooLong is the error of a reply with an event of more than 64 MiB.
	ErrTooLong = errors.New("a part of the reply is too long")
)

// A StatusError is a refusal: the server's status is not of the 200s.
type StatusError struct {
	Status int
	Header http.Header
	Body   []byte // its first 64 KiB
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
}

// A StreamError is an error that the server reports in the middle of a reply.
type StreamError struct {
	Body []byte // JSON, as the server sent it
}

func (e *StreamError) Error() string { return "the server reports an error in the reply" }
