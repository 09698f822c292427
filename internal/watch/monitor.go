package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A Limit bounds a series of a service: the processors of an instance, the cost of a month, the
// error budget of an SLO. The mean of the last Over values counts.
type Limit struct {
	Name    string  // as findings and people call it: "saturation", "cost", "slo NAME"
	Kind    Kind    // of the finding when it is passed
	Most    float64 // a mean above it is a finding
	Over    int     // values in the mean, as far as there are as many; at least 1
	Unit    string  // of the values, for people: "cores", "USD a month", "of all events"
	Percent bool    // the values are shares
}

// A Trend is the past of a series, and its forecast. Ahead is empty where no forecast is shown.
type Trend struct {
	Past  []float64
	Ahead []Expected
	End   time.Time     // of the last past value
	Step  time.Duration // from one value to the next
}

// An Expected value of a forecast has a 90 % interval.
type Expected struct{ Mean, Low, High float64 }

// FindingAgainst returns the finding that the trend passes a limit, now or in the forecast, or nil.
// A forecast passes it where its mean does; the finding has the interval.
func (t Trend) FindingAgainst(l Limit) *Finding {
	if len(t.Past) == 0 {
		return nil
	}
	// Is the limit passed now?
	now := t.mean(l.Over, 0, func(e Expected) float64 { return e.Mean })
	f := &Finding{Kind: l.Kind, Subject: l.Name, Since: t.End, Before: l.Most, After: now}
	if now > l.Most {
		f.Change = Interval{now - l.Most, now - l.Most, now - l.Most}
		what := "the last window has"
		if n := min(l.Over, len(t.Past)); n > 1 {
			what = fmt.Sprintf("the mean of the last %d windows is", n)
		}
		f.Cause = fmt.Sprintf("%s %s, above %s", what, l.say(now), l.say(l.Most))
		return f
	}
	// Is it passed in the forecast? The first time counts.
	for n := 1; n <= len(t.Ahead); n++ {
		mean := t.mean(l.Over, n, func(e Expected) float64 { return e.Mean })
		if mean <= l.Most {
			continue
		}
		low := t.mean(l.Over, n, func(e Expected) float64 { return e.Low })
		high := t.mean(l.Over, n, func(e Expected) float64 { return e.High })
		f.Kind, f.After, f.Since = BreachAhead, mean, t.End.Add(time.Duration(n)*t.Step)
		f.Change = Interval{mean - l.Most, low - l.Most, high - l.Most}
		f.Cause = fmt.Sprintf("the forecast passes %s in %s: %s (90 %%: %s to %s), now %s", l.say(l.Most),
			time.Duration(n)*t.Step, l.say(mean), l.say(low), l.say(high), l.say(now))
		return f
	}
	return nil
}

// mean returns the mean of the last values, n of which are forecast.
func (t Trend) mean(over, n int, of func(Expected) float64) float64 {
	over = max(1, over)
	ahead := t.Ahead[max(0, n-over):n]
	past := t.Past[max(0, len(t.Past)-(over-len(ahead))):]
	total := sum(past)
	for _, e := range ahead {
		total += of(e)
	}
	return total / float64(len(past)+len(ahead))
}

func (l Limit) say(x float64) string {
	if l.Percent {
		return fmt.Sprintf("%.3g %% %s", 100*x, l.Unit)
	}
	return fmt.Sprintf("%.4g %s", x, l.Unit)
}

// A Burn is an alert on two windows: the long one says that the budget burns, the short one that
// it still does. The rates and windows are those of Google's "Site Reliability Workbook", chapter
// 5: for a budget of 30 days they are 2 % of it in an hour, 5 % in six, and 10 % in a day or three.
type Burn struct {
	Long, Short string // windows, as Prometheus writes them
	Rate        float64
}

// Burns are the alerts, the fastest first.
var Burns = []Burn{{"1h", "5m", 14.4}, {"6h", "30m", 6}, {"1d", "2h", 3}, {"3d", "6h", 1}}

// An SLO is a promise of a service, with the share of bad events in windows until now.
type SLO struct {
	Name    string
	Allowed float64            // share of bad events that the objective leaves
	Bad     map[string]float64 // by window; a window without events is left out
}

// Burning returns the finding that an SLO's error budget burns too fast, or nil.
func (s SLO) Burning(now time.Time) *Finding {
	for _, b := range Burns {
		long, ok := s.Bad[b.Long]
		short, also := s.Bad[b.Short]
		if most := b.Bound(s.Allowed); ok && also && long > most && short > most {
			return &Finding{Kind: BurnRate, Subject: "slo " + s.Name, Since: now, Before: most, After: long,
				Change: Interval{long - most, long - most, long - most},
				Cause: fmt.Sprintf("the error budget burns %.3g times as fast as it lasts: %.3g %% of the events "+
					"of %s are bad, and %.3g %% of those of %s; the objective leaves %.3g %%",
					long/s.Allowed, 100*long, b.Long, 100*short, b.Short, 100*s.Allowed)}
		}
	}
	return nil
}

// Bound returns the share of bad events above which an alert fires. Where the budget is so large
// that all events would have to be bad, and more, it is half way between the budget and all.
func (b Burn) Bound(allowed float64) float64 {
	if most := b.Rate * allowed; most < 1 {
		return most
	}
	return (1 + allowed) / 2
}

// News takes the present findings on limits and burn rates, and returns the new ones. A finding
// that went away is new when it comes back.
func (w *Watch) News(standing []Finding) (fresh []Finding) {
	stands := map[string]bool{}
	for _, f := range standing {
		k := key(f.Kind, f.Subject)
		stands[k] = true
		if _, told := w.Known[k]; !told {
			w.Known[k] = f.Since
			fresh = append(fresh, f)
		}
	}
	maps.DeleteFunc(w.Known, func(k string, _ time.Time) bool {
		kind, _, _ := strings.Cut(k, " ")
		return slices.Contains(Monitored, Kind(kind)) && !stands[k]
	})
	return fresh
}

// A Turn is a service that waits for someone to make it cheaper.
type Turn struct {
	Service  string    `json:"service"`
	At       time.Time `json:"at"`                 // when it was last looked at
	Cost     float64   `json:"cost"`               // processors that an instance keeps busy; USD a month with a price
	Currency string    `json:"currency,omitempty"` // of the cost, "" for processors
	First    string    `json:"first,omitempty"`    // the limit that it breaches, or will: it goes first until then
	Until    time.Time `json:"until,omitzero"`
	Spots    []Spot    `json:"spots"` // the largest first
}

// A Spot is a function of a service that is worth a search.
type Spot struct {
	Function string  `json:"function"`
	Share    float64 `json:"share"` // of the service's samples, in the function itself
}

// Ahead reports whether a service goes before others at a time.
func (t Turn) Ahead(now time.Time) bool { return t.First != "" && now.Before(t.Until) }

// Order sorts services: first those that breach a limit or will, then the most expensive ones.
func Order(turns []Turn, now time.Time) {
	inorder.By(turns, func(a, b Turn) int {
		if a.Ahead(now) != b.Ahead(now) {
			if a.Ahead(now) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Service, b.Service))
	})
}

// An Expense is money that a campaign of a watch took, or took back.
type Expense struct {
	Service  string    `json:"service"`
	At       time.Time `json:"at"`
	Amount   float64   `json:"amount"` // reserved before it starts; then what was not used, negative
	Currency string    `json:"currency"`
	Answers  string    `json:"answers,omitempty"` // kind and name of the finding
	Why      string    `json:"why"`
}

// Answer returns the key by which a spending names its finding.
func (f Finding) Answer() string { return key(f.Kind, cmp.Or(f.Function, f.Subject)) }

// A limit that still stands is answered once more after a day, by the next hot spot. A function
// that changed is answered once, within a week.
const (
	againAfter = 24 * time.Hour
	worthWhile = 7 * 24 * time.Hour
)

// Unanswered returns the findings of a service for which no money was spent yet: those on limits,
// then those on functions, the latest first.
func Unanswered(service string, standing, found []Finding, spent []Expense, now time.Time) (out []Finding) {
	answered := func(f Finding, since time.Time) bool {
		return slices.ContainsFunc(spent, func(s Expense) bool {
			return s.Service == service && s.Answers == f.Answer() && !s.At.Before(since)
		})
	}
	for _, f := range standing {
		if !answered(f, now.Add(-againAfter)) {
			out = append(out, f)
		}
	}
	for _, f := range slices.Backward(found) {
		if f.Function != "" && f.Since.After(now.Add(-worthWhile)) && !answered(f, f.Since) {
			out = append(out, f)
		}
	}
	return out
}

// BudgetPeriod is the time over which a budget for campaigns counts.
const BudgetPeriod = 30 * 24 * time.Hour

// Left returns the rest of a budget after the spendings of the last 30 days in its currency.
func Left(budget float64, currency string, all []Expense, now time.Time) float64 {
	for _, s := range all {
		if s.Currency == currency && s.At.After(now.Add(-BudgetPeriod)) {
			budget -= s.Amount
		}
	}
	return max(0, budget)
}
