package llm

import "github.com/beagle-go/beagle"

// A Kind is what a model is asked for.
type Kind string

const (
	Improve   Kind = "improve"   // a faster version of the parent
	Repair    Kind = "repair"    // the same change without the mistake that Failure tells
	Crossover Kind = "crossover" // the best of the parent and the mate in one
)

// Evidence is all that a model is told of a target: plain data that the caller
// fills in with what it has. Every field but Kind, Target and Parent may be
// empty, and its part of the prompt is then left out.
//
// Whatever it holds that was captured or written by others (values, errors,
// counterexamples, comments, replies) is quoted and fenced as data in the
// prompt, bounded in size, and with Redact reduced to its shape.
type Evidence struct {
	Kind    Kind           `json:"kind"`
	Redact  bool           `json:"redact"` // shapes instead of values for everything that was captured
	Target  *beagle.Target `json:"target"`
	Callees []Callee       `json:"callees,omitempty"` // what the target calls outside its scope, the hottest first

	Facets *beagle.Facets `json:"facets,omitempty"` // of the training corpus; holdout inputs never come here
	Parent Version        `json:"parent"`           // what is to be changed
	Mate   *Version       `json:"mate,omitempty"`   // crossover: the other parent
	Good   []Version      `json:"good,omitempty"`   // other good candidates, of this and other islands; two or three, different in kind
	Tried  []Attempt      `json:"tried,omitempty"`  // what was tried on this target, the latest first

	Failure *Failure `json:"failure,omitempty"` // repair: what the reply was, and what was wrong with it
	Lessons []Lesson `json:"lessons,omitempty"` // what may be taught, as LoadLessons gives it; Compose chooses the ones that match
}

// A Version is a candidate, or the original, with what is known of it.
type Version struct {
	ID       string             `json:"id"`
	Source   string             `json:"source"`          // the candidate file
	Steps    []beagle.Step      `json:"steps,omitempty"` // from the original to here
	Ratio    *beagle.Ratio      `json:"ratio,omitempty"` // over the original; nil when it was not measured
	Classes  []InputClass       `json:"classes,omitempty"`
	Static   beagle.StaticFacts `json:"static"`             // the compiler's account of this very source
	Profile  map[int]float64    `json:"profile,omitempty"`  // share of its time by line of Source, 0 to 1
	Assembly []Instruction      `json:"assembly,omitempty"` // of its functions, in order; the prompt shows the hot loop
	Island   int                `json:"island"`
}

// An InputClass is a kind of input ("UTF-8", "empty") with the share of calls
// that are of it, and how fast a version is on it.
type InputClass struct {
	Name  string        `json:"name"`
	Share float64       `json:"share"`
	Ratio *beagle.Ratio `json:"ratio,omitempty"` // over the original on inputs of the class
}

// An Instruction is one line of the compiler's assembly (go tool compile -S).
type Instruction struct {
	Func string `json:"func"` // the function whose code it is
	PC   int    `json:"pc"`   // offset in the function, which is how jumps name their goals
	Line int    `json:"line"` // line of the version's source; 0 when it comes from another file, by inlining
	Text string `json:"text"` // "MOVBLZX (AX)(CX*1), DX"
}

// A Callee is a function outside the target's scope that the target calls.
type Callee struct {
	Name   string  `json:"name"`   // "strings.ToLower", "helper"
	Source string  `json:"source"` // its declaration; empty when it is not at hand
	Share  float64 `json:"share"`  // of the target's time; 0 when unknown
}

// An Attempt is what became of an earlier candidate.
type Attempt struct {
	Steps          []beagle.Step          `json:"steps,omitempty"` // the last one is what was new
	By             string                 `json:"by"`              // the rule or the model
	Note           string                 `json:"note,omitempty"`  // what a model said of its change, one line
	Status         beagle.Status          `json:"status"`
	Stage          string                 `json:"stage"`
	Reason         string                 `json:"reason,omitempty"`
	Ratio          *beagle.Ratio          `json:"ratio,omitempty"`  // over the original
	Gain           *beagle.Ratio          `json:"gain,omitempty"`   // over its parent
	Slower         []InputClass           `json:"slower,omitempty"` // kinds of input that pay for it
	Counterexample *beagle.Counterexample `json:"counterexample,omitempty"`
}

// A Failure is what a repair starts from.
type Failure struct {
	Reply          string                 `json:"reply"`                    // the model's text that failed
	Unmatched      string                 `json:"unmatched,omitempty"`      // why its edits could not be applied
	Compiler       string                 `json:"compiler,omitempty"`       // what the parser, type checker or compiler said
	Policy         string                 `json:"policy,omitempty"`         // which rule of the game it breaks
	Counterexample *beagle.Counterexample `json:"counterexample,omitempty"` // where it differs from the original
}
