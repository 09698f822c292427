package llm

import (
	"fmt"
	"time"
)

// ErrorKind is what went wrong with a call.
type ErrorKind string

// The kinds of [Error].
const (
	BadKey         ErrorKind = "bad-key"          // missing, wrong or without the right
	UnknownModel   ErrorKind = "unknown-model"    // the server has no such model, or no such address
	ContextTooLong ErrorKind = "context-too-long" // the prompt is longer than the model takes
	RateLimited    ErrorKind = "rate-limited"     // retried until the call's limit
	Unpaid         ErrorKind = "unpaid"           // the account is out of money or quota
	Timeout        ErrorKind = "timeout"          // no answer, or one that stalled or dripped, until the call's limit
	Unavailable    ErrorKind = "unavailable"      // no connection, or the server failed
	Refused        ErrorKind = "refused"          // the server refused this very request
	Malformed      ErrorKind = "malformed"        // the answer is not what the protocol says
	OverBudget     ErrorKind = "over-budget"      // the call could have gone over the budget and was not made
	NotRecorded    ErrorKind = "not-recorded"     // replaying, and nobody recorded this request
)

// An Error is a call that brought no reply. Its texts hold no key.
type Error struct {
	Kind     ErrorKind `json:"kind"`
	Model    string    `json:"model"`
	Message  string    `json:"message"` // what happened
	Remedy   string    `json:"remedy"`  // what to do
	Status   int       `json:"status,omitempty"`
	Attempts int       `json:"attempts"`
	Wasted   Usage     `json:"wasted,omitzero"` // the most that the attempts may have used all the same
	Cost     Micros    `json:"cost,omitzero"`   // of that, each attempt priced alone; of a coding agent, what it says

	Wait time.Duration `json:"-"` // how long the server asks to wait; 0 when it did not say

	again  bool // the next attempt does without what the server refused
	closed bool // the server may have kept this answer for the attempt's idempotency key
}

func (e *Error) Error() string {
	s := fmt.Sprintf("model %s: %s", e.Model, e.Message)
	if e.Remedy != "" {
		s += "\n" + e.Remedy
	}
	return s
}

// Fatal reports whether every further call to this model must fail too, until
// the user has done something.
func (e *Error) Fatal() bool {
	switch e.Kind {
	case BadKey, UnknownModel, Unpaid:
		return true
	}
	return false
}

// A Halted is a call that its caller ended before a first attempt or between
// two: no answer is under way, so that what it has cost is known.
type Halted struct {
	Cause    error  `json:"-"` // of the caller's context
	Attempts int    `json:"attempts"`
	Wasted   Usage  `json:"wasted,omitzero"` // the most that the attempts may have used
	Cost     Micros `json:"cost,omitzero"`   // of that, each attempt priced alone
}

func (h *Halted) Error() string { return h.Cause.Error() }

// Unwrap is the cause.
func (h *Halted) Unwrap() error { return h.Cause }
