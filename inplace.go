package beagle

import (
	"fmt"
	"strings"
)

// InPlace describes the evidence from inside a module's tests, for a target whose inputs cannot
// be recorded.
type InPlace struct {
	Calls      int64          `json:"calls"`                // of the target in one run of the tests and benchmarks
	Tests      []string       `json:"tests,omitempty"`      // tests, examples and fuzz tests that call it
	Benchmarks []string       `json:"benchmarks,omitempty"` // that call it
	Timed      []string       `json:"timed,omitempty"`      // benchmarks in which versions take turns, if there are any
	Around     []string       `json:"around,omitempty"`     // of these: what they do between the calls is in the times
	Parallel   []string       `json:"parallel,omitempty"`   // of these: with RunParallel, which has one goroutine here
	Untimed    string         `json:"untimed,omitempty"`    // why there are none
	Flaky      []string       `json:"flaky,omitempty"`      // tests that call it and differ from run to run: left out
	Slow       []string       `json:"slow,omitempty"`       // tests that call it and take too long: left out
	Group      bool           `json:"group,omitempty"`      // several functions: each version is a program of its own
	Within     CallComparison `json:"within"`               // how versions are compared within one call
	Why        string         `json:"why,omitempty"`        // why not in a stronger way
	Compared   int64          `json:"compared"`             // calls of the original with its own copy
	Taped      int64          `json:"taped,omitempty"`      // calls of callbacks and interfaces in these
	Unfailing  string         `json:"unfailing,omitempty"`  // why calls are not made again in which one of these fails
	Open       bool           `json:"open,omitempty"`       // the tests need processes or a loopback network
	Concurrent bool           `json:"concurrent,omitempty"` // several goroutines call it at once
	Packages   []string       `json:"packages"`             // whose tests these are
	Because    string         `json:"because,omitempty"`    // why no record of a call serves
	Outside    string         `json:"outside,omitempty"`    // by which it reads outside of its memory, or prints
	Recorded   []string       `json:"recorded,omitempty"`   // functions of a group whose recorded calls judge, too
	Unnoticed  []string       `json:"unnoticed,omitempty"`  // functions of a group whose effect the tests do not notice
}

// CallComparison says how two versions are compared within one call of the target.
type CallComparison string

// The ways, the strongest first.
const (
	ByTape   CallComparison = "tape"   // on copies; callbacks and interfaces are recorded and answer again
	ByCopies CallComparison = "copies" // on copies; values that cannot be copied are shared
	ByRuns   CallComparison = "runs"   // not at all: whole runs of the tests are compared
)

// String describes the evidence in one line.
func (p *InPlace) String() string {
	text := fmt.Sprintf("%s and %s make %s", countNoun(len(p.Tests), "test", "tests"),
		countNoun(len(p.Benchmarks), "benchmark", "benchmarks"), countNoun(int(p.Calls), "call", "calls"))
	switch p.Within {
	case ByTape:
		return text + "; versions are compared within calls, and their callees are recorded"
	case ByCopies:
		return text + "; versions are compared within calls, on copies"
	}
	text += "; whole runs are compared"
	if len(p.Recorded) > 0 {
		text += ", and recorded calls of " + strings.Join(p.Recorded, ", ")
	}
	return text
}

// Lacks lists what no check in place covers.
func (p *InPlace) Lacks() []string {
	others := "callers into which the compiler would inline the function, longer inputs than the tests', and other " +
		"machines"
	if p.Group { // as in any build of the user's, calls are inlined
		others = "longer inputs than the tests', other machines, and code that sees fields: by reflection, by " +
			"printing, or by comparing or copying whole values"
	}
	of := ""
	if len(p.Recorded) > 0 {
		of = " of other functions than " + strings.Join(p.Recorded, ", ")
	}
	out := []string{
		"calls" + of + " that the tests and benchmarks do not make: no inputs are generated, no search looks for " +
			"differences, nothing is proved, and statements that no test reaches are not listed",
		others,
	}
	switch p.Within {
	case ByCopies:
		out = append(out, "the calls of callbacks and interfaces, which both versions share ("+p.Why+")")
	case ByRuns:
		out = append(out, "results of single calls"+of+": only whole runs of the tests are compared ("+p.Why+")")
	}
	if p.Unfailing != "" {
		out = append(out, "callbacks and interfaces that fail where they do not in the tests ("+p.Unfailing+")")
	}
	if p.Outside != "" {
		out = append(out, "other files, environments and standard streams than the tests' ("+p.Outside+
			"), and the output of calls: only the lines of whole runs of the tests are compared")
	}
	if len(p.Parallel) > 0 {
		out = append(out, "goroutines that wait for each other: these benchmarks run in parallel, and here in one "+
			"goroutine: "+listSome(p.Parallel, notCheckedInLine))
	}
	if len(p.Unnoticed) > 0 {
		out = append(out, "functions that may do nothing without a failing test: "+
			listSome(p.Unnoticed, notCheckedInLine))
	}
	if len(p.Slow) > 0 {
		out = append(out, "results of these slow tests: "+listSome(p.Slow, notCheckedInLine))
	}
	if len(p.Flaky) > 0 {
		out = append(out, "results of these tests, which differ from run to run: "+listSome(p.Flaky, notCheckedInLine))
	}
	return out
}
