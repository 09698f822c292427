package beagle

import (
	"fmt"
	"math"
)

// A Status says how the evaluation of a candidate ended.
type Status string

const (
	Accepted  Status = "accepted"  // equivalent as far as checked, and confirmed faster
	Equal     Status = "equal"     // equivalent as far as checked, not confirmed faster
	Invalid   Status = "invalid"   // does not parse, type-check or compile
	Forbidden Status = "forbidden" // breaks the policy
	Wrong     Status = "wrong"     // differs from the original; see Counterexample
	Crashed   Status = "crashed"   // the process died: fatal error, memory, forbidden system call
	Hung      Status = "hung"      // did not return in time
	Failed    Status = "failed"    // the judge itself failed; nothing is known of the candidate
	Duplicate Status = "duplicate" // same formatted source or same machine code as another candidate
)

// A Verdict is everything that is known of a candidate. It is total: whatever
// a candidate does ends in a Status, never in a Go error.
type Verdict struct {
	Candidate string `json:"candidate"`
	Status    Status `json:"status"`
	// the last check reached: "parse", "types", "policy", "compile", "replay", ...
	Stage          string          `json:"stage"`
	Reason         string          `json:"reason,omitempty"`
	Counterexample *Counterexample `json:"counterexample,omitempty"`
	Checks         []CheckResult   `json:"checks,omitempty"`
	Static         StaticFacts     `json:"static"`
	Screen         *Ratio          `json:"screen,omitempty"` // quick measurement on the training corpus
	Final          *Measurement    `json:"final,omitempty"`  // full measurement, finalists only
	// Screen by class of input, when the inputs are of several
	InputClasses []InputClassRatio `json:"classes,omitempty"`
	Warnings     []string          `json:"warnings,omitempty"`
	// how far the evidence reaches; full verification only
	Assurance *Assurance `json:"assurance,omitempty"`
	Contract  Contract   `json:"contract,omitzero"` // under which the verdict holds
	// of a duplicate: the candidate that had its machine code first
	Twin string `json:"twin,omitempty"`
	// a contract under which a rejected candidate would be right
	NearMiss *NearMiss `json:"near_miss,omitempty"`
}

// A Judgement is the verdict on a file, where several were judged.
type Judgement struct {
	File    string  `json:"file"`
	Verdict Verdict `json:"verdict"`
}

// OK reports whether nothing was found against the candidate's behaviour.
func (v *Verdict) OK() bool { return v.Status == Accepted || v.Status == Equal }

// A CheckResult is the result of a check.
type CheckResult struct {
	Name   string  `json:"name"`
	Passed bool    `json:"passed"`
	Cases  int     `json:"cases"` // inputs tried
	Millis float64 `json:"millis"`
	Note   string  `json:"note,omitempty"` // cases that it did not cover
}

// A Counterexample is an input on which a candidate and the original differ.
type Counterexample struct {
	Args []byte `json:"args"` // in the encoding of internal/rt, minimised
	Go   string `json:"go"`   // the call in Go syntax, after declarations of memory that its arguments share
	Want string `json:"want"` // the original's outcome
	Got  string `json:"got"`  // the candidate's outcome
	// "result", "panic", "argument", "alias", "state", "race", "hang", "crash", "slow"; in place
	// "trace", "test"
	Kind string `json:"kind"`
	Test string `json:"test"` // a complete Go test that shows it
}

// Difference says in general words what differs, without a value.
func (c *Counterexample) Difference() string {
	switch c.Kind {
	case "result":
		return "it answers differently"
	case "panic":
		return "it panics differently"
	case "argument":
		return "it leaves the arguments differently"
	case "alias":
		return "the memory that results and arguments share differs"
	case "state":
		return "it keeps state between calls"
	case "race":
		return "it answers differently when called from several goroutines"
	case "trace":
		return "it calls a callback or an interface otherwise"
	case "test":
		return "a test ends otherwise"
	case "hang":
		return "it does not return"
	case "crash":
		return "the process died"
	}
	return c.Kind
}

// StaticFacts come from the compiler and the linked binary.
type StaticFacts struct {
	BoundsChecks int  `json:"bounds_checks"`
	Escapes      int  `json:"escapes"`
	Inlinable    bool `json:"inlinable"`
	InlineCost   int  `json:"inline_cost"`
	CodeBytes    int  `json:"code_bytes"`
	// machine code of all the candidate's functions, addresses and names normalised
	CodeHash string `json:"code_hash"`
	Notes    []Note `json:"notes,omitempty"`
}

// A Note is one line of the compiler's own account (-json), placed in the
// candidate's source.
type Note struct {
	Line int    `json:"line"`
	Code string `json:"code"` // "isInBounds", "escape", "cannotInlineCall", ...
	Text string `json:"text,omitempty"`
}

// A Ratio is time of the original over time of the candidate: 2 is twice as
// fast. Low and High are the ends of a 95 % confidence interval.
type Ratio struct {
	Point float64 `json:"point"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Spelled is the ratio in words, with its interval: "1.06x (1.04 to 1.08)".
func (r Ratio) Spelled() string { return fmt.Sprintf("%.2fx (%.2f to %.2f)", r.Point, r.Low, r.High) }

// Over returns how many times as fast this candidate is as the candidate of another ratio, with
// the interval that their logarithms give if the two are independent. It is the zero Ratio if one
// of them says nothing.
func (r Ratio) Over(other Ratio) Ratio {
	if r.Low <= 0 || other.Low <= 0 {
		return Ratio{}
	}
	half := math.Hypot(math.Log(r.High/r.Low), math.Log(other.High/other.Low)) / 2
	point := r.Point / other.Point
	return Ratio{Point: point, Low: point * math.Exp(-half), High: point * math.Exp(half)}
}

// An InputClassRatio is the speed of a candidate on one class of inputs: a gain on one must not
// hide a loss on another.
type InputClassRatio struct {
	Name  string  `json:"name"`  // "non-ASCII", "empty", "unsorted a"
	Share float64 `json:"share"` // of the calls, 0 to 1
	Ratio Ratio   `json:"ratio"`
}

// A Measurement is the full comparison of a candidate with the original.
type Measurement struct {
	Train   Ratio  `json:"train"`
	Holdout *Ratio `json:"holdout,omitempty"`
	Fresh   *Ratio `json:"fresh,omitempty"` // inputs drawn anew from the facets
	Apart   *Ratio `json:"apart,omitempty"` // original and candidate in processes of their own
	PGO     *Ratio `json:"pgo,omitempty"`   // both built with the module's profile
	// with other work between the calls; only when the candidate has large tables
	Cold *Ratio `json:"cold,omitempty"`
	// the original against its own copy in the same binaries: the noise
	Control      *Ratio            `json:"control,omitempty"`
	Layouts      []Layout          `json:"layouts"`
	InputClasses []InputClassRatio `json:"classes,omitempty"` // by class of input, when the inputs are of several
	// Train after the winner's-curse correction: the figure to quote
	Corrected Ratio `json:"corrected"`
	// by the run's score, corrected alike; none when the score is time alone
	Score    *Ratio    `json:"score,omitempty"`
	Baseline Resources `json:"baseline"`
	Best     Resources `json:"best"`
	Tried    int       `json:"tried"`    // candidates that competed, for the correction
	MinGain  float64   `json:"min_gain"` // less is not called faster: 0.01 is 1 %
	// of timing, for all that were measured together; builds not counted
	Seconds float64  `json:"seconds"`
	Faster  bool     `json:"faster"`
	Why     string   `json:"why,omitempty"`   // why it is not called faster
	Notes   []string `json:"notes,omitempty"` // kinds of inputs that were not timed
}

// Worth returns the figure that ranks versions: the score, which is [Measurement.Corrected] if
// time alone counts.
func (m *Measurement) Worth() Ratio {
	if m.Score != nil {
		return *m.Score
	}
	return m.Corrected
}

// A Layout is the comparison in one linked binary.
type Layout struct {
	Seed  uint64 `json:"seed"`
	Align [2]int `json:"align"` // entry addresses of original and candidate modulo 64
	Ratio Ratio  `json:"ratio"`
}

// Resources is the cost of one call.
type Resources struct {
	Nanos  float64 `json:"ns"`
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
	GC     float64 `json:"gc_ns"` // garbage-collection time a call, nanoseconds of processor
}
