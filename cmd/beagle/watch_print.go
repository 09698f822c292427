package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/windows"
)

// report collects the state of the watch after a look.
func (w *watcher) report(j *windows.LookResult) (*windows.Report, error) {
	r := &windows.Report{Service: w.name, Added: j.Windows, Findings: j.Findings, Skipped: j.Skipped,
		Refused: j.Refused}
	if !j.Open.IsZero() {
		r.Open = j.Open.Format(time.RFC3339)
	}
	// The findings are those of this look, or all that were kept.
	var err error
	if r.Kept, err = w.archive.Count(); err != nil {
		return nil, err
	}
	if w.all {
		if r.Findings, err = w.archive.Findings(); err != nil {
			return nil, err
		}
	}
	if r.Findings == nil {
		r.Findings = []watch.Finding{}
	}
	inorder.By(r.Findings, func(a, b watch.Finding) int {
		return cmp.Compare(findingCost(b), findingCost(a))
	})
	// Look ahead by as much as was asked for, by a season if there is one, or by twelve windows.
	if all := w.archive.Watch.Windows; len(all) > 0 {
		r.From, r.Until = all[0].Start.Format(time.RFC3339), all[len(all)-1].End.Format(time.RFC3339)
		ahead := windows.Horizon{Season: w.season, Steps: cmp.Or(w.horizon, 12), More: w.models}
		if w.horizon == 0 && w.season > 1 {
			ahead.Steps = w.season
		}
		r.Outlooks, r.NoOutlook = windows.Outlooks(all, w.window, ahead)
	}
	return r, nil
}

// findingCost orders findings: the most expensive one comes first.
func findingCost(f watch.Finding) float64 { return max(f.Change.Estimate, -f.Change.Estimate) }

// print prints a look at the service, and its findings.
func (w *watcher) print(r *windows.Report) error {
	if w.asJSON {
		return printJSON(w.std.out, r)
	}
	// Begin with how much was searched: no finding in few windows means little.
	p := newPainter(w.std.out)
	fmt.Fprintf(p, "%s: %d new windows, %d kept", r.Service, r.Added, r.Kept)
	if r.From != "" {
		fmt.Fprintf(p, ", searched from %s until %s", r.From, r.Until)
	}
	fmt.Fprintln(p)
	for _, why := range r.Refused {
		fmt.Fprintf(p, "not used: %s\n", clean(why))
	}
	for _, f := range r.Findings {
		printFinding(p, f)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(p, "Nothing new.")
	}
	if r.Open != "" {
		fmt.Fprintf(p, "A window with profiles is open until %s: it is searched then.\n", r.Open)
	}
	printOutlooks(p, r)
	return nil
}

// printFinding prints a finding with its cause and its command.
func printFinding(p painter, f watch.Finding) {
	p.heading(fmt.Sprintf("%s  %s", f.Kind, clean(cmp.Or(f.Function, f.Subject))))
	if f.Kind == watch.NewInputs {
		fmt.Fprintf(p, "  drift      %.2f (95 %%: %.2f to %.2f)\n", f.Change.Estimate, f.Change.Low, f.Change.High)
	} else if f.Subject == "" && f.Change != (watch.Interval{}) {
		fmt.Fprintf(p, "  share      %s -> %s of the service (change %s, 95 %%: %s to %s)\n", percent(f.Before),
			percent(f.After), points(f.Change.Estimate), points(f.Change.Low), points(f.Change.High))
	}
	fmt.Fprintf(p, "  since      %s\n  cause      %s\n  answer     %s\n", f.Since.Format(time.RFC3339), clean(f.Cause),
		clean(f.Command))
}

func points(x float64) string { return fmt.Sprintf("%+.2f points", 100*x) }

// printOutlooks shows a forecast only where its model beats the seasonal naive one.
func printOutlooks(p painter, r *windows.Report) {
	shown := 0
	for _, o := range r.Outlooks {
		if !o.Result.Shown {
			continue
		}
		if shown++; shown == 1 {
			p.heading("Forecast, where it beats the seasonal naive one on the series' own past")
		}
		// The line has the present value, and the end of the forecast with its interval.
		last := o.Result.Values[len(o.Result.Values)-1]
		in := time.Duration(float64(len(o.Result.Values)) * o.Step * float64(time.Second))
		say := percent
		if o.Series == "cores" {
			say = func(x float64) string { return fmt.Sprintf("%.2f", x) }
		}
		fmt.Fprintf(p, "  %-40s now %s, in %s %s (90 %%: %s to %s)  %s\n", clean(o.Series), say(o.Latest), in,
			say(last.Mean), say(last.Low), say(last.High), o.Result.Model)
	}
}

// watchGauges are the state of a watch as Prometheus metrics.
type watchGauges struct {
	mu       sync.Mutex
	findings map[watch.Kind]int
	windows  int
	refused  int
	failures int
	last     time.Time
}

// count adds a look to the command's own metrics.
func (g *watchGauges) count(a *windows.Archive, j *windows.LookResult) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.findings == nil {
		g.findings = map[watch.Kind]int{}
	}
	for _, f := range j.Findings {
		g.findings[f.Kind]++
	}
	g.windows += j.Windows
	g.refused += len(j.Refused)
	if n := len(a.Watch.Windows); n > 0 {
		g.last = a.Watch.Windows[n-1].End
	}
}

func (g *watchGauges) failed() {
	g.mu.Lock()
	g.failures++
	g.mu.Unlock()
}

// write prints the metrics in Prometheus' text form.
func (g *watchGauges) write(service string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	b.WriteString("# TYPE beagle_watch_findings_total counter\n")
	for _, kind := range watch.Kinds {
		fmt.Fprintf(&b, "beagle_watch_findings_total{service=%q,kind=%q} %d\n", service, kind, g.findings[kind])
	}
	fmt.Fprintf(&b, "# TYPE beagle_watch_windows_total counter\nbeagle_watch_windows_total{service=%q} %d\n", service,
		g.windows)
	fmt.Fprintf(&b, "# TYPE beagle_watch_refused_windows_total counter\n"+
		"beagle_watch_refused_windows_total{service=%q} %d\n", service, g.refused)
	fmt.Fprintf(&b, "# TYPE beagle_watch_failed_looks_total counter\nbeagle_watch_failed_looks_total{service=%q} %d\n",
		service, g.failures)
	// An alert on a silent watcher needs the time of the last window; 0 before the first.
	last := 0.0
	if !g.last.IsZero() {
		last = float64(g.last.Unix())
	}
	fmt.Fprintf(&b, "# TYPE beagle_watch_last_window_timestamp_seconds gauge\n"+
		"beagle_watch_last_window_timestamp_seconds{service=%q} %.0f\n", service, last)
	return b.String()
}

// serve answers scrapes at --listen until stop is called.
func (w *watcher) serve() (stop func(), err error) {
	if w.listen == "" {
		return func() {}, nil
	}
	// Listen before the first look, so that a taken address fails at once.
	l, err := net.Listen("tcp", w.listen)
	if err != nil {
		return nil, &beagle.UsageError{What: "--listen: " + err.Error(),
			Remedy: "give a free address, as in 127.0.0.1:9109"}
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprint(out, w.gauges.write(w.name))
		})}
	go server.Serve(l)
	fmt.Fprintf(w.std.err, "metrics at http://%s/metrics\n", l.Addr())
	return func() { server.Close() }, nil
}
