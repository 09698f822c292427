package flow

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/llm"
)

// An Asked is what became of a proposal for a model: a candidate, or why there
// is none, and what it cost.
type Asked struct {
	Proposed
	Model    string     `json:"model"`             // who was asked
	Unheard  string     `json:"unheard,omitempty"` // why the model did not answer; empty when it did
	Spent    bool       `json:"spent,omitempty"`   // it was not asked, because the budget is used up
	Repaired bool       `json:"repaired,omitempty"`
	Known    bool       `json:"known,omitempty"`  // the answer is what it was to change
	Untold   bool       `json:"untold,omitempty"` // an agent did not say how many tokens it used
	Calls    int        `json:"calls"`            // answers that it took, from the journal or not
	In       int        `json:"in"`               // tokens
	Out      int        `json:"out"`
	Cost     llm.Micros `json:"micros"`
	Seconds  float64    `json:"seconds"`
}

// asking is what a session needs for models, made when the first is asked.
type asking struct {
	once    sync.Once
	err     error
	calls   *callBook
	asker   llm.Asker
	budget  *llm.Budget
	lessons []llm.Lesson
	callees []llm.Callee

	assembly atomic.Pointer[[]llm.Instruction] // of the original, once it is known
}

// Ask has a model write the candidate of a proposal: evidence, prompt, reply,
// candidate, with one more round when the reply does not fit or does not
// compile. Requests are journaled before they are sent and replies before they
// are used, so that asking again costs nothing. An error means that asking any
// further is of no use; a model that does not answer is no error.
func (a *Activities) Ask(ctx context.Context, run string, p evolve.Proposal) (*Asked, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := x.openModels(); err != nil {
		return nil, err
	}
	return x.write(ctx, p)
}

// Used is what the models of a run have used of its budget so far.
func (a *Activities) Used(ctx context.Context, run string) (llm.Spent, error) {
	x, err := a.prepared(ctx, run)
	if err != nil || !x.spec.Models.On() {
		return llm.Spent{}, err
	}
	if err := x.openModels(); err != nil {
		return llm.Spent{}, err
	}
	return x.models.budget.Spent(), nil
}

// Usage is what a watcher is told of the models of a run.
func (a *Activities) Usage(ctx context.Context, run string) (*ModelsEvent, error) {
	spent, err := a.Used(ctx, run)
	if err != nil {
		return nil, err
	}
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return &ModelsEvent{Spent: spent, Caps: x.spec.Models.Caps}, nil
}

// openModels opens the journal and the way to the models, once.
func (x *session) openModels() error {
	x.models.once.Do(func() { x.models.err = x.models.open(x) })
	return x.models.err
}

// priceOf is what a model of the run costs.
func (x *session) priceOf(model string) llm.Price { return x.spec.Models.model(model).Price }

func (m *asking) open(x *session) error {
	spec := &x.spec.Models
	var err error
	if m.calls, err = openCalls(x.works.store, x.works.run, x.priceOf, spec.Caps.Money/agentShare); err != nil {
		return err
	}
	if m.lessons, err = llm.LoadLessons(spec.Lessons...); err != nil {
		return err
	}
	m.callees = x.callees()
	m.budget = llm.NewBudget(spec.Caps, m.calls.spent())
	if spec.Record != "" {
		m.calls.recorder = &llm.Recorder{Dir: spec.Record}
	}
	m.asker, err = x.asker(m.budget)
	return err
}

// servers are the models that have a server, which an agent has not.
func (m *Models) servers() []llm.Model {
	return slices.DeleteFunc(slices.Clone(m.Ask), isAgent)
}

// client asks the models.
func (m *Models) client(budget *llm.Budget) (*llm.Client, error) {
	keys := llm.EnvKeys()
	if m.KeyFile != "" {
		var err error
		if keys, err = llm.FileKeys(m.KeyFile, m.servers()...); err != nil {
			return nil, err
		}
	}
	return &llm.Client{Models: m.Ask, Keys: keys, Budget: budget, InFlight: llm.NewLimiter(m.InFlight), Offline: m.Offline}, nil
}

// write asks, and asks once more with what was wrong.
func (x *session) write(ctx context.Context, p evolve.Proposal) (*Asked, error) {
	e, err := x.evidence(ctx, p)
	if err != nil {
		return nil, err
	}
	parent, err := x.works.candidate(p.Parent)
	if err != nil {
		return nil, err
	}
	out := &Asked{Proposed: Proposed{Proposal: p.ID}, Model: p.Model}
	for round := range 2 {
		reply, err := x.consult(ctx, out, p, parent, e, round)
		if err != nil {
			return out, x.unheard(out, round, err)
		}
		c, failure := x.read(reply, parent, p)
		if failure == nil {
			out.Repaired, out.Known = round > 0, false
			return out, x.accept(out, c, parent)
		}
		out.Refused, out.Known = complaint(failure), failure.Unmatched == llm.Unchanged
		if e.Failure = failure; failure.Reply == "" {
			break // there is nothing to repair
		}
		e.Kind = llm.Repair
	}
	return out, nil
}

// consult makes the prompt and returns the reply to it.
func (x *session) consult(ctx context.Context, out *Asked, p evolve.Proposal, parent beagle.Candidate, e *llm.Evidence, round int) (llm.Reply, error) {
	m := &x.spec.Models
	prompt := llm.Compose(e, llm.DefaultLimits(), uint64(p.Turn))
	q := llm.Request{
		Model: p.Model, System: prompt.System, User: prompt.User, MaxTokens: m.MaxTokens,
		Temperature: p.Temperature, Sample: p.Turn, Limit: m.Limit,
	}
	if isAgent(m.model(p.Model)) {
		q.Code = parent.Source
	}
	reply, _, err := x.models.calls.ask(ctx, x.models.asker, call{Proposal: p.ID, Round: round, Parent: p.Parent, Request: &q})
	a := answer{reply: reply}
	if err == nil {
		out.Calls++
	} else if !errors.As(err, &a.err) {
		return reply, err
	}
	used := x.models.calls.spentOn(a)
	out.In, out.Out = out.In+used.usage.In, out.Out+used.usage.Out
	out.Cost, out.Seconds = llm.Costs(out.Cost, used.money), out.Seconds+reply.Seconds
	out.Untold = out.Untold || isAgent(m.model(p.Model)) && used.usage.Estimated
	return reply, err
}

// unheard sorts the ways in which a call can fail: those that the user must
// see to end the run; of the others the search hears that nobody answered.
func (x *session) unheard(out *Asked, round int, err error) error {
	var fault *llm.Error
	if !errors.As(err, &fault) {
		return err
	}
	switch {
	case fault.Fatal() || fault.Kind == llm.NotRecorded:
		return usage(fmt.Sprintf("model %s: %s", fault.Model, fault.Message), fault.Remedy)
	case fault.Kind == llm.OverBudget:
		out.Spent = round == 0
	case fault.Kind == askedBefore && round == 0:
		out.Refused = fault.Message
		return nil
	}
	if round == 0 { // a reply whose repair failed was heard all the same
		out.Unheard = fault.Message
	}
	return nil
}

// A written is a candidate of a model with the shape of its text.
type written struct {
	beagle.Candidate
	shape string
}

// accept keeps what a model wrote, unless it says nothing new.
func (x *session) accept(out *Asked, w *written, parent beagle.Candidate) error {
	if f, problem := x.unit.Parse(parent.Source); problem == nil && shape(f) == w.shape {
		out.Refused, out.Known = "the reply changes nothing but comments and names", true
		return nil
	}
	if err := x.works.putCandidate(w.Candidate); err != nil {
		return err
	}
	kept, err := x.works.candidate(w.ID)
	out.Candidate, out.Steps, out.Shape, out.Refused, out.Private = kept.ID, kept.Steps, w.shape, "", x.inputs.private(kept)
	return err
}

// read makes a candidate of a reply, or says what is wrong with it.
func (x *session) read(r llm.Reply, parent beagle.Candidate, p evolve.Proposal) (*written, *llm.Failure) {
	if r.Stop == llm.StopRefusal || r.Stop == llm.StopOversize {
		return nil, &llm.Failure{Unmatched: "the model gave no answer that can be used: " + r.Stop}
	}
	fail := func(f llm.Failure) (*written, *llm.Failure) {
		f.Reply = r.Text
		if r.Stop == llm.StopLength {
			f.Unmatched = strings.TrimSpace(f.Unmatched + "\nThe reply was cut at its limit of tokens: answer with less text.")
		}
		return nil, &f
	}
	change, err := llm.Read(r.Text)
	if err != nil {
		return fail(llm.Failure{Unmatched: err.Error()})
	}
	text, err := change.Apply(parent.Source)
	if err != nil {
		return fail(llm.Failure{Unmatched: err.Error()})
	}
	if text, err = x.unit.Normalize(text); err != nil {
		return fail(llm.Failure{Compiler: err.Error()})
	}
	f, complaint := x.compiles(text)
	if complaint != "" {
		return fail(llm.Failure{Compiler: complaint})
	}
	c := beagle.NewCandidate(text, []string{parent.ID}, nil)
	if p.Mate != "" {
		c.Parents = append(c.Parents, p.Mate)
	}
	c.Note = change.Note
	c.Steps = append(slices.Clone(parent.Steps), beagle.Step{Mutator: evolve.Written, Site: p.Model, Param: c.ID})
	return &written{c, shape(f)}, nil
}

// compiles parses and type-checks a text, or says what is wrong in the words
// of a compiler.
func (x *session) compiles(text string) (*source.File, string) {
	if why := outsized(text); why != "" {
		return nil, why
	}
	f, problem := x.unit.Parse(text)
	if problem != nil {
		return nil, compilerWords(problem.Message, problem.Line, text)
	}
	return f, ""
}

// outsized says why a text is too long or too deep to be read at all; "" when it
// is neither.
func outsized(text string) string {
	if len(text) > llm.MaxCode {
		return fmt.Sprintf("the file has %d bytes; the most is %d", len(text), llm.MaxCode)
	}
	if deep := depth(text); deep > maxNesting {
		return fmt.Sprintf("the code nests %d deep; the most is %d", deep, maxNesting)
	}
	return ""
}

// complaint is a failure in a line.
func complaint(f *llm.Failure) string {
	for _, text := range []string{f.Unmatched, f.Compiler, f.Policy} {
		if text != "" {
			line, _, _ := strings.Cut(text, "\n")
			return line
		}
	}
	return "the reply is no candidate"
}

func printed(fset *token.FileSet, n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, fset, n); err != nil {
		return ""
	}
	return b.String()
}
