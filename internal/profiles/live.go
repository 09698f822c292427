package profiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/tail"
)

// live takes profiles of a running service. The address is that of the service, of its /debug/pprof
// page, or of one profile there. Without a profile in the address it takes a CPU profile, and at
// the same time profiles of allocations and waits.
func live(ctx context.Context, address string, o Options) ([]*hotspots.Profile, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, &beagle.UsageError{What: redacted(address) + " is not an address", Remedy: "write http://HOST:PORT"}
	}
	pages := []string{"profile", "allocs", "mutex", "block"}
	if i := strings.Index(u.Path, "/debug/pprof"); i < 0 {
		if strings.Trim(u.Path, "/") != "" {
			pages = []string{""} // some path of the user's own, which serves a profile
		} else {
			u.Path = "/debug/pprof/"
		}
	} else if strings.Trim(u.Path[i+len("/debug/pprof"):], "/") != "" {
		pages = []string{""}
	}
	found := make([][]*hotspots.Profile, len(pages))
	g, ctx := errgroup.WithContext(ctx)
	for i, page := range pages {
		g.Go(func() error {
			list, err := slicesOf(ctx, *u, page, o)
			if err != nil && len(pages) > 1 && page != "profile" && ctx.Err() == nil {
				o.Warn(fmt.Sprintf("no %s profile: %v", page, tail.First(err.Error())))
				return nil // the CPU profile alone will do
			}
			found[i] = list
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	for _, p := range all {
		p.Group, p.Instance = u.Host, u.Host
	}
	return all, nil
}

// sliceSeconds is the length of a slice of a profile that is spread over a longer time.
const sliceSeconds = 5

// slicesOf takes one profile, in slices that are spread evenly over o.Over: the load of a service
// drifts, and a profile in one piece knows one moment of it. A slice that fails is left out; the
// time of one without samples counts for another.
func slicesOf(ctx context.Context, u url.URL, page string, o Options) ([]*hotspots.Profile, error) {
	// An address may name its seconds.
	q := u.Query()
	if n, err := strconv.Atoi(q.Get("seconds")); err == nil && n > 0 {
		o.Seconds = n
		q.Del("seconds")
		u.RawQuery = q.Encode()
	}
	n := 1
	if o.Over > time.Duration(o.Seconds)*time.Second {
		n = min(max((o.Seconds+sliceSeconds-1)/sliceSeconds, 2), o.Seconds)
	}
	o.Seconds = (o.Seconds + n - 1) / n
	// Take the slices.
	var all []*hotspots.Profile
	var failed []error
	var empty error
	idle := 0.0 // seconds
	began, slice := time.Now(), o
	for i := range n {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Until(began.Add(o.Over * time.Duration(i) / time.Duration(n)))):
		}
		p, err := onePage(ctx, u, page, slice)
		slice.Warn = func(string) {} // its doubts hold for all slices
		switch {
		case err == nil:
			all = append(all, p)
		case p != nil:
			idle, empty = idle+p.Seconds, err
		case ctx.Err() != nil || len(all) == 0 && empty == nil: // an address that never answered is not asked again
			return nil, err
		default:
			failed = append(failed, err)
		}
	}
	if len(all) == 0 {
		return nil, empty
	}
	if all[0].Seconds += idle; all[0].Pprof.DurationNanos > 0 {
		all[0].Pprof.DurationNanos += int64(idle * float64(time.Second))
	}
	if len(failed) > 0 {
		o.Warn(fmt.Sprintf("%d of %d slices of %s failed, and are left out: %s", len(failed), n,
			u.Host+path.Join(u.Path, page), tail.First(failed[0].Error())))
	}
	return all, nil
}

// onePage takes one profile. It returns one without samples beside the error.
func onePage(ctx context.Context, u url.URL, page string, o Options) (*hotspots.Profile, error) {
	if page != "" {
		u.Path = path.Join(u.Path, page)
	}
	q := u.Query()
	if q.Get("seconds") == "" && o.Seconds > 0 {
		q.Set("seconds", strconv.Itoa(o.Seconds))
	}
	u.RawQuery = q.Encode()
	wait, _ := strconv.Atoi(q.Get("seconds"))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Second+30*time.Second)
	defer cancel()
	began := o.Now()
	data, err := get(ctx, &u, o)
	if err != nil {
		return nil, err
	}
	p, err := hotspots.Parse(u.Redacted(), data)
	if err != nil && (p == nil || p.Total() > 0) {
		return nil, err
	}
	if p.Seconds == 0 && wait > 0 {
		p.Seconds = float64(wait) // delta profiles do not hold their length
	}
	o.skewed(&u, p, began)
	return p, err
}

// skewed warns when the service's clock is far from ours.
func (o *Options) skewed(u *url.URL, p *hotspots.Profile, began time.Time) {
	theirs := p.Start
	if theirs.IsZero() || p.Kind != hotspots.CPU {
		return
	}
	if off := theirs.Sub(began); off.Abs() > 10*time.Second {
		o.Warn(fmt.Sprintf("the clock of %s is %s off ours: windows of several hosts can't be compared; shares "+
			"and cores are not affected",
			u.Host, off.Round(time.Second)))
	}
}

// get fetches an address, and words what went wrong.
func get(ctx context.Context, u *url.URL, o Options) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &beagle.UsageError{What: u.Redacted() + " is not an address", Remedy: "write http://HOST:PORT"}
	}
	return do(r, o)
}

// do sends a request and returns the body, or an error with a remedy.
func do(r *http.Request, o Options) ([]byte, error) {
	data, answer, err := send(r, o)
	switch {
	case tooLarge(err):
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s answers with %v", r.URL.Redacted(), err),
			Remedy: "ask for a shorter window",
		}
	case err != nil:
		return nil, unreached(r, err)
	case answer.StatusCode != http.StatusOK:
		return nil, refusalError(r, answer.StatusCode, string(data))
	}
	return data, nil
}

// send returns an answer and its body, which it has read. A body that is too long is a
// tooLargeError.
func send(r *http.Request, o Options) ([]byte, *http.Response, error) {
	if o.Token != "" && r.URL.User == nil {
		r.Header.Set("Authorization", "Bearer "+o.Token)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, hotspots.MaxUnpacked+1))
	if err == nil && len(data) > hotspots.MaxUnpacked {
		err = &tooLargeError{fmt.Errorf("more than %d MB", hotspots.MaxUnpacked>>20)}
	}
	return data, answer, err
}

// client follows no redirect to another host, which might get the token.
var client = &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Host != via[0].URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}}

// unreached returns the error for a request without an answer.
func unreached(r *http.Request, err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	bad := &beagle.UsageError{
		What:   fmt.Sprintf("%s: %v", r.URL.Redacted(), unwrapped(err)),
		Remedy: "check that the service runs, listens there, and imports net/http/pprof",
	}
	if errors.Is(err, context.DeadlineExceeded) {
		bad.What = r.URL.Redacted() + " does not answer in time"
		bad.Remedy = "a proxy may hold long answers back: ask for fewer seconds, or go to the service itself"
	}
	return bad
}

// unwrapped is an error without the address, which may hold a password.
func unwrapped(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refusalError returns a *beagle.UsageError for a service's refusal, with a remedy that fits its
// words.
func refusalError(r *http.Request, status int, body string) error {
	said := strings.TrimSpace(tail.Short(body, 200))
	bad := &beagle.UsageError{
		What:   fmt.Sprintf("%s answers %d: %q", r.URL.Redacted(), status, said),
		Remedy: "name the address of the service's /debug/pprof page",
	}
	switch {
	case strings.Contains(said, "already in use"):
		bad.Remedy = "another CPU profile of the service is under way, and Go takes one at a time: wait for it, " +
			"or stop the continuous profiler"
	case strings.Contains(said, "WriteTimeout"):
		bad.Remedy = "the server's WriteTimeout is shorter than the profile: give fewer --seconds, or serve " +
			"/debug/pprof from a server without one"
	case status == http.StatusNotFound:
		bad.Remedy = "the service must import net/http/pprof and serve http.DefaultServeMux, or mount pprof's " +
			"handlers itself"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		bad.Remedy = "it wants a login: write http://USER:PASSWORD@HOST, or set BEAGLE_PROFILES_TOKEN to a bearer token"
	case status >= 300 && status < 400:
		bad.Remedy = "it sends the request to another host: name that host"
	}
	return bad
}
