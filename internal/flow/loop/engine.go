package loop

import (
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// Terms are the loop's settings for a run.
type Terms struct {
	Batch    int           `json:"batch"`               // candidates that are evaluated together
	InFlight int           `json:"in_flight,omitempty"` // calls to models under way at once; 0 when none is asked
	Time     time.Duration `json:"time,omitempty"`      // of searching; 0 is no limit
	NoRules  bool          `json:"no_rules,omitempty"`  // models alone write candidates
	Tokens   bool          `json:"tokens,omitempty"`    // a budget of tokens is to be held
	Replayed bool          `json:"-"`                   // replies come from a recording, which may lack some
	Linger   time.Duration `json:"-"`                   // the most to wait for replies that come together
}

// TermsOf returns the terms of a spec.
func TermsOf(s *flow.Spec) Terms {
	t := Terms{
		Batch:    s.Batch,
		Time:     s.Time,
		NoRules:  s.Models.NoRules,
		Tokens:   s.Models.Caps.Tokens > 0,
		Replayed: s.Models.Replay != "",
	}
	if s.Models.On() {
		t.InFlight = s.Models.InFlight
	}
	return t
}

// A Standing is the loop's view of the search.
type Standing struct {
	Done    bool     `json:"done"`              // nothing is left to try
	Open    bool     `json:"open,omitempty"`    // models may be asked
	Asks    bool     `json:"asks,omitempty"`    // and the budget has room for their versions
	Room    int      `json:"room,omitempty"`    // how many proposals the rules may make
	Lends   bool     `json:"lends,omitempty"`   // they would have more room if they were lent some
	Told    int      `json:"told,omitempty"`    // generations that the search was told of
	Members int      `json:"members,omitempty"` // candidates that behave
	Seconds float64  `json:"seconds"`           // of searching so far
	Gone    []string `json:"gone,omitempty"`    // models that are not asked any more
}

// StandingOf returns the loop's view of a search.
func StandingOf(s *flow.Spec, c *flow.Course) Standing {
	return Standing{
		Done: c.Done(), Open: c.Search.Open(), Asks: c.Search.CanCommission(), Room: c.Search.Room(),
		Lends: c.Search.CanLend(), Told: c.Search.Generation,
		Members: len(c.Search.Members), Seconds: c.Log.Seconds, Gone: c.DismissedModels(s),
	}
}

// A Reply is a call to a model that ended.
type Reply struct {
	Proposal int         `json:"proposal"`
	Model    string      `json:"model,omitempty"`
	Unheard  string      `json:"unheard,omitempty"` // why there is no answer
	Spent    bool        `json:"spent,omitempty"`   // it was not asked: the budget is used up
	Untold   bool        `json:"untold,omitempty"`  // it does not say how many tokens it used
	Asked    *flow.Asked `json:"-"`                 // all of it, where the engine has it in memory
	Err      error       `json:"-"`                 // the call failed, which ends the run
}

// ReplyOf returns the reply that an ended call makes.
func ReplyOf(a *flow.Asked) Reply {
	return Reply{Proposal: a.Proposal, Model: a.Model, Unheard: a.Unheard, Spent: a.Spent, Untold: a.Untold, Asked: a}
}

// A DraftProgress says how far the draft of a generation is.
type DraftProgress struct {
	More    bool // something was drawn that is to be made
	Outside int  // candidates in the draft that are not of the rules
	Made    int  // candidates in the draft
}

// A Wakeup is an event that the loop waits for. One field is set; none if the time ran out.
type Wakeup struct {
	Reply     *Reply
	Evaluated bool // the generation is evaluated
	Visited   bool // a version was handed in
}

// An Engine carries out the loop's decisions. The loop calls its methods one at a time.
type Engine interface {
	Clock
	Journal
	Search
	Generation
	Audience

	// End stops the work under way and waits for it: this many calls.
	End(calls int)
}

// A Clock tells the time and what happens.
type Clock interface {
	Now() time.Time
	// Await waits until something happens, for no longer than most; it waits
	// without end when most is negative. It looks for versions that are handed
	// in if door is set.
	Await(most time.Duration, door bool) (Wakeup, error)
	Enough() bool // the user asked to end the search
	Pause() bool  // no call is to be begun, and the loop returns when none is under way
}

// A Journal keeps the way that a search takes.
type Journal interface {
	// Behind reports whether actions that were taken before are not part of the
	// search's state, and Again returns the next of them.
	Behind() bool
	NextAction() (Action, error)
	// Note writes an action down, before it is taken.
	Note(Action) error
	// Keep saves the search now and then, and in any case the last time.
	Keep(last bool) error
}

// A Search is the search under way.
type Search interface {
	Standing() Standing
	// Take takes an action that is no part of a generation, and returns how many
	// calls it began.
	Take(Action) (calls int, err error)
	// Relaunch begins the calls again that the search waits for.
	Relaunch() (calls int, err error)
	// Visited reports whether versions were handed in that the search can take.
	Visited() bool
	// Guests are these versions, where they are to be noted with the action.
	Guests() []store.Submission
}

// A Generation is drafted, evaluated and told, in this order.
type Generation interface {
	// Draw begins a draft with replies and hand-ins, and draws proposals for the rules.
	Draw(b *GenerationParts, replies []Reply) (DraftProgress, error)
	// Make makes the candidates of drawn proposals.
	Make() error
	// Redraw takes the made candidates into the draft, and draws the missing ones.
	Redraw() (DraftProgress, error)
	// Evaluate begins to evaluate the draft; Await tells when that is done.
	Evaluate() error
	// Tell tells the search of the verdicts; again says that the action was noted
	// before.
	Tell(t Telling, again bool) error
}

// An Audience follows the course of a search.
type Audience interface {
	Show(calls int)
	Warn(text string)
	Say(text string) // news that needs no action
}
