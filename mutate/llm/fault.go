package llm

import (
	"fmt"
	"time"
)

// An ErrorKind is the kind of a call's failure.
type ErrorKind string

// These are the kinds of [Error].
const (
	BadKey         ErrorKind = "bad-key"          // missing, wrong, or without permission
	UnknownModel   ErrorKind = "unknown-model"    // the server has no such model, or no such address
	ContextTooLong ErrorKind = "context-too-long" // the prompt is longer than the model takes
	RateLimited    ErrorKind = "rate-limited"     // even after retries up to the call's limit
	Unpaid         ErrorKind = "unpaid"           // the account is out of money or quota
	// no complete answer until the call's limit: silent, stalled or too slow
	Timeout     ErrorKind = "timeout"
	Unavailable ErrorKind = "unavailable" // no connection, or the server failed
	Refused     ErrorKind = "refused"     // the server refused this request
	Malformed   ErrorKind = "malformed"   // the answer breaks the protocol
	// the call could have exceeded the budget, so the client did not make it
	OverBudget  ErrorKind = "over-budget"
	NotRecorded ErrorKind = "not-recorded" // a replay without a recording of this request
)

// An Error is a call without a reply. Its texts hold no key.
type Error struct {
	Kind     ErrorKind `json:"kind"`
	Model    string    `json:"model"`
	Message  string    `json:"message"` // what happened
	Remedy   string    `json:"remedy"`  // what to do
	Status   int       `json:"status,omitempty"`
	Attempts int       `json:"attempts"`
	Wasted   Usage     `json:"wasted,omitzero"` // the most that the attempts may still have used
	// of that, each attempt priced alone; a coding agent says it itself
	Cost Micros `json:"cost,omitzero"`

	Wait time.Duration `json:"-"` // how long the server asks to wait; 0 if it does not say

	again  bool // the next attempt leaves out the feature that the server refused
	closed bool // the server may have stored this answer under the attempt's idempotency key
}

func (e *Error) Error() string {
	s := fmt.Sprintf("model %s: %s", e.Model, e.Message)
	if e.Remedy != "" {
		s += "\n" + e.Remedy
	}
	return s
}

// Fatal reports whether every further call to this model must fail too, until the user changes
// something.
func (e *Error) Fatal() bool {
	switch e.Kind {
	case BadKey, UnknownModel, Unpaid:
		return true
	}
	return false
}

// A Halted is a call that its caller ended before the first attempt or between two. No answer is
// under way, so its cost is known.
type Halted struct {
	Cause    error  `json:"-"` // of the caller's context
	Attempts int    `json:"attempts"`
	Wasted   Usage  `json:"wasted,omitzero"` // the most that the attempts may have used
	Cost     Micros `json:"cost,omitzero"`   // of that, each attempt priced alone
}

func (h *Halted) Error() string { return h.Cause.Error() }

// Unwrap returns the cause.
func (h *Halted) Unwrap() error { return h.Cause }
