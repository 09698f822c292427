package windows

import (
	"cmp"
	"fmt"
	"time"

	"github.com/beagle-go/beagle/internal/forecast"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/watch"
)

// An Outlook is a forecast of one series of a service.
type Outlook struct {
	Series string          `json:"series"` // "cores", "slo NAME", or a function whose share it is
	Step   float64         `json:"step"`   // seconds from one value to the next
	Latest float64         `json:"latest"` // the last value that was seen
	Result forecast.Result `json:"forecast"`
}

// maxSeries is the number of functions whose shares are forecast: the largest.
const maxSeries = 5

// A Horizon says how far to forecast windows, and with which models.
type Horizon struct {
	Season int              // windows after which the load repeats
	Steps  int              // windows to forecast
	More   []forecast.Model // tried beside damped Holt-Winters
}

// Outlooks forecasts the processors that the service takes and the shares of its largest functions.
// The series is the last run of windows without a gap. A series that is too short has no outlook;
// why says so when none has one.
func Outlooks(windows []watch.Window, length time.Duration, h Horizon) (out []Outlook, why string) {
	run := regular(windows, length)
	if len(run) == 0 {
		return nil, "there is no window"
	}
	if len(run) < len(windows) {
		why = fmt.Sprintf("a gap: only the last %d windows follow each other", len(run))
	}
	models := append([]forecast.Model{forecast.HoltWinters{Season: h.Season}}, h.More...)
	for _, s := range series(run) {
		r, err := forecast.Choose(s.values, h.Season, h.Steps, models...)
		if err != nil {
			why = cmp.Or(why, fmt.Sprintf("%d windows: %v", len(run), err))
			continue
		}
		for i := range r.Values {
			r.Values[i] = s.bounded(r.Values[i])
		}
		out = append(out, Outlook{Series: s.name, Step: length.Seconds(), Latest: s.values[len(s.values)-1], Result: r})
	}
	if len(out) > 0 {
		why = ""
	}
	return out, why
}

// Trends returns the series of [Outlooks] with their forecasts, by name. A series that is too short
// for a forecast is there without one.
func Trends(windows []watch.Window, length time.Duration, ahead []Outlook) map[string]watch.Trend {
	out := map[string]watch.Trend{}
	run := regular(windows, length)
	if len(run) == 0 {
		return out
	}
	for _, s := range series(run) {
		t := watch.Trend{Past: s.values, End: run[len(run)-1].End, Step: length}
		for _, o := range ahead {
			if o.Series == s.name && o.Result.Shown {
				for _, v := range o.Result.Values {
					t.Ahead = append(t.Ahead, watch.Expected{Mean: v.Mean, Low: v.Low, High: v.High})
				}
			}
		}
		out[s.name] = t
	}
	return out
}

// regular returns the last windows that begin one length apart, give or take half of it.
func regular(windows []watch.Window, length time.Duration) []watch.Window {
	for i := len(windows) - 1; i > 0; i-- {
		if step := windows[i].Start.Sub(windows[i-1].Start); step > length+length/2 {
			return windows[i:]
		}
	}
	return windows
}

type named struct {
	name   string
	values []float64
	most   float64 // that a value can be; 0 for no bound
}

// bounded keeps a forecast where the series can go.
func (n named) bounded(v forecast.Value) forecast.Value {
	for _, x := range []*float64{&v.Mean, &v.Low, &v.High} {
		*x = max(0, *x)
		if n.most > 0 {
			*x = min(n.most, *x)
		}
	}
	return v
}

// series lists the series to forecast: the processors, and the largest functions by their own
// share.
func series(windows []watch.Window) (out []named) {
	cores := named{name: "cores"}
	flat := map[string]int64{}
	for _, w := range windows {
		cores.values = append(cores.values, w.Cores)
		for _, r := range w.Rows {
			flat[r.Function] += r.Flat
		}
	}
	out = append(out, cores)
	for slo := range windows[len(windows)-1].Bad {
		s := named{name: "slo " + slo, most: 1}
		for _, w := range windows {
			bad, ok := w.Bad[slo]
			if !ok {
				s.values = nil // the series goes on after the gap
				continue
			}
			s.values = append(s.values, bad)
		}
		out = append(out, s)
	}
	inorder.By(out[1:], func(a, b named) int { return cmp.Compare(a.name, b.name) })
	var names []string
	for name := range flat {
		names = append(names, name)
	}
	inorder.By(names, func(a, b string) int { return cmp.Or(cmp.Compare(flat[b], flat[a]), cmp.Compare(a, b)) })
	for _, name := range names[:min(maxSeries, len(names))] {
		s := named{name: name, most: 1}
		for _, w := range windows {
			share := 0.0
			for _, r := range w.Rows {
				if r.Function == name {
					share = float64(r.Flat) / float64(w.Samples)
				}
			}
			s.values = append(s.values, share)
		}
		out = append(out, s)
	}
	return out
}
