package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/simulate"
)

// A search is a series of a function's share, and what is looked for in it.
type search struct {
	Series []float64 `json:"series"`
	Window int       `json:"window"`
	P      float64   `json:"p"`
	Least  float64   `json:"least"`

	function string
}

// A tally counts a program's findings in replays of one event.
type tally struct{ found, wrong int }

// nearDistance bounds the distance between a change point and its event that still counts as a
// find.
const nearDistance = 6

// learnt is the number of days from which programs learn the share of an hour.
const learnt = 3

// leastShare is the least share of a function that is examined, by all programs.
const leastShare = 0.005

// ways are the preparations of a series for change points alone.
var ways = []struct {
	name   string
	season int // 0: shares as they are
}{{"shares as they are", 0}, {"less the hour's mean over three days", 24}}

// A played is one replay with its searches, by way.
type played struct {
	event    simulate.Event
	searches [2][]search
}

// changes gives the same replays to otava and to package watch.
func changes(ctx context.Context, o options) error {
	var all []played
	var asked []search
	cells := map[simulate.Event]map[string]*tally{}
	for _, e := range simulate.Events {
		cells[e.Event] = map[string]*tally{}
		for _, name := range names() {
			cells[e.Event][name] = new(tally)
		}
		for seed := range uint64(o.replays) {
			p := played{event: e.Event}
			windows := simulate.Profiles(e.Event, seed+1)
			for i, w := range ways {
				p.searches[i] = searchesOf(windows, w.season)
				asked = append(asked, p.searches[i]...)
			}
			all = append(all, p)
			if err := tallyReplay(e.Event, seed+1, cells[e.Event]["beagle watch"]); err != nil {
				return err
			}
		}
	}
	var theirs [][]int
	if err := ask(ctx, o, "changes", asked, &theirs); err != nil { // once: the program starts slowly
		return err
	}
	for _, p := range all {
		for i, w := range ways {
			n := len(p.searches[i])
			count(cells[p.event]["otava, "+w.name], p.searches[i], theirs[:n], w.season, p.event)
			theirs = theirs[n:]
			own := ownChanges(p.searches[i])
			count(cells[p.event]["E-divisive of Beagle, "+w.name], p.searches[i], own, w.season, p.event)
		}
	}
	show(o, cells)
	return nil
}

// tallyReplay adds what package watch finds in a replay.
func tallyReplay(event simulate.Event, seed uint64, t *tally) error {
	out, err := simulate.Replay(event, seed)
	if err != nil {
		return err
	}
	if out.Found {
		t.found++
	}
	t.wrong += out.False
	return nil
}

// ownChanges returns the change points that Beagle finds.
func ownChanges(searches []search) (all [][]int) {
	for _, s := range searches {
		var at []int
		for _, c := range watch.ChangePoints(s.Series, watch.Options{Window: s.Window, P: s.P, LeastStep: s.Least}) {
			at = append(at, c.Index)
		}
		all = append(all, at)
	}
	return all
}

// show prints a table of the events that each method found, and of its false findings.
func show(o options, cells map[simulate.Event]map[string]*tally) {
	var rows [][]string
	wrong := map[string]int{}
	for _, e := range simulate.Events {
		row := []string{string(e.Event), fmt.Sprint(o.replays)}
		for _, name := range names() {
			t := cells[e.Event][name]
			wrong[name] += t.wrong
			found := "-"
			if e.Found {
				found = fmt.Sprint(t.found)
			}
			row = append(row, found+" / "+fmt.Sprint(t.wrong))
		}
		rows = append(rows, row)
	}
	last := []string{"false in 1,000 windows", ""}
	for _, name := range names() {
		last = append(last, fmt.Sprintf("%.2f", 1000*float64(wrong[name])/
			float64(len(simulate.Events)*o.replays*simulate.Windows)))
	}
	table(append([]string{"put in", "replays"}, names()...), append(rows, last))
}

func names() []string {
	out := []string{"beagle watch"}
	for _, w := range ways {
		out = append(out, "otava, "+w.name, "E-divisive of Beagle, "+w.name)
	}
	return out
}

// searchesOf returns the shares of all functions that are large enough.
func searchesOf(all []watch.Window, season int) (out []search) {
	shares := map[string][]float64{}
	var order []string
	for i, w := range all {
		for _, r := range w.Rows {
			if r.Flat == 0 && shares[r.Function] == nil {
				continue
			}
			if shares[r.Function] == nil {
				shares[r.Function] = make([]float64, len(all))
				order = append(order, r.Function)
			}
			shares[r.Function][i] = float64(r.Flat) / float64(w.Samples)
		}
	}
	for _, f := range order {
		s := shares[f]
		if slices.Max(s) < leastShare {
			continue
		}
		if season > 0 {
			var rest []float64
			for i := learnt * season; i < len(s); i++ {
				mean := 0.0
				for day := range learnt {
					mean += s[i%season+day*season] / learnt
				}
				rest = append(rest, 1+s[i]-mean) // around 1: relative steps need a level
			}
			s = rest
		}
		out = append(out, search{Series: s, Window: 50, P: 0.001, function: f})
	}
	return out
}

// count enters which change points are the event's and which are not.
func count(t *tally, searches []search, found [][]int, season int, event simulate.Event) {
	hit := false
	for i, s := range searches {
		for _, at := range found[i] {
			at += learnt * season
			near := simulate.EventAt-nearDistance <= at && at <= simulate.EventAt+nearDistance
			if s.function == simulate.ChangedFunction(event) && near && !hit {
				hit = true
			} else {
				t.wrong++
			}
		}
	}
	if hit {
		t.found++
	}
}
