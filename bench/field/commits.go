package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/suite/commits/change"
)

// A task is a line of commits.jsonl: a function before a performance commit, beagle's version, and
// the maintainers'. Lines of the sealed half hold no name.
type task struct {
	Key      string        `json:"key"`
	Build    string        `json:"build"`
	Budget   string        `json:"budget"`
	Perfect  bool          `json:"perfect"` // a model handed the maintainers' version in
	Half     string        `json:"half"`
	Module   string        `json:"module,omitempty"`
	Function string        `json:"function,omitempty"`
	Kind     string        `json:"kind,omitempty"`
	Search   search        `json:"search"`
	Expert   *timedVersion `json:"expert,omitempty"` // the maintainers' version
	Winner   *timedVersion `json:"winner,omitempty"` // beagle's; none when it kept the original
	Problem  string        `json:"problem,omitempty"`
}

// A timedVersion is a version that was judged and measured against the original, in one run with
// the other version.
type timedVersion struct {
	Status string  `json:"status"`
	Why    string  `json:"why,omitempty"`
	Gain   float64 `json:"gain,omitempty"`
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
}

func timedBy(v *beagle.Verdict) *timedVersion {
	if v == nil {
		return nil
	}
	t := &timedVersion{Status: string(v.Status), Why: v.Reason}
	if v.Final != nil {
		t.Gain, t.Low, t.High = v.Final.Train.Point, v.Final.Train.Low, v.Final.Train.High
	}
	return t
}

// sound reports whether a version was measured and nothing was found against it.
func (t *timedVersion) sound() bool {
	return t != nil && t.Gain > 0 && (t.Status == string(beagle.Accepted) || t.Status == string(beagle.Equal))
}

// factor returns a version's ratio, or 1 if it is not shown to be faster.
func (t *timedVersion) factor() float64 {
	if !t.sound() || t.Low <= 1 {
		return 1
	}
	return t.Gain
}

// commits implements the verb: performance commits of maintainers as tasks for beagle.
func commits(ctx context.Context, o *options, out, progress io.Writer) error {
	// Check the flags, and read the entries.
	if err := o.check(); err != nil {
		return err
	}
	entries, err := change.All()
	if err != nil {
		return err
	}
	// Open the results of earlier runs.
	l, done, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	kept, err := openShelf(filepath.Join(l.dir, "commits.jsonl"), func(t *task) (string, bool) {
		return t.Key, t.Build == l.build && t.Budget == o.budget && t.Perfect == o.perfect
	})
	if err != nil {
		return err
	}
	c := &committer{options: o, searcher: l}
	c.runner = &runner[task, *task]{shelf: kept, progress: progress, sealed: o.half == sealed}
	report := &commitReport{Half: o.half, Build: l.build, Budget: o.budget, Perfect: o.perfect}
	// Run the entries, a few at a time.
	p := newPool(ctx, o.jobs)
	for _, e := range entries {
		if e.Half() != o.half || len(report.Tasks) >= o.n || !o.wanted.MatchString(e.Name()) {
			continue
		}
		t := &task{}
		report.Tasks = append(report.Tasks, t)
		p.do(func(ctx context.Context) error { return c.runTask(ctx, &e, t) })
	}
	// Report.
	if err := p.wait(o.dir != ""); err != nil {
		return err
	}
	return o.finish(report, out)
}

// A committer runs tasks.
type committer struct {
	*options
	*runner[task, *task]
	searcher *searcher
}

// runTask runs a task whose result is unknown.
func (c *committer) runTask(ctx context.Context, e *change.Entry, t *task) error {
	key := beagle.HashOf("field commit", e.Name(), e.Commit)
	return c.fillIn(ctx, key, e.Name(), t, func() error {
		*t = task{Key: key, Build: c.searcher.build, Budget: c.budget, Perfect: c.perfect, Half: e.Half(),
			Module: e.Module, Function: e.Function, Kind: e.Kind}
		return c.searcher.measure(ctx, e, t)
	})
}

func (t *task) fail(err error) { t.Problem, t.Search.End = err.Error(), failed }

// seal removes what names the function.
func (t *task) seal() {
	if t.Half != sealed {
		return
	}
	t.Module, t.Function, t.Kind, t.Search.Detail, t.Problem = "", "", "", "", masked(t.Problem)
	for _, v := range []*timedVersion{t.Expert, t.Winner} {
		if v != nil {
			v.Why = ""
		}
	}
}

// measure has beagle search for a faster version of the function before the commit,
// and then measures beagle's version and the maintainers' in one run.
func (l *searcher) measure(ctx context.Context, e *change.Entry, t *task) error {
	before, expert, err := e.Candidate(ctx, l.dir)
	if err != nil {
		return err
	}
	out, err := os.MkdirTemp("", "field-out-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	contract := contractFlags(e)
	flags := append([]string{"--force"}, contract...)
	if t.Perfect {
		server, err := perfect(expert)
		if err != nil {
			return err
		}
		defer server.Close()
		flags = append(flags, "--model", "maintainer@"+server.URL()+"/v1", "--budget-calls", perfectCalls)
	}
	s, err := l.evolve(ctx, before, e.Function, out, flags...)
	if err != nil {
		return err
	}
	t.Search = *s
	if s.End == rejected {
		return nil // neither version can be judged
	}
	files := []string{expert}
	if s.End == improved {
		winner := filepath.Join(out, "winner.go")
		if err := os.WriteFile(winner, []byte(s.result.Best.Source), 0o644); err != nil {
			return err
		}
		files = append(files, winner)
	}
	verdicts, err := l.verify(ctx, before, e.Function, append([]string{"--force"}, contract...), files...)
	if err != nil {
		return err
	}
	if len(verdicts) < len(files) { // counting it as no gain would be wrong
		return fmt.Errorf("beagle verify gave a verdict on %d of %d versions within %v", len(verdicts),
			len(files), l.limit)
	}
	t.Expert = timedBy(verdicts[expert])
	if len(files) > 1 {
		t.Winner = timedBy(verdicts[files[1]])
	}
	return nil
}

// contractFlags returns the entry's contract. Both versions are judged under it.
func contractFlags(e *change.Entry) (flags []string) {
	if e.Requires != "" {
		flags = append(flags, "--requires", e.Requires)
	}
	if len(e.Ignore) > 0 {
		flags = append(flags, "--ignore", strings.Join(e.Ignore, ","))
	}
	return flags
}

// perfectCalls bounds the calls of the scripted model.
const perfectCalls = "4"

// perfect starts a model server that answers with the maintainers' version.
func perfect(file string) (*llmtest.Server, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &llmtest.Server{Script: llmtest.Say("```go\n" + string(text) + "\n```\n"), Models: []string{"maintainer"}}
	return s, s.Start("127.0.0.1:0")
}

// words puts the outcome of a task into a few words.
func (t *task) words() string {
	if t.Problem != "" {
		return t.Problem
	}
	text := t.Search.End
	if t.Search.Why != "" {
		text += ": " + t.Search.Why
	}
	if t.Search.End == improved {
		text = fmt.Sprintf("improved %.2fx", t.Search.Gain)
		if t.Winner != nil {
			text += fmt.Sprintf(", beside the expert %.2fx", t.Winner.Gain)
		}
	}
	switch e := t.Expert; {
	case e == nil:
		return text + "; expert not measured"
	case !e.sound():
		return text + "; expert " + e.Status
	default:
		return text + fmt.Sprintf("; expert %.2fx (%.2f to %.2f)", e.Gain, e.Low, e.High)
	}
}

// A commitReport is the output of the verb commits.
type commitReport struct {
	Half    string `json:"half"`
	Build   string `json:"build"`
	Budget  string `json:"budget"`
	Perfect bool   `json:"perfect"`

	Entries  int            `json:"entries"`
	Rejected map[string]int `json:"rejected"`
	Failed   int            `json:"failed"`
	Improved int            `json:"improved"` // gained 5 % or more at the low end, of all entries
	// tasks whose expert's version behaves and was measured
	Compared int `json:"compared"`
	// of these, geometric means and the share of the experts' gain in logarithms
	Beagle  float64 `json:"beagle,omitempty"`
	Experts float64 `json:"experts,omitempty"`
	Share   float64 `json:"share,omitempty"`
	Capped  float64 `json:"share_capped,omitempty"` // the same, no task counting more than its expert
	Unsound int     `json:"experts_turned_down"`    // other behaviour, under the entry's contract
	Slower  int     `json:"slower"`                 // winners that the second measurement calls slower
	Wrong   int     `json:"wrong"`                  // winners that the second verification rejects
	Minutes float64 `json:"cpu_minutes"`
	Tasks   []*task `json:"tasks,omitempty"` // none of the sealed half
}

// sum adds up the outcomes of the tasks. The sealed half shows no single task.
func (r *commitReport) sum() {
	r.Entries, r.Rejected = len(r.Tasks), map[string]int{}
	var ours, theirs, capped float64
	// Count how the searches ended.
	for _, t := range r.Tasks {
		r.Minutes += t.Search.Seconds / 60
		switch t.Search.End {
		case rejected:
			r.Rejected[t.Search.Why]++
		case failed:
			r.Failed++
		case improved:
			if t.Search.Low >= atLeast {
				r.Improved++
			}
		}
		// Count what the second check found against the winners.
		if w := t.Winner; w != nil {
			if !w.sound() {
				r.Wrong++
			} else if w.High < 1 {
				r.Slower++
			}
		}
		// Add up the gains where the expert's version is sound.
		switch {
		case t.Expert.sound():
			r.Compared++
			a, b := math.Log(t.Winner.factor()), math.Log(t.Expert.factor())
			ours, theirs, capped = ours+a, theirs+b, capped+min(a, b)
		case t.Expert != nil:
			r.Unsound++
		}
	}
	// Compute the means and the shares.
	if r.Compared > 0 {
		n := float64(r.Compared)
		r.Beagle, r.Experts = math.Exp(ours/n), math.Exp(theirs/n)
	}
	if theirs > 0 {
		r.Share, r.Capped = ours/theirs, capped/theirs
	}
	// Print no task of the sealed half.
	if r.Half == sealed {
		r.Tasks = nil
	}
}

// print writes the report as a table, with the tasks first.
func (r *commitReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range r.Tasks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", one.Module, one.Function, one.Kind, one.words())
	}
	if len(r.Tasks) > 0 {
		fmt.Fprintln(t)
	}
	authors := "rules only"
	if r.Perfect {
		authors = "the maintainers' version as a model's reply"
	}
	fmt.Fprintf(t, "%s half of the commits\t%d functions; %s; beagle %s %s\n", r.Half, r.Entries, authors, r.Build,
		r.Budget)
	fmt.Fprintf(t, "can be taken\t%s%s; %d failed\n", share(r.Entries-sumOf(r.Rejected)-r.Failed, r.Entries),
		listed("; rejected: ", r.Rejected), r.Failed)
	fmt.Fprintf(t, "improved by 5 %% or more\t%s\n", share(r.Improved, r.Entries))
	fmt.Fprintf(t, "compared with the expert\t%d; %d experts' versions turned down\n", r.Compared, r.Unsound)
	if r.Compared > 0 {
		fmt.Fprintf(t, "gain, geometric mean\tbeagle %.2fx, experts %.2fx\n", r.Beagle, r.Experts)
		fmt.Fprintf(t, "share in logarithms\t%.0f %% (%.0f %% when no task counts more than its expert)\n",
			100*r.Share, 100*r.Capped)
	}
	fmt.Fprintf(t, "measured a second time\t%d slower, %d wrong\n", r.Slower, r.Wrong)
	fmt.Fprintf(t, "processor time\t%.0f minutes\n", r.Minutes)
	return t.Flush()
}

func sumOf(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
