package beagle

// An Outcome says how a run ended.
type Outcome string

const (
	Improved      Outcome = "improved"       // the run has a patch
	NoImprovement Outcome = "no-improvement" // no candidate was faster beyond doubt
)

// A Result holds the findings of a run: the object that --json prints, with everything that the
// report needs.
type Result struct {
	Run            string       `json:"run"` // the run's ID, as `beagle show` takes it
	Target         TargetRef    `json:"target"`
	Outcome        Outcome      `json:"outcome"`
	Why            string       `json:"why"`      // one sentence that explains the outcome
	Best           Version      `json:"best"`     // the original itself when nothing better was found
	Baseline       Resources    `json:"baseline"` // of the original
	BaselineStatic StaticFacts  `json:"baseline_static"`
	Measurement    *Measurement `json:"measurement,omitempty"`
	// where the original spends its time, the most expensive lines first
	Profile      []LineShare    `json:"profile,omitempty"`
	Patch        string         `json:"patch"` // unified diff; empty without an improvement
	Files        []PatchFile    `json:"files,omitempty"`
	Requires     []Required     `json:"requires,omitempty"` // modules that the patch adds to go.mod
	Candidates   int            `json:"candidates"`         // evaluated; duplicates cost nothing and do not count
	Statuses     map[Status]int `json:"statuses"`
	WallSeconds  float64        `json:"wall_seconds"`
	Verification Verification   `json:"verification"`
	Corpus       CorpusSummary  `json:"corpus"`
	InPlace      *InPlace       `json:"in_place,omitempty"` // the evidence, where it is not a corpus
	// that ranked the versions, if not the time of the recorded calls
	Score      *Score        `json:"score,omitempty"`
	Findings   []Finding     `json:"findings,omitempty"` // of the audit
	Warnings   []string      `json:"warnings,omitempty"` // evidence that this machine could not give
	RuleFaults []RuleFault   `json:"rule_faults,omitempty"`
	Search     SearchSummary `json:"search"`
	// finalists that were faster and fell in the full verification, or in the second measurement
	Rejected []string      `json:"rejected,omitempty"`
	NearMiss *NearMiss     `json:"near_miss,omitempty"` // of the first finalist that fell and has one
	Lineage  []LineageStep `json:"lineage,omitempty"`   // of the winner, from the original
	// the winner's time once more, beside its steps, in other programs; none: it could not be timed
	Again *Ratio `json:"again,omitempty"`
	// changes to the original that a person may want to make, and no rewrite may
	Advice []Advice `json:"advice,omitempty"`
	// every candidate, in the order of evaluation; the judge's own come last
	Attempts []Attempt     `json:"trials"`
	Models   *ModelSummary `json:"models,omitempty"` // none when no model was asked
	Split    Split         `json:"split"`
	Machine  Machine       `json:"machine"`
	// how often the judge of speed errs; none when it was not measured for its rule
	Judge *ErrorRates `json:"judge,omitempty"`
	// the earlier run whose measurement this is; none: this run's own
	MeasuredIn *Origin `json:"measured_in,omitempty"`
	// the earlier run whose verification this is; none: this run's own
	VerifiedIn *Origin `json:"verified_in,omitempty"`
	Replay     string  `json:"replay"` // the command that makes this result again
}

// A Required names a module that a patch adds to go.mod.
type Required struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// An Origin is the run that found something out, and when.
type Origin struct {
	Run string `json:"run"` // its ID
	At  string `json:"at"`  // UTC, as in "2026-08-01 12:30:59"
}

// A LineShare is a line of the original with its share of the original's time,
// by a CPU profile over the training inputs.
type LineShare struct {
	Line  int     `json:"line"` // in the original as a candidate file
	Share float64 `json:"share"`
	Text  string  `json:"text"`
}

// A TargetRef names a target.
type TargetRef struct {
	Spec      string   `json:"spec"`
	ID        string   `json:"id"`
	Module    string   `json:"module"`
	Signature string   `json:"signature"`
	Dir       string   `json:"dir"`  // module root, absolute
	File      string   `json:"file"` // relative to the module
	Line      int      `json:"line"`
	TypeArgs  []string `json:"type_args,omitempty"`
	Scope     []string `json:"scope"` // names of the declarations that could change
	Contract  Contract `json:"contract,omitzero"`
}

// A Version is the best version with its figures.
type Version struct {
	ID     string      `json:"id"`
	Ratio  Ratio       `json:"ratio"`  // baseline time over this version's time, corrected for having tried many
	Nanos  float64     `json:"ns"`     // a call, on this machine, for orientation only
	Allocs float64     `json:"allocs"` // a call
	Bytes  float64     `json:"bytes"`  // a call
	Source string      `json:"source"`
	Steps  []Step      `json:"steps,omitempty"`
	Static StaticFacts `json:"static"`
}

// Verification lists the checks of the best version, their extent, and their gaps.
type Verification struct {
	Checks  []CheckResult `json:"checks"`
	Cases   int           `json:"cases"` // inputs that both versions were compared on, in all
	NotDone []string      `json:"not_done"`

	Assurance *Assurance `json:"assurance,omitempty"` // how far the evidence reaches
}

// CorpusSummary describes the inputs.
type CorpusSummary struct {
	ID            string   `json:"id"`
	Train         int      `json:"train"`
	Holdout       int      `json:"holdout"`
	Generated     int      `json:"generated"`
	Calls         float64  `json:"calls"`
	Dropped       int      `json:"dropped"`
	DroppedWhy    string   `json:"dropped_why,omitempty"`
	GeneratedOnly bool     `json:"generated_only"`
	Sources       []string `json:"sources"`
	Facets        Facets   `json:"facets"`
}

// SearchSummary says how the search went.
type SearchSummary struct {
	Strategy    string `json:"strategy"`
	Seed        uint64 `json:"seed"`
	Islands     int    `json:"islands"`
	Budget      int    `json:"budget"`
	Generations int    `json:"generations"`
	Stopped     string `json:"stopped"` // "budget", "time", "exhausted", "interrupted"
}

// A LineageStep is the gain of one step of the winner, measured in one run with all the others.
type LineageStep struct {
	Step  Step   `json:"step"`
	Why   string `json:"why"`   // the rewrite's own explanation
	Ratio Ratio  `json:"ratio"` // of the version after this step, over the original
	Gain  Ratio  `json:"gain"`  // of the version after this step, over the one before it
}

// An Advice is a place of the original that a person may want to change. No rewrite touches it,
// since the gain depends on promises that the source does not make.
type Advice struct {
	Name string `json:"name"` // as `beagle explain` takes it: "lock-in-loop"
	Line int    `json:"line"` // in the original as a candidate file
	Site string `json:"site"` // the code there
	Doc  string `json:"doc"`  // the change, its worth, and the condition for it
}

// An Attempt is one evaluated candidate.
type Attempt struct {
	Candidate string   `json:"candidate"`
	Parents   []string `json:"parents,omitempty"`
	Island    int      `json:"island"` // 0 for the judge's own
	Steps     []Step   `json:"steps"`
	Status    Status   `json:"status"`
	Stage     string   `json:"stage"`
	Reason    string   `json:"reason,omitempty"`
	Screen    *Ratio   `json:"screen,omitempty"`
}

// Split says where a candidate's time went: milliseconds a candidate, and
// seconds from the start to the first candidate's verdict.
type Split struct {
	FirstCandidateSeconds float64 `json:"first_candidate_seconds"`
	PrepareSeconds        float64 `json:"prepare_seconds"` // target, corpus, audit, profile
	ConfirmSeconds        float64 `json:"confirm_seconds"` // full verification and measurement of the finalists
	Build                 float64 `json:"build_ms"`
	Verify                float64 `json:"verify_ms"`
	Screen                float64 `json:"screen_ms"`
	Orchestration         float64 `json:"orchestration_ms"` // the rest: ask, propose, tell, checkpoint
	Cached                int     `json:"cached"`           // verdicts taken from the store
}

// A Machine is the kind of machine that a figure was measured on.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	// Build has the settings of the toolchain that change machine code or its meaning and are not
	// the default, such as "GOAMD64=v3".
	Build string `json:"build,omitempty"`
}

// A RuleFault says that a rule panicked, took too long, or took too much memory.
// It is off for the rest of the run.
type RuleFault struct {
	Rule     string `json:"rule"`
	Function string `json:"function"` // Find, Params, or Rewrite
	Reason   string `json:"reason"`   // "panicked: index out of range [3] with length 3"
	From     int    `json:"from"`     // the search's first proposal without the rule
}
