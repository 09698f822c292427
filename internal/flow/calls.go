package flow

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A call is a line of a run's journal of calls: a request before it is sent,
// then what came of it before it is used. So a reply that arrived is never paid
// twice, whenever the process ends; of one that did not arrive see [lost].
type call struct {
	ID       string       `json:"id"` // llm.Request.ID
	Proposal int          `json:"proposal"`
	Round    int          `json:"round,omitempty"`  // 1 for a repair
	Parent   string       `json:"parent,omitempty"` // what the proposal is to change
	Request  *llm.Request `json:"request,omitempty"`
	Reply    *llm.Reply   `json:"reply,omitempty"`
	Error    *llm.Error   `json:"error,omitempty"`
	Retried  *tried       `json:"retried,omitempty"` // it is about to be sent once more
	Halted   *llm.Halted  `json:"halted,omitempty"`  // the run gave it up when no answer was under way: it may be asked again
}

// A tried is what earlier attempts of a call came to.
type tried struct {
	Attempts int       `json:"attempts"`
	Wasted   llm.Usage `json:"wasted,omitzero"`
}

// journalName is the journal of calls in a run's directory.
const journalName = "calls"

// An answer is what a request brought, for good.
type answer struct {
	reply llm.Reply
	err   *llm.Error
}

// A callBook is the journal of calls with its content at hand.
type callBook struct {
	run     string
	mu      sync.Mutex
	journal *store.Journal
	answers map[string]answer          // by request ID
	texts   map[uint64]map[string]bool // replies by question
	stale   map[uint64]bool            // questions that were answered with the same text twice
	before  llm.Spent                  // by the time it was opened
	lost    lost
	earlier map[place]string       // IDs of the requests of other processes of the run
	open    map[string]llm.Request // of them, those that were lost
	retried map[string]tried       // of those, the attempts before the one that was lost
	refused map[string]int         // how often a request was refused until the user does something
	price   func(model string) llm.Price
	turn    llm.Micros // the most that a turn of a coding agent costs
}

// A place is where in a search a request belongs. A search that takes another
// way, because Beagle is another by now, may have the same proposal for another
// parent.
type place struct {
	proposal, round int
	parent          string
}

func (c *call) place() place { return place{c.Proposal, c.Round, c.Parent} }

// recall makes of a request for a proposal what another process of the run has
// asked, if it did: should the prompt be another by now, because lessons were
// edited in between or Beagle is another, nothing is paid for twice.
func (b *callBook) recall(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.earlier[c.place()]
	if !ok {
		return
	}
	q, lost := b.open[id]
	a, answered := b.answers[id]
	switch {
	case answered && (a.err != nil || a.reply.Model == c.Request.Model):
		c.ID = id
	case lost && q.Model == c.Request.Model:
		q.Limit = c.Request.Limit
		c.ID, c.Request = id, &q
	}
}

// A lost sums up the calls that were sent and whose answer nobody has, because
// their process ended or gave them up. Who goes on with the run asks them again,
// by the same idempotency key: where the provider does not know such keys, they
// may be paid twice.
type lost struct {
	calls int
	money llm.Micros // the most that they can have cost
}

// lose books a call as lost, and returns the most that it can have cost.
func (b *callBook) lose(q llm.Request) llm.Micros {
	most := b.price(q.Model).Cost(q.Bound())
	if q.Code != "" { // an agent, which says by itself what it costs
		most = b.turn
	}
	b.lost.calls++
	b.lost.money += most
	return most
}

// lostNow is what was lost so far.
func (b *callBook) lostNow() lost {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// openCalls reads what a run has asked so far. Requests without an end were
// under way when their process ended: what they may have cost counts as spent.
func openCalls(s *store.Store, run string, price func(string) llm.Price, turn llm.Micros) (*callBook, error) {
	lines, err := store.ReadJournal[call](s, run, journalName)
	if err != nil {
		return nil, err
	}
	b := &callBook{
		run: run, price: price, turn: turn, answers: map[string]answer{}, texts: map[uint64]map[string]bool{}, stale: map[uint64]bool{},
		earlier: map[place]string{}, open: map[string]llm.Request{}, retried: map[string]tried{}, refused: map[string]int{},
	}
	for _, c := range lines {
		b.read(c)
	}
	for id := range b.open {
		b.forsake(id)
	}
	b.journal, err = s.Journal(run, journalName)
	return b, err
}

// read takes over a line of the journal.
func (b *callBook) read(c call) {
	q, open := b.open[c.ID]
	switch {
	case c.Request != nil:
		if open {
			b.forsake(c.ID)
			delete(b.retried, c.ID)
		}
		b.open[c.ID] = *c.Request
		b.earlier[c.place()] = c.ID
		return
	case c.Retried != nil:
		b.retried[c.ID] = *c.Retried
		return
	case c.Reply != nil:
		b.spend(c.Reply.Model, c.Reply.Usage.Add(c.Reply.Wasted), c.Reply.Attempts)
		b.before.Money += c.Reply.Cost
		b.settle(c.ID, question(q), answer{reply: *c.Reply})
	case c.Error != nil:
		b.spend(c.Error.Model, c.Error.Wasted, c.Error.Attempts)
		if c.Error.Fatal() {
			b.refused[c.ID]++
		} else {
			b.settle(c.ID, 0, answer{err: c.Error})
		}
	case c.Halted != nil:
		b.spend(q.Model, c.Halted.Wasted, c.Halted.Attempts)
	}
	delete(b.open, c.ID)
	delete(b.retried, c.ID)
}

// forsake books a request whose process ended while it was under way.
func (b *callBook) forsake(id string) {
	q, before := b.open[id], b.retried[id]
	b.spend(q.Model, before.Wasted, before.Attempts)
	most := q.Bound()
	b.before = b.before.Add(llm.Spent{Money: b.lose(q), Tokens: int64(most.In) + int64(most.Out), Calls: 1})
}

func (b *callBook) spend(model string, u llm.Usage, calls int) {
	b.before.Money += b.price(model).Cost(u)
	b.before.Tokens += int64(u.In) + int64(u.Out)
	b.before.Calls += int64(calls)
}

// settle keeps an answer to a question at hand.
func (b *callBook) settle(id string, key uint64, a answer) {
	b.answers[id] = a
	if a.err != nil {
		return
	}
	if b.texts[key] == nil {
		b.texts[key] = map[string]bool{}
	}
	text := beagle.HashOf("reply", a.reply.Text)
	b.stale[key] = b.stale[key] || b.texts[key][text]
	b.texts[key][text] = true
}

// questions is the seed of the hashes that tell questions apart in this process.
var questions = maphash.MakeSeed()

// question identifies what is asked of whom, whichever time it is.
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

// askedBefore is the kind of error for a question that would bring what it
// brought before.
const askedBefore = "asked-before"

// ask returns the answer to a request: from the journal if it is there, else
// from the model. What was asked for a proposal before is asked as it was. A question that brought the same text twice is not asked a
// third time.
func (b *callBook) ask(ctx context.Context, asker llm.Asker, c call) (llm.Reply, bool, error) {
	b.recall(&c)
	q := *c.Request
	if c.ID == "" {
		c.ID = q.ID()
	}
	b.mu.Lock()
	a, known := b.answers[c.ID]
	b.mu.Unlock()
	switch {
	case known && a.err != nil:
		return a.reply, true, a.err
	case known:
		return a.reply, true, nil
	}
	key := question(q)
	b.mu.Lock()
	stale := b.stale[key]
	b.mu.Unlock()
	if stale {
		e := &llm.Error{Kind: askedBefore, Model: q.Model, Message: "the same question brought the same reply twice"}
		return llm.Reply{}, true, b.end(c, key, answer{err: e})
	}
	if err := b.journal.Append(c); err != nil {
		return llm.Reply{}, false, err
	}
	q.Once = b.once(c.ID)
	q.Retry = func(attempts int, wasted llm.Usage) error {
		return b.journal.Append(call{ID: c.ID, Proposal: c.Proposal, Round: c.Round, Parent: c.Parent, Retried: &tried{attempts, wasted}})
	}
	reply, err := asker.Ask(ctx, q)
	var fault *llm.Error
	var halted *llm.Halted
	switch {
	case errors.As(err, &fault):
		return llm.Reply{}, false, b.end(c, key, answer{err: fault})
	case errors.As(err, &halted):
		c.Request, c.Halted = nil, halted
		return llm.Reply{}, false, errors.Join(b.journal.Append(c), err)
	case err != nil:
		b.mu.Lock()
		b.lose(q)
		b.mu.Unlock()
		return llm.Reply{}, false, err
	}
	return reply, false, b.end(c, key, answer{reply: reply})
}

// once makes the idempotency key of a request: the same for an answer that may
// have been lost, another after a refusal, which a server may have kept and would
// give again when the user has paid.
func (b *callBook) once(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.refused[id]; n > 0 {
		return beagle.HashOf("once", b.run, id, n)
	}
	return beagle.HashOf("once", b.run, id)
}

// end writes down what came of a request, before anything is made of it.
func (b *callBook) end(c call, key uint64, a answer) error {
	c.Request, c.Error = nil, a.err
	if a.err == nil {
		c.Reply = &a.reply
	}
	if err := b.journal.Append(c); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.err != nil && a.err.Fatal() {
		b.refused[c.ID]++
		return a.err // it may be asked again when the user has done something
	}
	b.settle(c.ID, key, a)
	if a.err != nil {
		return a.err
	}
	return nil
}
