package flow

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A call is a line of a run's journal of calls: first the request, before it is sent, then its
// outcome, before it is used. So no reply that arrived is paid twice, whenever the process ends.
// For replies that did not arrive see [lost].
type call struct {
	ID       string       `json:"id"` // llm.Request.ID
	Proposal int          `json:"proposal"`
	Round    int          `json:"round,omitempty"`  // 1 for a repair
	Parent   string       `json:"parent,omitempty"` // the candidate to change
	Request  *llm.Request `json:"request,omitempty"`
	Reply    *llm.Reply   `json:"reply,omitempty"`
	Error    *llm.Error   `json:"error,omitempty"`
	Retried  *llm.Tried   `json:"retried,omitempty"` // it is about to be sent once more
	// the run gave up the call while no answer was under way: it may ask again
	Halted *llm.Halted `json:"halted,omitempty"`
}

// journalName is the journal of calls in a run's directory.
const journalName = "calls"

// An exchange is a question and the answer to it.
type exchange struct {
	request llm.Request
	reply   llm.Reply
}

// maxTurnsHeld bounds the turns in memory. Conversations that go on are among the latest.
const maxTurnsHeld = 256

// lastAnswer returns the last question that was answered for a proposal.
func (b *callJournal) lastAnswer(proposal int) (llm.Request, llm.Reply, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.turns[proposal]
	return t.request, t.reply, ok
}

// holdTurn keeps a turn in memory. The caller holds b.mu, or is the only user of b.
func (b *callJournal) holdTurn(proposal int, t exchange) {
	if _, again := b.turns[proposal]; !again {
		b.latest = append(b.latest, proposal)
	}
	b.turns[proposal] = t
	if len(b.latest) > maxTurnsHeld {
		delete(b.turns, b.latest[0])
		b.latest = b.latest[1:]
	}
}

// An answer is the final outcome of a request.
type answer struct {
	reply llm.Reply
	err   *llm.Error
}

// A callJournal is the journal of calls, with its content in memory. For the calls of this
// process it holds exactly what another process would read back, so that a result, the budget of
// a resumed run and the journal agree.
type callJournal struct {
	run      string
	price    func(model string) llm.Price
	turn     llm.Micros    // the most that a turn of a coding agent costs
	recorder *llm.Recorder // nil when nothing is recorded

	mu       sync.Mutex
	journal  *store.Journal
	answers  map[string]answer          // by request ID
	texts    map[uint64]map[string]bool // replies by question
	repeated map[uint64]bool            // questions that were answered with the same text twice
	paid     map[payee]bill             // calls that came to an end
	lost     lostCalls
	earlier  map[requestKey]string  // IDs of the requests of other processes of the run
	open     map[string]llm.Request // under way
	gone     map[string]llm.Request // lost, and not asked again yet
	retried  map[string]llm.Tried   // attempts without a reply, of the requests under way
	refused  map[string]int         // refusals of a request that wait for the user
	turns    map[int]exchange       // the last answered request of the latest proposals
	latest   []int                  // these proposals, the first first
}

// A payee is an author, as a request knows it.
type payee struct {
	model       string
	temperature float64
}

// A bill sums up calls that came to an end, well or not.
type bill struct {
	answers  int
	attempts int
	usage    llm.Usage
	money    llm.Micros
}

func (p bill) add(q bill) bill {
	return bill{p.answers + q.answers, p.attempts + q.attempts, p.usage.Add(q.usage), llm.Costs(p.money, q.money)}
}

// A requestKey identifies a request by its place in a search. A newer Beagle may take another way,
// and reach the same proposal with another parent.
type requestKey struct {
	proposal, round int
	parent          string
}

func (c *call) key() requestKey { return requestKey{c.Proposal, c.Round, c.Parent} }

// recall replaces a request for a proposal by the one that another process of the run has sent, if
// there is one. The prompt may differ by now, because lessons were edited or Beagle is newer; the
// run still pays only once.
func (b *callJournal) recall(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.earlier[c.key()]
	if !ok {
		return
	}
	q, lost := b.gone[id]
	a, answered := b.answers[id]
	switch {
	case answered && (a.err != nil || a.reply.Model == c.Request.Model):
		c.ID = id
	case lost && q.Model == c.Request.Model:
		q.Limit = c.Request.Limit
		c.ID, c.Request = id, &q
	}
}

// A lostCalls sums up calls that were sent and whose answers are lost, because their process ended
// or gave them up. A resumed run sends them again with the same idempotency key. A provider that
// does not know such keys may charge twice.
type lostCalls struct {
	calls  int
	money  llm.Micros // the most that they can have cost
	tokens int64      // the most that they can have used
}

// losses returns the losses so far.
func (b *callJournal) losses() lostCalls {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// total returns the bill of all calls that ended, and each author's part of it.
func (b *callJournal) total() (all bill, each map[payee]bill) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.paid {
		all = all.add(p)
	}
	return all, maps.Clone(b.paid)
}

// spent returns the use that counts against the budget of a resumed run: each attempt that ended,
// and lost calls at their highest possible cost.
func (b *callJournal) spent() llm.Spent {
	all, _ := b.total()
	l := b.losses()
	return llm.Spent{Money: all.money, Tokens: int64(all.usage.In) + int64(all.usage.Out), Calls: int64(all.attempts)}.
		Add(llm.Spent{Money: l.money, Tokens: l.tokens, Calls: int64(l.calls)})
}

// openCalls reads what a run has asked so far, to ask more.
func openCalls(s *store.Store, run string, price func(string) llm.Price, turn llm.Micros) (*callJournal, error) {
	b, err := readCalls(s, run, price, turn)
	if err == nil {
		b.journal, err = s.Journal(run, journalName)
	}
	return b, err
}

// readCalls reads the calls of a run. A request without an end was in flight when its process
// ended; its possible cost counts as spent.
func readCalls(s *store.Store, run string, price func(string) llm.Price, turn llm.Micros) (*callJournal, error) {
	lines, err := store.ReadJournal[call](s, run, journalName)
	if err != nil {
		return nil, err
	}
	b := &callJournal{
		run: run, price: price, turn: turn, answers: map[string]answer{}, texts: map[uint64]map[string]bool{},
		repeated: map[uint64]bool{}, paid: map[payee]bill{},
		earlier: map[requestKey]string{}, open: map[string]llm.Request{}, gone: map[string]llm.Request{},
		retried: map[string]llm.Tried{}, refused: map[string]int{}, turns: map[int]exchange{},
	}
	for _, c := range lines {
		if b.take(c); c.Request != nil {
			b.earlier[c.key()] = c.ID
		}
	}
	for _, id := range slices.Collect(maps.Keys(b.open)) {
		b.forsake(id)
	}
	return b, nil
}

// write appends a line to the journal, and then to the content in memory.
func (b *callJournal) write(c call) error {
	if err := b.journal.Append(c); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(c)
	return nil
}

// take takes over a line of the journal.
func (b *callJournal) take(c call) {
	q, open := b.open[c.ID]
	// A request opens a call; a second one means that the first was lost. All other lines end it,
	// with its bill.
	switch {
	case c.Request != nil:
		if open {
			b.forsake(c.ID)
		}
		b.open[c.ID] = *c.Request
		delete(b.gone, c.ID)
		return
	case c.Retried != nil:
		b.retried[c.ID] = *c.Retried
		return
	case c.Reply != nil:
		a := answer{reply: *c.Reply}
		b.holdTurn(c.Proposal, exchange{q, *c.Reply})
		b.pay(q, b.spentOn(a))
		b.settle(c.ID, question(q), a)
	case c.Error != nil:
		a := answer{err: c.Error}
		b.pay(q, b.spentOn(a))
		if c.Error.Fatal() {
			b.refused[c.ID]++ // the run may ask again once the user has acted
		} else {
			b.settle(c.ID, 0, a)
		}
	case c.Halted != nil:
		h := c.Halted
		b.pay(q, b.spentOnNothing(q.Model, llm.Tried{Attempts: h.Attempts, Wasted: h.Wasted, Cost: h.Cost}))
	}
	delete(b.open, c.ID)
	delete(b.retried, c.ID)
}

// pay books the bill of a call.
func (b *callJournal) pay(q llm.Request, p bill) {
	who := payee{q.Model, q.Temperature}
	b.paid[who] = b.paid[who].add(p)
}

// forsake books a request whose answer the run no longer waits for: its attempts that ended, and
// the highest possible cost of the last one.
func (b *callJournal) forsake(id string) {
	q := b.open[id]
	b.pay(q, b.spentOnNothing(q.Model, b.retried[id]))
	delete(b.open, id)
	delete(b.retried, id)
	b.gone[id] = q
	most := q.Bound()
	money := b.price(q.Model).Cost(most)
	if q.Code != "" { // an agent reports its own cost
		money, most = b.turn, llm.Usage{}
	}
	b.lost.calls++
	b.lost.money = llm.Costs(b.lost.money, money)
	b.lost.tokens += int64(most.In) + int64(most.Out)
}

// spentOn returns the cost of an answer with all attempts.
func (b *callJournal) spentOn(a answer) bill {
	if e := a.err; e != nil {
		return b.spentOnNothing(e.Model, llm.Tried{Attempts: e.Attempts, Wasted: e.Wasted, Cost: e.Cost})
	}
	r := &a.reply
	p := bill{answers: 1, attempts: r.Attempts, usage: r.Usage.Add(r.Wasted), money: r.Cost}
	if p.money == 0 { // the call was free, or an older Beagle wrote no amount
		p.money = llm.Costs(b.price(r.Model).Cost(r.Usage), b.price(r.Model).Cost(r.Wasted))
	}
	return p
}

// spentOnNothing returns the cost of attempts that brought no reply.
func (b *callJournal) spentOnNothing(model string, t llm.Tried) bill {
	p := bill{attempts: t.Attempts, usage: t.Wasted, money: t.Cost}
	if p.money == 0 {
		p.money = b.price(model).Cost(t.Wasted)
	}
	return p
}

// settle keeps an answer to a question in memory.
func (b *callJournal) settle(id string, key uint64, a answer) {
	b.answers[id] = a
	if a.err != nil {
		return
	}
	if b.texts[key] == nil {
		b.texts[key] = map[string]bool{}
	}
	text := beagle.HashOf("reply", a.reply.Text)
	b.repeated[key] = b.repeated[key] || b.texts[key][text]
	b.texts[key][text] = true
}

// questions is the seed of the hashes that tell questions apart in this process.
var questions = maphash.MakeSeed()

// question hashes a request without its sample number.
func question(q llm.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(questions)
	part := func(s string) {
		maphash.WriteComparable(&h, len(s))
		h.WriteString(s)
	}
	part(q.Model)
	part(q.System)
	for _, t := range q.History {
		part(t.Role)
		part(t.Text)
	}
	part(q.User)
	part(q.Code)
	maphash.WriteComparable(&h, q.Temperature)
	maphash.WriteComparable(&h, q.MaxTokens)
	return h.Sum64()
}

// kindRepeated is the kind of error for a question whose answer is known to repeat.
const kindRepeated = "asked-before"

// ask returns the answer to a request: from the journal if it is there, else from the model. A
// retried proposal reuses its original request. A question that brought the same text twice is
// not asked a third time.
func (b *callJournal) ask(ctx context.Context, asker llm.Asker, c call) (llm.Reply, bool, error) {
	// Look for an answer in the journal.
	b.recall(&c)
	q := *c.Request
	if c.ID == "" {
		c.ID = q.ID()
	}
	b.mu.Lock()
	a, known := b.answers[c.ID]
	stale := b.repeated[question(q)]
	b.mu.Unlock()
	// A known answer costs nothing. A question that brings the same reply again is not worth a
	// call.
	switch {
	case known:
		reply, err := b.record(q, a, false)
		return reply, true, err
	case stale:
		a := answer{
			err: &llm.Error{
				Kind:    kindRepeated,
				Model:   q.Model,
				Message: "the same question brought the same reply twice",
			},
		}
		reply, err := b.end(c, q, a)
		return reply, true, err
	}
	// Journal the request, and then send it.
	if err := b.write(c); err != nil {
		return llm.Reply{}, false, err
	}
	reply, err := b.send(ctx, asker, c, q)
	return reply, false, err
}

// send sends a request and journals its outcome, unless the outcome is unknown.
func (b *callJournal) send(ctx context.Context, asker llm.Asker, c call, q llm.Request) (llm.Reply, error) {
	asked := q
	asked.Once = b.idempotencyKey(c.ID)
	asked.Retry = func(t llm.Tried) error {
		return b.write(call{ID: c.ID, Proposal: c.Proposal, Round: c.Round, Parent: c.Parent, Retried: &t})
	}
	reply, err := asker.Ask(ctx, asked)
	var fault *llm.Error
	var halted *llm.Halted
	var usage *beagle.UsageError
	switch {
	case err == nil:
		return b.end(c, q, answer{reply: reply})
	case errors.As(err, &fault):
		return b.end(c, q, answer{err: fault})
	case errors.As(err, &halted):
	case errors.As(err, &usage): // the request cannot be sent in this setting
		halted = &llm.Halted{Cause: err}
	}
	c.Request = nil
	if c.Halted = halted; halted != nil {
		return llm.Reply{}, errors.Join(b.write(c), err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forsake(c.ID)
	return llm.Reply{}, err
}

// idempotencyKey returns the idempotency key of a request. An answer that may be lost keeps its
// key. A refusal gets a new one, since a server may keep a refusal and repeat it after the user has
// paid.
func (b *callJournal) idempotencyKey(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.refused[id]; n > 0 {
		return beagle.HashOf("once", b.run, id, n)
	}
	return beagle.HashOf("once", b.run, id)
}

// end journals the outcome of a request, recording included, before anything uses it.
func (b *callJournal) end(c call, q llm.Request, a answer) (llm.Reply, error) {
	if c.Request, c.Error = nil, a.err; a.err == nil {
		c.Reply = &a.reply
	}
	if err := b.write(c); err != nil {
		return llm.Reply{}, err
	}
	return b.record(q, a, true)
}

// record adds an answer to the recording, if there is one, and returns it. If recording fails,
// the run ends with the answer in its journal, and a resumed run records it.
func (b *callJournal) record(q llm.Request, a answer, fresh bool) (llm.Reply, error) {
	var err error
	if a.err != nil {
		err = a.err
	}
	if b.recorder == nil || !fresh && b.recorder.Has(q) || a.err != nil && a.err.Kind == kindRepeated {
		return a.reply, err
	}
	if failed := b.recorder.Keep(q, a.reply, err); failed != nil {
		return llm.Reply{}, &beagle.UsageError{
			What:   fmt.Sprintf("--record: %v", failed),
			Remedy: "make room, or make the directory writable, and go on with the run: beagle resume " + b.run,
		}
	}
	return a.reply, err
}
