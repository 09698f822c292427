package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/source"
)

// target loads the function that a corpus is wanted of; nil without --out.
func (o *captureFlags) target(ctx context.Context) (*source.Unit, error) {
	if o.out == "" && !o.json {
		return nil, nil
	}
	if len(o.rest) != 1 {
		return nil, &beagle.UsageError{What: fmt.Sprintf("--json with %d sites", len(o.rest)),
			Remedy: "a corpus is of one function: name that one"}
	}
	u, err := source.Load(ctx,
		source.Options{Dir: o.dir, Spec: o.rest[0], Tags: o.tags, InPlace: len(o.leave) > 0})
	if err == nil {
		_, err = o.leaving(u)
	}
	return u, err
}

// leaving returns the parameters that records leave out, by index. A function whose calls records
// can hold leaves none out: evolve would take the zeros in their place for what the service gives.
func (o *captureFlags) leaving(u *source.Unit) (list []int, err error) {
	if len(o.leave) > 0 && u.Unrecordable == nil {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("--leave %s: records can hold all parameters of %s", strings.Join(o.leave, ","),
				u.Target.Spec()),
			Remedy: "leave --leave out: without all arguments, evolve would judge versions on zeros",
		}
	}
	for _, name := range o.leave {
		i := slices.IndexFunc(u.Target.Params, func(q beagle.Param) bool { return q.Name == name })
		if i < 0 {
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("--leave %s: %s has no such parameter", name, u.Target.Spec()),
				Remedy: "name its parameters as they are declared, the receiver too",
			}
		}
		list = append(list, i)
	}
	return list, nil
}

// capturePull takes the waiting calls of a capture that runs elsewhere. It writes the calls of the
// processes that answer, since these keep them no longer.
func capturePull(ctx context.Context, o *captureFlags, clients []*capture.Client) (int, error) {
	if o.out == "" && !o.json {
		return exitUsage, &beagle.UsageError{What: "pull needs --out", Remedy: "name the file for the calls"}
	}
	// Open the file before taking: the processes forget the calls that they hand out.
	target, err := o.target(ctx)
	if err != nil {
		return exitUsage, err
	}
	if err := o.openFile(target); err != nil {
		return exitNo, err
	}
	all := make([]capture.Pulled, len(clients))
	err = capture.Each(clients, func(i int, c *capture.Client) error {
		all[i] = capture.Pulled{Address: c.Address}
		return capture.Drain(ctx, c, &all[i])
	})
	if !slices.ContainsFunc(all, func(p capture.Pulled) bool { return p.Status.Sites != nil }) && err != nil {
		return exitNo, err
	}
	status, bad := o.deliver(target, all, statusOf(err))
	return status, errors.Join(err, bad)
}

// deliver writes the calls to the file, with those that it holds already, and prints the corpus.
func (o *captureFlags) deliver(u *source.Unit, all []capture.Pulled, status int) (int, error) {
	// Convert the calls to records, and describe them as a corpus.
	leave, err := o.leaving(u)
	if err != nil {
		return exitUsage, err
	}
	r, err := capture.Convert(u, all, leave...)
	if err != nil {
		return exitUsage, err
	}
	c, err := corpus.Observed(u, r.List, r.Seen)
	if err != nil {
		return exitNo, err
	}
	// Write them.
	if o.out != "" {
		if err := o.file.write(u, r); err != nil {
			return exitNo, err
		}
	}
	if o.json {
		return status, printJSON(o.std.out, c)
	}
	// Print the corpus, and the calls that are left out.
	fmt.Fprintf(o.std.out, "%d distinct calls of %s", len(c.Train)+len(c.Holdout), u.Target.Spec())
	if o.out != "" {
		fmt.Fprintf(o.std.out, " in %s", o.out)
	}
	fmt.Fprintln(o.std.out)
	for _, s := range c.Sources {
		fmt.Fprintf(o.std.out, "  from     %s\n", s)
	}
	printAgain(o.std.out, c)
	if r.MadeUp > 0 {
		fmt.Fprintf(o.std.out,
			"  made up  text of %d calls: it has the length and the characters' classes of the recorded text\n",
			r.MadeUp)
	}
	if r.Answered > 0 {
		fmt.Fprintf(o.std.out, "  results  of %d calls are kept with them\n", r.Answered)
	}
	for _, why := range r.Mute {
		fmt.Fprintf(o.std.out, "  no result %s\n", why)
	}
	for _, why := range r.Seen.Why {
		fmt.Fprintf(o.std.out, "  left out %s\n", why)
	}
	return status, nil
}

// printAgain prints how near in time the same arguments come again, and whether calls overlap.
func printAgain(w io.Writer, c *beagle.Corpus) {
	for _, a := range c.Facets.Again {
		if a.Low > 2*a.Chance {
			fmt.Fprintf(w,
				"  again    %.3g %% of the calls have the arguments of the one %.0f calls before (95 %%: %.3g to "+
					"%.3g); of any two calls %.2g %% have\n", 100*a.Share, a.Calls, 100*a.Low, 100*a.High, 100*a.Chance)
			break // the nearest says most
		}
	}
	if c.Concurrent {
		fmt.Fprintln(w, "  together several goroutines called it at once")
	}
	if f := c.Facets.InFlight; f != nil {
		fmt.Fprintf(w, "  inside   %.2g other calls of a process are under way in the mean (while the median call is: "+
			"%.2g, 99 of 100: %.2g at most)\n", f.Mean, f.Median, f.P99)
		if b := f.Beside; b != nil {
			fmt.Fprintf(w, "  beside   of %.0f calls %.3g %% begin while no other is under way, %.3g %% beside one, "+
				"%.3g %% beside 2 or 3, %.3g %% beside more\n", b.Calls, 100*b.None, 100*b.One, 100*b.Few, 100*b.Many)
		}
	}
}

// emptyReasons returns the reasons why a capture has no records.
func emptyReasons(r *capture.Records) string {
	if len(r.Seen.Why) == 0 {
		return ": it was not called"
	}
	return ": " + strings.Join(r.Seen.Why, "; ")
}

// captureAsk asks a question, and prints the share with its interval.
func captureAsk(ctx context.Context, o *captureFlags, clients []*capture.Client) (int, error) {
	// Ask for a while.
	q := &capture.Question{
		Site:    o.sites(o.rest[:1])[0],
		Text:    o.rest[1],
		Start:   o.start,
		Long:    o.long,
		Samples: o.samples,
	}
	if q.Start.Rate == 0 {
		q.Start.Rate = 1000
	}
	p := newProgress(o.std.err, o.json)
	p.waits("ask", q.Text)
	sum, err := q.Ask(ctx, clients)
	p.stop()
	if err != nil && (sum == nil || sum.Yes+sum.No == 0) {
		return exitNo, err
	}
	// Print the answer, also when it lacks the calls of a lost process.
	if o.json {
		return statusOf(err), errors.Join(err, printJSON(o.std.out, sum))
	}
	n := sum.Yes + sum.No
	fmt.Fprintf(o.std.out, "%s: %s\n", sum.Site, sum.Condition)
	if n == 0 {
		fmt.Fprintf(o.std.out, "  no call decided it in %v\n", o.long.Round(time.Millisecond))
	} else {
		fmt.Fprintf(o.std.out, "  holds for %d of %d calls: %.4g %% (95 %%: %.4g to %.4g)\n", sum.Yes, n,
			100*sum.Share.Share,
			100*sum.Share.Low, 100*sum.Share.High)
	}
	if sum.Undecided > 0 {
		fmt.Fprintf(o.std.out, "  undecided for %d calls: out of range, nil, secret or too much work\n", sum.Undecided)
	}
	if n == 0 {
		return exitNo, nil
	}
	return statusOf(err), err
}
