package verify

import (
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// An Env holds the needs of checks, and keeps facts about the original and a corpus. Several
// goroutines may use it at once.
type Env struct {
	Unit    *source.Unit
	Builder *harness.Builder
	Box     *sandbox.Sandbox
	Dir     string // scratch directory, which must exist
	// InPlace says that calls come from the user's tests, each with the state that the calls before
	// it left. Then a version may keep and lock the same as the original's callees: it holds copies
	// of them.
	InPlace bool
	// Brief has versions checked for a shorter time, without a solver, and not for other machines:
	// that compiles each version twice more. It is for tests of whole searches; what each check
	// finds is tested beside it.
	Brief bool
	// a program of the original alone, if there is one; it is not removed while checks run
	Alone *harness.Binary

	mu     sync.Mutex
	orig   *code
	corpus map[edition]*corpusFacts

	helpersOnce sync.Once
	ofPackage   *helpers
	prover      prover

	startMu    sync.Mutex
	ownStartup *harness.Startup // of a program with the original alone
}

// An edition identifies a corpus at one time: counterexamples join it during a run.
type edition struct {
	corpus                    *beagle.Corpus
	train, holdout, generated int
}

func editionOf(c *beagle.Corpus) edition {
	return edition{c, len(c.Train), len(c.Holdout), len(c.Generated)}
}

// corpusFacts holds the facts about one corpus.
type corpusFacts struct {
	files map[string]string // name -> path of a record file
	sizes map[string]int

	mu       sync.Mutex
	known    *KnownValues // replaced, never changed, once it is in use
	fromRuns bool         // known also holds the original's results
	// phases of the exhaustion that end the original; true if it is only too slow
	skip      map[string]bool
	slow      map[string][]int // the records that end the original or on which it is too slow; see inputsOf
	cap       int64
	capLen    int
	rechecked map[string]bool // candidates whose literals were compared with the results
}

// original returns the parsed original.
func (e *Env) original() (*code, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.orig == nil {
		f, problem := e.Unit.Reader.Parse(e.Unit.Target.Source)
		if problem != nil {
			return nil, fmt.Errorf("the original is not accepted as a candidate: %s", problem.Message)
		}
		e.orig = e.codeOf(f)
		e.orig.literals = e.Unit.Package.Literals()
		e.orig.reached = reachedNames(e.Unit.Package, e.Unit.Target.Name, e.helpers().constant,
			writtenVariables(e.orig))
		e.orig.allowed = e.calleesDo()
	}
	return e.orig, nil
}

// helpers returns the facts about the rest of the package. The first call computes them.
func (e *Env) helpers() *helpers {
	e.helpersOnce.Do(func() { e.ofPackage = newHelpers(e.Unit.Package, e.Unit.Target.Name) })
	return e.ofPackage
}

func (e *Env) codeOf(f *source.File) *code {
	scope := e.Unit.Scope
	return &code{typedText: typedText{f.Fset, f.Types, f.Info}, src: f.Src, file: f.AST, fn: f.Func, rest: scope.Rest(),
		helpers: e.helpers, entries: scope.Entries()}
}

// quickRecords is the number of training records that the quick replay uses.
const quickRecords = 192

// learn writes the record files of a corpus and reads its values, once.
func (e *Env) learn(c *beagle.Corpus) (*corpusFacts, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.corpus[editionOf(c)]; l != nil {
		return l, nil
	}
	l := &corpusFacts{
		files:     map[string]string{},
		sizes:     map[string]int{},
		skip:      map[string]bool{},
		slow:      map[string][]int{},
		rechecked: map[string]bool{},
		known:     new(KnownValues),
	}
	dir, err := os.MkdirTemp(e.Dir, "records")
	if err != nil {
		return nil, err
	}
	// A corpus without recorded calls replays its generated ones.
	train := c.Train
	if len(train) == 0 {
		train = c.Generated
	}
	for name, list := range map[string][]beagle.Record{
		"train": train, "quick": append(counterexamples(c), beagle.Spread(train, quickRecords)...),
		"holdout":   c.Holdout,
		"generated": c.Generated,
	} {
		if err := l.write(filepath.Join(dir, name), name, list); err != nil {
			return nil, err
		}
	}
	// Note the constants that a candidate could copy.
	for _, list := range [][]beagle.Record{c.Train, c.Holdout} {
		for _, r := range list {
			l.known.addFrom(r.Args, "an argument")
		}
	}
	if e.corpus == nil {
		e.corpus = map[edition]*corpusFacts{}
	}
	e.corpus[editionOf(c)] = l
	return l, nil
}

func (l *corpusFacts) write(path, name string, list []beagle.Record) error {
	l.files[name], l.sizes[name] = path, len(list)
	return harness.WriteRecords(path, list)
}

// counterexamples returns the inputs on which earlier candidates failed. An input that broke one
// candidate is likely to break the next.
func counterexamples(c *beagle.Corpus) []beagle.Record {
	var out []beagle.Record
	for _, r := range c.Generated {
		if r.Source == "counterexample" && len(out) < quickRecords/2 {
			out = append(out, r)
		}
	}
	return out
}

// collectBytes bounds the results that Beagle searches for copied literals.
const collectBytes = 4 << 20

// learnResults runs the original over the training records, once. The policy then recognises
// literals that a candidate copied from the results.
func (e *Env) learnResults(ctx context.Context, bin *harness.Binary, l *corpusFacts) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fromRuns {
		return nil
	}
	// The original may end early on some records: leave those out and run again.
	for {
		var reply rt.ReplayReply
		q := rt.Request{
			Replay: &rt.Replay{
				Records: []string{"train"},
				Collect: collectBytes,
				Skip:    l.slow["train"],
				Budget:  int64(2e9),
			},
		}
		exit, err := bin.Run(ctx, e.Box, &q, &reply, harness.RunOptions{CPU: -1, Files: l.pick("train")})
		if err != nil {
			return err
		}
		if exit != nil {
			if exit.Record < 0 || len(l.slow["train"]) >= maxSkips {
				return fmt.Errorf("the original fails on its own corpus: %v", exit)
			}
			l.slow["train"] = append(l.slow["train"], exit.Record)
			continue
		}
		known := &KnownValues{maps.Clone(l.known.values)} // checks read the other one
		for _, b := range reply.Results {
			known.addFrom(b, "a result")
		}
		l.known, l.fromRuns = known, true
		return nil
	}
}

// maxSkips bounds the inputs that may fail in the original before a check gives up.
const maxSkips = 8

// pick returns the record files of these names.
func (l *corpusFacts) pick(names ...string) map[string]string {
	m := make(map[string]string)
	for _, n := range names {
		m[n] = l.files[n]
	}
	return m
}

// addFrom adds the telling constants of a record or a snapshot.
func (k *KnownValues) addFrom(b []byte, where string) {
	if v, err := rt.ParseValue(b); err == nil {
		k.value(&v, where, 0)
	}
}

// value adds the telling constants in a value and its parts.
func (k *KnownValues) value(v *rt.Value, where string, depth int) {
	if len(k.values) > maxKnown {
		return
	}
	switch v.Kind {
	case rt.KindInt:
		k.addInt(v.Bits, v.Int() < 0, where)
	case rt.KindUint:
		k.addInt(v.Bits, false, where)
	case rt.KindFloat32, rt.KindFloat64:
		k.addFloat(v.Float(), where)
	case rt.KindString, rt.KindBytes:
		k.addString(v.Str, where)
	case rt.KindError:
		return // the program makes error texts, not the corpus
	case rt.KindList, rt.KindArray:
		k.sequence(v, where)
	}
	for i := range v.Elems {
		k.value(&v.Elems[i], where, depth+1)
	}
	if v.Back != nil {
		for i := range v.Back.Elems {
			k.value(&v.Back.Elems[i], where, depth+1)
		}
	}
}

// maxKnown bounds how many values Known holds.
const maxKnown = 1 << 18

// sequence adds a list of small numbers as the string that a literal of it would spell.
func (k *KnownValues) sequence(v *rt.Value, where string) {
	b := make([]byte, 0, len(v.Elems))
	for i := range v.Elems {
		e := &v.Elems[i]
		if e.Kind != rt.KindInt && e.Kind != rt.KindUint || e.Bits > 0xff {
			return
		}
		b = append(b, byte(e.Bits))
	}
	k.addString(string(b), where)
}

// constantsOf returns the integer and string constants of both versions. They form the alphabet of
// the exhaustion.
func constantsOf(versions ...*code) (ints []int64, strs []string) {
	for _, c := range versions {
		ast.Inspect(c.file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			e, ok := n.(ast.Expr)
			if !ok || c.info.Types[e].Value == nil {
				return true
			}
			switch v := c.info.Types[e].Value; v.Kind() {
			case constant.Int:
				if i, exact := constant.Int64Val(v); exact && !slices.Contains(ints, i) && len(ints) < 400 {
					ints = append(ints, i)
				}
			case constant.String:
				if s := constant.StringVal(v); s != "" && len(s) <= 256 && !slices.Contains(strs, s) &&
					len(strs) < 100 {
					strs = append(strs, s)
				}
			}
			return true
		})
	}
	return ints, strs
}
