package profiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	pages, plan, err := o.pages(u)
	if err != nil {
		return nil, err
	}
	found, missing := make([][]*hotspots.Profile, len(pages)), make([]string, len(pages))
	g, ctx := errgroup.WithContext(ctx)
	for i, page := range pages {
		g.Go(func() (err error) {
			if counts(u, page) {
				found[i], err = counted(ctx, *u, page, plan.length(), o)
			} else {
				found[i], err = slicesOf(ctx, *u, page, plan, o)
			}
			if err == nil || len(pages) == 1 || page == "profile" || ctx.Err() != nil && !o.interrupted() {
				return err
			}
			why := tail.First(err.Error())
			if errors.Is(err, context.Canceled) {
				why = "stopped before the service answered"
			}
			missing[i] = fmt.Sprintf("no %s profile: %s", page, why)
			return nil // the CPU profile alone will do
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, why := range missing {
		if why != "" {
			o.Warn(why)
		}
	}
	all := slices.Concat(found...)
	for _, p := range all {
		p.Group, p.Instance = u.Host, u.Host
	}
	return all, nil
}

// pages returns the profiles to take below an address, and their plan. An address may name its
// seconds. A path of the user's own may be a file that never changes, and a page of sums has no
// slices: either is asked for one piece unless the user says otherwise.
func (o *Options) pages(u *url.URL) ([]string, Plan, error) {
	if q := u.Query(); q.Has("seconds") {
		n, err := strconv.Atoi(q.Get("seconds"))
		if bad := o.badSeconds(u, n, err); bad != nil {
			return nil, Plan{}, bad
		}
		o.Seconds = n
		q.Del("seconds")
		u.RawQuery = q.Encode()
	}
	// The address of a service stands for its page.
	if strings.Trim(u.Path, "/") == "" {
		u.Path = pprofPath + "/"
	}
	before, below, standard := strings.Cut(u.Path, pprofPath)
	if standard && strings.Trim(below, "/") == "" {
		u.Path = before + pprofPath + "/"
		return []string{"profile", "allocs", "mutex", "block"}, NewPlan(o.Seconds, o.Over), nil
	}
	if o.Over == 0 && o.Seconds == 0 && (!standard || counts(u, "")) {
		o.Seconds = onePieceSeconds
	}
	return []string{""}, NewPlan(o.Seconds, o.Over), nil
}

// badSeconds refuses the seconds of an address that the service would read as another number, and
// more of them than the time to spread them over.
func (o *Options) badSeconds(u *url.URL, n int, err error) error {
	switch {
	case err != nil || n < 1:
		return &beagle.UsageError{
			What:   fmt.Sprintf("seconds=%s in %s is no whole number above 0", u.Query().Get("seconds"), u.Redacted()),
			Remedy: "write seconds=30, or leave it out",
		}
	case o.Over > 0 && o.Over < time.Duration(n)*time.Second:
		return &beagle.UsageError{
			What:   fmt.Sprintf("seconds=%d in %s is more than --over %v", n, u.Redacted(), o.Over),
			Remedy: "leave one of them out",
		}
	}
	return nil
}

// pprofPath is where net/http/pprof serves.
const pprofPath = "/debug/pprof"

// counts reports whether a page of net/http/pprof shows sums since the start of the process.
func counts(u *url.URL, page string) bool {
	at := path.Join(u.Path, page)
	return slices.Contains([]string{"allocs", "heap", "mutex", "block"}, path.Base(at)) &&
		strings.HasSuffix(path.Dir(at), pprofPath)
}

// counted takes a profile of sums at both ends of a time: the difference is what happened between,
// all of it. Asked for seconds, the service would do the same, but then no interrupt could end the
// time early, and each of many slices would cost two profiles.
func counted(
	ctx context.Context, u url.URL, page string, length time.Duration, o Options,
) ([]*hotspots.Profile, error) {
	u.Path = path.Join(u.Path, page)
	began := time.Now()
	first, err := snapshot(ctx, &u, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	select {
	case <-time.After(length):
	case <-ctx.Done():
		if !o.interrupted() {
			return nil, ctx.Err()
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSnapshot)
		defer cancel()
		ctx = last
	}
	p, err := snapshot(ctx, &u, o)
	if err != nil {
		return nil, err
	}
	if p, err = p.Since(first, time.Since(began)); err != nil {
		return nil, err
	}
	return []*hotspots.Profile{p}, nil
}

// lastSnapshot limits the time that an interrupt waits for the last profile of sums.
const lastSnapshot = 5 * time.Second

// snapshot takes a profile of sums. Soon after the start of a service they may be nothing.
func snapshot(ctx context.Context, u *url.URL, o Options) (*hotspots.Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, o.answer)
	defer cancel()
	data, err := get(ctx, u, o)
	if err != nil {
		return nil, err
	}
	p, err := hotspots.Parse(u.Redacted(), data)
	if p != nil && p.Total() == 0 {
		return p, nil
	}
	return p, err
}

// answerTime is what a service may take for its answer, beyond the time that it profiles.
const answerTime = 30 * time.Second

// slicesOf takes one profile in the slices of a plan. A slice that fails is left out; the time of
// one without samples counts for another. An interrupt ends it: see [Options.Early].
func slicesOf(ctx context.Context, u url.URL, page string, plan Plan, o Options) ([]*hotspots.Profile, error) {
	var all []*hotspots.Profile
	var failed []error
	var empty error
	idle := 0.0 // seconds
	began, slice := time.Now(), o
	tell := func(taken int) {
		source := u.Host + path.Join(u.Path, page)
		o.Progress(Progress{Source: source, Taken: taken, Plan: plan, Until: began.Add(plan.length())})
	}
	// Take the slices.
	tell(0)
	taken := 0
	for ; taken < plan.Slices; taken++ {
		if err := waitUntil(ctx, began.Add(plan.Moment(taken, rand.Float64()))); err != nil {
			break
		}
		if time.Since(began) > plan.length()+o.answer { // a service that hangs takes that long for each slice
			break
		}
		p, err := onePage(ctx, u, page, plan.Seconds, slice)
		if err != nil && ctx.Err() != nil {
			break
		}
		slice.Warn = func(string) {} // its doubts hold for all slices
		switch {
		case err == nil:
			all = append(all, p)
		case p != nil:
			idle, empty = idle+p.Seconds, err
		case len(all) == 0 && empty == nil: // an address that never answered is not asked again
			return nil, err
		default:
			failed = append(failed, err)
		}
		if taken == 0 && p != nil {
			plan = plan.adapt(p)
		}
		tell(taken + 1)
	}
	// Say what is missing.
	switch {
	case ctx.Err() != nil && (!o.interrupted() || len(all) == 0):
		return nil, ctx.Err()
	case ctx.Err() != nil:
		o.Warn(fmt.Sprintf("stopped after %d of %d slices of %s: they are of %v in place of %v", taken, plan.Slices,
			u.Host+path.Join(u.Path, page), time.Since(began).Round(time.Second), plan.Over))
	case taken < plan.Slices:
		o.Warn(fmt.Sprintf("ended after %d of %d slices of %s: the service answers so slowly that all of them would "+
			"take longer than %v", taken, plan.Slices, u.Host+path.Join(u.Path, page), plan.Over))
	}
	if len(all) == 0 {
		return nil, empty
	}
	if all[0].Seconds += idle; all[0].Pprof.DurationNanos > 0 {
		all[0].Pprof.DurationNanos += int64(idle * float64(time.Second))
	}
	if len(failed) > 0 {
		o.Warn(fmt.Sprintf("%d of %d slices of %s failed, and are left out: %s", len(failed), plan.Slices,
			u.Host+path.Join(u.Path, page), tail.First(failed[0].Error())))
	}
	return all, nil
}

// waitUntil waits for a time.
func waitUntil(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(at)):
	}
	return ctx.Err()
}

// onePage takes one profile of some seconds. It returns one without samples beside the error.
func onePage(ctx context.Context, u url.URL, page string, seconds int, o Options) (*hotspots.Profile, error) {
	if page != "" {
		u.Path = path.Join(u.Path, page)
	}
	q := u.Query()
	if q.Get("seconds") == "" {
		q.Set("seconds", strconv.Itoa(seconds))
	}
	u.RawQuery = q.Encode()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+o.answer)
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
	if p.Seconds == 0 {
		p.Seconds = float64(seconds) // delta profiles do not hold their length
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
