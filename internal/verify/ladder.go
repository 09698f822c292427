package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// A Check is one rung of a ladder. It rejects the candidate or lets it pass.
type Check struct {
	Name string
	Doc  string
	Cost time.Duration // typical, for a small function
	Run  func(ctx context.Context, j *Job) (*Rejection, error)
}

// A Ladder is a list of checks, cheapest first.
type Ladder []Check

// These are the ladders. Reading needs no program. QuickLadder is for every candidate of a search.
// FullLadder is for finalists and for `beagle verify`.
var (
	Reading = Ladder{
		{"parse",
			"it is a Go file that declares the target, type-checks with the rest of the package and keeps its API",
			2 * time.Millisecond, parse},
		{"policy", "it touches nothing that the original does not, keeps no state, and holds no literal of the corpus",
			time.Millisecond, readPolicy},
	}
	QuickLadder = Ladder{
		{"quick", "a sample of the calls and a small exhaustion, in one process", 15 * time.Millisecond, quick},
	}
	FullLadder = append(Reading[:len(Reading):len(Reading)], Ladder{
		{"compile", "the compiler accepts it", 100 * time.Millisecond, compile},
		{"start", "a program starts as fast with it, and as small", 20 * time.Millisecond, startCheck},
		{"replay", "it does what the original does on every recorded call", 50 * time.Millisecond, replayTrain},
		{"holdout", "and on the calls that no rewrite has seen", 50 * time.Millisecond, replayHoldout},
		{"generated", "and on inputs made from the types", 50 * time.Millisecond, replayGenerated},
		{"threads", "and from several goroutines at once", 30 * time.Millisecond, threads},
		{"state", "and keeps nothing of one call for another, nor of one caller's memory",
			300 * time.Millisecond, keepsState},
		{"exhaust", "and on every small input, every length, every byte", 3 * time.Second, exhaust},
		{"growth", "and its time grows no faster than the original's with longer inputs",
			300 * time.Millisecond, growth},
		{"fuzz", "and on what a search guided by their branches and comparisons finds", 2 * time.Second, fuzz},
		{"proof", "and, as far as a solver can say, on every input there is", 4 * time.Second, prove},
		{"untested", "and it changes no statement by itself that no input reached", 100 * time.Millisecond, untested},
		{"machines", "and as a program for other machines, such as those whose int has 32 bits", 2 * time.Second,
			otherMachines},
		{"race", "and the race detector has nothing to say", 10 * time.Second, race},
	}...)
)

// A Job carries one candidate up a ladder.
type Job struct {
	Env       *Env
	Candidate beagle.Candidate
	Corpus    *beagle.Corpus
	Budget    Budget

	bin  *harness.Binary // set before QuickLadder; the compile check sets it for the others
	idx  int
	cand *code
	orig *code
	exclusions
	notes

	terms   *rt.Terms           // a contract to try in place of the target's
	more    []*source.Predicate // the conditions of terms, beside those of the target
	astrays int                 // programs of the running check that ended between inputs
	seeds   [][]byte            // records that take each side of each decision; see branchSeeds

	searchCoverage
}

// notes are the records of a job's checks.
type notes struct {
	result  beagle.CheckResult // of the running check
	verdict *beagle.Verdict
	quick   bool
}

// exclusions holds the inputs that the checks of a job leave out, because the original takes too
// long for them.
type exclusions struct {
	learned       *corpusFacts
	candidateEnds map[string]int // how often the original ended in a phase, though only beside the candidate
}

// searchCoverage holds the coverage of the guided search at the places where a candidate differs.
type searchCoverage struct {
	held    *harness.Traced // the program of the guided search, while changes need it
	covered [2]coverage     // of the original and the candidate
	changes []change        // of what no input reached
}

// A Budget bounds the time of the long checks. A field of zero means the default.
type Budget struct {
	Exhaust time.Duration // 3 s
	Fuzz    time.Duration // processor time, at most: 5 s; negative leaves the search out
	Race    time.Duration // 2 s; negative leaves the race detector out
	Proof   time.Duration // processor time: 4 s; negative leaves the proof out
}

// withDefaults fills the zero fields of a budget with those of another.
func (b Budget) withDefaults(d Budget) Budget {
	return Budget{
		Exhaust: cmp.Or(b.Exhaust, d.Exhaust), Fuzz: cmp.Or(b.Fuzz, d.Fuzz),
		Race: cmp.Or(b.Race, d.Race), Proof: cmp.Or(b.Proof, d.Proof),
	}
}

func (b Budget) orDefaults() Budget {
	return b.withDefaults(Budget{Exhaust: 3 * time.Second, Fuzz: 5 * time.Second, Race: 2 * time.Second,
		Proof: 4 * time.Second})
}

// budget fills the zero fields of a budget.
func (e *Env) budget(b Budget) Budget {
	if e.Brief {
		b = b.withDefaults(Budget{Exhaust: 200 * time.Millisecond, Fuzz: time.Second, Race: time.Second, Proof: -1})
	}
	return b.orDefaults()
}

// fullLadder returns the ladder for finalists.
func (e *Env) fullLadder() Ladder {
	if !e.Brief {
		return FullLadder
	}
	return slices.DeleteFunc(slices.Clone(FullLadder), func(c Check) bool { return c.Name == "machines" })
}

// A Rejection is the reason to reject a candidate.
type Rejection struct {
	Status beagle.Status
	Stage  string // if it is not the check's name
	Reason string
	Diff   *rt.Diff // for a counterexample
}

// climb runs the checks of a ladder in order and stops at the first Rejection.
func (l Ladder) climb(ctx context.Context, j *Job) (*beagle.Verdict, error) {
	// The first ladder of a job begins the verdict; later ones go on with it.
	if j.verdict == nil {
		j.verdict = &beagle.Verdict{
			Candidate: j.Candidate.ID,
			Status:    beagle.Equal,
			Contract:  j.Env.Unit.Target.Contract,
		}
	}
	v := j.verdict
	if err := j.prepare(); err != nil {
		return nil, err
	}
	// Run the checks. An error ends the job without a verdict; a rejection ends the ladder.
	for _, check := range l {
		start := time.Now()
		j.result, j.astrays = beagle.CheckResult{Name: check.Name}, 0
		v.Stage = check.Name
		found, err := check.run(ctx, j)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("check %s: %w", check.Name, err)
		}
		j.result.Passed = found == nil
		if j.result.Millis == 0 {
			j.result.Millis = float64(time.Since(start).Microseconds()) / 1000
		}
		v.Checks = append(v.Checks, j.result)
		if found != nil {
			j.condemn(found)
			return v, nil
		}
	}
	return v, nil
}

// prepare reads the original and the corpus, once.
func (j *Job) prepare() error {
	var err error
	if j.orig == nil {
		if j.orig, err = j.Env.original(); err != nil {
			return err
		}
	}
	if j.learned == nil && j.Corpus != nil {
		j.learned, err = j.Env.learn(j.Corpus)
	}
	return err
}

// condemn enters a rejection into the verdict.
func (j *Job) condemn(f *Rejection) {
	v := j.verdict
	v.Status, v.Reason = f.Status, f.Reason
	if f.Stage != "" {
		v.Stage = f.Stage
		v.Checks[len(v.Checks)-1].Name = f.Stage
	}
	if f.Diff != nil {
		v.Counterexample = j.Env.counterexample(f.Diff)
	}
}

// note adds a sentence about a gap of the running check.
func (n *notes) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(n.result.Note, text) {
		return
	}
	if n.result.Note != "" {
		text = n.result.Note + "; " + text
	}
	n.result.Note = text
}

// Static parses and type-checks a candidate and applies the policy. It builds and runs nothing.
func Static(ctx context.Context, e *Env, c beagle.Candidate, corpus *beagle.Corpus) (*beagle.Verdict, error) {
	return Reading.climb(ctx, &Job{Env: e, Candidate: c, Corpus: corpus})
}

// Quick compares version idx of a program with the original, version 0, in one process. It takes
// about 10 ms. c is the candidate that was built as idx.
func Quick(
	ctx context.Context, e *Env, bin *harness.Binary, idx int, c beagle.Candidate, corpus *beagle.Corpus,
) (*beagle.Verdict, error) {
	j := &Job{Env: e, Candidate: c, Corpus: corpus, bin: bin, idx: idx, notes: notes{quick: true}}
	return QuickLadder.climb(ctx, j)
}

// Full runs every check on a candidate.
func Full(ctx context.Context, e *Env, c beagle.Candidate, corpus *beagle.Corpus, b Budget) (*beagle.Verdict, error) {
	j := &Job{Env: e, Candidate: c, Corpus: corpus, Budget: e.budget(b)}
	v, err := e.fullLadder().climb(ctx, j)
	if err == nil {
		j.assured(v)
	}
	if j.bin != nil {
		j.bin.Remove()
	}
	if j.held != nil {
		j.held.Remove()
	}
	return v, err
}

// parse reads the candidate and checks its scope and types.
func parse(_ context.Context, j *Job) (*Rejection, error) {
	f, problem := j.Env.Unit.Reader.Parse(j.Candidate.Source)
	if problem != nil {
		reason := problem.Message
		if problem.Line > 0 {
			reason = fmt.Sprintf("line %d: %s", problem.Line, reason)
		}
		return &Rejection{Status: beagle.Invalid, Stage: problem.Stage, Reason: reason}, nil
	}
	j.cand = j.Env.codeOf(f)
	return nil, nil
}

// readPolicy applies the policy. It compares literals with the known results, and notes whether
// those came from runs.
func readPolicy(_ context.Context, j *Job) (*Rejection, error) {
	var known *KnownValues
	if l := j.learned; l != nil {
		l.mu.Lock()
		known = l.known
		l.rechecked[j.Candidate.ID] = l.fromRuns
		l.mu.Unlock()
	}
	return breach(forbidden(j.orig, j.cand, known)), nil
}

// breach makes one rejection of the policy's findings, of which it shows eight.
func breach(list []Violation) *Rejection {
	if len(list) == 0 {
		return nil
	}
	lines := make([]string, 0, len(list))
	for i, v := range list {
		if i == 8 {
			lines = append(lines, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		lines = append(lines, v.String())
	}
	return &Rejection{Status: beagle.Forbidden, Stage: "policy", Reason: strings.Join(lines, "\n")}
}

// literals looks for results of the original among the candidate's literals, if the policy could
// not do so earlier.
func (j *Job) literals(ctx context.Context) (*Rejection, error) {
	if err := j.Env.learnResults(ctx, j.bin, j.learned); err != nil {
		return nil, err
	}
	l := j.learned
	l.mu.Lock()
	known, done := l.known, l.rechecked[j.Candidate.ID]
	l.mu.Unlock()
	if done {
		return nil, nil
	}
	if j.cand == nil {
		if found, err := parse(ctx, j); found != nil || err != nil {
			return found, err
		}
	}
	found := breach(copied(j.orig, j.cand, known))
	if found == nil { // otherwise a second look would not find it
		l.mu.Lock()
		l.rechecked[j.Candidate.ID] = true
		l.mu.Unlock()
	}
	return found, nil
}

// compile builds the candidate in a program with the original.
func compile(ctx context.Context, j *Job) (*Rejection, error) {
	vs := harness.Versions(&j.Env.Unit.Target, j.Candidate)
	bin, err := j.Env.Builder.Build(ctx, vs, harness.Link{})
	if err != nil {
		return nil, err
	}
	j.bin, j.idx = bin, 1
	if why := bin.Failed[1]; why != "" {
		return &Rejection{Status: beagle.Invalid, Reason: why}, nil
	}
	j.verdict.Static = bin.Static[1]
	return nil, nil
}
