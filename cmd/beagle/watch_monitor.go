package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/rollout/slo"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/windows"
)

// A monitor watches the limits of a service: its SLOs, its cost, and the load of an instance.
type monitor struct {
	*hotspotJob
	prometheus *pilot.Guards // nil without SLOs
	objectives []slo.Objective
	length     time.Duration
	warn       func(string)
}

// hoursAMonth is the length of a month for its cost.
const hoursAMonth = 730

// monitor reads what beagle.yaml says of limits.
func (w *watcher) monitor() (*monitor, error) {
	m := &monitor{hotspotJob: w.job, length: w.window,
		warn: func(text string) {
			if !w.quiet {
				fmt.Fprintf(w.std.err, "warning: %s\n", clean(text))
			}
		}}
	s := w.job.settings
	if s == nil {
		return m, nil
	}
	// The rollout's Prometheus and service levels are the default.
	address, from := s.Watch.Prometheus, s.Watch.From
	if s.Rollout != nil {
		address = cmp.Or(address, s.Rollout.Prometheus)
		if len(from) == 0 {
			from = s.Rollout.From
		}
	}
	// Without service levels there is nothing to ask Prometheus for.
	if len(from) == 0 {
		return m, nil
	}
	m.prometheus = &pilot.Guards{Prometheus: address, Token: os.Getenv(pilot.PrometheusToken)}
	if err := m.prometheus.Check(); err != nil {
		return nil, &beagle.UsageError{What: w.job.file + ": watch: " + err.Error(),
			Remedy: "docs/watch.md has an example"}
	}
	// The file names its neighbours, wherever the watch was started.
	for _, name := range from {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(w.job.file), name)
		}
		g, err := deriveGuardrails(name)
		if err != nil {
			return nil, err
		}
		m.objectives = append(m.objectives, g.Objectives...)
	}
	return m, nil
}

// badShare asks for the share of bad events of an objective in a window that ends at a time. The
// share of a window without events is 0.
func (m *monitor) badShare(ctx context.Context, o slo.Objective, window string, end time.Time) (float64, bool) {
	bad, total, ratio := o.Queries(window)
	ask := *m.prometheus
	ask.At = end
	v, err := ask.Figure(ctx, &pilot.Guard{Name: o.Name, Bad: bad, Total: total, Query: ratio, Absent: "zero"})
	switch {
	case err == nil:
		return v, true
	case !errors.Is(err, pilot.ErrFewEvents) && ctx.Err() == nil:
		m.warn(fmt.Sprintf("SLO %s over %s: %v", o.Name, window, err))
	}
	return 0, false
}

// badCounts returns a window's counts for the SLOs.
func (m *monitor) badCounts(ctx context.Context) func(time.Time, time.Duration) map[string]float64 {
	if len(m.objectives) == 0 {
		return nil
	}
	return func(end time.Time, length time.Duration) map[string]float64 {
		// A store that hangs must not hold up the look: a window without counts is used as it is.
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		out := map[string]float64{}
		for _, o := range m.objectives {
			if v, ok := m.badShare(ctx, o, fmt.Sprintf("%.0fs", length.Seconds()), end); ok {
				out[o.Name] = v
			}
		}
		return out
	}
}

// limitFindings returns what passes a limit now, or will.
func (m *monitor) limitFindings(ctx context.Context, c watch.Config, trends map[string]watch.Trend,
	now time.Time) (out []watch.Finding) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// Look at each objective: whether it burns now, and whether its trend will breach it.
	for _, o := range m.objectives {
		s := watch.SLO{Name: o.Name, Allowed: o.Allowed, Bad: map[string]float64{}}
		for _, b := range watch.Burns {
			for _, window := range []string{b.Long, b.Short} {
				if v, ok := m.badShare(ctx, o, window, now); ok {
					s.Bad[window] = v
				}
			}
		}
		if f := s.Burning(now); f != nil {
			out = append(out, *f)
		}
		out = append(out, trendFindings(trends["slo "+o.Name], watch.Limit{Name: "slo " + o.Name,
			Kind: watch.SLOBreached,
			Most: o.Allowed, Over: int(watch.BudgetPeriod / m.length), Unit: "of all events", Percent: true})...)
	}
	if m.settings == nil {
		return out
	}
	// Look at the processors and at the cost, if there are limits.
	limits, cores := m.settings.Watch, trends["cores"]
	out = append(out, trendFindings(cores, watch.Limit{Name: "saturation", Kind: watch.Saturated, Over: 1,
		Most: limits.Cores * cmp.Or(limits.Saturated, 0.8), Unit: "processors of an instance"})...)
	if price := m.options.Service.Price; price != nil {
		out = append(out, trendFindings(scaled(cores, m.monthly(1)), watch.Limit{Name: "cost", Kind: watch.OverBudget,
			Most: limits.Budget, Over: max(c.Season, c.Settle), Unit: price.Currency + " a month"})...)
	}
	return out
}

// trendFindings looks at a limit, if there is one.
func trendFindings(t watch.Trend, l watch.Limit) []watch.Finding {
	if l.Most > 0 {
		if f := t.FindingAgainst(l); f != nil {
			return []watch.Finding{*f}
		}
	}
	return nil
}

// monthly returns the cost of this many processors of each instance in a month.
func (m *monitor) monthly(cores float64) float64 {
	s := &m.options.Service
	return cores * cmp.Or(s.Replicas, 1) / cmp.Or(s.Utilisation, 1) * s.Price.Amount * hoursAMonth
}

// scaled multiplies a trend.
func scaled(t watch.Trend, by float64) watch.Trend {
	out := watch.Trend{End: t.End, Step: t.Step}
	for _, x := range t.Past {
		out.Past = append(out.Past, x*by)
	}
	for _, e := range t.Ahead {
		out.Ahead = append(out.Ahead, watch.Expected{Mean: e.Mean * by, Low: e.Low * by, High: e.High * by})
	}
	return out
}

// limits enters what stands of the limits: new findings join those of the look, and the service
// moves ahead of others as long as something stands.
func (w *watcher) limits(ctx context.Context, j *windows.LookResult, r *windows.Report) (standing []watch.Finding,
	err error) {
	now := time.Now().UTC()
	all := w.archive.Watch.Windows
	standing = w.monitored.limitFindings(ctx, w.archive.Watch.Config,
		windows.Trends(all, w.window, r.Outlooks), now)
	for i := range standing {
		f := &standing[i]
		f.Service, f.Command = w.name, "beagle campaign"
		if f.Kind == watch.BurnRate || f.Kind == watch.SLOBreached {
			f.Command = "beagle hotspots" // an error has other causes than processor time, slowness may not
		}
		if w.service != "" {
			f.Command += " --service " + w.service
		}
	}
	fresh, err := w.archive.News(standing)
	if err != nil {
		return nil, err
	}
	j.Findings = append(j.Findings, fresh...)
	r.Findings = append(r.Findings, fresh...)
	if len(all) == 0 {
		return standing, nil
	}
	return standing, w.keepTurn(w.turn(all, r.Outlooks, standing, now))
}

// turn says when the service's hot spots are due. A limit that is passed, or will be, puts them
// in front of others' until the forecast's end, or for a window more; the next look renews that.
func (w *watcher) turn(all []watch.Window, ahead []windows.Outlook, standing []watch.Finding,
	now time.Time) watch.Turn {
	last := all[len(all)-1]
	t := watch.Turn{Service: w.name, At: now, Cost: last.Cores, Spots: []watch.Spot{}}
	if price := w.job.options.Service.Price; price != nil {
		t.Cost, t.Currency = w.monitored.monthly(last.Cores), price.Currency
	}
	if len(standing) > 0 {
		f := slices.MinFunc(standing, func(a, b watch.Finding) int { return a.Since.Compare(b.Since) })
		steps := 1
		for _, o := range ahead {
			steps = max(steps, len(o.Result.Values))
		}
		t.First, t.Until = f.Subject+": "+f.Cause, last.End.Add(time.Duration(1+steps)*w.window)
		if f.Kind == watch.BurnRate {
			t.Until = now.Add(w.window) // it is of now, whenever the service was profiled
		}
	}
	rows := slices.Clone(last.Rows)
	inorder.By(rows, func(a, b watch.Row) int { return cmp.Compare(b.Flat, a.Flat) })
	for _, row := range rows {
		share := float64(row.Flat) / float64(last.Samples)
		if w.options.Checkout == nil || !w.options.Checkout.Owns(watch.PackageOf(row.Function)) ||
			share < w.job.least/100 || len(t.Spots) == maxSpots {
			continue
		}
		t.Spots = append(t.Spots, watch.Spot{Function: row.Function, Share: share})
	}
	if w.options.Checkout == nil { // this look read no profile
		if old, err := readIfThere[watch.Turn](w.turnFile(), lookAgain); err == nil && old != nil {
			t.Spots = old.Spots
		}
	}
	return t
}

// maxSpots bounds the functions that a turn names.
const maxSpots = 5

// lookAgain mends a turn that cannot be read.
const lookAgain = "look at the service again"

func (w *watcher) turnFile() string {
	return filepath.Join(w.store.Dir(), "watch", w.name, "turn.json")
}

// keepTurn saves the service's turn for its next look.
func (w *watcher) keepTurn(t watch.Turn) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return w.store.WriteFile(w.turnFile(), append(text, '\n'))
}

// turns lists the services that were watched, the one that is next first.
func turns(dir string, now time.Time) ([]watch.Turn, error) {
	files, err := filepath.Glob(filepath.Join(dir, "watch", "*", "turn.json"))
	if err != nil {
		return nil, err
	}
	out := []watch.Turn{}
	// Another process may remove a file meanwhile, which is no error.
	for _, file := range files {
		t, err := readIfThere[watch.Turn](file, lookAgain)
		if err != nil {
			return nil, err
		}
		if t != nil {
			out = append(out, *t)
		}
	}
	watch.Order(out, now)
	return out, nil
}

// printNext prints which services and functions are next.
func (o *watchFlags) printNext() (int, error) {
	// Read the turns from the store.
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	now := time.Now()
	all, err := turns(s.Dir(), now)
	if err != nil {
		return exitNo, err
	}
	// Print them.
	if o.asJSON {
		return exitOK, printJSON(o.std.out, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(o.std.out, "No service was watched yet.")
	}
	p := newPainter(o.std.out)
	for i, t := range all {
		cost := fmt.Sprintf("%.2f processors of an instance", t.Cost)
		if t.Currency != "" {
			cost = amount(t.Cost) + " " + t.Currency + " a month"
		}
		p.heading(fmt.Sprintf("%d  %s  %s", i+1, clean(t.Service), cost))
		if t.Ahead(now) {
			fmt.Fprintf(p, "  first until %s: %s\n", t.Until.Format(time.RFC3339), clean(t.First))
		}
		for _, spot := range t.Spots {
			fmt.Fprintf(p, "  %7s  %s\n", percent(spot.Share), clean(spot.Function))
		}
	}
	return exitOK, nil
}

// A start is a campaign that answers a finding.
type start struct {
	because watch.Finding
	first   string // function to take up; "" for the hot spots in their order
}

// startOf picks the first finding that a campaign can answer, limits of the service before
// functions, or nil. The findings are in the order of [watch.Unanswered].
func startOf(found []watch.Finding) *start {
	for _, f := range found {
		function, search := strings.CutPrefix(f.Command, "beagle evolve ")
		switch {
		case strings.HasPrefix(f.Command, "beagle campaign"):
			return &start{because: f}
		case search && !strings.Contains(function, " "):
			return &start{because: f, first: function}
		}
	}
	return nil
}

const (
	usualCampaign = 10 * time.Minute // of processor time, where beagle.yaml does not say
	leastCampaign = 10 * time.Second
)

// campaign answers findings with a campaign, within the money. It books the highest possible cost
// before it begins, and gives the rest back at the end.
func (w *watcher) campaign(ctx context.Context, standing []watch.Finding) error {
	if w.campaigns == 0 {
		return nil
	}
	// Pick the first finding that no campaign has answered.
	found, err := w.archive.Findings()
	if err != nil {
		return err
	}
	spent, err := store.ReadLines[watch.Expense](w.spendingFile())
	if err != nil {
		return err
	}
	s := startOf(watch.Unanswered(w.name, standing, found, spent, time.Now()))
	if s == nil {
		return nil
	}
	say := func(form string, args ...any) { fmt.Fprintf(w.std.err, form+"\n", args...) }
	// Wait for a service with a limit that is passed or will be.
	queue, err := turns(w.store.Dir(), time.Now())
	if err != nil {
		return err
	}
	if len(queue) > 0 && queue[0].Service != w.name && queue[0].Ahead(time.Now()) {
		say("no campaign: %s is first (beagle watch --next)", queue[0].Service)
		return nil
	}
	// Reserve the money.
	price, processor := w.job.options.Service.Price, usualCampaign
	if y := w.job.settings; y != nil && y.Campaign.Processor > 0 {
		processor = y.Campaign.Processor
	}
	reserved, processor, err := w.reserve(price, processor, s)
	if err != nil {
		return err
	}
	if reserved == 0 {
		say("no campaign: of %g %s for 30 days too little is left (%s)", w.campaigns, price.Currency, w.spendingFile())
		return nil
	}
	// Run the campaign as its own verb would, with the flags of this one.
	args := []string{"-C", w.dir, "--targets", "1", "--processor", processor.String()}
	for flag, value := range map[string]string{"config": w.config, "service": w.service, "first": s.first,
		"price": w.price} {
		if value != "" {
			args = append(args, "--"+flag, value)
		}
	}
	say("campaign, since %s: %s", cmp.Or(s.because.Function, s.because.Subject), s.because.Cause)
	before := processorSeconds()
	_, failed := campaignCommand.run(ctx, campaignCommand, append(args, w.job.sources...),
		stdio{out: w.std.err, err: w.std.err})
	// Give back the money that it did not take.
	took := (processorSeconds() - before) / 3600 * price.Amount
	err = w.spend(watch.Expense{Service: w.name, At: time.Now().UTC(), Amount: took - reserved,
		Currency: price.Currency, Why: "not used"})
	if failed != nil {
		failed = fmt.Errorf("the campaign: %w", failed)
	}
	return errors.Join(failed, err)
}

// reserve notes the money that a campaign may spend: less if less is left, 0 if nothing is.
func (w *watcher) reserve(price *beagle.CorePrice, processor time.Duration, s *start) (float64, time.Duration, error) {
	// Several watches share the money: lock from the look at what is left to the entry.
	lock, err := w.store.LockPart(filepath.Join(w.store.Dir(), "watch", "spending"), "beagle watch --campaigns",
		"the record of spendings", "try again")
	if err != nil {
		return 0, 0, err
	}
	defer lock.Unlock()
	all, err := store.ReadLines[watch.Expense](w.spendingFile())
	if err != nil {
		return 0, 0, err
	}
	left := watch.Left(w.campaigns, price.Currency, all, time.Now())
	processor = min(processor, time.Duration(left/price.Amount*float64(time.Hour))).Truncate(time.Second)
	if processor < leastCampaign {
		return 0, 0, nil
	}
	cost := processor.Hours() * price.Amount
	return cost, processor, w.spend(watch.Expense{Service: w.name, At: time.Now().UTC(), Amount: cost,
		Currency: price.Currency, Answers: s.because.Answer(),
		Why: cmp.Or(s.because.Function, s.because.Subject) + ": " + s.because.Cause})
}

func (w *watcher) spendingFile() string {
	return filepath.Join(w.store.Dir(), "watch", "spending", "spending.jsonl")
}

func (w *watcher) spend(s watch.Expense) error {
	return store.AppendLine(w.spendingFile(), s)
}
