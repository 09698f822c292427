// Package ledger keeps what each change was predicted to save beside what
// production showed. It does no I/O: lines go in, sums come out.
//
// The prediction is the benchmark's. The proof is an experiment's. Their
// difference is the judge's prediction error, which says how far to believe the
// next prediction.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// A Saving is a share of a service's processor time, with its 95 % interval. A
// change that costs more has a saving below zero.
type Saving struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// A Change is one line of a ledger. A later line with the same ID replaces it.
type Change struct {
	ID        string  `json:"id"`
	Service   string  `json:"service"`
	Function  string  `json:"function"`
	Score     string  `json:"score,omitempty"` // that ranked the versions, if not the time of recorded calls
	Cores     float64 `json:"cores"`           // that the service takes
	Shipped   string  `json:"shipped"`         // date, as in 2026-01-31
	Predicted Saving  `json:"predicted"`
	Proven    *Saving `json:"proven,omitempty"` // none until its experiment ends
	Reverted  string  `json:"reverted,omitempty"`
	Why       string  `json:"why,omitempty"` // it was reverted
}

// check returns the fault of a change.
func (c Change) check() error {
	switch {
	case c.ID == "" || c.Service == "" || c.Function == "":
		return errors.New("a change needs id, service and function")
	case !date(c.Shipped):
		return fmt.Errorf("change %s: shipped is %q: give a date as in 2026-01-31", c.ID, c.Shipped)
	case c.Reverted != "" && !date(c.Reverted):
		return fmt.Errorf("change %s: reverted is %q: give a date as in 2026-01-31", c.ID, c.Reverted)
	case math.IsNaN(c.Cores) || c.Cores < 0 || math.IsInf(c.Cores, 0):
		return fmt.Errorf("change %s: %g cores: give the processors that the service takes", c.ID, c.Cores)
	case c.Reverted != "" && c.Reverted < c.Shipped:
		return fmt.Errorf("change %s was reverted before it was shipped", c.ID)
	}
	if err := c.Predicted.check(); err != nil {
		return fmt.Errorf("change %s, predicted: %w", c.ID, err)
	}
	if c.Proven != nil {
		if err := c.Proven.check(); err != nil {
			return fmt.Errorf("change %s, proven: %w", c.ID, err)
		}
	}
	return nil
}

func date(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

func (s Saving) check() error {
	if !(s.Low <= s.Estimate && s.Estimate <= s.High && s.High <= 1 && s.Low >= -10) {
		return fmt.Errorf("%g (%g to %g) is not a saving: give shares of the service, low <= estimate <= high <= 1",
			s.Estimate, s.Low, s.High)
	}
	return nil
}

// Parse reads one line.
func Parse(line []byte) (Change, error) {
	var c Change
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Change{}, err
	}
	if d.More() {
		return Change{}, errors.New("more than one object")
	}
	return c, c.check()
}

// Read returns the changes of a ledger, the last line of each, in the order in
// which they were shipped.
func Read(lines io.Reader) ([]Change, error) {
	data, err := io.ReadAll(lines)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var out []Change
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		c, err := Parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if i, ok := at[c.ID]; ok {
			out[i] = c
			continue
		}
		at[c.ID] = len(out)
		out = append(out, c)
	}
	inorder.By(out, func(a, b Change) int { return strings.Compare(a.Shipped, b.Shipped) })
	return out, nil
}

// A ServiceSum is the saving of a service.
type ServiceSum struct {
	Service   string  `json:"service"`
	Changes   int     `json:"changes"`
	Reverted  int     `json:"reverted"`
	Predicted float64 `json:"predicted_cores"` // of the changes that stand
	Proven    float64 `json:"proven_cores"`    // of those with a proof
}

// A Ledger sums up all changes.
type Ledger struct {
	Changes  []Change        `json:"changes"`
	Services []ServiceSum    `json:"services"` // by name
	Error    PredictionError `json:"error"`
}

// A PredictionError is the error of predictions, over the changes with a proof.
type PredictionError struct {
	Changes int     `json:"changes"`
	Median  float64 `json:"median"` // of |proven - predicted| / predicted
	Bias    float64 `json:"bias"`   // sum of proven over sum of predicted, less 1
	Inside  int     `json:"inside"` // proofs within the predicted interval
}

// Summarise adds a ledger up. Changes that were reverted save nothing, but count in
// the prediction error.
func Summarise(changes []Change) Ledger {
	out := Ledger{Changes: changes}
	at := map[string]int{}
	for _, c := range changes {
		i, ok := at[c.Service]
		if !ok {
			i = len(out.Services)
			at[c.Service] = i
			out.Services = append(out.Services, ServiceSum{Service: c.Service})
		}
		s := &out.Services[i]
		s.Changes++
		if c.Reverted != "" {
			s.Reverted++
			continue
		}
		s.Predicted += c.Cores * c.Predicted.Estimate
		if c.Proven != nil {
			s.Proven += c.Cores * c.Proven.Estimate
		}
	}
	inorder.By(out.Services, func(a, b ServiceSum) int { return strings.Compare(a.Service, b.Service) })
	out.Error = errorOf(changes)
	return out
}

// errorOf compares predicted with proven savings. Changes without both do not count.
func errorOf(changes []Change) PredictionError {
	var e PredictionError
	var misses []float64
	predicted, proven := 0.0, 0.0
	for _, c := range changes {
		if c.Proven == nil || c.Predicted.Estimate <= 0 {
			continue
		}
		e.Changes++
		misses = append(misses, math.Abs(c.Proven.Estimate-c.Predicted.Estimate)/c.Predicted.Estimate)
		predicted += c.Predicted.Estimate
		proven += c.Proven.Estimate
		if c.Proven.Estimate >= c.Predicted.Low && c.Proven.Estimate <= c.Predicted.High {
			e.Inside++
		}
	}
	if e.Changes == 0 {
		return e
	}
	inorder.Sort(misses)
	e.Median = special.Quantile(misses, 0.5)
	e.Bias = proven/predicted - 1
	return e
}
