package watch

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Row sums up one function in a window.
type Row struct {
	Function   string `json:"function"` // as profiles name it: import/path.Name
	Flat       int64  `json:"flat"`     // samples in the function itself
	Cumulative int64  `json:"cumulative"`
	Caller     string `json:"caller,omitempty"` // the caller of most of its samples
	Source     string `json:"source,omitempty"` // hash of the function's text
}

// A Window is a profile of a service over some time, as compact rows.
type Window struct {
	Service string    `json:"service"`
	Build   string    `json:"build,omitempty"`
	Go      string    `json:"go,omitempty"` // toolchain
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Samples int64     `json:"samples"`
	Cores   float64   `json:"cores,omitempty"` // processors that an instance keeps busy
	Rows    []Row     `json:"rows"`
	// Inputs are the buckets of facets of recorded calls, by function and facet.
	Inputs map[string]map[string][]float64 `json:"inputs,omitempty"`
	Bad    map[string]float64              `json:"bad,omitempty"` // share of bad events, by SLO
}

func (w *Window) check() error {
	switch {
	case w.Samples <= 0 || len(w.Rows) == 0:
		return errors.New("the window has no samples: was the service profiled, and was it busy?")
	case !w.End.After(w.Start):
		return fmt.Errorf("the window ends at %s, not after its start at %s: check the clock of its source",
			w.End.Format(time.RFC3339), w.Start.Format(time.RFC3339))
	}
	for _, r := range w.Rows {
		if r.Flat < 0 || r.Cumulative < r.Flat || r.Cumulative > w.Samples {
			return fmt.Errorf("%s has %d flat and %d cumulative of %d samples: the profile was cut or merged wrongly",
				r.Function, r.Flat, r.Cumulative, w.Samples)
		}
	}
	return nil
}

// row returns a function's row, or an empty one.
func (w *Window) row(function string) Row {
	for _, r := range w.Rows {
		if r.Function == function {
			return r
		}
	}
	return Row{Function: function}
}

// PackageOf returns the import path in a function's name.
func PackageOf(function string) string {
	slash := strings.LastIndex(function, "/")
	if dot := strings.Index(function[slash+1:], "."); dot >= 0 {
		return function[:slash+1+dot]
	}
	return function
}

// A Config decides which changes are worth a finding. The zero value of a field means its default.
type Config struct {
	Keep        int     `json:"keep"`         // windows that are kept; default 400
	Look        int     `json:"look"`         // windows that are searched for changes; default 120
	Season      int     `json:"season"`       // windows after which the load repeats; default 1: it does not
	LeastShare  float64 `json:"least_share"`  // of functions that are looked at; default 0.5 %
	LeastChange float64 `json:"least_change"` // relative change that must be passed beyond doubt; default 1 %
	FalseRate   float64 `json:"false_rate"`   // false discoveries that are accepted; default 0.1 %
	Settle      int     `json:"settle"`       // windows that a change must last; default 6
	Points      Options `json:"points"`       // of the search for change points
}

func (c Config) withDefaults() Config {
	c.Keep = cmp.Or(c.Keep, 400)
	c.Look = cmp.Or(c.Look, 120)
	c.Season = cmp.Or(c.Season, 1)
	c.LeastShare = cmp.Or(c.LeastShare, 0.005)
	c.LeastChange = cmp.Or(c.LeastChange, 0.01)
	c.FalseRate = cmp.Or(c.FalseRate, 0.001)
	c.Settle = cmp.Or(c.Settle, 6)
	if c.Points == (Options{}) {
		c.Points = DefaultOptions
	}
	return c
}

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	Regression   Kind = "regression"    // a function costs more
	Improvement  Kind = "improvement"   // a function costs less
	NewToolchain Kind = "new-toolchain" // a win was proven with another compiler
	NewSource    Kind = "new-source"    // the text under a win changed
	WinGone      Kind = "win-gone"      // production no longer shows a win
	TooSmall     Kind = "too-small"     // a target fell below the least share
	NewInputs    Kind = "new-inputs"    // recorded calls differ from the corpus
	BurnRate     Kind = "burn-rate"     // an SLO's error budget burns too fast
	SLOBreached  Kind = "slo-breached"  // more bad events than an SLO allows
	OverBudget   Kind = "over-budget"   // a month costs more than it may
	Saturated    Kind = "saturated"     // an instance has hardly a processor left
	BreachAhead  Kind = "breach-ahead"  // a forecast passes one of these limits
)

// Kinds are all kinds of findings, and Monitored those about limits of the whole service.
var (
	Kinds = append([]Kind{Regression, Improvement, NewToolchain, NewSource, WinGone, TooSmall, NewInputs},
		Monitored...)
	Monitored = []Kind{BurnRate, SLOBreached, OverBudget, Saturated, BreachAhead}
)

// A Finding is something that a person or a campaign may act on.
type Finding struct {
	Kind     Kind      `json:"kind"`
	Service  string    `json:"service"`
	Function string    `json:"function,omitempty"`
	Subject  string    `json:"subject,omitempty"` // the limited series, if it is not a function
	Since    time.Time `json:"since"`
	Before   float64   `json:"before"` // share of the service's samples, or the limit
	After    float64   `json:"after"`
	Change   Interval  `json:"change"` // of the share, of the drift, or beyond the limit
	Q        float64   `json:"q,omitempty"`
	Cause    string    `json:"cause"`
	Command  string    `json:"command"` // that answers it
}

// A Skipped shift is one that a filter took out, with the reason.
type Skipped struct {
	Function string    `json:"function"`
	Since    time.Time `json:"since"`
	Why      string    `json:"why"`
}

// A Target is a function that has a proven win, or a corpus, or both.
type Target struct {
	Function string               `json:"function"`
	Source   string               `json:"source,omitempty"` // hash of the text that won
	Go       string               `json:"go,omitempty"`     // toolchain at the win
	Won      float64              `json:"won,omitempty"`    // cumulative share after the win
	Files    string               `json:"files,omitempty"`  // the winning version, for `beagle verify`
	Least    float64              `json:"least,omitempty"`  // share below which it is not worth a search
	Inputs   map[string][]float64 `json:"inputs,omitempty"` // buckets of the corpus by facet
}
