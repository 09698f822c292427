package profiles

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/tail"
)

// A storeQuery is a query to a profile store.
type storeQuery struct {
	base     *url.URL // of the server
	selector string   // of series, in the store's language
	tenant   string
	nodes    int64 // of a call tree that the server may send; 0 for its own limit
	from, to time.Time
}

// sliceLength is the part of a window that one question asks for: stores cut long answers to a
// number of nodes, or refuse them by size.
const (
	sliceLength = time.Hour
	leastSlice  = time.Minute
	maxSlices   = 24 * 31
)

// storeSource takes the address of a profile store apart. label is the label
// that service= stands for.
func storeSource(address, label string, o Options) (*storeQuery, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, &beagle.UsageError{What: redacted(address) + " is not an address",
			Remedy: "write pyroscope+https://HOST?service=NAME&from=now-1h"}
	}
	// The selector, from query= or from service=.
	values := u.Query()
	q := &storeQuery{selector: values.Get("query"), tenant: values.Get("tenant")}
	for key := range values {
		switch key {
		case "service", "query", "from", "until", "tenant", "nodes":
		default:
			return nil, &beagle.UsageError{What: fmt.Sprintf("%s: unknown parameter %q", u.Redacted(), key),
				Remedy: "it takes service or query, from, until, tenant and nodes"}
		}
	}
	if service := values.Get("service"); service != "" && q.selector == "" {
		q.selector = fmt.Sprintf("{%s=%q}", label, service)
	}
	if q.selector == "" {
		return nil, &beagle.UsageError{What: u.Redacted() + " names no service",
			Remedy: "add ?service=NAME, or ?query={label=\"value\"}"}
	}
	if n := values.Get("nodes"); n != "" {
		if q.nodes, err = strconv.ParseInt(n, 10, 64); err != nil || q.nodes < 0 {
			return nil, &beagle.UsageError{What: fmt.Sprintf("%s: invalid nodes %q", u.Redacted(), n),
				Remedy: "give the number of nodes of the call tree that the server may send, as in nodes=100000"}
		}
	}
	// The window, an hour up to now by default.
	now := o.Now()
	if q.to, err = moment(values.Get("until"), now, now); err != nil {
		return nil, err
	}
	if q.from, err = moment(values.Get("from"), now, q.to.Add(-time.Hour)); err != nil {
		return nil, err
	}
	if !q.from.Before(q.to) || q.to.Sub(q.from) > maxSlices*sliceLength {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("%s: the window from %s until %s is empty, or longer than a month", u.Redacted(),
				q.from.Format(time.RFC3339), q.to.Format(time.RFC3339)),
			Remedy: "give from and until, as in from=now-24h&until=now",
		}
	}
	u.RawQuery = ""
	q.base = u
	return q, nil
}

// moment reads now, now-6h, a time in RFC 3339, or seconds since 1970.
func moment(text string, now, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	if rest, ok := strings.CutPrefix(text, "now"); ok {
		if rest == "" {
			return now, nil
		}
		if days, ok := strings.CutSuffix(rest, "d"); ok {
			if n, err := strconv.Atoi(days); err == nil && n < 0 {
				return now.AddDate(0, 0, n), nil
			}
		}
		if d, err := time.ParseDuration(rest); err == nil && d < 0 {
			return now.Add(d), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return time.Unix(n, 0), nil
	}
	return time.Time{}, &beagle.UsageError{
		What:   fmt.Sprintf("invalid time %q", text),
		Remedy: "write now-24h, 2026-11-02T12:00:00Z, or seconds since 1970",
	}
}

// A storeType is a type of profiles that a store keeps of Go services.
type storeType struct{ kind, id string }

// kinds asks for the profiles of each type, processor time first. If a store has none of that, it
// does not know the service, which nothing says. Other kinds may be missing.
func (q *storeQuery) kinds(
	ctx context.Context, types []storeType, o Options,
	merged func(ctx context.Context, id string, from, to time.Time) (*hotspots.Profile, error), nothing func() error,
) ([]*hotspots.Profile, error) {
	var all []*hotspots.Profile
	for _, t := range types {
		found, err := q.slices(ctx, func(ctx context.Context, from, to time.Time) (*hotspots.Profile, error) {
			return merged(ctx, t.id, from, to)
		})
		if err != nil && t.kind != hotspots.CPU && ctx.Err() == nil {
			o.Warn(fmt.Sprintf("no %s profile: %s", t.kind, tail.First(err.Error())))
			continue
		}
		if err != nil {
			return nil, err
		}
		if t.kind == hotspots.CPU && len(found) == 0 {
			return nil, nothing()
		}
		for _, p := range found {
			p.Kind = t.kind // of block and mutex profiles the store knows which
			p.Group = q.group()
		}
		all = append(all, found...)
	}
	return all, nil
}

// group names the source of the profiles: those of one group are of instances that do the same.
func (q *storeQuery) group() string { return q.base.Host + " " + q.selector }

// slices asks for a window in pieces, and halves a piece whose answer the
// server refuses as too large. ask returns nil when there is nothing in it.
func (q *storeQuery) slices(ctx context.Context, ask func(context.Context, time.Time, time.Time) (*hotspots.Profile,
	error)) ([]*hotspots.Profile, error) {
	var all []*hotspots.Profile
	for from := q.from; from.Before(q.to); {
		to := from.Add(sliceLength)
		if to.After(q.to) {
			to = q.to
		}
		part, err := piece(ctx, from, to, ask)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
		from = to
	}
	return all, nil
}

// piece asks for a window, and for its halves if the answer is too large.
func piece(ctx context.Context, from, to time.Time, ask func(context.Context, time.Time, time.Time) (*hotspots.Profile,
	error)) ([]*hotspots.Profile, error) {
	p, err := ask(ctx, from, to)
	if tooLarge(err) && to.Sub(from) > 2*leastSlice {
		half := from.Add(to.Sub(from) / 2)
		first, err := piece(ctx, from, half, ask)
		if err != nil {
			return nil, err
		}
		second, err := piece(ctx, half, to, ask)
		return append(first, second...), err
	}
	if err != nil || p == nil {
		return nil, err
	}
	p.Whole, p.Start, p.Seconds = true, from, to.Sub(from).Seconds()
	return []*hotspots.Profile{p}, nil
}

// A tooLargeError is an answer that a store refuses for its size.
type tooLargeError struct{ error }

func (e *tooLargeError) Unwrap() error { return e.error }

func tooLarge(err error) bool {
	_, ok := err.(*tooLargeError)
	return ok
}
