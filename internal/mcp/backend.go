package mcp

import (
	"context"
	"io"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A Backend does the work of the tools. The agent sees its errors: a [beagle.UsageError] with its
// remedy, any other as a failure of the server. Several goroutines may call methods; Evaluate and
// Describe wait for each other, since one measurement holds the machine.
type Backend interface {
	// Module names the module that the server is for.
	Module(ctx context.Context) (Module, error)
	// Profile opens a CPU profile below the module's directory.
	Profile(name string) (io.ReadCloser, error)
	// Describe describes a target.
	Describe(ctx context.Context, target string, tell Progress) (*Description, error)
	// Evaluate gives a version the verdict that `beagle verify` gives.
	Evaluate(ctx context.Context, target, source, note string, tell Progress) (*Evaluation, error)
	// Evaluation is an earlier result of Evaluate.
	Evaluation(id string) (*Evaluation, error)
	// Lessons are all lessons that there are.
	Lessons() ([]llm.Lesson, error)
	// Runs lists the searches, the newest first.
	Runs() ([]Run, error)
	// Submit hands a version to a search that is running.
	Submit(run, source, note string) (*Submission, error)
	// Submitted is the verdict of a search on a version that it was handed, by
	// the submission's ID; nil when the run knows no such ID.
	Submitted(run, id string) (*beagle.Verdict, error)
	// Result returns the result of a finished search.
	Result(run string) (*beagle.Result, error)
}

// Progress reports the progress of a long call: a stage and its subject.
type Progress func(stage, detail string)

// A Module is the module that the server works in.
type Module struct {
	Path string // "github.com/org/service"
	Dir  string // absolute
}

// A Description describes a target, or says why it is refused.
type Description struct {
	Briefing *llm.Briefing   // of the original, without lessons; nil when the target is refused
	InPlace  *beagle.InPlace // nil where recorded calls judge versions
	Findings []beagle.Finding
	Rewrites []string // names of the rules that apply to the original
	Refused  *beagle.UsageError
}

// An Evaluation is a verdict with its subject.
type Evaluation struct {
	ID      string         `json:"id"`
	Target  string         `json:"target"`
	Note    string         `json:"note,omitempty"`
	Verdict beagle.Verdict `json:"verdict"`
	Cached  bool           `json:"-"`
}

// A Run is a search.
type Run struct {
	ID      string `json:"id"`
	Target  string `json:"target"`
	State   string `json:"state" jsonschema:"running, stopped, done, canceled or failed"`
	Note    string `json:"note,omitempty"`
	Created string `json:"created"`
}

// A Submission is a version that a search was given.
type Submission struct {
	ID      string `json:"id"`
	Run     string `json:"run"`
	Waiting int    `json:"waiting" jsonschema:"versions in the search's inbox, this one included"`
}
