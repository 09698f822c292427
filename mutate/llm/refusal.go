package llm

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/chat"
)

// A complaint is an error in the server's own words. The providers, and the servers that speak like
// them, spell it in many ways; a complaint holds any of them.
type complaint struct {
	kind, code, param, message string
}

// readComplaint reads a provider's error in any of the usual forms.
func readComplaint(body []byte) complaint {
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return complaint{message: string(body)}
	}
	// The error is an object, a text, or the body itself.
	var text string
	inner := outer
	if json.Unmarshal(outer["error"], &text) != nil {
		if nested := map[string]json.RawMessage{}; json.Unmarshal(outer["error"], &nested) == nil && nested != nil {
			inner = nested
		}
	}
	get := func(name string) string {
		var s string
		if json.Unmarshal(inner[name], &s) != nil {
			s = strings.Trim(string(inner[name]), `"`)
		}
		return s
	}
	// Take the first message that is there.
	c := complaint{kind: get("type"), code: get("code"), param: get("param"), message: get("message")}
	if c.message == "" {
		c.message = text
	}
	if c.message == "" {
		c.message = get("detail")
	}
	if c.message == "" {
		c.message = string(body)
	}
	return c
}

func (c complaint) says(words ...string) bool {
	all := strings.ToLower(c.kind + " " + c.code + " " + c.message)
	for _, w := range words {
		if strings.Contains(all, w) {
			return true
		}
	}
	return false
}

// kindOf returns the kind of an error by its status and its words.
func (c complaint) kindOf(status int) ErrorKind {
	switch {
	case status == http.StatusRequestEntityTooLarge,
		c.says("context_length", "maximum context length", "prompt is too long", "context window"),
		c.says("exceed_context_size", "context size", "request_too_large", "too many tokens"):
		return ContextTooLong
	case status == http.StatusPaymentRequired,
		c.says("insufficient_quota", "credit balance", "billing", "exceeded your current quota"):
		return Unpaid
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		c.says("invalid_api_key", "authentication_error"):
		return BadKey
	case status == http.StatusTooManyRequests || c.says("rate_limit"):
		return RateLimited
	case status == http.StatusNotFound || c.says("model_not_found", "not_found_error"):
		return UnknownModel
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return Timeout
	case status >= 500, status == http.StatusConflict, status == http.StatusTooEarly,
		c.says("overloaded", "server_error", "api_error"):
		return Unavailable
	}
	return Refused
}

// remedy tells the user what to do about an error.
func remedy(kind ErrorKind, m Model, c complaint) string {
	switch kind {
	// The user's settings are wrong: the key, the name of the model, or its address.
	case BadKey:
		env := m.KeyEnv
		if env == "" {
			env = keyVariable(m.Name)
		}
		return fmt.Sprintf("Set %s to a key that may use this model, or give --key-file.", env)
	case UnknownModel:
		if m.AtHome() {
			return "Check the name, and that the key's account has the model."
		}
		return fmt.Sprintf("Check the name and the address %s; many servers want an address that ends in /v1.", m.URL)
	// The request asks for more than the account or the model allows.
	case ContextTooLong:
		return "Lower the sizes of the prompt's parts, or take a model with a longer context."
	case RateLimited:
		return "Lower the number of calls in flight, or wait."
	case Unpaid:
		return "Add money or quota to the account, or ask another model."
	// The server does not answer, or not in its protocol.
	case Timeout:
		return "Raise the time limit of a call, or ask a faster model."
	case Unavailable:
		if m.Local() {
			return fmt.Sprintf("Start the server at %s, or correct the address.", m.URL)
		}
		return "Check the network and the provider's status page, then resume."
	case Malformed:
		return fmt.Sprintf("Check that %s speaks the %s protocol.", m.URL, m.Provider)
	}
	// Other refusals show only the parameter that the server names.
	if c.param != "" {
		return fmt.Sprintf("The server refuses the parameter %s.", c.param)
	}
	return ""
}

// quirks lists the features that a server refused.
type quirks struct {
	completionTokens bool // wants max_completion_tokens in place of max_tokens
	noTemperature    bool
	noSeed           bool
	noStreamOptions  bool
}

// learn notes a refused parameter that the next request can leave out. It reports whether that is
// new.
func (q *quirks) learn(status int, c complaint) bool {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return false
	}
	was := *q
	refers := func(name string) bool { return c.param == name || strings.Contains(c.message, name) }
	switch {
	case refers("max_completion_tokens") && c.param != "max_tokens" &&
		!strings.Contains(c.message, "Use 'max_completion_tokens'"):
		q.completionTokens = false
	case refers("max_tokens") && strings.Contains(c.message, "max_completion_tokens"):
		q.completionTokens = true
	case refers("temperature"):
		q.noTemperature = true
	case refers("stream_options"):
		q.noStreamOptions = true
	case refers("seed"):
		q.noSeed = true
	}
	return *q != was
}

// fault makes the error of a failed attempt. Its texts are scrubbed.
func fault(ctx context.Context, c call, w *wire, err error) *Error {
	e := &Error{Model: c.model.Name, Status: w.status}
	var said complaint
	var stream *chat.StreamError
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	cause := context.Cause(ctx)
	switch {
	case w.status >= 300:
		said = readComplaint(w.body)
		e.Kind = said.kindOf(w.status)
		e.Message = fmt.Sprintf("%d %s%s: %s", w.status, http.StatusText(w.status), requestID(w.header), said.message)
		e.Wait = retryAfter(w.header)
		if to, err := url.Parse(w.header.Get("Location")); err == nil && to.Host != "" {
			e.Message = fmt.Sprintf("%d %s: it redirects to %s://%s, and no key goes there",
				w.status, http.StatusText(w.status), to.Scheme, to.Host)
		}
	case errors.As(err, &stream):
		said = readComplaint(stream.Body)
		e.Kind = said.kindOf(0)
		e.Message = fmt.Sprintf("the server broke off the reply%s: %s", requestID(w.header), said.message)
		if e.Kind == Refused && !json.Valid(stream.Body) {
			e.Kind = Unavailable // plain words do not refuse a request
		}
	case errors.Is(cause, errStalled), errors.Is(cause, errLimit):
		e.Kind, e.Message = Timeout, cause.Error()
	case errors.As(err, &syntax), errors.As(err, &mismatch):
		e.Kind, e.Message = Malformed, "the answer is not what the protocol says: "+err.Error()
	case errors.Is(err, chat.ErrBrokeOff) && !w.streams():
		e.Kind = Malformed
		e.Message = fmt.Sprintf("the answer is %q, not a stream of events", w.header.Get("Content-Type"))
	case errors.Is(err, errOversize):
		e.Kind, e.Message = Malformed, errOversize.Error()
	case errors.Is(err, errOffline):
		e.Kind, e.Message = Refused, err.Error()
	default:
		e.Kind, e.Message = Unavailable, err.Error()
		var cert *x509.UnknownAuthorityError
		var host *x509.HostnameError
		if errors.As(err, &cert) || errors.As(err, &host) {
			e.Kind = Refused
		}
	}
	e.Message = tidy(c.key.scrub(e.Message))
	e.Remedy = remedy(e.Kind, c.model, said)
	return e
}

// requestID returns the server operators' name for the attempt, for a message.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := h.Get(name); id != "" && len(id) <= 100 {
			return " (request " + id + ")"
		}
	}
	return ""
}

// tidy makes a server's words fit to show: one line of moderate length without control characters.
func tidy(s string) string {
	blank := func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "�"), blank), " ")
	if len(s) > 400 {
		s = strings.ToValidUTF8(s[:400], "") + "…"
	}
	return s
}

// retryAfter returns how long a server asks to wait, or 0 if it does not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}
