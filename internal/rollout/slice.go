package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// An Arm names the version that ran in a slice.
type Arm string

// The arms of an experiment.
const (
	Original  Arm = "original"
	Candidate Arm = "candidate"
	Placebo   Arm = "placebo" // a second copy of the original, linked beside the candidate
)

var allArms = [...]Arm{Original, Candidate, Placebo}

// Counts sum up the calls and costs of one arm. They add up over slices and pods.
type Counts struct {
	Requests      float64 `json:"requests"`
	Errors        float64 `json:"errors,omitempty"`         // failed requests, time-outs included
	Slow          float64 `json:"slow,omitempty"`           // requests slower than the plan's threshold
	RequestNanos  float64 `json:"request_nanos,omitempty"`  // from arrival to answer, summed
	CPUNanos      float64 `json:"cpu_nanos,omitempty"`      // processor time, user and system
	GCNanos       float64 `json:"gc_nanos,omitempty"`       // the collector's part of it
	AllocBytes    float64 `json:"alloc_bytes,omitempty"`    // allocated, whether freed or not
	Calls         float64 `json:"calls,omitempty"`          // calls of the function that were timed
	FunctionNanos float64 `json:"function_nanos,omitempty"` // their time
	HeapBytes     float64 `json:"heap_bytes,omitempty"`     // live heap at the end, times the slices that were added
	HeapGrowth    float64 `json:"heap_growth,omitempty"`    // live heap at the end less that at the start
	Slices        float64 `json:"slices,omitempty"`         // how many slices were added; 0 in one slice

	// Times are the calls by size, the smallest first. Without them one preempted call in a block
	// can outweigh the rest of it.
	Times []Times `json:"times,omitempty"`
	late  float64 // calls that passed the block's cap
	// lateNanos is their time beyond it.
	lateNanos float64
	// usualNanos is the time of all its calls at the mean of the block, over all arms.
	usualNanos float64
}

// A Slice is one arm's stretch of time in one process.
type Slice struct {
	Arm        Arm       `json:"arm"`
	Pod        string    `json:"pod"`
	Build      string    `json:"build"` // ID of the binary that ran
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	Counts     Counts    `json:"counts"`
	Panics     int       `json:"panics,omitempty"`     // caught inside the arm's version
	Mismatches int       `json:"mismatches,omitempty"` // shadow calls whose results differed from the original's
	Tripped    string    `json:"tripped,omitempty"`    // why the process switched to the original by itself
}

// A Block is the unit of comparison: slices of two or three arms, side by side in time and in
// random order. If requests are the unit, an arm's slice holds the requests of the block's time
// that drew this arm.
type Block struct {
	ID       string    `json:"id"`       // of the process, or of the fleet when pods are the unit
	Seq      int64     `json:"seq"`      // increasing within the ID, from 1
	Planned  []Arm     `json:"planned"`  // the arms that should have run
	Slices   []Slice   `json:"slices"`   // those that arrived
	Received time.Time `json:"received"` // by the controller's clock
}

// fields lists the counters with their names, for checks and differences.
func (c *Counts) fields() [12]field {
	return [...]field{
		{"requests", &c.Requests}, {"errors", &c.Errors}, {"slow", &c.Slow},
		{"request_nanos", &c.RequestNanos}, {"cpu_nanos", &c.CPUNanos},
		{"gc_nanos", &c.GCNanos}, {"alloc_bytes", &c.AllocBytes}, {"calls", &c.Calls},
		{"function_nanos", &c.FunctionNanos}, {"heap_bytes", &c.HeapBytes}, {"slices", &c.Slices},
		{"heap_growth", &c.HeapGrowth},
	}
}

type field struct {
	name  string
	value *float64
}

// signed are the fields that may fall below zero.
func (f field) signed() bool { return f.name == "heap_growth" }

// maxCount is more than nanoseconds or bytes of any slice: 30 years, 1 EB.
const maxCount = 1e18

// check refuses numbers that no counter can have.
func (c *Counts) check() error {
	for _, f := range c.fields() {
		v := *f.value
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%s is %g: the source divides by zero or overflows", f.name, v)
		case math.Abs(v) > maxCount:
			return fmt.Errorf("%s is %g, more than any counter holds: check its unit", f.name, v)
		case v < 0 && !f.signed():
			return fmt.Errorf("%s is %g, below zero: send differences of counters (see Between)", f.name, v)
		}
	}
	if c.Errors > c.Requests || c.Slow > c.Requests {
		return fmt.Errorf("%g errors and %g slow requests of %g requests: they count other things than the total",
			c.Errors, c.Slow, c.Requests)
	}
	return c.checkTimes()
}

// add sums what several slices did.
func (c *Counts) add(s Counts) {
	s.Slices = max(s.Slices, 1)
	to := c.fields()
	for i, f := range s.fields() {
		*to[i].value += *f.value
	}
	c.addTimes(s.Times)
}

// ParseBlock reads a block from a line of JSON. Fields that it does not know are an error: a
// guardrail whose counter has another name would be without data.
func ParseBlock(line []byte) (Block, error) {
	var b Block
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return Block{}, fmt.Errorf("this is not a block: %w", err)
	}
	if d.More() {
		return Block{}, errors.New("there is more than one object")
	}
	return b, nil
}
