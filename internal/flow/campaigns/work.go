package campaigns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// An Order holds a person's orders at the start of a campaign.
type Order struct {
	Spec     flow.Spec         `json:"spec"`             // of each search, without its target
	Evidence string            `json:"evidence"`         // of targets without recorded calls
	Inputs   string            `json:"inputs,omitempty"` // directory of recorded calls
	Files    map[string]string `json:"files,omitempty"`  // inputs by target
	At       string            `json:"at,omitempty"`     // probes that capture calls of each target
	Again    bool              `json:"again,omitempty"`  // also what was tried without success
	NoBench  bool              `json:"no_bench,omitempty"`
}

// A Base is a campaign's place in the store.
type Base struct {
	Store *store.Store
	ID    string
}

// Path returns the file of the state.
func (b Base) Path() string { return filepath.Join(b.Store.Dir(), "campaigns", b.ID+".json") }

// File returns another file of the campaign.
func (b Base) File(name string) string { return filepath.Join(b.Store.Dir(), "campaigns", b.ID, name) }

// Load reads the state.
func (b Base) Load() (*campaign.State, error) {
	s := new(campaign.State)
	return s, store.ReadJSON(b.Path(), s)
}

// Save keeps the state, so that another process can go on.
func (b Base) Save(s *campaign.State) error { return b.Store.WriteJSON(b.Path(), s) }

// Order reads the order of the campaign.
func (b Base) Order() (o Order, err error) {
	err = store.ReadJSON(b.File("order.json"), &o)
	return o, err
}

// Keep writes the order of the campaign.
func (b Base) Keep(o Order) error { return b.Store.WriteJSON(b.File("order.json"), o) }

// Lock takes the campaign for this process, to carry it out or to hand it to a server.
func (b Base) Lock() (*store.Lock, error) {
	return b.Store.LockPart(b.File(""), "beagle campaign "+b.ID, "campaign "+b.ID,
		"wait for it, or stop it with Ctrl-C where it was started")
}

// Place notes the server whose workflow carries the campaign out.
func (b Base) Place(at fleet.Server) error { return b.Store.WriteJSON(b.File(fleet.PlaceFile), at) }

// Server returns the server whose workflow carries the campaign out, and whether one does.
func (b Base) Server() (fleet.Server, bool, error) { return fleet.ServerIn(b.File("")) }

// Run names the search of a target, so that a campaign that is killed finds it again.
func (b Base) Run(target string) string { return b.ID + "-" + beagle.HashOf("target", target)[:8] }

// A Work does the parts of targets.
type Work struct {
	Base
	Order Order
	Watch flow.Watcher
	// Capture writes calls of a target in production to a file; nil: none are captured.
	Capture func(ctx context.Context, target, file string) error
}

func (w *Work) say(stage, text string) { w.Watch.Stage(stage, text) }

// Look loads a target, finds its inputs, and says whether a search is worth its price.
func (w *Work) Look(ctx context.Context, s *campaign.State, target string) (TargetOutcome, error) {
	at := s.Target(target)
	if at == nil {
		return TargetOutcome{}, fmt.Errorf("campaign %s has no target %s", w.ID, target)
	}
	out := TargetOutcome{Target: *at, Attempt: beagle.CampaignAttempt{Campaign: w.ID, Target: target}}
	t := &out.Target
	u, err := w.load(ctx, s, t)
	if err != nil {
		return out, refuseTarget(t, err)
	}
	out.Module = u.Target.Module
	if t.Run == "" {
		// Inputs take a minute to record; whether a rewrite applies is known at once.
		if why, err := flow.Barren(ctx, u, w.Order.Spec); why != "" || err != nil {
			t.State, t.Reason = beagle.CampaignNothing, why
			return out, err
		}
	}
	if t.Inputs == "" && t.Run == "" {
		w.FindInputs(ctx, t)
	}
	if out.Attempt, err = w.attempt(s, t, u); err != nil {
		return out, refuseTarget(t, err)
	}
	if known := s.FindRepeated(out.Attempt); known != nil && !w.Order.Again && t.Run == "" {
		t.State, t.Run = beagle.CampaignKnown, known.Run
		t.Reason = fmt.Sprintf("campaign %s tried it on %s: %s; --again tries it again", known.Campaign, known.At,
			cmp.Or(known.Reason, known.State))
		return out, nil
	}
	if why := s.Outdated(out.Attempt); why != "" && t.Run == "" {
		t.Why += "; tried again: " + why
	}
	t.State = beagle.CampaignRunning
	return out, nil
}

// load loads a target as its search will, so that what a search takes is not refused here.
func (w *Work) load(ctx context.Context, s *campaign.State, t *beagle.CampaignTarget) (*source.Unit, error) {
	spec := w.Spec(s, t)
	return source.Load(ctx, spec.Load())
}

// refuseTarget ends a target whose input is bad: the others go on.
func refuseTarget(t *beagle.CampaignTarget, err error) error {
	var bad *beagle.UsageError
	if errors.As(err, &bad) {
		t.State, t.Reason, t.Run = beagle.CampaignRefused, bad.What, ""
		return nil
	}
	return err
}

// FindInputs looks for recorded calls of a target, or captures them.
func (w *Work) FindInputs(ctx context.Context, t *beagle.CampaignTarget) {
	short := path.Base(t.Target)
	if file := cmp.Or(w.Order.Files[t.Target], w.Order.Files[short]); file != "" {
		t.Inputs = file
		return
	}
	if w.Order.Inputs != "" {
		file := filepath.Join(w.Order.Inputs, short+".jsonl")
		if _, err := os.Stat(file); err == nil {
			t.Inputs = file
		}
		return
	}
	if w.Capture == nil {
		return
	}
	file := filepath.Join(w.Store.Dir(), "campaigns", w.ID+"-"+short+".jsonl")
	if err := w.Capture(ctx, t.Target, file); err != nil {
		w.Watch.Warn(fmt.Sprintf("no calls of %s are captured, so its tests' calls are taken: %v", t.Target, err))
		return
	}
	t.Inputs = file
}

// attempt describes the next attempt.
func (w *Work) attempt(
	s *campaign.State, t *beagle.CampaignTarget, u *source.Unit,
) (beagle.CampaignAttempt, error) {
	by, err := flow.AuthorsIdentity(&w.Order.Spec)
	a := beagle.CampaignAttempt{
		At: time.Now().UTC().Format(time.DateTime), Campaign: w.ID, Target: t.Target, TargetID: u.Target.ID(),
		Around: u.Package.Around, Candidates: w.Order.Spec.Candidates, Net: t.Net, By: by,
		Go: flow.ThisMachine(s.Dir).Go,
	}
	if err != nil {
		return a, err
	}
	if t.Inputs != "" {
		data, err := os.ReadFile(t.Inputs)
		if err != nil {
			return a, &beagle.UsageError{What: "the inputs of " + t.Target + ": " + err.Error(),
				Remedy: "name a file that is there"}
		}
		a.Inputs = beagle.HashOf("inputs", string(data))
	}
	return a, nil
}

// Spec returns the spec of the search of a target, with the money that is left.
func (w *Work) Spec(s *campaign.State, t *beagle.CampaignTarget) flow.Spec {
	spec := w.Order.Spec
	spec.Dir, spec.Target, spec.CorpusFile = s.Dir, t.Target, t.Inputs
	if t.Inputs == "" {
		spec.Evidence = w.Order.Evidence
	}
	if money := s.Campaign.Budget.Dollars; money > 0 {
		left := llm.MicrosOf(money - s.Campaign.Spent.Dollars)
		if spec.Models.Caps.Money = left; left <= 0 {
			spec.Models = flow.Models{} // the rules are free
		}
	}
	return spec
}

// NoteEnd notes how a search ended.
func (t *TargetOutcome) NoteEnd(r *beagle.Result) {
	t.Searched = true
	t.Target.Run, t.Target.Reason = r.Run, r.Why
	if r.Outcome != beagle.Improved {
		t.Target.State = beagle.CampaignNothing
		return
	}
	t.Target.Ratio, t.Target.Again = &r.Best.Ratio, r.Again
	if m := r.Measurement; m != nil {
		t.Target.Measured = &m.Train
	}
}

// Judge tests a winner, and compares its inputs with production.
func (w *Work) Judge(ctx context.Context, s *campaign.State, taken TargetOutcome) (TargetOutcome, error) {
	t := &taken.Target
	r := new(beagle.Result)
	if ok, err := w.Store.Load(t.Run, "result", r); err != nil || !ok {
		return taken, errors.Join(fmt.Errorf("run %s has no result", t.Run), err)
	}
	u, err := w.load(ctx, s, t)
	if err != nil {
		return taken, refuseTarget(t, err)
	}
	if err := w.test(ctx, t, u, r); err != nil || t.State == beagle.CampaignTests {
		return taken, err
	}
	w.compare(ctx, s, t, u, r)
	if ctx.Err() == nil {
		t.State = beagle.CampaignImproved
	}
	return taken, ctx.Err()
}

// Bill counts the money that the search of a target has paid for models, however the search
// ended. It counts nothing twice, so a search can be billed whenever it stops.
func (w *Work) Bill(s *campaign.State, target string) error {
	at := s.Target(target)
	if at == nil {
		return nil
	}
	paid, err := flow.ModelCost(w.Store, w.Run(target))
	if err != nil {
		return err
	}
	more := paid.Dollars() - at.Spent.Dollars
	if more <= 0 {
		return nil
	}
	at.Spent.Dollars += more
	s.Campaign.Spent.Dollars += more
	return nil
}

// Enter takes the outcome of a target into the state, and stores the state and the attempt.
func (w *Work) Enter(s *campaign.State, t TargetOutcome) (Stand, error) {
	if err := w.Bill(s, t.Target.Target); err != nil {
		return Stand{}, err
	}
	if t.Module != "" {
		s.Campaign.Module = t.Module
	}
	if err := w.remember(t); err != nil {
		return Stand{}, err
	}
	if why := s.Enter(t.Target, t.Spent, t.Searched); why != "" {
		w.Watch.Note("next", why)
	}
	return w.Stand(s)
}

// Stand returns the next step, and stores the state.
func (w *Work) Stand(s *campaign.State) (Stand, error) {
	next := s.Stand()
	return Stand{s.Round, next}, w.Save(s)
}

// remember notes the attempt for later campaigns.
func (w *Work) remember(t TargetOutcome) error {
	switch t.Target.State {
	case beagle.CampaignKnown, beagle.CampaignUnspent, beagle.CampaignRunning, beagle.CampaignWaiting:
		return nil
	case beagle.CampaignNothing, beagle.CampaignRefused:
		if !t.Searched {
			return nil // the next campaign finds it out as quickly, or what surrounds it is better then
		}
	}
	a := t.Attempt
	a.At = time.Now().UTC().Format(time.DateTime)
	a.State, a.Reason, a.Run, a.Net = t.Target.State, t.Target.Reason, t.Target.Run, t.Target.Net
	if t.Target.Ratio != nil {
		a.Ratio = t.Target.Ratio.Point
	}
	return store.AppendLine(filepath.Join(w.Store.Dir(), "campaigns.jsonl"), a)
}
