package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/benchfile"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// relate notes what the profile says of the hot spots to each other.
func (o *campaigning) relate(t *hotspots.Table, s *campaign.State) {
	for i, a := range t.Hotspots.Hotspots {
		if i >= campaign.Looked*o.targets {
			break // no campaign gets that far
		}
		s.Callers[a.Target] = t.Payers(a.Target)
		s.Together[a.Target] = map[string]float64{}
		for _, b := range t.Hotspots.Hotspots {
			if both := t.Together(a.Target, b.Target); both > 0 && a.Target != b.Target {
				s.Together[a.Target][b.Target] = both
			}
		}
		if below, err := t.Below(a.Target); err == nil {
			s.Subtrees[a.Target] = &campaign.Subtree{Share: below.Share, Samples: below.Samples,
				Effective: below.Effective, Callees: below.Callees, Lines: below.Lines}
		}
	}
	// The table lists no function below the least share. Those that were improved may be there now.
	s.Table.Dropped = nil
	for target := range s.Memory {
		if dropped, _, err := t.Why(target); err == nil {
			s.Table.Dropped = append(s.Table.Dropped, dropped...)
		}
	}
}

// carry takes up targets until all are done, the budget is spent, or the user stops it.
func (o *campaigning) carry(ctx context.Context) (int, error) {
	s, status := o.state, exitOK
	s.Campaign.State = "running"
	for n := 1; ; n++ {
		t := s.Next()
		if t == nil {
			s.Campaign.State = "done"
			break
		}
		name := t.Target
		o.say("target", fmt.Sprintf("%d of %d: %s (%s)", n, n+s.Left()-1, name, t.Why))
		if left := o.left(); left <= 0 {
			o.unspent("the budget of processor time is spent")
			break
		}
		before := o.used()
		err := o.take(ctx, t)
		spent := o.used() - before
		t.Spent.ProcessorSeconds += spent
		s.Campaign.Spent.ProcessorSeconds += spent
		if ctx.Err() != nil {
			s.Campaign.State = "stopped"
			o.sum()
			fmt.Fprintf(o.std.err, "\nStopped; nothing is lost. Go on with:\n  beagle campaign --resume %s\n",
				s.Campaign.ID)
			return exitInterrupted, o.save()
		}
		if err != nil {
			t.State, t.Reason, status = beagle.CampaignFailed, err.Error(), exitNo
		}
		if err := o.remember(t); err != nil {
			return exitNo, err
		}
		if t.Run == "" && (t.State == beagle.CampaignNothing || t.State == beagle.CampaignRefused) {
			s.Instead()
		}
		if why := s.Escalate(name); why != "" {
			o.say("next", why)
		}
		o.sum()
		if err := o.save(); err != nil {
			return exitNo, err
		}
	}
	o.sum()
	return status, o.save()
}

func (o *campaigning) say(stage, text string) { flow.Watcher(o.watch.watch).Stage(stage, text) }

// left is the processor time that may still be used, in seconds.
func (o *campaigning) left() float64 {
	c := &o.state.Campaign
	if c.Budget.ProcessorSeconds == 0 {
		return 1e12
	}
	return c.Budget.ProcessorSeconds - c.Spent.ProcessorSeconds
}

// unspent marks the targets that the budget did not reach.
func (o *campaigning) unspent(why string) {
	for t := o.state.Next(); t != nil; t = o.state.Next() {
		t.State, t.Reason = beagle.CampaignUnspent, why
	}
	o.state.Campaign.State = "spent"
}

// sum adds up the savings, and says what their interval lacks.
func (o *campaigning) sum() {
	s := o.state
	s.Tally()
	s.Campaign.Notes = nil
	compared, improved := 0, 0
	for _, t := range s.Campaign.Targets {
		if t.State == beagle.CampaignImproved {
			improved++
			if t.Similarity != nil {
				compared++
			}
		}
	}
	if improved > compared {
		s.Campaign.Notes = append(s.Campaign.Notes,
			fmt.Sprintf("the inputs of %d of %d improvements were not compared "+
				"with production: the interval lacks that part", improved-compared, improved))
	}
	if s.Table.Autoscaling.Follows == "unknown" && improved > 0 {
		s.Campaign.Notes = append(s.Campaign.Notes, s.Table.Autoscaling.Reason)
	}
}

// take searches a target, and judges its winner by the package's own tests.
func (o *campaigning) take(ctx context.Context, t *beagle.CampaignTarget) error {
	u, err := source.Load(ctx, source.Options{Dir: o.state.Dir, Spec: t.Target, Tags: o.spec.Tags})
	if err != nil {
		return o.refused(t, err)
	}
	o.state.Campaign.Module = u.Target.Module
	if t.Run == "" {
		// Inputs take a minute to record; whether a rewrite applies is known at once.
		if why, err := flow.Barren(ctx, u, o.spec); why != "" || err != nil {
			t.State, t.Reason = beagle.CampaignNothing, why
			return err
		}
	}
	if t.Inputs == "" && t.Run == "" {
		o.findInputs(ctx, t)
	}
	now, err := o.attempt(t, u)
	if err != nil {
		return err
	}
	if known := o.state.Known(now); known != nil && !o.again && t.Run == "" {
		t.State, t.Run = beagle.CampaignKnown, known.Run
		t.Reason = fmt.Sprintf("campaign %s tried it on %s: %s; --again tries it again", known.Campaign, known.At,
			cmp.Or(known.Reason, known.State))
		return nil
	}
	r, err := o.search(ctx, t)
	if err != nil || r == nil {
		return o.refused(t, err)
	}
	t.Run, t.Reason = r.Run, r.Why
	if r.Models != nil {
		t.Spent.Dollars = r.Models.Dollars
		o.state.Campaign.Spent.Dollars += r.Models.Dollars
	}
	if err := writeFiles(o.store.RunDir(r.Run), r); err != nil {
		return err
	}
	if r.Outcome != beagle.Improved {
		t.State = beagle.CampaignNothing
		return nil
	}
	t.Ratio = &r.Best.Ratio
	if err := o.test(ctx, t, u, r); err != nil || t.State == beagle.CampaignTests {
		return err
	}
	o.compare(ctx, t)
	t.State = beagle.CampaignImproved
	return nil
}

// refused ends a target whose input is bad: the others go on.
func (o *campaigning) refused(t *beagle.CampaignTarget, err error) error {
	var bad *beagle.UsageError
	if errors.As(err, &bad) {
		t.State, t.Reason = beagle.CampaignRefused, bad.What
		return nil
	}
	return err
}

// findInputs looks for recorded calls of a target, or captures them.
func (o *campaigning) findInputs(ctx context.Context, t *beagle.CampaignTarget) {
	short := path.Base(t.Target)
	if file := cmp.Or(o.files[t.Target], o.files[short]); file != "" {
		t.Inputs = file
		return
	}
	if o.inputs != "" {
		file, err := filepath.Abs(filepath.Join(o.inputs, short+".jsonl"))
		if err == nil {
			if _, err := os.Stat(file); err == nil {
				t.Inputs = file
			}
		}
		return
	}
	if o.at == "" {
		return
	}
	file := filepath.Join(o.store.Dir(), "campaigns", o.state.Campaign.ID+"-"+short+".jsonl")
	_, err := captureCommand.run(ctx, captureCommand, []string{"start", "--at", o.at, "--for", "30s", "--out", file,
		"-C", o.state.Dir, t.Target}, stdio{io.Discard, o.std.err})
	if err != nil {
		flow.Watcher(o.watch.watch).Warn(fmt.Sprintf("no calls of %s are captured, so its tests' calls are taken: %v",
			t.Target, err))
		return
	}
	t.Inputs = file
}

// attempt says what is about to be tried.
func (o *campaigning) attempt(t *beagle.CampaignTarget, u *source.Unit) (beagle.CampaignAttempt, error) {
	a := beagle.CampaignAttempt{
		At: time.Now().UTC().Format(time.DateTime), Campaign: o.state.Campaign.ID, Target: t.Target,
		TargetID: u.Target.ID(), Candidates: o.spec.Candidates, Net: t.Net,
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

// search runs or resumes the search of a target. It is nil when the budget ended it.
func (o *campaigning) search(ctx context.Context, t *beagle.CampaignTarget) (*beagle.Result, error) {
	spec := o.spec
	spec.Dir, spec.Target, spec.CorpusFile = o.state.Dir, t.Target, t.Inputs
	if t.Inputs == "" {
		spec.Evidence = o.evidence
	}
	if money := o.state.Campaign.Budget.Dollars; money > 0 {
		left := money - o.state.Campaign.Spent.Dollars
		if spec.Models.Caps.Money = llm.MicrosOf(left); left <= 0 {
			spec.Models = flow.Models{} // the rules are free
		}
	}
	if o.server.Address != "" {
		return o.searchAway(ctx, t, spec)
	}
	d := &local.Driver{Store: o.store, Watch: o.watch.watch}
	bounded, end := o.bounded(ctx)
	defer end()
	var r *beagle.Result
	var err error
	if t.Run != "" {
		r, err = d.Resume(bounded, t.Run)
	} else {
		t.State = beagle.CampaignRunning
		r, err = d.Start(bounded, spec)
	}
	var stopped *local.Interrupted
	if errors.As(err, &stopped) {
		if t.Run = stopped.Run; ctx.Err() != nil {
			if t.State = beagle.CampaignRunning; t.Run == "" {
				t.State = beagle.CampaignWaiting
			}
			return nil, nil
		}
		t.State, t.Reason = beagle.CampaignUnspent, "the budget of processor time ended within its search"
		return nil, nil
	}
	return r, err
}

// searchAway runs the search of a target as a workflow on a server, or follows the one that there
// is. What it is called is kept before it begins, so that a campaign that is killed finds it again.
func (o *campaigning) searchAway(
	ctx context.Context, t *beagle.CampaignTarget, spec flow.Spec,
) (*beagle.Result, error) {
	if t.Run == "" {
		t.Run = o.state.Campaign.ID + "-" + beagle.HashOf("target", t.Target)[:8]
	}
	t.State = beagle.CampaignRunning
	if err := o.save(); err != nil {
		return nil, err
	}
	d := &fleet.Driver{Store: o.store, Server: o.server, Watch: o.watch.watch, Log: o.std.err}
	r, err := d.Start(ctx, t.Run, spec)
	var stopped *fleet.Canceled
	var away *fleet.Detached
	switch {
	case errors.As(err, &away):
		return nil, nil // the campaign was stopped, and its search goes on
	case errors.As(err, &stopped):
		t.State, t.Reason = beagle.CampaignUnspent,
			"somebody stopped its run; 'beagle campaign --resume' goes on with it"
		return nil, nil
	}
	return r, err
}

// bounded ends when the processor time of the campaign is spent.
func (o *campaigning) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	last := o.used() + o.left()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				if o.used() > last {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}

// test runs the tests of the target's package with the winner in it, by an overlay.
func (o *campaigning) test(ctx context.Context, t *beagle.CampaignTarget, u *source.Unit, r *beagle.Result) error {
	o.say("tests", "the package's own tests, with the winner")
	dir, err := scratch.New("campaign")
	if err != nil {
		return err
	}
	defer dir.Remove()
	replace := map[string]string{}
	for i, f := range r.Files {
		file := filepath.Join(dir.Path, fmt.Sprintf("%d_%s", i, path.Base(f.Path)))
		if err := os.WriteFile(file, []byte(f.After), 0o666); err != nil {
			return err
		}
		replace[filepath.Join(u.Target.Dir, filepath.FromSlash(f.Path))] = file
	}
	overlay, err := encode(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return err
	}
	name := filepath.Join(dir.Path, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o666); err != nil {
		return err
	}
	args := []string{"test", "-overlay=" + name}
	if len(o.spec.Tags) > 0 {
		args = append(args, "-tags="+strings.Join(o.spec.Tags, ","))
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = u.Target.PkgDir
	out, err := cmd.CombinedOutput()
	t.Tests = "go test " + u.Target.PkgPath
	switch {
	case ctx.Err() != nil:
		t.State = beagle.CampaignRunning // its run is done, and gives its result again
		return ctx.Err()
	case err != nil:
		t.State = beagle.CampaignTests
		t.Reason = "the package's own tests fail with the winner: " + firstOf(out)
	}
	return nil
}

func firstOf(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[:min(len(lines), 4)], "; ")
}

// benchSeconds is the processor time of the profile of a winner's inputs.
const benchSeconds = 3

// compare says how alike production is to a benchmark of the winner's inputs. Where there can be
// none, the report says that its interval lacks that part.
func (o *campaigning) compare(ctx context.Context, t *beagle.CampaignTarget) {
	below := o.state.Subtrees[t.Target]
	if o.noBench || below == nil {
		return
	}
	spec := o.spec
	spec.Dir, spec.Target, spec.CorpusFile = o.state.Dir, t.Target, t.Inputs
	warn := func(err error) {
		flow.Watcher(o.watch.watch).Warn(fmt.Sprintf("%s: no benchmark is compared with production: %v", t.Target, err))
	}
	g, err := flow.Gather(ctx, o.store, spec, nil)
	if err != nil {
		warn(err)
		return
	}
	plan, err := benchfile.Select(g.Unit, g.Corpus, benchfile.Options{Inputs: 256, Bytes: 96 << 10})
	if err != nil {
		warn(err)
		return
	}
	f := &benchfile.Fitting{
		Production: &hotspots.Subtree{Target: t.Target, Share: below.Share, Samples: below.Samples,
			Effective: below.Effective, Callees: below.Callees, Lines: below.Lines},
		Needed: 0.98, Seconds: benchSeconds, Say: func(text string) { o.say("compare", text) },
	}
	fit, err := f.Measure(ctx, plan)
	if err != nil {
		warn(err)
		return
	}
	worst := fit.Callees
	if fit.Lines.Estimate < worst.Estimate {
		worst = fit.Lines
	}
	t.Similarity = &worst
}

// remember notes what was tried, for the campaigns to come.
func (o *campaigning) remember(t *beagle.CampaignTarget) error {
	switch t.State {
	case beagle.CampaignKnown, beagle.CampaignUnspent, beagle.CampaignRunning, beagle.CampaignWaiting:
		return nil
	case beagle.CampaignNothing:
		if t.Run == "" {
			return nil // nothing was searched, and the next campaign finds that out as quickly
		}
	}
	a := beagle.CampaignAttempt{
		At:       time.Now().UTC().Format(time.DateTime),
		Campaign: o.state.Campaign.ID,
		Target:   t.Target,
	}
	if u, err := source.Load(context.Background(),
		source.Options{Dir: o.state.Dir, Spec: t.Target, Tags: o.spec.Tags}); err == nil {
		if a, err = o.attempt(t, u); err != nil {
			return err
		}
	}
	a.State, a.Reason, a.Run, a.Net = t.State, t.Reason, t.Run, t.Net
	if t.Ratio != nil {
		a.Ratio = t.Ratio.Point
	}
	j, err := store.OpenJournal(filepath.Join(o.store.Dir(), "campaigns.jsonl"))
	if err != nil {
		return err
	}
	return errors.Join(j.Append(a), j.Sync(), j.Close())
}

// readLines reads a file of JSON lines. The last line may be cut short.
func readLines[T any](file string) (all []T, err error) {
	data, err := os.ReadFile(file)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var v T
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &v) == nil {
			all = append(all, v)
		}
	}
	return all, nil
}

func encode(v any) ([]byte, error) { return json.MarshalIndent(v, "", " ") }

func decodeFile(file string, v any) error {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
