package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/chat"
)

// An Asker answers requests: a [Client], or a [Replayer] in its place. It is safe for concurrent
// use.
type Asker interface {
	Ask(context.Context, Request) (Reply, error)
}

// A Client asks one or several models. The fields other than Models are optional, and must not
// change once the client is in use. It is safe for concurrent use.
type Client struct {
	Models   []Model
	Keys     Keys          // nil reads the environment
	Budget   *Budget       // reserves every attempt before, and settles it after; nil has no limits
	InFlight *Limiter      // bounds the attempts that run at once; nil has no limit
	Offline  bool          // ask servers on this machine only
	Attempts int           // tries of one call; 0 means 5
	Backoff  time.Duration // the first wait between tries, doubled for each further one; 0 means half a second
	Stall    time.Duration // the longest silence of a server; 0 means 3 minutes
	MaxText  int           // the longest reply in bytes; 0 means 1 MiB

	conns  connections
	mu     sync.Mutex
	quirks map[string]quirks // by model
}

// Model returns the model of that name.
func (c *Client) Model(name string) (Model, error) {
	i := slices.IndexFunc(c.Models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range c.Models {
			names = append(names, m.Name)
		}
		what := fmt.Sprintf("model %s is not one of this run's", name)
		return Model{}, usage(what, "Known: "+strings.Join(names, ", "))
	}
	return c.Models[i], nil
}

// Ask sends the request and waits for the whole reply. It takes no longer than the request's Limit,
// whatever the server does.
//
// An error is one of three. It is an [*Error], or a [beagle.UsageError] for a model that the client
// does not have. If the caller's context ended, it is the cause, or a [*Halted] if no answer was
// under way.
//
// Ask retries failures that may pass: rate limits, failures of the server, broken and malformed
// answers, and silence. It waits in between as long as the server asks, or for a time that grows
// and varies. The budget reserves the worst case of each attempt.
func (c *Client) Ask(ctx context.Context, r Request) (Reply, error) {
	m, err := c.Model(r.Model)
	if err != nil {
		return Reply{}, err
	}
	k, err := c.key(m)
	if err != nil {
		return Reply{}, err
	}
	limit := r.limit()
	if c.Budget != nil {
		if left, capped := c.Budget.timeLeft(); capped {
			limit = min(limit, left)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	start := time.Now()
	one := call{model: m, key: k, request: r, http: c.conns.get(c.Offline), maxText: c.maxText()}
	reply, err := c.try(ctx, one)
	reply.Seconds = time.Since(start).Seconds()
	return reply, err
}

// key finds the model's key, and refuses to send it unencrypted.
func (c *Client) key(m Model) (Key, error) {
	keys := c.Keys
	if keys == nil {
		keys = EnvKeys()
	}
	if c.Offline && !m.Local() {
		return Key{}, &Error{Kind: Refused, Model: m.Name,
			Message: fmt.Sprintf("%s is %v", m.URL, errOffline),
			Remedy:  "ask a server on this machine: name@http://127.0.0.1:8080/v1"}
	}
	k, err := keys.Key(m)
	if err != nil {
		return Key{}, err
	}
	if u, err := url.Parse(m.URL); k.Known() && !m.Local() && (err != nil || u.Scheme != "https") {
		return Key{}, &Error{Kind: BadKey, Model: m.Name,
			Message: fmt.Sprintf("its key would travel to %s unencrypted", m.URL),
			Remedy:  "use an address with https"}
	}
	return k, nil
}

// try makes attempts until one brings a reply, or until another attempt would be useless.
func (c *Client) try(ctx context.Context, one call) (Reply, error) {
	var t Tried
	for {
		one.quirks = c.quirksOf(one.model)
		reply, e, err := c.attempt(ctx, one, &t.Attempts)
		switch {
		case err != nil:
			return Reply{}, c.stamp(err, t)
		case e == nil:
			reply.Attempts, reply.Wasted = t.Attempts, t.Wasted
			reply.Cost = Costs(t.Cost, one.model.Price.Cost(reply.Usage))
			return reply, nil
		}
		t.Wasted, t.Cost = t.Wasted.Add(e.Wasted), Costs(t.Cost, one.model.Price.Cost(e.Wasted))
		if e.closed {
			one.closed++
		}
		if !e.again {
			if wait, ok := c.wait(ctx, e, t.Attempts); !ok || !sleep(ctx, wait) {
				return Reply{}, c.stamp(endError(ctx, e), t)
			}
		}
		if err := one.request.retry(t); err != nil {
			return Reply{}, err
		}
	}
}

// endError returns the error of a call that ends between two attempts.
func endError(ctx context.Context, e *Error) error {
	if outer := callerCause(ctx); outer != nil {
		return &Halted{Cause: outer}
	}
	return e
}

// stamp adds the call's attempts to an error of this package. It leaves other errors as they are.
func (c *Client) stamp(err error, t Tried) error {
	var e *Error
	var h *Halted
	switch {
	case errors.As(err, &e):
		e.Attempts, e.Wasted, e.Cost = t.Attempts, t.Wasted, t.Cost
	case errors.As(err, &h):
		h.Attempts, h.Wasted, h.Cost = t.Attempts, t.Wasted, t.Cost
	}
	return err
}

// attempt asks once: within the budget, in a slot, watched. The error ends the call at once.
func (c *Client) attempt(ctx context.Context, one call, attempts *int) (Reply, *Error, error) {
	// Wait for a slot, and reserve the worst case.
	if c.InFlight != nil {
		release, err := c.InFlight.Take(ctx)
		if err != nil {
			return Reply{}, nil, c.waitError(ctx, one, "a free slot")
		}
		defer release()
	}
	bound := one.request.Bound()
	settle, err := c.reserve(ctx, one, bound)
	if err != nil {
		return Reply{}, nil, err
	}
	*attempts++
	// Ask, and watch the answer.
	actx, w := watch(ctx, c.stall(), one.maxText)
	defer w.end()
	var h partialReply
	err = speak(actx, one, &h)
	var refused *chat.StatusError
	if errors.As(err, &refused) {
		w.body = refused.Body
	} else if errors.Is(err, errOversize) || errors.Is(err, chat.ErrTooLong) {
		h.stop, err = StopOversize, nil
	}
	// Book the use of a reply.
	if err == nil {
		reply := h.reply(one, bound)
		settle(reply.Usage)
		return reply, nil, nil
	}
	// Book the worst case of a failure, unless it certainly cost nothing.
	e := fault(actx, one, w, err)
	if !unpaid(w, err) {
		e.Wasted = bound
	}
	e.closed = mayBeStored(w, e)
	settle(e.Wasted)
	// If the caller ended the call, say so.
	switch outer := callerCause(ctx); {
	case outer != nil && e.Wasted == Usage{}:
		// No answer is under way, so the attempt certainly cost nothing.
		return Reply{}, nil, &Halted{Cause: outer}
	case outer != nil:
		return Reply{}, nil, outer
	}
	// If the server refused a parameter, another attempt can leave it out.
	if e.again = c.learn(one, w); e.again && *attempts > c.attempts()+4 {
		e.again = false
	}
	return Reply{}, e, nil
}

// reply makes a reply from what the client heard.
func (h *partialReply) reply(one call, bound Usage) Reply {
	r := Reply{Model: one.model.Name, Text: h.text.String(), Stop: h.stop, Usage: h.usage}
	if !h.told || h.usage.Out == 0 && r.Text != "" {
		// The server did not count, or its count is impossible: each token takes at least one byte.
		// The model may have finished a reply that was cut off, or one with an impossible count.
		r.Usage = Usage{In: bound.In, Out: min(bound.Out, len(r.Text)), Estimated: true}
		if h.stop == StopOversize || h.lied {
			r.Usage.Out = bound.Out
		}
	}
	return r
}

// unpaid reports whether a failed attempt certainly cost nothing: the server refused it, or it
// never reached the server. The cost of an answer that broke off or never came is unknown, so the
// client books its worst case.
func unpaid(w *wire, err error) bool {
	switch w.status {
	case 0:
		var op *net.OpError
		var dns *net.DNSError
		return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns) ||
			errors.Is(err, errOffline) || errors.As(err, new(*tls.CertificateVerificationError))
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout, 520, 521, 522, 523, 524:
		return false // from a gateway: the model may have answered
	}
	return w.status >= 300
}

// mayBeStored reports whether a server may have stored this answer under its idempotency key, so
// that the same key would only bring it again. Some servers store failures like answers.
//
// The key stays for an attempt with an unknown outcome, since the answer may be there: no answer, a
// broken one, or one from a gateway. It also stays after a conflict, which says that the server is
// still making the answer.
func mayBeStored(w *wire, e *Error) bool {
	switch {
	case e.Kind == Malformed || w.header.Get(replayedHeader) == "true":
		return true
	case w.status == http.StatusConflict || w.status == http.StatusTooEarly:
		return false
	}
	return w.status >= 300 && unpaid(w, nil)
}

// reserve sets the worst case of an attempt aside; settle books its real use.
func (c *Client) reserve(ctx context.Context, one call, bound Usage) (settle func(Usage), err error) {
	if c.Budget == nil {
		return func(Usage) {}, nil
	}
	price := one.model.Price
	if c.Budget.caps.Money > 0 && !price.Known() {
		return nil, &Error{Kind: OverBudget, Model: one.model.Name,
			Message: "its price is unknown, so a budget of money cannot hold",
			Remedy:  "give --price-in and --price-out in dollars per million tokens"}
	}
	spent := func(u Usage) Spent { return Spent{Money: price.Cost(u), Tokens: int64(u.In) + int64(u.Out), Calls: 1} }
	r, err := c.Budget.Reserve(ctx, spent(bound))
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Model = one.model.Name
			return nil, e
		}
		return nil, c.waitError(ctx, one, "calls under way to free the budget")
	}
	return func(u Usage) { r.Settle(spent(u)) }, nil
}

// waitError returns the error of a call whose time ran out before it was sent.
func (c *Client) waitError(ctx context.Context, one call, what string) error {
	if outer := callerCause(ctx); outer != nil {
		return &Halted{Cause: outer}
	}
	return &Error{Kind: Timeout, Model: one.model.Name,
		Message: "it was never sent: its time ended while it waited for " + what,
		Remedy:  remedy(Timeout, one.model, complaint{})}
}

// callerCause returns why the caller's own context ended. It returns nil if only the call's limit
// ended, or nothing did.
func callerCause(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errLimit) {
		return cause
	}
	return nil
}

// wait returns how long to wait before the next attempt, and false if another attempt would be
// useless.
func (c *Client) wait(ctx context.Context, e *Error, attempts int) (time.Duration, bool) {
	switch e.Kind {
	case RateLimited, Timeout, Unavailable, Malformed:
	default:
		return 0, false
	}
	if attempts >= c.attempts() {
		return 0, false
	}
	base := c.Backoff
	if base <= 0 {
		base = 500 * time.Millisecond
	}
	// With equal jitter, calls that failed together come back apart.
	d := min(base<<min(attempts-1, 10), time.Minute)
	d = d/2 + rand.N(d/2+1)
	if e.Wait > 0 {
		d = e.Wait + rand.N(e.Wait/10+1)
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		if e.Wait > 0 {
			asks := e.Wait.Round(time.Millisecond)
			e.Message += fmt.Sprintf(" (it asks to wait %v, longer than the call's limit)", asks)
		}
		return 0, false
	}
	return d, true
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// quirksOf returns what the client knows of a model's server so far.
func (c *Client) quirksOf(m Model) quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, ok := c.quirks[m.Name]
	if !ok {
		q.completionTokens = m.AtHome() && m.Provider == OpenAI
	}
	return q
}

// learn remembers a feature that the server just refused. It reports whether that is new, so that
// the next attempt can do without it.
func (c *Client) learn(one call, w *wire) bool {
	q := one.quirks
	if !q.learn(w.status, readComplaint(w.body)) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quirks == nil {
		c.quirks = map[string]quirks{}
	}
	c.quirks[one.model.Name] = q
	return true
}

func (c *Client) attempts() int {
	if c.Attempts > 0 {
		return c.Attempts
	}
	return 5
}

func (c *Client) stall() time.Duration {
	if c.Stall > 0 {
		return c.Stall
	}
	return defaultStall
}

func (c *Client) maxText() int {
	if c.MaxText > 0 {
		return c.MaxText
	}
	return defaultText
}
