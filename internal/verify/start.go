package verify

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Each program that imports the package pays for its start once, and no measurement of calls sees
// that time. These limits bound a candidate's addition to the start: a table fits, and precomputed
// answers do not.
const (
	startBytes = 1 << 20               // on the heap; maxVariable bounds what the file contains
	startTime  = 10 * time.Millisecond // the least of several starts
	starts     = 4
)

// Build builds the original and candidates into one program that starts; candidate i becomes
// version i+1. It finds candidates that would keep the program from starting, or make its start
// late or large, and leaves them out. For each of these it returns a Rejection by index, and the
// original takes the candidate's place.
func Build(
	ctx context.Context, e *Env, cands []beagle.Candidate, o harness.Link,
) (*harness.Binary, map[int]*Rejection, error) {
	vs := harness.Versions(&e.Unit.Target, cands...)
	bin, err := e.Builder.Build(ctx, vs, o)
	if err != nil {
		return nil, nil, err
	}
	guilty, err := e.startFailures(ctx, bin, cands)
	if err == nil && len(guilty) == 0 {
		return bin, nil, nil
	}
	bin.Remove()
	if err != nil {
		return nil, nil, err
	}
	for i := range guilty {
		vs[i+1].Source = e.Unit.Target.Source
	}
	bin, err = e.Builder.Build(ctx, vs, o)
	return bin, guilty, err
}

// startFailures finds the candidates that keep a program from starting well. It costs one start if
// nothing is wrong, and none if no candidate computes a package variable at the start.
func (e *Env) startFailures(
	ctx context.Context, bin *harness.Binary, cands []beagle.Candidate,
) (map[int]*Rejection, error) {
	var suspects []int
	for i, c := range cands {
		if bin.Failed[i+1] == "" && e.worksAtStart(c) {
			suspects = append(suspects, i)
		}
	}
	if len(suspects) == 0 {
		return nil, nil
	}
	if found, err := e.start(ctx, bin); err != nil || found == nil {
		return nil, err
	}
	guilty := map[int]*Rejection{}
	for _, i := range suspects { // an excess of several candidates together accuses none of them
		found, err := e.startAlone(ctx, cands[i])
		if err != nil {
			return nil, err
		}
		if found != nil {
			guilty[i] = found
		}
	}
	return guilty, nil
}

// startAlone judges the start of a program with one candidate.
func (e *Env) startAlone(ctx context.Context, c beagle.Candidate) (*Rejection, error) {
	vs := harness.Versions(&e.Unit.Target, c)
	bin, err := e.Builder.Build(ctx, vs, harness.Link{})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	if bin.Failed[1] != "" {
		return nil, nil
	}
	return e.start(ctx, bin)
}

// start judges the start of a program: by itself, or else beside that of the original alone.
func (e *Env) start(ctx context.Context, bin *harness.Binary) (*Rejection, error) {
	// A start within the limits adds no more than they allow, whatever the original's own takes.
	least, exit, err := bin.Start(ctx, e.Box, e.Unit.Target.PkgPath)
	if err != nil || exit == nil && least.Clock <= startTime && least.Bytes <= startBytes {
		return nil, err
	}
	own, err := e.ownStart(ctx)
	if err != nil {
		return nil, err
	}
	// Take the fastest of several starts, and stop early once one is fast enough.
	for i := 1; exit == nil && i < starts && least.Clock-own.Clock > startTime; i++ {
		var s harness.Startup
		if s, exit, err = bin.Start(ctx, e.Box, e.Unit.Target.PkgPath); err != nil {
			return nil, err
		}
		if s.Clock < least.Clock {
			least = s
		}
	}
	if exit != nil {
		fate := fates[exit.Kind]
		line, _, _ := strings.Cut(exit.Detail, "\n")
		return &Rejection{Status: fate.status, Stage: "start",
			Reason: "the program does not start: " + fate.text + ": " + line}, nil
	}
	// A table fits into the limits; precomputed answers do not.
	switch {
	case least.Bytes-own.Bytes > startBytes:
		return slowStart("allocates %d bytes, and %d with the original; %d more are allowed", least.Bytes, own.Bytes,
			startBytes), nil
	case least.Clock-own.Clock > startTime:
		return slowStart("takes %v, and %v with the original; %v more are allowed", least.Clock, own.Clock, startTime),
			nil
	}
	return nil, nil
}

func slowStart(format string, args ...any) *Rejection {
	return &Rejection{
		Status: beagle.Forbidden,
		Stage:  "start",
		Reason: "the package's initialisation " + fmt.Sprintf(format, args...),
	}
}

// ownStart measures the start of a program with the original alone.
func (e *Env) ownStart(ctx context.Context) (harness.Startup, error) {
	e.startMu.Lock()
	defer e.startMu.Unlock()
	if e.ownStartup != nil {
		return *e.ownStartup, nil
	}
	// Use the program of the original alone, if there is one.
	bin := e.Alone
	if bin == nil {
		var err error
		bin, err = e.Builder.Build(ctx, harness.Versions(&e.Unit.Target), harness.Link{})
		if err != nil {
			return harness.Startup{}, err
		}
		defer bin.Remove()
	}
	// Take the fastest of several starts.
	var least harness.Startup
	for i := range starts {
		s, exit, err := bin.Start(ctx, e.Box, e.Unit.Target.PkgPath)
		if err != nil {
			return s, err
		}
		if exit != nil {
			return s, fmt.Errorf("the program does not start with the original: %v", exit)
		}
		if i == 0 || s.Clock < least.Clock {
			least = s
		}
	}
	e.ownStartup = &least
	return least, nil
}

// worksAtStart reports whether the start of the program must compute a package variable of the
// candidate: with calls or allocations that the compiler did not lay out in advance.
func (e *Env) worksAtStart(c beagle.Candidate) bool {
	f, problem := e.Unit.Reader.Parse(c.Source)
	return problem != nil || initialises(e.codeOf(f))
}

// initialises looks for calls in the initialisers of package variables. Conversions and the
// harmless built-ins do next to no work.
func initialises(c *code) bool {
	for _, decl := range c.file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		works := false
		ast.Inspect(gen, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if !c.info.Types[n.Fun].IsType() && c.info.Types[n].Value == nil {
					works = true
				}
			case *ast.FuncLit: // a function that the code only stores does no work
				return false
			case *ast.CompositeLit:
				if syntax.Is[*types.Map](c.info.TypeOf(n)) {
					works = true
				}
			case *ast.IndexExpr, *ast.BinaryExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
				works = works || c.info.Types[n.(ast.Expr)].Value == nil // it may panic
			}
			return !works
		})
		if works {
			return true
		}
	}
	return false
}

// startCheck is the rung of the full ladder. It comes before all checks that run the program, since
// a program that does not start takes the original down too.
func startCheck(ctx context.Context, j *Job) (*Rejection, error) {
	if j.cand != nil && !initialises(j.cand) {
		j.note("the start of the program computes nothing")
	} else if found, err := j.Env.start(ctx, j.bin); found != nil || err != nil {
		return found, err
	}
	return j.literals(ctx)
}
