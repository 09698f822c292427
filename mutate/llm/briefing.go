package llm

import "github.com/beagle-go/beagle"

// A Kind is the task that a prompt sets.
type Kind string

const (
	Improve   Kind = "improve"   // a faster version of the parent
	Repair    Kind = "repair"    // the same change without the mistake that Failure describes
	Crossover Kind = "crossover" // the best of the parent and the mate in one version
	Follow    Kind = "follow"    // the next turn of a conversation: what follows from the verdict on the last reply
)

// A Briefing is all that a prompt says of a target: plain data that the caller fills in. Every
// field but Kind, Target and Parent may be empty; the prompt then leaves its part out.
//
// Some of it was captured, or written by others: values, errors, counterexamples, comments,
// replies. The prompt quotes and fences these as data and bounds their size. With Redact it reduces
// them to their shapes.
type Briefing struct {
	Kind   Kind           `json:"kind"`
	Redact bool           `json:"redact"` // shows shapes in place of all captured values
	Target *beagle.Target `json:"target"`
	// functions outside the scope that the target calls, the hottest first
	Callees []Callee `json:"callees,omitempty"`

	Facets *beagle.Facets `json:"facets,omitempty"` // of the training corpus; never of held-out inputs
	Calls  *Calls         `json:"calls,omitempty"`  // whole calls, and how their results are distributed
	Parent Version        `json:"parent"`           // the version to change
	Mate   *Version       `json:"mate,omitempty"`   // crossover: the other parent
	// other good candidates, of this and other islands; two or three, of different kinds
	Good  []Version `json:"good,omitempty"`
	Tried []Attempt `json:"tried,omitempty"` // earlier attempts on this target, the latest first
	Ideas []Attempt `json:"ideas,omitempty"` // all that models have written, the first first
	Rules []Rule    `json:"rules,omitempty"` // what rewriting rules bring, the best first

	// the conversation that this prompt goes on with has said what stays the same for a target
	Continues bool     `json:"continues,omitempty"`
	Last      *Attempt `json:"last,omitempty"` // follow: what became of the last reply

	Failure *Failure `json:"failure,omitempty"` // repair: the failed reply, and what was wrong with it
	// the lessons that LoadLessons gives; Compose chooses those that match
	Lessons []Lesson `json:"lessons,omitempty"`
}

// A Version is a candidate, or the original, with the facts known about it.
type Version struct {
	ID      string             `json:"id"`
	Source  string             `json:"source"`          // the candidate file
	Steps   []beagle.Step      `json:"steps,omitempty"` // from the original to here
	Ratio   *beagle.Ratio      `json:"ratio,omitempty"` // over the original; nil without a measurement
	Classes []InputClass       `json:"classes,omitempty"`
	Static  beagle.StaticFacts `json:"static"` // the compiler's account of this source
	// the measured share of its time by line of Source, 0 to 1; nil if it was not measured
	Profile map[int]float64   `json:"profile,omitempty"`
	Cost    *beagle.Resources `json:"cost,omitempty"` // of a call
	// the code of its functions, in order; the prompt shows the hot loop
	Assembly []Instruction `json:"assembly,omitempty"`
	Island   int           `json:"island"`
}

// An InputClass is a kind of input ("UTF-8", "empty"). It holds the kind's share of the calls, and
// how fast a version is on it.
type InputClass struct {
	Name  string        `json:"name"`
	Share float64       `json:"share"`
	Ratio *beagle.Ratio `json:"ratio,omitempty"` // over the original on inputs of the class
}

// An Instruction is one line of the compiler's assembly (go tool compile -S).
type Instruction struct {
	Func string `json:"func"` // the function that contains it
	PC   int    `json:"pc"`   // the offset in the function; jumps name their targets by it
	Line int    `json:"line"` // the line of the version's source; 0 for code inlined from another file
	Text string `json:"text"` // "MOVBLZX (AX)(CX*1), DX"
}

// A Callee is a function outside the target's scope that the target calls.
type Callee struct {
	Name   string  `json:"name"`   // "strings.ToLower", "helper"
	Source string  `json:"source"` // its declaration; empty if unknown
	Share  float64 `json:"share"`  // of the target's time; 0 if unknown
}

// A Rule states the gain of a rewriting rule so far.
type Rule struct {
	Name string  `json:"name"`
	Good int     `json:"good"` // versions with it that behave
	Bad  int     `json:"bad"`  // versions that were rejected for it
	Gain float64 `json:"gain"` // the factor that a step of it brings, by regression over all versions
}

// An Attempt is the outcome of an earlier candidate.
type Attempt struct {
	Steps []beagle.Step `json:"steps,omitempty"` // the last one is the new step
	By    string        `json:"by"`              // the rule or the model
	// the model's own account of its change, in one line
	Note           string                 `json:"note,omitempty"`
	Status         beagle.Status          `json:"status"`
	Stage          string                 `json:"stage"`
	Reason         string                 `json:"reason,omitempty"`
	Ratio          *beagle.Ratio          `json:"ratio,omitempty"`  // over the original
	Gain           *beagle.Ratio          `json:"gain,omitempty"`   // over its parent
	Slower         []InputClass           `json:"slower,omitempty"` // kinds of input on which it is slower
	Counterexample *beagle.Counterexample `json:"counterexample,omitempty"`
}

// A Failure is the start of a repair.
type Failure struct {
	Reply     string `json:"reply"`               // the model's text that failed
	Unmatched string `json:"unmatched,omitempty"` // why its edits could not be applied
	// the message of the parser, type checker or compiler
	Compiler       string                 `json:"compiler,omitempty"`
	Policy         string                 `json:"policy,omitempty"`         // the rule that it breaks
	Counterexample *beagle.Counterexample `json:"counterexample,omitempty"` // where it differs from the original
}
