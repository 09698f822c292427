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
	spec    Spec
	watch   Watcher
	unit    *source.Unit
	waiting bool // it was opened before Prepare, which takes it

	lab      *lab
	works    *works
	inputs   *inputs
	rewriter *rewriter
	verifier *verifier
	screener *screener
	door     *door
	briefing *briefing
	authors  *authors
	meter    *meter
	judge    *judge
	reporter *reporter
	preparer *preparer

	mu sync.Mutex // held while another process's preparation is restored
}

// open loads the target and sets up everything that needs no corpus.
func open(ctx context.Context, run string, spec Spec, s *store.Store, watch Watcher) (_ *session, err error) {
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
	unboxed := l.enclose(ctx, &spec)
	u, err := source.Load(ctx, spec.Load())
	if err != nil {
		return nil, err
	}
	if spec.Apply {
		if err := u.Clean(); err != nil {
			return nil, err
		}
	}
	mutators, err := chosen(spec.Rules)
	if err = cmp.Or(err, unboxed); err != nil {
		return nil, err
	}
	// Join the parts. A run that began before keeps its kind of evidence.
	x := newSession(run, spec, s, watch, u, l, mutators)
	var began Prepared
	if _, err := s.Load(run, "prepared", &began); err != nil {
		return nil, err
	}
	x.preparer.choose(&began)
	x.works.machine, x.works.making = ThisMachine(u.Target.PkgDir), making(mutators)
	x.works.score = x.inputs.scoreKey()
	return x, nil
}

// newSession makes the parts of a session and joins them.
func newSession(
	run string, spec Spec, s *store.Store, watch Watcher, u *source.Unit, l *lab, mutators []*mutate.Mutator,
) *session {
	x := &session{spec: spec, watch: watch, unit: u, lab: l}
	root := beagle.NewCandidate(u.Target.Source, nil, nil)
	pr := &preparer{spec: &x.spec, watch: watch, unit: u, lab: l}
	l.unit, l.root, l.score = u, root, spec.Score
	w := &works{run: run, store: s, anew: spec.Anew, ready: &pr.ready, root: root}
	in := &inputs{spec: &x.spec, watch: watch, unit: u, works: w, lab: l, file: spec.CorpusFile}
	bare := newWorkbench(u, &beagle.Facets{}, mutators, bench.Profile{})
	rw := &rewriter{watch: watch, unit: u, works: w, inputs: in, work: bare}
	vf := &verifier{spec: &x.spec, watch: watch, works: w, lab: l, inputs: in}
	x.works, x.inputs, x.rewriter, x.verifier = w, in, rw, vf
	x.screener = &screener{works: w, lab: l, inputs: in, rewriter: rw, verifier: vf}
	x.door = &door{unit: u, root: root, lab: l}
	x.briefing = &briefing{spec: &x.spec, unit: u, ready: &pr.ready, works: w, lab: l, inputs: in, rewriter: rw}
	x.authors = &authors{spec: &x.spec, unit: u, works: w, lab: l, inputs: in, briefing: x.briefing, door: x.door}
	x.meter = &meter{spec: &x.spec, watch: watch, unit: u, lab: l, inputs: in}
	x.judge = &judge{
		spec: &x.spec, watch: watch, ready: &pr.ready, works: w, rewriter: rw, door: x.door, verifier: vf,
		lab: l, meter: x.meter,
		mender: &mender{
			spec: &x.spec, watch: watch, unit: u, lab: l, inputs: in, verifier: vf, meter: x.meter,
			nearest: verify.Nearest,
		},
		pedigree: &pedigree{works: w, lab: l, inputs: in, rewriter: rw, verifier: vf},
	}
	x.reporter = &reporter{
		spec: &x.spec, watch: watch, unit: u, ready: &pr.ready, works: w, lab: l, inputs: in, rewriter: rw,
		authors: x.authors,
	}
	pr.works, pr.inputs, pr.rewriter, pr.verifier = w, in, rw, vf
	pr.screener, pr.briefing, x.preparer = x.screener, x.briefing, pr
	pr.useCorpus() // until the preparer chooses
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
	x, err := open(ctx, run, spec, a.Store, a.Watch)
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
