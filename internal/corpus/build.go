package corpus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	tmp "github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// Input holds the parts of a corpus to be made.
type Input struct {
	Records  []beagle.Record // from Load, or from Capture
	Captured *Captured       // nil if nothing was captured; its records are used too
	Source   string          // where Records came from, for the report: "200 records from calls.jsonl"
	Alphabet *rt.Alphabet    // of generated inputs; nil means the default
	Seed     uint64
}

// Built is a corpus with the findings of its making.
type Built struct {
	Corpus *beagle.Corpus
	Train  rt.Observation // the original over Train; counts are of its records
	// records of Train on which the original is not deterministic, within a process or between two
	Unstable   int
	Stateful   int      // records of Train on which it remembers earlier calls
	Outcomes   int      // distinct outcomes over Train
	DroppedFor []string // why records were dropped, each reason once
}

const (
	maxRecords = 1 << 13 // of train and holdout together, unless a file gives more
	generated  = 1500
	scratch    = 4096
	maxRetries = 12 // processes that may die of one list of records

	observeTime = 5 * time.Second // for one list of records; the rest is not observed
)

// limits bound what the original may take for one input. Beyond them the input is left out.
type limits struct {
	millis float64 // 0 means no limit
	stack  int     // bytes; 0 means what every harness has
}

var (
	oneInput = limits{millis: 2000}
	// The process prints a full stack when it dies, which takes seconds.
	oneGenerated = limits{millis: 250, stack: 4 << 20}
)

// Build makes a corpus. It drops the calls that the original does not survive, divides the rest by
// hash, adds generated inputs, and computes the facets of the training part. The same records and
// seed give the same corpus.
func Build(ctx context.Context, u *source.Unit, b *harness.Builder, box *sandbox.Sandbox, in Input) (*Built, error) {
	bin, err := b.Build(ctx, harness.Versions(&u.Target), harness.Link{})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	return Gather(u, in).Build(ctx, bin, box)
}

// A Gathered holds the records of a corpus before the original has run on them.
type Gathered struct {
	// receives the training records once they are settled, while Build works on; nil if nobody
	// wants them early. Of the facets it has only what the original did on all recorded calls.
	Settled func(c *beagle.Corpus)

	maker maker
}

// Gather merges the parts of a corpus, and keeps a bounded, fair sample. It needs no program, so a
// caller may build the original meanwhile.
func Gather(u *source.Unit, in Input) *Gathered {
	m := maker{u: u, in: in}
	m.args, m.types = ArgsShape(u)
	m.c.Target = u.Target.ID()
	m.gather()
	return &Gathered{maker: m}
}

// Build is the second part of the package's Build, with a program that has the original. It is
// called once.
func (g *Gathered) Build(ctx context.Context, bin *harness.Binary, box *sandbox.Sandbox) (*Built, error) {
	m := &g.maker
	m.bin, m.box, m.settled = bin, box, g.Settled
	if err := m.recordedKeep(ctx); err != nil {
		return nil, err
	}
	if err := m.divide(ctx); err != nil {
		return nil, err
	}
	if err := m.generate(ctx); err != nil {
		return nil, err
	}
	if err := m.describe(ctx); err != nil {
		return nil, err
	}
	if err := m.answer(ctx); err != nil {
		return nil, err
	}
	m.built.Corpus = &m.c
	return &m.built, nil
}

type maker struct {
	u     *source.Unit
	bin   *harness.Binary
	box   *sandbox.Sandbox
	in    Input
	args  *rt.Shape
	types func(string) *rt.Shape
	c     beagle.Corpus
	all   []beagle.Record
	built Built

	settled func(*beagle.Corpus) // see Gathered
}

// gather merges the sources and keeps a bounded, fair sample.
func (m *maker) gather() {
	records := slices.Clone(m.in.Records)
	for _, r := range records {
		m.c.Calls += r.Weight
	}
	if m.in.Source != "" {
		m.c.Sources = append(m.c.Sources, m.in.Source)
	}
	if p := m.in.Captured; p != nil {
		records = append(records, p.Records...)
		m.c.Calls += p.Calls
		m.c.Dropped += p.Dropped
		m.c.Concurrent = p.Concurrent
		m.c.Sources = append(m.c.Sources, p.Sources...)
		m.built.DroppedFor = append(m.built.DroppedFor, p.Why...)
	}
	m.all = sample(Merge(records), maxRecords, m.args, m.types)
}

// divide puts about a fifth of the records aside.
func (m *maker) divide(ctx context.Context) error {
	s, err := m.survivors(ctx, m.all, oneInput)
	if err != nil {
		return err
	}
	kept := s.kept
	made := len(kept) < leastRecorded && len(m.u.Target.Params) > 0
	if made {
		if kept, err = m.fromNothing(ctx, kept); err != nil {
			return err
		}
	}
	m.c.Train, m.c.Holdout = Split(kept)
	// No record is left out any more, unless the order of a map decides some results.
	if m.settled != nil && !made && len(m.c.Train) > 0 && !m.u.Scope.DrawsByMap() {
		m.settled(&beagle.Corpus{
			Target: m.c.Target, Train: m.c.Train, Facets: beagle.Facets{Mutates: s.mutates, Panics: s.panics},
		})
	}
	return nil
}

// leastRecorded is the number of recorded inputs that make a corpus. On a single one a constant
// does the same as the original, so inputs are generated beside it.
const leastRecorded = 2

// fromNothing makes a corpus of generated inputs, and of the recorded one if there is one. It
// leaves out generated inputs on which the original panics: those are mistakes of the generator.
func (m *maker) fromNothing(ctx context.Context, recorded []beagle.Record) ([]beagle.Record, error) {
	made, err := m.filterByContract(ctx, scratchValues(m.args, m.types, scratch, m.in.Seed))
	if err != nil {
		return nil, err
	}
	kept, panicked, err := m.generatedSurvivors(ctx, excludeRecords(made, recorded))
	if err != nil {
		return nil, err
	}
	if len(panicked) < len(kept) {
		kept = excludeRecords(kept, panicked)
	}
	switch {
	case len(kept) > 0:
		m.c.GeneratedOnly = true
		m.c.Sources = append(m.c.Sources, fmt.Sprintf("%d inputs generated from the types", len(kept)))
	case len(recorded) == 0:
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("%s: no test calls it, and the original survives none of %d generated inputs",
				m.u.Target.Spec(), len(made)),
			Remedy: "write a test or a benchmark that calls it, or give recorded calls with --corpus",
		}
	}
	// The recorded input counts as much as all generated ones together.
	recorded = slices.Clone(recorded)
	for i := range recorded {
		recorded[i].Weight = max(1, float64(len(kept)))
	}
	return append(recorded, kept...), nil
}

// Split divides records by hash, about four to one. From ten records on no
// side is empty.
func Split(records []beagle.Record) (train, holdout []beagle.Record) {
	for _, r := range records {
		// its beginning decides which records a sample keeps, its end on which side they are
		id := r.ID()
		if len(records) >= 10 && id[len(id)-1] <= '2' { // 3 of 16 digits
			holdout = append(holdout, r)
		} else {
			train = append(train, r)
		}
	}
	switch {
	case len(records) < 10:
	case len(holdout) == 0:
		train, holdout = train[1:], train[:1]
	case len(train) == 0:
		train, holdout = holdout[1:], holdout[:1]
	}
	return train, holdout
}

// generate adds inputs for verification: small ones over an alphabet, and some
// drawn like the recorded ones.
func (m *maker) generate(ctx context.Context) error {
	var o rt.Observation
	exit, err := m.observe(ctx, nil, &rt.Observe{Generate: generated, Alphabet: m.in.Alphabet}, limits{}, &o)
	if err != nil {
		return err
	}
	if exit != nil {
		return m.unfit("the original ends the harness while inputs are generated", exit)
	}
	var made []beagle.Record
	for _, b := range o.Made {
		made = append(made, beagle.Record{Args: b, Weight: 1, Source: "generated"})
	}
	fresh, err := m.filterByContract(ctx, Fresh(&m.c, generated/3, m.in.Seed))
	if err != nil {
		return err
	}
	made = append(made, fresh...)
	m.c.Generated, _, err = m.generatedSurvivors(ctx, excludeRecords(Merge(made), m.c.Train, m.c.Holdout))
	return err
}

// excludeRecords leaves out the records that others hold.
func excludeRecords(records []beagle.Record, others ...[]beagle.Record) []beagle.Record {
	known := map[string]bool{}
	for _, list := range others {
		for _, r := range list {
			known[string(r.Args)] = true
		}
	}
	return slices.DeleteFunc(records, func(r beagle.Record) bool { return known[string(r.Args)] })
}

// describe observes the training records and computes the facets.
func (m *maker) describe(ctx context.Context) error {
	first, err := m.settledOutcomes(ctx)
	if err != nil {
		return err
	}
	m.built.Train = *first
	m.built.Outcomes = first.Outcomes
	params, err := paramFacets(m.c.Train, m.args, m.types)
	if err != nil {
		return err
	}
	m.c.Facets = beagle.Facets{
		Records: len(m.c.Train), Params: params, Identity: first.Identity, Errors: first.Errors, Panics: first.Panics,
		Mutates: first.Mutates,
	}
	if first.Mined != nil {
		m.c.Facets.Mined = &beagle.Mined{Fixed1: first.Mined.Fixed1, Fixed2: first.Mined.Fixed2}
	}
	if len(m.built.DroppedFor) > 0 {
		m.c.DroppedWhy = strings.Join(m.built.DroppedFor[:min(3, len(m.built.DroppedFor))], "; ")
	}
	return nil
}

// settledOutcomes observes the training records in two processes. It leaves out those on which the
// original has a few outcomes, unless they are most: an original that sorts the keys of a map and
// leaves equal ones in the map's order is one of that kind. A second look finds those that the
// first missed by chance. Nothing is left out where a clock, a random source or a counter may
// decide: a version that always gives the same answer there is wrong.
func (m *maker) settledOutcomes(ctx context.Context) (*rt.Observation, error) {
	all := len(m.c.Train)
	for look := 0; ; look++ {
		first, second, err := m.observeTwice(ctx)
		if err != nil {
			return nil, err
		}
		bad := unstable(first, second)
		m.built.Unstable, m.built.Stateful = len(bad), len(first.Stateful)
		if len(bad) == 0 || look == maxLooks || !m.u.Scope.DrawsByMap() || !m.tied(bad, first, second) {
			return first, nil
		}
		var left []beagle.Record
		for i, r := range m.c.Train {
			if !bad[i] {
				left = append(left, r)
				continue
			}
			m.drop(unsteady, unsteadyWhy)
		}
		if 2*len(left) <= all {
			return first, nil
		}
		m.c.Train = left
		if err := m.settleHoldout(ctx); err != nil {
			return nil, err
		}
	}
}

// observeTwice observes the training records in two processes at once. The first mines, too.
func (m *maker) observeTwice(ctx context.Context) (first, second *rt.Observation, err error) {
	var seen [2]rt.Observation
	var exits [2]*harness.Exit
	var errs [2]error
	var both sync.WaitGroup
	for i := range seen {
		both.Go(func() {
			mine := i == 0
			exits[i], errs[i] = m.observe(ctx, m.c.Train, &rt.Observe{Mine: mine, Steady: true}, oneInput, &seen[i])
			if mine && errs[i] == nil && exits[i] != nil { // mining may not return
				exits[i], errs[i] = m.observe(ctx, m.c.Train, &rt.Observe{Steady: true}, oneInput, &seen[i])
			}
		})
	}
	both.Wait()
	err = errors.Join(errs[:]...)
	if exit := cmp.Or(exits[0], exits[1]); err == nil && exit != nil {
		err = m.unfit("the original does not survive its own corpus twice", exit)
	}
	return &seen[0], &seen[1], err
}

// settleHoldout leaves out the held-out records on which the original differs from itself. Some of
// them become the cases of the test that comes with a patch.
func (m *maker) settleHoldout(ctx context.Context) error {
	var o rt.Observation
	if len(m.c.Holdout) == 0 {
		return nil
	}
	exit, err := m.observe(ctx, m.c.Holdout, &rt.Observe{Steady: true}, oneInput, &o)
	if err != nil || exit != nil { // that it ends is for the checks to find
		return err
	}
	var left []beagle.Record
	for i, r := range m.c.Holdout {
		if slices.Contains(o.Unstable, i) {
			m.drop(unsteady, unsteadyWhy)
			continue
		}
		left = append(left, r)
	}
	m.c.Holdout = left
	return nil
}

// Why a record is left out on which the original differs from itself.
const (
	unsteady    = "differs from itself"
	unsteadyWhy = "the original does one of a few things, which a map's order may decide"
)

// maxLooks bounds the looks for records on which the original differs from itself.
const maxLooks = 3

// tied reports whether the original does one of a few things on all of some records. Those of
// which only two processes show that it differs may have been lucky in both.
func (m *maker) tied(bad map[int]bool, a, b *rt.Observation) bool {
	for i := range bad {
		within := slices.Contains(a.Unstable, i) || slices.Contains(b.Unstable, i)
		if !slices.Contains(a.Tied, i) && !slices.Contains(b.Tied, i) && within {
			return false
		}
	}
	return len(a.Tied)+len(b.Tied) > 0
}

// unstable returns the records that did not do the same each time.
func unstable(a, b *rt.Observation) map[int]bool {
	bad := map[int]bool{}
	for _, i := range slices.Concat(a.Unstable, b.Unstable) {
		bad[i] = true
	}
	for i := 0; 8*i+8 <= min(len(a.Digests), len(b.Digests)); i++ {
		if string(a.Digests[8*i:8*i+8]) != string(b.Digests[8*i:8*i+8]) {
			bad[i] = true
		}
	}
	return bad
}

// A survived holds the records that the original survives, and what it did on them.
type survived struct {
	kept     []beagle.Record
	panicked []beagle.Record // of these, on which it panics
	panics   float64         // their share
	mutates  []string        // parameters that it changed
}

// survivors observes records and leaves out those that cannot be read, and those that end the
// process or take too long. When too many do, the rest is left out from there.
func (m *maker) survivors(ctx context.Context, records []beagle.Record, each limits) (s survived, err error) {
	for try := 0; len(records) > 0; try++ {
		var o rt.Observation
		exit, err := m.observe(ctx, records, &rt.Observe{}, each, &o)
		if err != nil {
			return s, err
		}
		if exit == nil {
			if o.Left > 0 {
				m.drop("too large", "the calls before fill the memory that a harness has for them")
				m.c.Dropped += o.Left - 1
				records = records[:len(records)-o.Left]
			}
			s.kept, s.panicked = m.sift(records, &o)
			s.panics, s.mutates = o.Panics, o.Mutates
			return s, nil
		}
		heavy := exit.Kind == harness.Memory || exit.Kind == harness.Hang
		if heavy && exit.Record < 0 && len(records) > 1 && try < maxRetries { // it ended while it read them
			light := lighter(records)
			for range len(records) - len(light) {
				m.drop(exit.Kind, "all inputs together need more memory or time than a process may have")
			}
			records = light
			continue
		}
		if exit.Record < 0 || exit.Record >= len(records) {
			return s, m.unfit("the original ends the harness", exit)
		}
		m.drop(exit.Kind, tail.First(exit.Detail))
		if try >= maxRetries {
			m.c.Dropped += len(records) - exit.Record - 1
			records = records[:exit.Record]
			continue
		}
		records = slices.Delete(slices.Clone(records), exit.Record, exit.Record+1)
	}
	return s, nil
}

// generatedSurvivors is survivors for generated inputs. They do not count as dropped: nobody
// recorded them, and for an original that recurses a large number is likely to be its end.
func (m *maker) generatedSurvivors(
	ctx context.Context, records []beagle.Record,
) (kept, panicked []beagle.Record, err error) {
	dropped, why := m.c.Dropped, m.built.DroppedFor
	s, err := m.survivors(ctx, records, oneGenerated)
	m.c.Dropped, m.built.DroppedFor = dropped, why
	return s.kept, s.panicked, err
}

// unfit says that the calls of the target cannot be replayed outside of its tests.
func (m *maker) unfit(what string, exit *harness.Exit) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("%s: %s: %s", m.u.Target.Spec(), what, tail.First(fmt.Sprint(exit))),
		Remedy: "give recorded calls that need less with --corpus, or let the package's tests judge with --evidence " +
			"inplace",
	}
}

// lighter leaves out the largest records, so that half of the bytes stay. It keeps
// the order, and at least one record.
func lighter(records []beagle.Record) []beagle.Record {
	total := 0
	bySize := slices.Clone(records)
	for _, r := range records {
		total += len(r.Args)
	}
	inorder.By(bySize, func(a, b beagle.Record) int { return len(b.Args) - len(a.Args) })
	heavy := map[string]bool{}
	left := total
	for _, r := range bySize[:len(bySize)-1] {
		if left <= total/2 {
			break
		}
		heavy[string(r.Args)] = true
		left -= len(r.Args)
	}
	return slices.DeleteFunc(slices.Clone(records), func(r beagle.Record) bool { return heavy[string(r.Args)] })
}

// sift drops the records that the harness could not read or compare.
func (m *maker) sift(records []beagle.Record, o *rt.Observation) (kept, panicked []beagle.Record) {
	bad := map[int]bool{}
	for _, r := range o.Refused {
		if !bad[r.Record] {
			bad[r.Record] = true
			m.drop("cannot be used", r.Why)
		}
	}
	for i, r := range records {
		if bad[i] {
			continue
		}
		kept = append(kept, r)
		if _, is := slices.BinarySearch(o.Panicked, i); is {
			panicked = append(panicked, r)
		}
	}
	return kept, panicked
}

func (m *maker) drop(kind, why string) {
	m.c.Dropped++
	if why = kind + ": " + why; len(m.built.DroppedFor) < 50 && !slices.Contains(m.built.DroppedFor, why) {
		m.built.DroppedFor = append(m.built.DroppedFor, why)
	}
}

// observe runs the original over records for a few seconds at most. How it
// ended the harness, if it did, is the Exit.
func (m *maker) observe(
	ctx context.Context, records []beagle.Record, q *rt.Observe, each limits, o *rt.Observation,
) (*harness.Exit, error) {
	q.Budget = int64(observeTime)
	run := harness.RunOptions{CPU: -1, Wall: 4 * observeTime, Files: map[string]string{}}
	if records != nil {
		dir, err := tmp.New("corpus")
		if err != nil {
			return nil, err
		}
		defer dir.Remove()
		path := filepath.Join(dir.Path, "records")
		if err := harness.WriteRecords(path, records); err != nil {
			return nil, err
		}
		q.Records = "records"
		run.Files["records"] = path
		if q.Answers != "" {
			path := filepath.Join(dir.Path, q.Answers)
			if err := writeResults(path, records); err != nil {
				return nil, err
			}
			run.Files[q.Answers] = path
		}
	}
	return m.bin.Run(ctx, m.box, &rt.Request{Observe: q, Stall: each.millis, Stack: each.stack}, o, run)
}
