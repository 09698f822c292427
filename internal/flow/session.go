package flow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A session is what a process holds open for one run: all of it can be made
// again from the run's spec and the store.
type session struct {
	run     string
	spec    Spec
	store   *store.Store
	watch   Watcher
	unit    *source.Unit
	box     *sandbox.Sandbox
	builder *harness.Builder
	bench   *bench.Env
	verify  *verify.Env
	machine beagle.Machine
	scratch *scratch.Dir
	dir     string // scratch, removed at the end
	ahead   func() // ends what is compiled ahead, which works there
	ready   Prepared
	corpus  *beagle.Corpus
	work    *workbench
	waiting bool   // it was opened before Prepare, which takes it
	making  string // what makes and judges candidates; see making
	root    beagle.Candidate

	models asking
	faults ruleFaults
	memory memory
	common struct { // of commonClasses
		once sync.Once
		list []corpus.Class
		err  error
	}
	timing sync.RWMutex // held while something is timed; what would disturb that takes it to read

	mu      sync.Mutex
	learned int // inputs found by the run that are in the corpus
}

// open loads the target and sets up everything that needs no corpus.
func open(ctx context.Context, run string, spec Spec, s *store.Store, watch Watcher) (_ *session, err error) {
	dir, err := scratch.New("run")
	if err != nil {
		return nil, err
	}
	x := &session{run: run, spec: spec, store: s, watch: watch, dir: dir.Path, scratch: dir, ahead: func() {}}
	defer func() {
		if err != nil {
			x.close()
		}
	}()
	go program() // reads a large file, while the go command is waited for
	box, unboxed := sandbox.New(sandbox.Options{Require: spec.Sandbox == "require"})
	if unboxed == nil {
		x.ahead = harness.Ahead(ctx, box, spec.Dir, spec.Tags, filepath.Join(x.dir, "ahead"))
	}
	if x.unit, err = source.Load(ctx, source.Options{Dir: spec.Dir, Spec: spec.Target, Tags: spec.Tags, Requires: spec.Requires, Ignore: spec.Ignore}); err != nil {
		return nil, err
	}
	if spec.Apply {
		if err := x.unit.Clean(); err != nil {
			return nil, err
		}
	}
	mutators, err := chosen(spec.Rules)
	if err = cmp.Or(err, unboxed); err != nil {
		return nil, err
	}
	x.box, x.machine = box, ThisMachine(x.unit.Target.PkgDir)
	x.root = beagle.NewCandidate(x.unit.Target.Source, nil, nil)
	x.work = newWorkbench(x.unit, &beagle.Facets{}, mutators, nil)
	x.making = making(mutators)
	return x, nil
}

// equip makes the builder and the two judges.
func (x *session) equip(ctx context.Context) error {
	var err error
	x.builder, err = harness.NewBuilder(ctx, x.unit, x.box, filepath.Join(x.dir, "build"))
	if err != nil {
		return err
	}
	for _, sub := range []string{"bench", "verify", "corpus"} {
		if err := os.MkdirAll(filepath.Join(x.dir, sub), 0o755); err != nil {
			return err
		}
	}
	x.bench = &bench.Env{Box: x.box, Builder: x.builder, Dir: filepath.Join(x.dir, "bench"), CPU: sandbox.LastCPU()}
	x.verify = &verify.Env{Unit: x.unit, Builder: x.builder, Box: x.box, Dir: filepath.Join(x.dir, "verify")}
	return nil
}

func (x *session) close() {
	x.ahead()
	x.scratch.Remove()
}

// chosen returns the mutators of a spec.
func chosen(names []string) ([]*mutate.Mutator, error) {
	if len(names) == 0 {
		return rules.All, nil
	}
	var out []*mutate.Mutator
	for _, name := range names {
		m := rules.Named(name)
		if m == nil {
			return nil, usage(fmt.Sprintf("--rules names %q, which is no rewrite", name), "'beagle explain' lists them")
		}
		out = append(out, m)
	}
	return out, nil
}

// making identifies this program and the rules of a run. What another version
// of Beagle found out about a candidate, or a run with other rules, does not say
// which steps can be taken from it now.
func making(mutators []*mutate.Mutator) string {
	parts := []any{program()}
	for _, m := range mutators {
		parts = append(parts, m.Name)
	}
	return beagle.HashOf("making", parts...)
}

// program is the version of this program, or what its file says where that is
// not the version of one text: in a build of a developer's.
var program = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if version := info.Main.Version; ok && version != "(devel)" && version != "" && !strings.Contains(version, "+dirty") {
		return version
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
})

// key is the cache key of a stage's result for a candidate.
func (x *session) key(stage, candidate, extra string) store.Key {
	if x.spec.Anew { // what this run finds out itself, it finds again when it is resumed
		extra += x.run
	}
	return store.Key{Kind: stage, Candidate: candidate, Corpus: x.ready.Corpus, Toolchain: x.machine.Go, Machine: kind(x.machine), Extra: x.ready.Target + x.making + extra}
}

// putCandidate makes a candidate available to every activity of the run. Of
// several ways to the same text the first counts, or what a candidate came from
// would change while others build on it.
func (x *session) putCandidate(c beagle.Candidate) error {
	if _, err := x.candidate(c.ID); err == nil {
		return nil
	}
	if err := x.store.Shelve(x.candidateKey(c.ID), c); err != nil {
		return err
	}
	if c, ok := readBack(c); ok {
		x.memory.keepCandidate(c)
	}
	return nil
}

func (x *session) candidateKey(id string) store.Key {
	return store.Key{Kind: "candidate", Candidate: id, Extra: x.run}
}

// candidate returns a candidate by its ID.
func (x *session) candidate(id string) (beagle.Candidate, error) {
	if id == x.root.ID {
		return x.root, nil
	}
	c, ok := x.memory.candidate(id)
	if ok {
		return c, nil
	}
	if !x.store.Shelved(x.candidateKey(id), &c) {
		return c, fmt.Errorf("candidate %s is not in the store", id)
	}
	x.memory.keepCandidate(c)
	return c, nil
}

// Activities are the steps of a run. Each takes a run's ID and small plain
// data, so that any process that shares the store can carry it out.
type Activities struct {
	Store *store.Store
	Watch Watcher

	mu       sync.Mutex
	sessions map[string]*session
}

// errNoSpec is a run that has no spec: it never was one.
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
	if err := x.equip(ctx); err != nil {
		x.close()
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
	if x.corpus == nil {
		err = x.restore()
	}
	return x, err
}

// Close removes what sessions left on disk.
func (a *Activities) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.sessions {
		x.close()
	}
	a.sessions = nil
}
