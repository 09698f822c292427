package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// An Asked is the outcome of a proposal for a model: a candidate, or the reason why there is
// none, and the cost.
type Asked struct {
	ProposalOutcome
	Model    string     `json:"model"`             // the author that was asked
	Unheard  string     `json:"unheard,omitempty"` // why the model did not answer; empty when it did
	Spent    bool       `json:"spent,omitempty"`   // it was not asked, because the budget is used up
	Repaired bool       `json:"repaired,omitempty"`
	Note     string     `json:"note,omitempty"`   // the model's own note on its change, in a line
	Known    bool       `json:"known,omitempty"`  // the reply repeats its parent
	Untold   bool       `json:"untold,omitempty"` // an agent did not say how many tokens it used
	Calls    int        `json:"calls"`            // answers that it took, from the journal or not
	In       int        `json:"in"`               // tokens
	Out      int        `json:"out"`
	Cost     llm.Micros `json:"micros"`
	Seconds  float64    `json:"seconds"`
}

// The authors are the models and agents that write candidates. The first request opens their
// journal and connections.
type authors struct {
	setting
	inputs  *inputs
	briefer *briefer
	door    *door

	once   sync.Once
	err    error // of openOnce
	calls  *callJournal
	asker  llm.Asker
	budget *llm.Budget
}

// Ask has a model write the candidate of a proposal. It gathers the evidence, sends the prompt and
// makes a candidate of the reply; a reply that does not fit or does not compile gets one more
// round. Requests are journaled before they are sent and replies before they are used, so asking
// again costs nothing. An error means that no further request can succeed; a model that does not
// answer is no error.
func (a *Activities) Ask(ctx context.Context, run string, p evolve.Proposal) (*Asked, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := x.authors.openOnce(); err != nil {
		return nil, err
	}
	return x.authors.write(ctx, p)
}

// Used returns how much of its budget for models a run has used.
func (a *Activities) Used(ctx context.Context, run string) (llm.Spent, error) {
	x, err := a.prepared(ctx, run)
	if err != nil || !x.spec.Models.On() {
		return llm.Spent{}, err
	}
	if err := x.authors.openOnce(); err != nil {
		return llm.Spent{}, err
	}
	return x.authors.budget.Spent(), nil
}

// Usage returns the state of a run's models for a watcher.
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

// openOnce opens the journal and the way to the models, once.
func (au *authors) openOnce() error {
	au.once.Do(func() { au.err = au.openJournal() })
	return au.err
}

// priceOf returns the price of a model of the run.
func (au *authors) priceOf(model string) llm.Price { return au.spec.Models.model(model).Price }

// openJournal opens the journal of calls, the budget and the connections.
func (au *authors) openJournal() error {
	m := &au.spec.Models
	var err error
	if au.calls, err = openCalls(au.works.store, au.works.run, au.priceOf, m.Caps.Money/agentShare); err != nil {
		return err
	}
	if err := au.briefer.readParts(); err != nil {
		return err
	}
	au.budget = llm.NewBudget(m.Caps, au.calls.spent())
	if m.Record != "" {
		au.calls.recorder = &llm.Recorder{Dir: m.Record}
	}
	au.asker, err = au.connect(au.budget)
	return err
}

// write asks a model, and asks once more with the failure of its first reply. A proposal that
// follows others continues their conversation.
func (au *authors) write(ctx context.Context, p evolve.Proposal) (*Asked, error) {
	// Gather the evidence. A conversation shows only what its earlier turns lack.
	e, err := au.briefer.brief(ctx, p)
	if err != nil {
		return nil, err
	}
	parent, err := au.works.candidate(p.Parent)
	if err != nil {
		return nil, err
	}
	said := au.conversation(p)
	if len(said) > 0 {
		if err := au.briefer.goesOn(e, p); err != nil {
			return nil, err
		}
	}
	out := &Asked{ProposalOutcome: ProposalOutcome{Proposal: p.ID}, Model: p.Model}
	// Ask; on a failure that can be repaired, ask once more with it.
	for round := range 2 {
		q := au.question(p, parent, e, said)
		reply, err := au.consult(ctx, out, p, q, round)
		if err != nil {
			return out, au.unheard(out, round, err)
		}
		c, failure := au.readReply(reply, parent, p)
		if failure == nil {
			out.Repaired, out.Known = round > 0, false
			return out, au.accept(out, c, parent)
		}
		out.Refused, out.Known = complaint(failure), failure.Unmatched == llm.Unchanged
		if e.Failure = failure; failure.Reply == "" || out.Known {
			break // nothing to repair, or to gain by another call
		}
		if e.Kind = llm.Repair; !isAgent(au.spec.Models.model(p.Model)) {
			said, e.Continues = conversationOf(q, reply), true
		}
	}
	return out, nil
}

// conversation returns the turns that a proposal continues, or nil if the journal no longer holds
// them in memory.
func (au *authors) conversation(p evolve.Proposal) []llm.Turn {
	if len(p.Talk) == 0 {
		return nil
	}
	q, reply, ok := au.calls.lastAnswer(p.Talk[len(p.Talk)-1])
	if !ok {
		return nil
	}
	return conversationOf(q, reply)
}

// conversationOf returns a conversation with its last question and the answer to it.
func conversationOf(q llm.Request, reply llm.Reply) []llm.Turn {
	return append(slices.Clip(q.History), llm.Turn{Role: "user", Text: q.User},
		llm.Turn{Role: "assistant", Text: reply.Text})
}

// question makes the request with the prompt.
func (au *authors) question(
	p evolve.Proposal, parent beagle.Candidate, e *llm.Briefing, said []llm.Turn,
) llm.Request {
	m := &au.spec.Models
	prompt := llm.Compose(e, llm.DefaultLimits(), uint64(p.Sample)) // each sample asks for another idea
	q := llm.Request{
		Model: p.Model, System: prompt.System, History: said, User: prompt.User, MaxTokens: m.MaxTokens,
		Temperature: p.Temperature, Sample: p.Sample, Limit: m.Limit,
	}
	if isAgent(m.model(p.Model)) {
		q.Code = parent.Source
	}
	return q
}

// consult returns the reply to a request, and books its cost.
func (au *authors) consult(
	ctx context.Context, out *Asked, p evolve.Proposal, q llm.Request, round int,
) (llm.Reply, error) {
	m := &au.spec.Models
	reply, _, err := au.calls.ask(ctx, au.asker, call{Proposal: p.ID, Round: round, Parent: p.Parent, Request: &q})
	a := answer{reply: reply}
	if err == nil {
		out.Calls++
	} else if !errors.As(err, &a.err) {
		return reply, err
	}
	used := au.calls.spentOn(a)
	out.In, out.Out = out.In+used.usage.In, out.Out+used.usage.Out
	out.Cost, out.Seconds = llm.Costs(out.Cost, used.money), out.Seconds+reply.Seconds
	out.Untold = out.Untold || isAgent(m.model(p.Model)) && used.usage.Estimated
	return reply, err
}

// unheard sorts the ways in which a call can fail. Faults that only the user can mend end the run.
// For all others the search learns that the model did not answer.
func (au *authors) unheard(out *Asked, round int, err error) error {
	var fault *llm.Error
	if !errors.As(err, &fault) {
		return err
	}
	switch {
	case fault.Fatal() || fault.Kind == llm.NotRecorded:
		return usage(fmt.Sprintf("model %s: %s", fault.Model, fault.Message), fault.Remedy)
	case fault.Kind == llm.OverBudget:
		out.Spent = round == 0
	case fault.Kind == kindRepeated && round == 0:
		out.Refused = fault.Message
		return nil
	}
	if round == 0 { // if only the repair failed, the search heard the first reply
		out.Unheard = fault.Message
	}
	return nil
}

// accept keeps what a model wrote, unless it says nothing new.
func (au *authors) accept(out *Asked, reply *arrival, parent beagle.Candidate) error {
	if f, problem := au.unit.Reader.Parse(parent.Source); problem == nil && shape(f) == shape(reply.file) {
		out.Refused, out.Known = "the reply changes nothing but comments and names", true
		return nil
	}
	if err := au.works.putCandidates(reply.Candidate); err != nil {
		return err
	}
	kept, err := au.works.candidate(reply.ID)
	out.Candidate, out.Steps, out.Shape, out.Refused, out.Private = kept.ID, kept.Steps, shape(reply.file), "",
		au.inputs.isPrivate(kept)
	out.Note, out.Reading = reply.Note, readingEffort(kept.Source)
	return err
}

// readReply makes a candidate of a reply, or returns what is wrong with the reply.
func (au *authors) readReply(r llm.Reply, parent beagle.Candidate, p evolve.Proposal) (*arrival, *llm.Failure) {
	if r.Stop == llm.StopRefusal || r.Stop == llm.StopOversize {
		return nil, &llm.Failure{Unmatched: "the model gave no answer that can be used: " + r.Stop}
	}
	// A reply that fails may be repaired, and one that was cut off needs a shorter answer.
	fail := func(f llm.Failure) (*arrival, *llm.Failure) {
		f.Reply = r.Text
		if r.Stop == llm.StopLength {
			f.Unmatched = strings.TrimSpace(f.Unmatched +
				"\nThe reply was cut at its limit of tokens: answer with less text.")
		}
		return nil, &f
	}
	// Apply the change to the parent, and admit the text like any other.
	change, err := llm.Read(r.Text)
	if err != nil {
		return fail(llm.Failure{Unmatched: err.Error()})
	}
	text, err := change.Apply(parent.Source)
	if err != nil {
		return fail(llm.Failure{Unmatched: err.Error()})
	}
	arrived := au.door.admit(text, entire)
	if why := arrived.complaint(); why != "" {
		return fail(llm.Failure{Compiler: why})
	}
	// The model is the author of the last step.
	c := &arrived.Candidate
	c.Parents = []string{parent.ID}
	if p.Mate != "" {
		c.Parents = append(c.Parents, p.Mate)
	}
	c.Note = change.Note
	c.Steps = append(slices.Clone(parent.Steps), beagle.Step{
		Mutator: evolve.ByAuthor, Site: p.Model, Param: c.ID, Class: beagle.E4,
	})
	return arrived, nil
}

// compilerWords spells a problem with its place, as a compiler does.
func compilerWords(message string, line int, src string) string {
	lines := strings.Split(src, "\n")
	if line < 1 || line > len(lines) {
		return message
	}
	return fmt.Sprintf("line %d: %s\n\t%s", line, message, strings.TrimSpace(lines[line-1]))
}

// complaint spells a failure with its line.
func complaint(f *llm.Failure) string {
	for _, text := range []string{f.Unmatched, f.Compiler, f.Policy} {
		if text != "" {
			line, _, _ := strings.Cut(text, "\n")
			return line
		}
	}
	return "the reply is not a candidate"
}

// ModelCost returns how much a run has paid for models, whether it goes on, failed or was stopped.
// It adds up the journal of calls, and counts lost answers at their highest possible cost. A run
// without models, or one that the store does not have, has paid nothing.
func ModelCost(s *store.Store, run string) (llm.Micros, error) {
	var spec Spec
	if ok, err := s.Load(run, "spec", &spec); err != nil || !ok || !spec.Models.On() {
		return 0, err
	}
	m := &spec.Models
	price := func(model string) llm.Price { return m.model(model).Price }
	calls, err := readCalls(s, run, price, m.Caps.Money/agentShare)
	if err != nil {
		return 0, err
	}
	if m.Replay != "" { // a lost answer of a recording costs nothing
		all, _ := calls.total()
		return all.money, nil
	}
	return calls.spent().Money, nil
}

// modelSummary returns the part of a result's summary of models that the journal of calls knows:
// answers, money and losses, whether or not the search could use them. It returns nil if no model
// was asked.
func (au *authors) modelSummary() (*beagle.ModelSummary, error) {
	m := &au.spec.Models
	if !m.On() {
		return nil, nil
	}
	// Another process may have made calls since this one opened the journal.
	calls, err := readCalls(au.works.store, au.works.run, au.priceOf, m.Caps.Money/agentShare)
	if err != nil {
		return nil, err
	}
	all, each := calls.total()
	out := &beagle.ModelSummary{Calls: all.answers, Tokens: all.usage.In + all.usage.Out, Dollars: all.money.Dollars()}
	if m.Replay == "" {
		l := calls.losses()
		out.Lost, out.AtMost = l.calls, l.money.Dollars()
	}
	for _, a := range m.Authors() {
		out.Authors = append(out.Authors, beagle.AuthorSum{
			Author:  a.Name,
			Dollars: each[payee{a.Model, a.Temperature}].money.Dollars(),
		})
	}
	return out, nil
}
