package mcp

import "github.com/beagle-go/beagle"

// Limits of a call.
const (
	MaxSource  = 256 << 10 // bytes of a candidate; the policy's own limit is lower for all but huge functions
	maxNote    = 400       // bytes
	maxName    = 300       // bytes of a target, a run, an evaluation, a lesson
	MaxProfile = 64 << 20  // bytes of a CPU profile, packed
	maxNames   = 20        // lessons at once
)

type hotspotsIn struct {
	Profile string  `json:"profile" jsonschema:"path of a pprof CPU profile, relative to the module's directory, such as cpu.pprof"`
	Limit   int     `json:"limit,omitempty" jsonschema:"number of functions to list; 10 when left out, 50 at most"`
	Least   float64 `json:"least_percent,omitempty" jsonschema:"least net share of the profile in percent; smaller functions count for their callers; 0.5 when left out"`
}

// Hotspots are the functions of a profile that are worth a look.
type Hotspots struct {
	Unit     string    `json:"unit" jsonschema:"what the shares are of, such as cpu nanoseconds or samples"`
	Total    float64   `json:"total" jsonschema:"seconds of processor time for cpu, otherwise the count"`
	Hotspots []Hotspot `json:"hotspots" jsonschema:"the module's own functions, by their net share of the time"`
	Dropped  []Dropped `json:"dropped" jsonschema:"functions that cost more than the least share and are not listed, with the reason"`
	Warnings []string  `json:"warnings,omitempty" jsonschema:"doubts about the profile, such as that it is of another build than the checkout"`
}

// A Hotspot is a function of the module with its share of the time.
type Hotspot struct {
	Target string  `json:"target" jsonschema:"the name to use in describe_target and evaluate_candidate"`
	Flat   float64 `json:"flat_percent" jsonschema:"share of the time in the function itself"`
	Cum    float64 `json:"cum_percent" jsonschema:"share of the time in the function and all that it calls"`
	Net    float64 `json:"net_percent" jsonschema:"share of the time in the function, in callees without an entry of their own, and in the garbage collection that it causes; net shares can be added up"`
	File   string  `json:"file,omitempty"`
	Line   int     `json:"line,omitempty" jsonschema:"the line of the function that costs most"`
	Why    string  `json:"why" jsonschema:"what the figures say about it"`
}

// A Dropped function is hot and no target.
type Dropped struct {
	Function string  `json:"function"`
	Flat     float64 `json:"flat_percent"`
	Cum      float64 `json:"cum_percent"`
	Reason   string  `json:"reason"`
}

type describeIn struct {
	Target string `json:"target" jsonschema:"./pkg.Func, ./pkg.Type.Method, a type with all its methods as ./pkg.Type, or a group as ./pkg.{A,B}; or an import path in the place of ./pkg"`
}

// Described is the answer of describe_target.
type Described struct {
	Target    string             `json:"target"`
	Refused   *Refusal           `json:"refused,omitempty" jsonschema:"why the function cannot be judged; nothing else is set then"`
	File      string             `json:"file,omitempty"`
	Line      int                `json:"line,omitempty"`
	Signature string             `json:"signature,omitempty"`
	Group     []string           `json:"group,omitempty" jsonschema:"the functions and types that are one target; empty for a single function"`
	Keep      string             `json:"keep,omitempty" jsonschema:"of a group: what may change, and what must stay"`
	Judged    string             `json:"judged,omitempty" jsonschema:"the tests and benchmarks that judge versions, where these are not recorded inputs"`
	Scope     []string           `json:"scope,omitempty" jsonschema:"declarations that only the target uses and that may change with it"`
	Source    string             `json:"source,omitempty" jsonschema:"the original as a candidate file; a candidate has the same form"`
	Callees   []Callee           `json:"callees,omitempty" jsonschema:"what it calls outside its scope; a candidate may go on calling it"`
	Inputs    string             `json:"inputs,omitempty" jsonschema:"what the recorded inputs are like, in words"`
	Facts     map[string]float64 `json:"facts,omitempty" jsonschema:"what is remarkable, with weights from 0 to 1; read_lessons takes them"`
	Hot       []Line             `json:"hot,omitempty" jsonschema:"lines of source where the time goes"`
	Compiler  []Line             `json:"compiler,omitempty" jsonschema:"the compiler's notes on lines of source"`
	HotLoop   string             `json:"hot_loop,omitempty" jsonschema:"assembly of the hot loop"`
	Figures   Figures            `json:"figures"`
	Audit     []Doubt            `json:"audit,omitempty" jsonschema:"what is doubtful about the inputs"`
	Rewrites  []string           `json:"rewrites,omitempty" jsonschema:"deterministic rewrites that apply; 'beagle evolve' tries them without an agent"`
	Lessons   []string           `json:"lessons,omitempty" jsonschema:"names for read_lessons that fit the function"`
}

// A Refusal says why and what would help.
type Refusal struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// A Callee is a function that the target calls.
type Callee struct {
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
}

// A Line is a line of the candidate file with its facts.
type Line struct {
	Line  int     `json:"line"`
	Share float64 `json:"share_percent,omitempty"`
	Text  string  `json:"text"`
	Says  string  `json:"says,omitempty"`
}

// Figures are the compiler's counts.
type Figures struct {
	BoundsChecks int  `json:"bounds_checks"`
	Escapes      int  `json:"escapes"`
	Inlinable    bool `json:"inlinable"`
	InlineCost   int  `json:"inline_cost"`
	CodeBytes    int  `json:"code_bytes"`
}

// A Doubt is a doubt of the audit.
type Doubt struct {
	Figure string `json:"figure"`
	Remedy string `json:"remedy"`
}

type evaluateIn struct {
	Target string `json:"target" jsonschema:"as for describe_target"`
	Source string `json:"source" jsonschema:"a whole Go file of the function's package: package clause, imports, the function again with the same signature, and every helper and table that it needs and that is not in the package already; of a group all that changes, types with their fields included"`
	Note   string `json:"note,omitempty" jsonschema:"one line on the idea, for the record; it has no influence"`
}

// Evaluated is the answer of evaluate_candidate.
type Evaluated struct {
	Evaluation string         `json:"evaluation" jsonschema:"ID for explain_rejection"`
	Accepted   bool           `json:"accepted" jsonschema:"equivalent as far as checked, and confirmed faster"`
	Verdict    beagle.Verdict `json:"verdict" jsonschema:"as 'beagle verify --json' prints it"`
}

type explainIn struct {
	Evaluation string `json:"evaluation,omitempty" jsonschema:"ID that evaluate_candidate gave"`
	Run        string `json:"run,omitempty" jsonschema:"a search, with candidate"`
	Candidate  string `json:"candidate,omitempty" jsonschema:"ID that submit_candidate gave, of a running search too, or the beginning of the ID of a candidate of a finished one"`
}

// Explained is the answer of explain_rejection.
type Explained struct {
	Status         string          `json:"status"`
	Stage          string          `json:"stage"`
	Explanation    string          `json:"explanation" jsonschema:"the check, its finding, and what to do about it"`
	Counterexample *Counterexample `json:"counterexample,omitempty"`
	Lessons        []string        `json:"lessons,omitempty" jsonschema:"names for read_lessons that may help"`
}

// A Counterexample is an input on which original and candidate differ.
type Counterexample struct {
	Call string `json:"call" jsonschema:"in Go syntax, minimised"`
	Want string `json:"want" jsonschema:"what the original does"`
	Got  string `json:"got" jsonschema:"what the candidate does"`
	Kind string `json:"kind" jsonschema:"result, panic, argument, alias, state, race, hang or crash"`
	Test string `json:"test,omitempty" jsonschema:"a Go test that shows it"`
}

type lessonsIn struct {
	Names []string           `json:"names,omitempty" jsonschema:"lessons to read whole"`
	Facts map[string]float64 `json:"facts,omitempty" jsonschema:"facts as describe_target gives them: the fitting lessons are read whole"`
}

// Lessons are the answer of read_lessons.
type Lessons struct {
	Lessons []Lesson `json:"lessons"`
}

// A Lesson is a short text on what makes Go code fast.
type Lesson struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Matches []string `json:"matches" jsonschema:"facts that it is for"`
	From    string   `json:"from" jsonschema:"bundled, or the file of the user that it comes from"`
	Text    string   `json:"text,omitempty"`
}

type runsIn struct{}

// Runs are the answer of list_runs.
type Runs struct {
	Runs []Run `json:"runs"`
}

type submitIn struct {
	Run    string `json:"run" jsonschema:"ID of a running search, as list_runs gives it"`
	Source string `json:"source" jsonschema:"as for evaluate_candidate"`
	Note   string `json:"note,omitempty" jsonschema:"one line on the idea, for the record; it has no influence"`
}

type patchIn struct {
	Run string `json:"run,omitempty" jsonschema:"ID of a finished search; the newest finished one when left out"`
}

// Patch is the answer of fetch_patch.
type Patch struct {
	Run     string        `json:"run"`
	Target  string        `json:"target"`
	Outcome string        `json:"outcome" jsonschema:"improved or no-improvement"`
	Why     string        `json:"why"`
	Ratio   *beagle.Ratio `json:"ratio,omitempty" jsonschema:"time of the original over time of the new version, with its 95 % interval"`
	Diff    string        `json:"diff,omitempty" jsonschema:"unified diff against the module's root, tests included"`
	Replay  string        `json:"replay" jsonschema:"command that makes the result again"`
}
