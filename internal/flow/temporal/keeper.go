package temporal

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/store"
)

// A keeper holds the searches of runs, each in the state that was last asked
// for. A state has a name, the digest of a link; another process, or this one
// after a repeated step, makes the search of that name again from the chain.
type keeper struct {
	store *store.Store

	mu   sync.Mutex
	held map[string]*position // by run
}

// A position is a search in a state.
type position struct {
	state string
	spec  flow.Spec
	c     *flow.Course
	since int // bytes of the links after the last one that holds the whole search
	whole int // bytes of that one
	used  time.Time
}

// A link is a step of a search, or the whole search after it. The search is
// pure, so that the steps lead to the same search wherever they are taken.
type link struct {
	Before string       `json:"before,omitempty"`
	Whole  *flow.Course `json:"whole,omitempty"`
	Ask    *int         `json:"ask,omitempty"`
	Tell   *tellLink    `json:"tell,omitempty"`
	Invite int          `json:"invite,omitempty"` // guests
	Action *loop.Action `json:"turn,omitempty"`
	Trim   bool         `json:"trim,omitempty"`
}

// A tellLink is the news of a generation in the chain of states.
type tellLink struct {
	Draft     string        `json:"draft"`
	Evaluated string        `json:"judged"` // digest of a settled flow.EvaluatedBatch
	Took      time.Duration `json:"took"`

	Evaluating time.Duration `json:"judging,omitempty"`
}

// leastWhole is the size that links may have before the whole search is kept
// again. It grows with the search, so that all of them together are a few times
// as large as the last.
const leastWhole = 1 << 20

// take returns the search in a state, and forgets it, since the caller changes it.
func (k *keeper) take(run, state string) (*position, error) {
	k.mu.Lock()
	p := k.held[run]
	delete(k.held, run)
	k.mu.Unlock()
	if p != nil && p.state == state {
		return p, nil
	}
	return k.replay(run, state)
}

// give puts a search back for the next step.
func (k *keeper) give(run string, p *position) {
	const most = 16 // searches in memory
	p.used = time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = map[string]*position{}
	}
	k.held[run] = p
	for len(k.held) > most {
		oldest := run
		for r, h := range k.held {
			if h.used.Before(k.held[oldest].used) {
				oldest = r
			}
		}
		delete(k.held, oldest)
	}
}

// drop forgets the search of a run that has ended.
func (k *keeper) drop(run string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, run)
}

// begin starts the search of a run that is prepared, or finds it where it
// stood.
func (k *keeper) begin(run string) (*position, error) {
	var stood RunState
	if ok, err := k.store.Load(run, lastStateName, &stood); err != nil {
		return nil, err
	} else if ok {
		return k.take(run, stood.State)
	}
	p := new(position)
	var ready flow.Prepared
	if err := k.load(run, "spec", &p.spec); err != nil {
		return nil, err
	}
	if err := k.load(run, "prepared", &ready); err != nil {
		return nil, err
	}
	p.c = flow.NewCourse(&p.spec, &ready)
	return p, k.keepWhole(p)
}

// lastStateName is the name under which a run's last state is saved.
const lastStateName = "standing"

func (k *keeper) load(run, name string, v any) error {
	ok, err := k.store.Load(run, name, v)
	if err == nil && !ok {
		err = fmt.Errorf("run %s has no %s in the store %s: do all workers share it?", run, name, k.store.Dir())
	}
	return err
}

// ask draws proposals.
func (k *keeper) ask(p *position, n int) ([]evolve.Proposal, error) {
	out := p.c.Search.Ask(n)
	return out, k.step(p, &link{Ask: &n})
}

// trims draws the proposals of one of the last generations.
func (k *keeper) trims(p *position) ([]evolve.Proposal, error) {
	out := p.c.Search.AskTrims()
	return out, k.step(p, &link{Trim: true})
}

// act takes an action that is no part of a generation.
func (k *keeper) act(p *position, x loop.Action) ([]evolve.Proposal, error) {
	out := loop.Apply(p.c.Search, x)
	return out, k.step(p, &link{Action: &x})
}

// tell takes a generation's verdicts in.
func (k *keeper) tell(p *position, t tellLink) error {
	if err := k.retell(p, &t); err != nil {
		return err
	}
	return k.step(p, &link{Tell: &t})
}

func (k *keeper) retell(p *position, t *tellLink) error {
	var draft flow.Draft
	var evaluated flow.EvaluatedBatch
	if err := k.store.GetJSON(t.Draft, &draft); err != nil {
		return err
	}
	if err := k.store.GetJSON(t.Evaluated, &evaluated); err != nil {
		return err
	}
	p.since += len(draft.Made) * linkWeight
	draft.Evaluating = t.Evaluating
	return p.c.Tell(&p.spec, &draft, &evaluated, t.Took)
}

// linkWeight estimates the size of a candidate's verdict in the store.
const linkWeight = 4 << 10

// step gives the state after a step its name. The search is kept whole between
// generations only: then nothing of the rules is pending.
func (k *keeper) step(p *position, l *link) error {
	l.Before = p.state
	if l.Tell != nil && p.since > max(leastWhole, p.whole) {
		return k.keepWhole(p)
	}
	var err error
	p.state, err = k.store.PutJSON(l)
	return err
}

func (k *keeper) keepWhole(p *position) error {
	data, err := json.Marshal(&link{Before: p.state, Whole: p.c})
	if err != nil {
		return err
	}
	p.since, p.whole = 0, len(data)
	p.state, err = k.store.Put(data)
	return err
}

// replay makes the search of a state from the chain.
func (k *keeper) replay(run, state string) (*position, error) {
	p := &position{state: state}
	if err := k.load(run, "spec", &p.spec); err != nil {
		return nil, err
	}
	// Go back to the last state that is stored whole.
	var steps []*link
	for at := state; p.c == nil; {
		data, err := k.store.Get(at)
		if err != nil {
			return nil, fmt.Errorf("the search of run %s: %w", run, err)
		}
		l := &link{}
		if err := json.Unmarshal(data, l); err != nil {
			return nil, fmt.Errorf("the search of run %s: %w", run, err)
		}
		if l.Whole != nil {
			p.c, p.whole = l.Whole, len(data)
			break
		}
		steps, at = append(steps, l), l.Before
	}
	// Take the steps since then again.
	for i := len(steps) - 1; i >= 0; i-- {
		switch l := steps[i]; {
		case l.Ask != nil:
			p.c.Search.Ask(*l.Ask)
		case l.Action != nil:
			loop.Apply(p.c.Search, *l.Action)
		case l.Trim:
			p.c.Search.AskTrims()
		case l.Invite > 0:
			p.c.Begin(make([]store.Submission, l.Invite))
		case l.Tell != nil:
			if err := k.retell(p, l.Tell); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}
