package flow

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate"
)

// A session holds what a process needs for one run. It can be made again from the run's spec and
// the store.
type session struct {
	setting
	waiting bool // it was opened before Prepare, which takes it

	inputs   *inputs
	rewriter *rewriter
	verifier *verifier
	screener *screener
	door     *door
	briefer  *briefer
	authors  *authors
	meter    *meter
	judge    *judge
	reporter *reporter
	preparer *preparer

	mu sync.Mutex // held while another process's preparation is restored
}

// A setting is shared by the parts of a session. They embed it, and none changes it. Its pointers
// are complete once the session is prepared.
type setting struct {
	spec  *Spec
	watch Watcher
	unit  *source.Unit
	lab   *lab
	works *works
	ready *Prepared // the prepared state; the preparer writes it, and an evidence notes there what it observes
}

// load returns how to load the target once more.
func (of *setting) load() source.Options {
	o := of.spec.Load()
	o.Requirement = of.unit.Requirement
	return o
}

// openSession loads the target and sets up everything that needs no corpus.
func openSession(ctx context.Context, run string, spec Spec, s *store.Store, watch Watcher) (_ *session, err error) {
	l, err := newLab()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	l.brief = briefly
	// Start the sandbox and load the target at the same time.
	go programVersion() // reads a large file while the go command runs
	enclosed := l.enclose(ctx, &spec)
	var began Prepared
	if _, err := s.Load(run, "prepared", &began); err != nil {
		return nil, err
	}
	load := spec.Load()
	if load.Requirement, err = l.require(ctx, &spec, began.Requires); err != nil {
		return nil, err
	}
	u, err := source.Load(ctx, load)
	if err != nil {
		return nil, err
	}
	if spec.Apply {
		if err := u.Clean(); err != nil {
			return nil, err
		}
	}
	mutators, err := chosenMutators(spec.Rules)
	if err = cmp.Or(err, enclosed()); err != nil {
		return nil, err
	}
	// Join the parts. A run that began before keeps its kind of evidence.
	x := newSession(run, spec, s, watch, u, l, mutators)
	x.preparer.choose(&began)
	x.works.machine, x.works.making = ThisMachine(u.Target.PkgDir), rulesIdentity(mutators)
	if q := u.Requirement; q != nil { // without it some verdicts would be others
		x.ready.Requires = q.Version
		x.works.making += q.Module + "@" + q.Version
	}
	x.works.score = x.inputs.scoreKey()
	return x, nil
}

// newSession makes the parts of a session, each after those that it uses.
func newSession(
	run string, spec Spec, s *store.Store, watch Watcher, u *source.Unit, l *lab, mutators []*mutate.Mutator,
) *session {
	root := beagle.NewCandidate(u.Target.Source, nil, nil)
	l.unit, l.root, l.score = u, root, spec.Score
	ready := new(Prepared)
	w := &works{run: run, store: s, anew: spec.Anew, ready: ready, root: root}
	of := setting{spec: &spec, watch: watch, unit: u, lab: l, works: w, ready: ready}
	x := &session{setting: of}
	x.inputs = &inputs{setting: of, file: spec.CorpusFile}
	bare := newWorkbench(u, &beagle.Facets{}, mutators, bench.Profile{})
	x.rewriter = &rewriter{setting: of, inputs: x.inputs, work: bare}
	x.verifier = &verifier{setting: of, inputs: x.inputs}
	x.screener = &screener{setting: of, inputs: x.inputs, rewriter: x.rewriter, verifier: x.verifier}
	x.door = &door{unit: u, root: root}
	x.briefer = &briefer{setting: of, inputs: x.inputs, rewriter: x.rewriter}
	x.authors = &authors{setting: of, inputs: x.inputs, briefer: x.briefer, door: x.door}
	x.meter = &meter{setting: of, inputs: x.inputs}
	x.judge = &judge{
		setting: of, rewriter: x.rewriter, door: x.door, screener: x.screener, verifier: x.verifier,
		meter: x.meter,
		mender: &mender{
			setting: of, inputs: x.inputs, verifier: x.verifier, meter: x.meter, nearest: verify.Nearest,
		},
		pedigree: &pedigree{setting: of, inputs: x.inputs, rewriter: x.rewriter, verifier: x.verifier},
	}
	x.reporter = &reporter{setting: of, inputs: x.inputs, rewriter: x.rewriter, authors: x.authors}
	x.preparer = &preparer{
		setting: of, inputs: x.inputs, rewriter: x.rewriter, verifier: x.verifier, screener: x.screener,
		briefer: x.briefer,
	}
	x.preparer.useCorpus() // until the preparer chooses
	return x
}

// Activities are the steps of a run. Each takes a run's ID and small plain
// data, so that any process that shares the store can carry it out.
type Activities struct {
	Store *store.Store
	Watch Watcher
	// Preview has Prepare evaluate the first generation while it waits for the library's look-up.
	// It is for a process that evaluates the search's generations too.
	Preview bool

	mu       sync.Mutex
	sessions map[string]*session
}

// errNoSpec marks an ID that is no run's: the store has no spec for it.
var errNoSpec = errors.New("the run has no spec in the store")

// session returns the open session of a run.
func (a *Activities) session(ctx context.Context, run string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.sessions[run]; x != nil {
		return x, nil
	}
	var spec Spec
	if ok, err := a.Store.Load(run, "spec", &spec); err != nil || !ok {
		return nil, errors.Join(errNoSpec, err)
	}
	x, err := openSession(ctx, run, spec, a.Store, a.Watch)
	if err != nil {
		return nil, err
	}
	if err := x.lab.evidence.equip(ctx); err != nil {
		x.lab.close()
		return nil, err
	}
	if a.sessions == nil {
		a.sessions = map[string]*session{}
	}
	a.sessions[run] = x
	return x, nil
}

// prepared returns the session of a run whose corpus is known.
func (a *Activities) prepared(ctx context.Context, run string) (*session, error) {
	x, err := a.session(ctx, run)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inputs.corpus() == nil {
		err = x.preparer.restore(ctx)
	}
	return x, err
}

// Close removes what sessions left on disk.
func (a *Activities) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.sessions {
		x.lab.close()
	}
	a.sessions = nil
}
