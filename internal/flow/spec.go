// Package flow is where the stages meet. Its activities are plain functions
// that take and return IDs and small plain data; everything large lives in the
// store. Package loop decides the order; packages local and temporal carry it
// out. So the same activities serve one process or many machines, and a
// repeated activity finds its earlier result under the same key.
//
// # The shapes of a candidate
//
// At each of the seven steps of its way (ARCHITECTURE.md) a candidate has a type of its own. Each
// one holds what the next step needs, and no more, because it may travel to another machine and
// stays in the checkpoint.
//
// 1. Proposed:
//
//   - [evolve.Proposal] says what to make of which parent. Nothing is made yet.
//
// 2. Made:
//
//   - [ProposalOutcome] names the candidate in the store, or says why there is none.
//   - [Asked] is the outcome of a proposal to a model. It adds the model and the cost, which is due
//     without a candidate, too.
//
// 3. Drafted:
//
//   - [Draft] is a generation. It holds only the ProposalOutcomes that are new to the search, and
//     as feedback those that are not.
//
// 4. Evaluated, and 5. settled:
//
//   - entrant is a candidate within one batch that has passed all checks so far. It adds a place in
//     the batch's binary, so it ends with the batch.
//   - [StoredVerdict] is the outcome that does not depend on the run: the store keeps it for later
//     runs.
//   - [Evaluation] is a StoredVerdict in one run, with the candidate's parents and steps there.
//     [Settle] changes its verdict if another candidate had the same machine code first.
//   - [EvaluatedBatch] joins the Evaluations of a batch to the time that they took together.
//
// 6. Told:
//
//   - [evolve.Feedback] is an Evaluation as the search takes it: under its proposal's number, and
//     without the insights that are for models.
//   - [evolve.Member] is an accepted candidate in the population. It adds a place there, and what
//     was made of it, and so changes with each generation.
//   - [beagle.Attempt] is the log's entry for users. It is never changed, and rejected candidates
//     have one, too.
//
// 7. Shipped:
//
//   - [evolve.Trim] is one of the best Members without some of its steps.
//   - [evolve.Lead] is such a Member with all its Trims that behave, each an [evolve.Part].
//   - [evolve.Finalist] is a form that the judge measures in full, from a Lead or from the search.
//     It is an ID, and the shortest way there.
//   - measuredFinalist is a Finalist's candidate with its full measurement.
//   - [Conclusion] is the winner with all its evidence, or the original when nothing won.
package flow

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A Spec is everything that a user decides about a run. Together with the recorded measurements it
// decides the result.
type Spec struct {
	Dir    string   `json:"dir"`    // where the user stood (-C); absolute once a run began
	Target string   `json:"target"` // as typed
	Tags   []string `json:"tags,omitempty"`
	// a condition on the inputs, beside that of the target's comment
	Requires   string        `json:"requires,omitempty"`
	Ignore     []string      `json:"ignore,omitempty"`      // differences that do not count: some of beagle.Ignorable
	CorpusFile string        `json:"corpus_file,omitempty"` // of a group also NAME=FILE,NAME=FILE
	Seed       uint64        `json:"seed"`
	Strategy   string        `json:"strategy"`
	Islands    int           `json:"islands"`
	Candidates int           `json:"candidates"`         // budget of evaluations
	Batch      int           `json:"batch"`              // candidates built and screened together
	Fuzz       time.Duration `json:"fuzz"`               // longest guided search for differences, of each finalist
	Measure    time.Duration `json:"measure"`            // measuring of the finalists, in all and at most
	MinGain    float64       `json:"min_gain"`           // gain below which nothing is called faster: 0.01 is 1 %
	Time       time.Duration `json:"time"`               // search no longer than this; 0 is no limit
	Sandbox    string        `json:"sandbox"`            // "auto" or "require"
	Evidence   string        `json:"evidence,omitempty"` // "auto", "corpus", "inplace" or "state"; "" is auto
	Score      beagle.Score  `json:"score,omitzero"`     // by which versions are ranked and judged
	// only these mutators and sets of them; empty is the default set
	Rules     []string `json:"rules,omitempty"`
	NoLift    bool     `json:"no_lift,omitempty"`    // look up no piece of the function in the library
	Apply     bool     `json:"apply"`                // the improvement will be written to the user's files
	Force     bool     `json:"force"`                // go on although the audit refuses
	Anew      bool     `json:"anew,omitempty"`       // take no inputs, verdicts or measurements from earlier runs
	NoMeasure bool     `json:"no_measure,omitempty"` // judge the behaviour of hand-ins, not their speed
	// look for no contract under which a rejected version would be right
	Strict bool `json:"strict,omitempty"`
	// versions may hold copies of functions of other packages of the module
	Across bool `json:"across,omitempty"`
	// candidates may call the module simd, which go.mod gets with the patch if it lacks it
	WithSimd bool `json:"with_simd,omitempty"`
	// the fastest version wins, not the simplest of those that are about as fast
	Fastest bool `json:"fastest,omitempty"`
	// absolute paths of hand-ins, which no test may use
	Judged []string `json:"-"`
	Models Models   `json:"models,omitzero"` // that write candidates beside the rules; none by default
}

// Defaults returns the spec of a run that takes about a minute on a small function.
func Defaults() Spec {
	return Spec{
		Dir:        ".",
		Seed:       1,
		Strategy:   "islands",
		Islands:    4,
		Candidates: 60,
		Batch:      12,
		Fuzz:       5 * time.Second,
		Measure:    20 * time.Second,
		MinGain:    0.01,
		Sandbox:    "auto",
	}
}

const (
	minCandidates = 4
	minMeasure    = 2 * time.Second
	maxBatch      = 64
)

// Validate returns a [beagle.UsageError] for a spec that cannot give a
// verdict.
func (s *Spec) Validate() error {
	// Check numbers and names by themselves.
	switch {
	case s.Target == "":
		return usage("no target is named", "name a function: beagle evolve ./pkg.Func, or ./pkg.Type.Method")
	case s.Candidates < minCandidates:
		return usage(fmt.Sprintf("--candidates %d is too small a budget to search", s.Candidates),
			fmt.Sprintf("give at least %d; 60 is the default", minCandidates))
	case s.Measure < minMeasure:
		return usage(fmt.Sprintf("--measure %v is too short to tell a gain from noise", s.Measure),
			fmt.Sprintf("give at least %v; 20s is the default", minMeasure))
	case !(s.MinGain >= 0 && s.MinGain < 1):
		return usage(fmt.Sprintf("--min-gain %v is not a share of the time", s.MinGain),
			"give for example 0.05 for 5 %, or 0 for whatever can be shown; 0.01 is the default")
	case s.Time != 0 && s.Time < time.Second:
		return usage(fmt.Sprintf("--time %v is too small a budget to measure anything", s.Time),
			"give at least 1s, or leave it out")
	case s.Fuzz < 0:
		return usage(fmt.Sprintf("--fuzz %v is negative", s.Fuzz),
			"give a duration such as 5s, or 0 to go without, which the report then says")
	case s.Islands < 1 || s.Islands > 16:
		return usage(fmt.Sprintf("--islands %d is out of range", s.Islands), "give 1 to 16; 4 is the default")
	case s.Batch < 1 || s.Batch > maxBatch:
		return usage(fmt.Sprintf("--batch %d is out of range", s.Batch),
			fmt.Sprintf("give 1 to %d; 12 is the default", maxBatch))
	case !slices.Contains(evolve.Strategies, evolve.Strategy(s.Strategy)):
		return usage(fmt.Sprintf("--strategy %q is not known", s.Strategy),
			fmt.Sprintf("give one of %q", evolve.Strategies))
	case s.Sandbox != "auto" && s.Sandbox != "require":
		return usage(fmt.Sprintf("--sandbox %q is not known", s.Sandbox),
			"give auto (use what the kernel offers, say what is missing) or require (refuse when anything is missing)")
	}
	kinds := []string{"", EvidenceAuto, EvidenceCorpus, EvidenceInPlace, EvidenceState}
	if !slices.Contains(kinds, s.Evidence) {
		return usage(fmt.Sprintf("--evidence %q is not known", s.Evidence),
			"give auto (recorded calls where there can be any, otherwise the package's own tests), corpus, inplace, "+
				"or state (inplace for methods whose receiver keeps state, otherwise auto)")
	}
	// Refuse flags that exclude each other.
	if s.Evidence == EvidenceInPlace && s.CorpusFile != "" {
		return usage("--evidence inplace with --corpus "+s.CorpusFile,
			"leave one of them out: in place there are no records")
	}
	if s.NoMeasure && !s.Score.IsZero() {
		return usage("a score ("+s.Score.String()+") with --no-measure", "leave one of them out: nothing is measured")
	}
	// Let the parts check themselves.
	if _, err := source.Ignores(s.Ignore); err != nil {
		return err
	}
	s.Models.settle()
	return s.Models.check()
}

// Load returns which target to load, and how.
func (s *Spec) Load() source.Options {
	return source.Options{Dir: s.Dir, Spec: s.Target, Tags: s.Tags, Requires: s.Requires, Ignore: s.Ignore,
		InPlace: s.mayGoInPlace(), Group: s.Evidence != EvidenceCorpus, Across: s.Across,
		Also: lift.ModulePackages()}
}

// Anchor makes the paths of a spec absolute, so that it means the same to a process that resumes
// the run elsewhere.
func (s *Spec) Anchor() error {
	var err error
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return err
	}
	var files []string
	for _, g := range s.givenCorpora() {
		path, err := filepath.Abs(g.path)
		if err != nil {
			return err
		}
		if g.function != "" {
			path = g.function + "=" + path
		}
		files = append(files, path)
	}
	s.CorpusFile = strings.Join(files, ",")
	return nil
}

// A givenCorpus is a file of recorded calls.
type givenCorpus struct {
	function string // of a group; "" where the records tell, and for a single function
	path     string
}

// givenCorpora returns the files of --corpus.
func (s *Spec) givenCorpora() (out []givenCorpus) {
	if s.CorpusFile == "" {
		return nil
	}
	one := []givenCorpus{{"", s.CorpusFile}}
	if _, err := os.Stat(s.CorpusFile); err == nil { // a file may have such a name
		return one
	}
	for part := range strings.SplitSeq(s.CorpusFile, ",") {
		name, path, ok := strings.Cut(part, "=")
		if !ok || path == "" || !source.IsFunctionName(name) {
			return one
		}
		out = append(out, givenCorpus{name, path})
	}
	return out
}

// Anchored returns a usage error unless the directory in which a run began is known and exists.
func (s *Spec) Anchored(run string) error {
	if !filepath.IsAbs(s.Dir) {
		return usage(fmt.Sprintf("run %s does not say in which directory it began, only %q", run, s.Dir),
			"it is of an earlier version of Beagle; start a new run with beagle evolve")
	}
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return usage(fmt.Sprintf("run %s began in %s, which is not there any more", run, s.Dir),
			"put the module back there, or start a new run where it is now: beagle evolve -C DIRECTORY "+
				quote(s.Target))
	}
	return nil
}

// Command returns the command line that makes the run again.
func (s *Spec) Command() string {
	d := Defaults()
	args := []string{"beagle", "evolve"}
	add := func(differs bool, flag string, value any) {
		if differs {
			args = append(args, fmt.Sprintf("--%s=%v", flag, value))
		}
	}
	if s.Dir != d.Dir {
		args = append(args, "-C", quote(s.Dir))
	}
	// Name the target, its inputs, and what may differ.
	add(len(s.Tags) > 0, "tags", strings.Join(s.Tags, ","))
	add(s.Requires != "", "requires", quote(s.Requires))
	add(len(s.Ignore) > 0, "ignore", strings.Join(s.Ignore, ","))
	add(s.CorpusFile != "", "corpus", quote(s.CorpusFile))
	// Name the search, the judge, and the authors.
	add(true, "seed", s.Seed)
	add(s.Strategy != d.Strategy, "strategy", s.Strategy)
	add(s.Islands != d.Islands, "islands", s.Islands)
	add(true, "candidates", s.Candidates)
	add(s.Batch != d.Batch, "batch", s.Batch)
	add(s.Fuzz != d.Fuzz, "fuzz", s.Fuzz)
	add(s.Measure != d.Measure, "measure", s.Measure)
	add(s.MinGain != d.MinGain, "min-gain", s.MinGain)
	add(s.Time != d.Time, "time", s.Time)
	add(s.Sandbox != d.Sandbox, "sandbox", s.Sandbox)
	add(s.Evidence != "" && s.Evidence != EvidenceAuto, "evidence", s.Evidence)
	add(len(s.Score.Benchmarks) > 0, "bench", s.Score.Where())
	add(!s.Score.TimeAlone(), "score", s.Score.Quantity())
	add(len(s.Rules) > 0, "rules", strings.Join(s.Rules, ","))
	add(s.NoLift, "no-lift", true)
	add(s.Force, "force", s.Force)
	add(s.Anew, "anew", s.Anew)
	add(s.Strict, "strict", s.Strict)
	add(s.Across, "across", s.Across)
	add(s.WithSimd, "with-simd", s.WithSimd)
	add(s.Fastest, "fastest", s.Fastest)
	s.Models.flags(add)
	return strings.Join(append(args, quote(s.Target)), " ")
}

// quote makes a word safe for a shell.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[](){}<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func usage(what, remedy string) error { return &beagle.UsageError{What: what, Remedy: remedy} }
