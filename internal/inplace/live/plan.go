//go:build go1.21

// Package live is compiled into the test binary of a target's package, where the target is a
// dispatcher over its original and some candidates. It decides which version a call runs. It
// counts calls, compares two versions within one call, or times slices of versions in turn.
// Nothing but the dispatcher calls it, and it imports the standard library and package rt only.
package live

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/beagle-go/beagle/internal/rt"
)

// PlanEnv is the variable of the environment that holds a Plan as JSON.
const PlanEnv = "BEAGLE_INPLACE"

// A Mode is the treatment of the target's calls in one process.
type Mode string

// The modes.
const (
	Run     Mode = "run"     // all calls run one version
	Count   Mode = "count"   // the original runs, and its calls are counted
	Compare Mode = "compare" // the original runs, and a version beside it on copies
	Time    Mode = "time"    // versions take turns in slices

	Alternate Mode = "alternate" // processes, one for each version, take turns in slices
)

// A Plan is the work of one process.
type Plan struct {
	Mode     Mode   `json:"mode"`
	Version  int    `json:"version,omitempty"`  // to run, or to compare with the original
	Versions []int  `json:"versions,omitempty"` // to time; the first is the original
	Report   string `json:"report,omitempty"`   // file that lines of JSON are added to: each a Line
	Budget   int64  `json:"budget,omitempty"`   // nanoseconds of comparing, or of timing
	Slice    int64  `json:"slice,omitempty"`    // nanoseconds that a slice should take
	Inside   bool   `json:"inside,omitempty"`   // time the calls alone, not what is between them
	Exact    bool   `json:"exact,omitempty"`    // count allocations exactly, which disturbs the times
	Tape     bool   `json:"tape,omitempty"`     // record the calls of callbacks and interfaces
	Faults   bool   `json:"faults,omitempty"`   // make calls again in which one of these fails
	Seed     uint64 `json:"seed,omitempty"`
	Package  string `json:"package,omitempty"` // import path whose tests are named
	Turns    *Turns `json:"turns,omitempty"`   // of the processes that alternate
	Void     int    `json:"void,omitempty"`    // function of a group that does nothing, counted from 1
}

// A Line is one line of a report. One of its fields is set.
type Line struct {
	Seen       *Seen       `json:"seen,omitempty"`
	Difference *Difference `json:"difference,omitempty"`
	Compared   *Compared   `json:"compared,omitempty"`
	Slices     *Slices     `json:"slices,omitempty"`
	Done       bool        `json:"done,omitempty"` // the budget is used up, and nothing more comes
}

// The words that are no version.
const (
	counting  = -1
	comparing = -2
	inside    = -3
)

// Hollow stands for a version that does nothing and returns zero values. It may be run, and
// compared with the original.
const Hollow = -4

var (
	plan   Plan
	word   int  // the version that the next call runs, or one of the words above
	timing bool // the word changes with the slices
)

func init() {
	text := os.Getenv(PlanEnv)
	if text == "" {
		return // the original runs
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		fmt.Fprintf(os.Stderr, "beagle: %s: %v\n", PlanEnv, err)
		os.Exit(exitPlan)
	}
	start()
}

// The statuses with which a process ends early.
const (
	exitPlan   = 84 // the plan cannot be read
	ExitDiffer = 86 // a difference was reported
)

// start takes up the plan.
func start() {
	rt.Tolerate()
	switch plan.Mode {
	case Run:
		word = plan.Version
	case Count:
		word = counting
	case Compare:
		word = comparing
	case Time:
		clock.begin()
	case Alternate:
		turns.begin()
	}
}

// Turn returns the number of the version that a call runs, or a negative word for
// [Counting] and [Comparing].
func Turn() int {
	if timing {
		tick()
	}
	return word
}

// Counting reports whether a negative word asks for [Counted].
func Counting(word int) bool { return word == counting }

// Comparing reports whether a negative word asks for [Enter]. Any other one asks for [Begin].
func Comparing(word int) bool { return word == comparing }

// Called counts a call of a function of a group, where calls are counted.
func Called() func() {
	if word != counting {
		return passed
	}
	return Counted()
}

// Void reports whether function k of a group does nothing, counted from 0.
func Void(k int) bool { return plan.Void == k+1 }

// A reporter adds lines to the report.
type reporter struct {
	mu   sync.Mutex
	file *os.File
}

var report reporter

// add appends a line to the report. A report that cannot be written ends the process.
func (r *reporter) add(l *Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if plan.Report == "" {
		return
	}
	if r.file == nil {
		f, err := os.OpenFile(plan.Report, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			fmt.Fprintf(os.Stderr, "beagle: the report: %v\n", err)
			os.Exit(exitPlan)
		}
		r.file = f
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "beagle: the report: %v\n", err)
		os.Exit(exitPlan)
	}
}
