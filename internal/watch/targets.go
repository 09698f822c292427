package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
)

// ofTargets looks at the functions with a win or a corpus.
func (w *Watch) ofTargets() []Finding {
	var out []Finding
	for _, t := range w.Targets {
		for _, look := range []struct {
			kind Kind
			at   func(Target) *Finding
		}{
			{NewToolchain, w.newToolchain}, {NewSource, w.newSource}, {WinGone, w.winGone}, {TooSmall, w.climbToLarge},
			{NewInputs, w.newInputs},
		} {
			f := look.at(t)
			if f == nil {
				delete(w.Known, key(look.kind, t.Function)) // it is news when it comes back
				continue
			}
			f.Kind, f.Service, f.Function = look.kind, w.lastWindow().Service, t.Function
			out = append(out, *f)
		}
	}
	return out
}

func (k Kind) lasts() bool { return k != Regression && k != Improvement }

func (w *Watch) lastWindow() *Window { return &w.Windows[len(w.Windows)-1] }

// heldSince returns the start of the trailing windows for which holds is true.
func (w *Watch) heldSince(holds func(*Window) bool) time.Time {
	start := w.lastWindow().Start
	for i := len(w.Windows) - 1; i >= 0 && holds(&w.Windows[i]); i-- {
		start = w.Windows[i].Start
	}
	return start
}

func (t Target) verify() string {
	return strings.TrimSpace("beagle verify --anew " + t.Function + " " + t.Files)
}

func (w *Watch) newToolchain(t Target) *Finding {
	now := w.lastWindow().Go
	if t.Go == "" || now == "" || now == t.Go {
		return nil
	}
	return &Finding{Since: w.heldSince(func(x *Window) bool { return x.Go == now }), Command: t.verify(),
		Cause: fmt.Sprintf("the win was proven with %s, and %s runs: it may have stopped paying", t.Go, now)}
}

func (w *Watch) newSource(t Target) *Finding {
	now := w.lastWindow().row(t.Function).Source
	if t.Source == "" || now == "" || now == t.Source {
		return nil
	}
	return &Finding{Command: "beagle evolve " + t.Function,
		Since: w.heldSince(func(x *Window) bool { return x.row(t.Function).Source == now }),
		Cause: "the source under the win changed"}
}

// recent measures a function's cumulative share over the last windows.
func (w *Watch) recent(function string) (share, low, high float64, since time.Time) {
	n := max(w.Config.Settle, w.Config.Season)
	if len(w.Windows) < n {
		return 0, 0, 1, time.Time{}
	}
	look := w.Windows[len(w.Windows)-n:]
	s := seriesOf(look, func(x *Window) int64 { return x.row(function).Cumulative })
	wide := max(1, dispersion(s, 0, n, 1))
	share, low, high = wilson(sum(s.hits)/wide, sum(s.samples)/wide)
	return share, low, high, look[0].Start
}

// winSlack bounds the rise of a share after a win, as a share of it: other code changes too.
const winSlack = 0.1

func (w *Watch) winGone(t Target) *Finding {
	share, low, high, since := w.recent(t.Function)
	if t.Won == 0 || low <= t.Won*(1+winSlack) {
		return nil
	}
	return &Finding{Since: since, Before: t.Won, After: share,
		Change: Interval{share - t.Won, low - t.Won, high - t.Won}, Command: t.verify(),
		Cause: "production no longer shows the win: the share is above the one after it"}
}

// climbToLarge walks from a target that fell below its least share up to the first
// caller that is large enough while none of its children is.
func (w *Watch) climbToLarge(t Target) *Finding {
	share, low, high, since := w.recent(t.Function)
	if t.Least == 0 || high >= t.Least {
		return nil
	}
	f := &Finding{Since: since, Before: t.Least, After: share,
		Change: Interval{share - t.Least, low - t.Least, high - t.Least}}
	next, seen := w.lastWindow().row(t.Function).Caller, map[string]bool{}
	for ; next != "" && !seen[next]; next = w.lastWindow().row(next).Caller {
		seen[next] = true
		if _, low, _, _ := w.recent(next); low >= t.Least && w.childrenBelow(next, t.Least) {
			f.Cause = fmt.Sprintf("less than %.2g %% of the service is left in it; its caller %s is worth a search",
				100*t.Least, next)
			f.Command = "beagle evolve " + next
			return f
		}
	}
	f.Cause = fmt.Sprintf("less than %.2g %% of the service is left in it, and no caller is worth a search",
		100*t.Least)
	f.Command = "beagle hotspots"
	return f
}

func (w *Watch) childrenBelow(caller string, least float64) bool {
	for _, r := range w.lastWindow().Rows {
		if r.Caller == caller {
			if _, low, _, _ := w.recent(r.Function); low >= least {
				return false
			}
		}
	}
	return true
}

// driftLevel is the population stability index that is called a drift, and
// driftP the largest p-value of the chi-square test.
const (
	driftLevel = 0.2
	driftP     = 0.001
)

func (w *Watch) newInputs(t Target) *Finding {
	got := w.lastWindow().Inputs[t.Function]
	names := inorder.Keys(t.Inputs)
	var psi []Interval
	var p []float64
	for _, name := range names {
		x, y := Drift(t.Inputs[name], got[name])
		psi, p = append(psi, x), append(p, y)
	}
	q := falseDiscoveryRates(p)
	for i, name := range names {
		if psi[i].Estimate > driftLevel && q[i] < driftP {
			return &Finding{Since: w.driftedSince(t, name), Q: q[i], Change: psi[i],
				Command: "beagle evolve --anew " + t.Function,
				Cause: fmt.Sprintf("the recorded %s differ from the corpus by a stability index of %.2f: "+
					"record calls again", name, psi[i].Estimate)}
		}
	}
	return nil
}

func (w *Watch) driftedSince(t Target, facet string) time.Time {
	return w.heldSince(func(x *Window) bool {
		psi, _ := Drift(t.Inputs[facet], x.Inputs[t.Function][facet])
		return psi.Estimate > driftLevel
	})
}
