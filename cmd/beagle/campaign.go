package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/settings"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/mutate/llm"
)

var campaignCommand = &command{
	name: "campaign", args: "SOURCE...",
	short: "make the hot spots of a service faster, one after the other, within a budget",
	long: `
Reads profiles as hotspots does, a live one spread over five minutes. Takes up the
functions that save most, searches each for a faster version, runs the package's own tests
on every winner, and sums up what the service saves, with an interval. The checkout is not
changed: each winner's patch is in its run ('beagle show RUN').

The inputs of a function are its file in --inputs, what --at captures of the running
service, or what its tests pass to it. When an improvement brings a function below the
least share, its caller is next, and the report says so. A campaign notes functions that
it tried without success. The next one leaves them out until their text, inputs, rewrites
or toolchain change (--again tries them all the same; --memory lists them).

beagle.yaml may hold the budget (docs/campaign.md). The runs of a campaign follow one
after the other: on this machine, or as a workflow of workflows on a Temporal server
(--temporal), which goes on when this command is stopped or killed.

Examples:
  beagle campaign --processor 30m cpu.pprof
  beagle campaign --inputs captured/ --targets 3 http://localhost:6060
  beagle campaign --score time=0.7,allocs=0.3 cpu.pprof
  beagle campaign --model claude-sonnet-4-5 --budget-usd 2 cpu.pprof
  beagle campaign --temporal temporal.internal:7233 cpu.pprof
  beagle campaign --resume 3f2c1a
  beagle campaign --memory

Exit status:
  0    done; also when nothing is faster
  1    something failed: its target says what
  2    bad input
  130  interrupted: --resume goes on with it`,
}

func init() { campaignCommand.run = runCampaign }

// campaignFlags hold the settings of the command line and of beagle.yaml.
type campaignFlags struct {
	spots      hotspotFlags
	spec       flow.Spec
	processor  time.Duration
	targets    int
	first      []string // hot spots that go before others
	heads      bool     // outer functions go before those that a search of them reaches
	inputs, at string
	evidence   string            // of targets without recorded calls
	files      map[string]string // inputs by target, of beagle.yaml
	resume     string
	memory     bool
	again      bool
	anyway     bool
	noBench    bool
	server     fleet.Server // of the searches; none: this machine
}

// A campaignRun is one call of the command: its settings, and the campaign that it carries out.
type campaignRun struct {
	campaignFlags
	models modelOptions
	kept   bool // the settings are those that the campaign began with, where no flag changes them
	std    stdio
	store  *store.Store
	state  *campaign.State
	watch  *progress
	used   func() float64 // processor seconds of this process and its children
}

// flags declares the flags of beagle campaign.
func (o *campaignFlags) flags(f *flagSet) {
	// The service and its profile, as for hotspots.
	s := &o.spec
	f.StringVar(&o.spots.dir, "C", ".", "the checkout that was profiled: a `directory` in its module")
	f.Var(listFlag{&s.Tags}, "tags", "build `tags`, separated by commas")
	f.StringVar(&o.spots.config, "config", "", "`file` with services; "+settings.Name+" of the checkout by default")
	f.StringVar(&o.spots.service, "service", "", "`name` of the service in that file; needed when it has several")
	f.StringVar(&o.spots.price, "price", "",
		"`price` of an hour of one core: 0.04, 0.04EUR, or a family such as aws/c7g")
	f.Float64Var(&o.spots.cores, "cores", 0,
		"cores that the whole service keeps busy; by default taken from the profiles")
	f.Float64Var(&o.spots.least, "least", 0.5, "least net share in percent that is worth a change")
	o.spots.addLive(f)
	// The functions to take up, and the time for them.
	f.IntVar(&o.targets, "targets", 5, "hot spots to take up; callers that are escalated to come on top")
	f.Var(listFlag{&o.first}, "first", "`functions` to take up before hot spots that save more, separated by commas")
	f.BoolVar(&o.heads, "heads", false, "take up a function before those of its package that a search of it reaches")
	f.DurationVar(&o.processor, "processor", 0, "processor time for the whole campaign; 0 for no limit")
	// Each search, as for evolve.
	f.IntVar(&s.Candidates, "candidates", s.Candidates, "versions of each function to evaluate")
	f.DurationVar(&s.Measure, "measure", s.Measure, "time to measure the finalists of each function, at most")
	f.DurationVar(&s.Fuzz, "fuzz", s.Fuzz, "longest search for inputs on which a finalist differs, in processor time")
	f.Var(listFlag{&s.Rules}, "rules", "use only these `rewrites` and sets, separated by commas, as for evolve")
	f.BoolVar(&s.Across, "across", false, acrossText)
	f.BoolVar(&s.Fastest, "fastest", false, fastestText)
	scoreFlags(f, s)
	f.StringVar(&o.evidence, "evidence", flow.EvidenceState,
		"how targets without recorded calls are judged: auto, corpus, inplace or state, as for evolve")
	f.StringVar(&s.Sandbox, "sandbox", s.Sandbox, "auto or require, as for evolve")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "seed of the searches")
	// The inputs, and what earlier campaigns left.
	f.StringVar(&o.inputs, "inputs", "", "`directory` of recorded calls: tags.Normalize.jsonl for .../tags.Normalize")
	f.StringVar(&o.at, "at", "",
		"capture the calls of each function at the probes of these `addresses`, as for capture --at")
	f.BoolVar(&o.again, "again", false, "try functions again that earlier campaigns tried without success")
	f.BoolVar(&o.anyway, "anyway", false, "go on although a saving frees no machine")
	f.BoolVar(&o.noBench, "no-bench", false, "compare no benchmark of a winner's inputs with the profile")
	f.StringVar(&o.resume, "resume", "", "go on with this `campaign`, by the flags that it began with")
	serverFlags(f, &o.server)
	f.BoolVar(&o.memory, "memory", false, "list the functions that campaigns tried, and why they failed")
	f.BoolVar(&o.spots.asJSON, "json", false, "print one JSON object (docs/json.md)")
	f.BoolVar(&o.spots.quiet, "quiet", false, "print no progress")
}

// runCampaign begins a campaign, goes on with one, or prints the memory.
func runCampaign(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	o, f, sources, err := readCampaign(c, args, std, nil)
	if err != nil {
		return exitUsage, err
	}
	if o.store, err = openStore(); err != nil {
		return exitNo, err
	}
	if o.memory {
		return o.printMemory()
	}
	// A campaign that is taken up has the settings that it began with. Flags change them.
	if o.resume != "" {
		if o, f, err = o.reread(c, args, sources); err != nil {
			return exitUsage, err
		}
	}
	// Plan a campaign, or take one up.
	o.watch = newProgress(std.err, o.spots.quiet)
	defer o.watch.stop()
	if err := o.settle(f); err != nil {
		return exitUsage, err
	}
	if o.resume != "" {
		err = o.load(f)
	} else {
		err = o.begin(ctx, sources)
	}
	if err != nil {
		return exitUsage, err
	}
	// Carry it out, and print its sum.
	status, err := o.carry(ctx)
	o.watch.stop()
	if err != nil {
		return status, err
	}
	if o.spots.asJSON {
		return status, printJSON(std.out, &o.state.Campaign)
	}
	printCampaign(std.out, &o.state.Campaign)
	return status, nil
}

// readCampaign reads the command line. Flags that are not given leave what kept says, if it is not
// nil.
func readCampaign(
	c *command, args []string, std stdio, kept *campaigns.Order,
) (*campaignRun, *flagSet, []string, error) {
	o := &campaignRun{campaignFlags: campaignFlags{spec: flow.Defaults()}, std: std, used: processorSeconds}
	f := c.flags(std)
	o.flags(f)
	o.models.flags(f, &o.spec.Models)
	if kept != nil {
		o.take(kept)
	}
	sources, err := parse(f, args, 0, 1000)
	return o, f, sources, err
}

// reread finds the campaign of --resume, and reads the command line on top of its settings.
func (o *campaignRun) reread(c *command, args, sources []string) (*campaignRun, *flagSet, error) {
	if len(sources) > 0 {
		return nil, nil, &beagle.UsageError{
			What:   "--resume with a SOURCE",
			Remedy: "a campaign keeps the profile that it began with",
		}
	}
	b, err := o.find()
	if err != nil {
		return nil, nil, err
	}
	state, err := b.Load()
	if err != nil {
		return nil, nil, err
	}
	kept := new(campaigns.Order)
	switch *kept, err = b.Order(); {
	case errors.Is(err, fs.ErrNotExist):
		kept = nil // an earlier release kept none: the flags say all
	case err != nil:
		return nil, nil, err
	}
	again, f, _, err := readCampaign(c, args, o.std, kept)
	if err != nil {
		return nil, nil, err
	}
	if err := again.changes(f); err != nil {
		return nil, nil, err
	}
	// The campaign goes on in its own directory, wherever this command stands.
	again.store, again.state = o.store, state
	again.spots.dir, again.spec.Dir = state.Dir, state.Dir
	return again, f, nil
}

// take takes the settings that a campaign began with.
func (o *campaignRun) take(kept *campaigns.Order) {
	o.spec, o.evidence, o.inputs, o.files = kept.Spec, kept.Evidence, kept.Inputs, kept.Files
	o.at, o.again, o.noBench, o.kept = kept.At, kept.Again, kept.NoBench, true
}

// settle joins the command line with beagle.yaml, and checks both. The settings that a campaign
// began with hold the file's already.
func (o *campaignRun) settle(f *flagSet) error {
	if !o.kept {
		if err := o.takeFile(f, &o.models); err != nil {
			return err
		}
	}
	if err := o.checkTogether(); err != nil {
		return err
	}
	// The parts check their own flags.
	o.spots.limit, o.spots.leastSet = 0, f.given("least")
	if err := o.spots.check(f); err != nil {
		return err
	}
	if err := o.settleModels(f); err != nil {
		return err
	}
	// Check the spec of the searches now, with the name of any target.
	o.spec.Dir = o.spots.dir
	spec := o.spec
	spec.Target, spec.Evidence = "target", o.evidence
	if err := spec.Validate(); err != nil {
		return err
	}
	o.spec.Models = spec.Models
	return o.models.checkAgents(&o.spec.Models)
}

// settleModels reads the models and their budget. Kept models stay until others are named.
func (o *campaignRun) settleModels(f *flagSet) error {
	if o.kept && len(o.spec.Models.Ask) > 0 && !f.given("model") && !f.given("agent") {
		if names := f.givenAmong(ofModels); len(names) > 0 {
			return &beagle.UsageError{
				What:   strings.Join(names, " and ") + " beside --resume, and no model",
				Remedy: "name the models again, with --model or --agent, and all that belongs to them",
			}
		}
		if f.given("budget-usd") {
			o.spec.Models.Caps.Money = llm.MicrosOf(o.models.dollars)
		}
		return nil
	}
	return o.models.settle(&o.spec.Models)
}

// takeFile takes the settings of beagle.yaml that no flag gives.
func (o *campaignFlags) takeFile(f *flagSet, models *modelOptions) error {
	// Read the file that a flag names, or the one of the checkout, if there is one.
	file := o.spots.config
	if file == "" {
		file = filepath.Join(o.spots.dir, settings.Name)
	}
	s, _, err := settings.Read(file, o.spots.service, o.spots.config != "" || o.spots.service != "")
	if err != nil {
		return err
	}
	if s == nil {
		return nil
	}
	// Take the settings that no flag gives.
	y := &s.Campaign
	if y.Processor > 0 && !f.given("processor") {
		o.processor = y.Processor
	}
	if y.Dollars > 0 && !f.given("budget-usd") && len(models.models)+len(models.agents) > 0 {
		models.dollars = y.Dollars
	}
	if y.Targets > 0 && !f.given("targets") {
		o.targets = y.Targets
	}
	if y.Candidates > 0 && !f.given("candidates") {
		o.spec.Candidates = y.Candidates
	}
	// Corpora are named from the directory of the file.
	o.files = map[string]string{}
	for target, name := range y.Inputs {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		o.files[target] = name
	}
	return nil
}

// checkTogether checks the flags against each other.
func (o *campaignFlags) checkTogether() error {
	bad := func(what, remedy string) error { return &beagle.UsageError{What: what, Remedy: remedy} }
	switch {
	case o.targets < 1 || o.targets > 1000:
		return bad(fmt.Sprintf("--targets %d is not between 1 and 1000", o.targets), "5 is the default")
	case o.processor != 0 && o.processor < 10*time.Second:
		return bad(fmt.Sprintf("--processor %v is too little to judge one function", o.processor), "give at least 10s")
	case o.server.Address != "" && o.processor != 0:
		return bad("--processor with --temporal",
			"limit the searches by --candidates and --targets: their time is that of "+
				"the machines that work for the server")
	case o.inputs != "" && o.at != "":
		return bad("--inputs and --at exclude each other", "give recorded calls, or capture them now")
	}
	// A campaign may be taken up from another directory, so its paths must not depend on this one.
	at := strings.Split(o.at, ",")
	for i, address := range at {
		if address == "" || strings.Contains(address, "://") {
			continue
		}
		whole, err := filepath.Abs(strings.TrimPrefix(address, "unix:"))
		if err != nil {
			return err
		}
		at[i] = whole
	}
	o.at = strings.Join(at, ",")
	if o.inputs != "" {
		whole, err := filepath.Abs(o.inputs)
		if err != nil {
			return err
		}
		o.inputs = whole
		if info, err := os.Stat(o.inputs); err != nil || !info.IsDir() {
			return bad("--inputs "+o.inputs+" is not a directory", "name one with files such as tags.Normalize.jsonl")
		}
	}
	return nil
}

// begin plans a new campaign.
func (o *campaignRun) begin(ctx context.Context, sources []string) error {
	job, err := o.spots.job("campaign", sources, o.watch)
	if err != nil {
		return err
	}
	job.read.Progress = showProfiling(o.watch, "--seconds 30 takes one piece.")
	flow.Watcher(o.watch.watch).Stage("profile", tail.Plural(len(job.sources), "source"))
	// Rank the hot spots, and ask whether a saving frees a machine.
	t, err := job.table(ctx)
	if err != nil {
		return err
	}
	if t.Autoscaling.Fraction == 0 && !o.anyway {
		return &beagle.UsageError{
			What:   "a saving of processor time saves no money: " + t.Autoscaling.Reason,
			Remedy: "leave the service alone, or go on with --anyway",
		}
	}
	// Gather what the plan rests on: earlier attempts, the directory, and heads where they lead.
	memory, err := o.remembered()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(o.spots.dir)
	if err != nil {
		return err
	}
	if o.heads {
		t.LeadWithHeads(o.spec.Across)
	}
	s := &campaign.State{Dir: dir, Table: t.Hotspots, Most: o.targets, First: o.first, Heads: o.heads, Memory: memory,
		Callers: map[string][]beagle.CostShare{}, Together: map[string]map[string]float64{},
		Subtrees: map[string]*campaign.Subtree{}, Inside: map[string][]string{}}
	s.Campaign = beagle.Campaign{
		ID: store.NewID(), Module: job.module, Service: t.Service, Created: time.Now().UTC().Format(time.DateTime),
		Least:   t.Least,
		Samples: t.Effective, Warnings: t.Warnings,
		Budget: beagle.CampaignCost{ProcessorSeconds: o.processor.Seconds(),
			Dollars: llm.Micros(o.spec.Models.Caps.Money).Dollars()},
	}
	if !o.spec.Score.IsZero() {
		s.Campaign.Score = o.spec.Score.String()
	}
	// Callers are needed for escalation. Note what the user named and the profile does not have.
	o.relate(t, s)
	for _, name := range o.first {
		if !slices.ContainsFunc(t.Hotspots.Hotspots, func(h beagle.Hotspot) bool { return h.Target == name }) {
			s.Campaign.Notes = append(s.Campaign.Notes,
				name+" of --first is not a hot spot: beagle hotspots --why says why")
		}
	}
	// Plan, and keep the flags and the plan: --resume reads both.
	s.Plan()
	o.state = s
	if s.Next() == nil {
		s.Campaign.Notes = append(s.Campaign.Notes, fmt.Sprintf("no function of the checkout has %.2f %% of the time "+
			"or more", 100*t.Least))
	}
	if err := o.work().Keep(o.order()); err != nil {
		return err
	}
	return o.save()
}

// remembered reads what campaigns tried.
func (o *campaignRun) remembered() (map[string][]beagle.CampaignAttempt, error) {
	all, err := store.ReadLines[beagle.CampaignAttempt](filepath.Join(o.store.Dir(), "campaigns.jsonl"))
	if err != nil {
		return nil, err
	}
	out := map[string][]beagle.CampaignAttempt{}
	for _, a := range all {
		out[a.Target] = append(out[a.Target], a)
	}
	return out, nil
}

// save writes the state, so that another process can go on.
func (o *campaignRun) save() error {
	return campaigns.Base{Store: o.store, ID: o.state.Campaign.ID}.Save(o.state)
}

// find finds the campaign of --resume by the start of its ID.
func (o *campaignRun) find() (b campaigns.Base, err error) {
	names, err := filepath.Glob(campaigns.Base{Store: o.store, ID: "*"}.Path())
	if err != nil {
		return b, err
	}
	var found []string
	for _, name := range names {
		// The start of an ID is enough, if it ends before the name's .json.
		if id := filepath.Base(name); len(id) > len(o.resume)+4 && id[:len(o.resume)] == o.resume ||
			id == o.resume+".json" {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		what := fmt.Sprintf("--resume %q: no campaign begins with that", o.resume)
		if len(found) > 1 {
			what = fmt.Sprintf("--resume %q: %d campaigns begin with that", o.resume, len(found))
		}
		return b, &beagle.UsageError{
			What:   what,
			Remedy: "the campaigns of this machine are in " + filepath.Join(o.store.Dir(), "campaigns"),
		}
	}
	return campaigns.Base{Store: o.store, ID: strings.TrimSuffix(filepath.Base(found[0]), ".json")}, nil
}

// load takes up a campaign that was stopped.
func (o *campaignRun) load(f *flagSet) error {
	b := campaigns.Base{Store: o.store, ID: o.state.Campaign.ID}
	switch at, placed, err := b.Server(); {
	case err != nil:
		return err
	case placed && at != o.server:
		return placedError(b, at)
	case placed:
		return followed(f, b.ID, at.Address) // its state is the workflow's
	}
	// Go on here, with a larger budget if the flags give one.
	o.state.Retry()
	if o.processor > 0 {
		o.state.Campaign.Budget.ProcessorSeconds = o.processor.Seconds()
	}
	if money := &o.state.Campaign.Budget.Dollars; f.given("budget-usd") || *money == 0 {
		*money = llm.Micros(o.spec.Models.Caps.Money).Dollars()
	}
	return nil
}

// printMemory lists what campaigns tried.
func (o *campaignRun) printMemory() (int, error) {
	all, err := store.ReadLines[beagle.CampaignAttempt](filepath.Join(o.store.Dir(), "campaigns.jsonl"))
	if err != nil {
		return exitNo, err
	}
	// An empty memory is an empty list, not null.
	if o.spots.asJSON {
		return exitOK, printJSON(o.std.out, slices.Concat([]beagle.CampaignAttempt{}, all))
	}
	if len(all) == 0 {
		fmt.Fprintln(o.std.out, "No campaign has tried anything yet.")
	}
	for _, a := range all {
		fmt.Fprintf(o.std.out, "%s  %-14s %s  %s\n", a.At, a.State, a.Target, clean(a.Reason))
	}
	return exitOK, nil
}
