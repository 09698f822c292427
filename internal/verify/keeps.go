package verify

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/syntax"
)

// These constants bound the checks for hidden state.
const (
	coldBudget  = 300 * time.Millisecond // for each
	coldRecords = 400
	coldAlone   = 6 // records that get a process each, as its first call
)

// coldLooks lists the looks at a candidate in a process that saw no input yet.
var coldLooks = []struct {
	cold           string
	procs, threads int
}{{rt.ColdRefill, 1, 0}, {rt.ColdKept, 1, 0}, {rt.ColdThreads, 2, 4}, {rt.ColdCount, 1, 0}}

// keepsState looks for state that a candidate keeps between calls. The policy looks for the same in
// the code; this check is a second net.
func keepsState(ctx context.Context, j *Job) (*Rejection, error) {
	var names []string
	for _, name := range []string{"train", "holdout", "generated"} {
		if j.learned.sizes[name] > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		j.note("there are no records")
		return nil, nil
	}
	for _, look := range coldLooks {
		q := &rt.Replay{Variant: j.idx, Records: names, Max: coldRecords, Cold: look.cold, Threads: look.threads}
		q.Budget = int64(coldBudget)
		if found, err := j.lookCold(ctx, q, look.procs); found != nil || err != nil {
			return found, err
		}
	}
	return j.checkFresh(ctx)
}

// lookCold takes one look. It takes a second one before it accuses.
func (j *Job) lookCold(ctx context.Context, q *rt.Replay, procs int) (*Rejection, error) {
	reply, found, err := j.replay(ctx, q, procs, time.Minute)
	if found != nil || err != nil {
		return found, err
	}
	j.result.Cases += reply.Cases
	if reply.Diff == nil {
		return nil, nil
	}
	if same, err := j.originalRaces(ctx, j.bin, q); same || err != nil {
		j.note("the original does so too: %s", reply.Diff.Check)
		return nil, err
	}
	if reply.Diff.Check == rt.CheckPlace {
		again, found, err := j.replay(ctx, q, procs, time.Minute)
		if found != nil || err != nil || again.Diff == nil {
			return found, err
		}
	}
	return j.Env.differs(reply.Diff), nil
}

// checkFresh gives each of some records a fresh process: a candidate's answer may not depend on
// earlier calls.
func (j *Job) checkFresh(ctx context.Context) (*Rejection, error) {
	var list []beagle.Record
	for _, set := range [][]beagle.Record{j.Corpus.Train, j.Corpus.Generated} {
		list = append(list, beagle.Spread(set, coldAlone/2)...)
	}
	for _, r := range list {
		path, remove, err := j.writeRecord(r.Args)
		if err != nil {
			return nil, err
		}
		var reply rt.ReplayReply
		q := &rt.Replay{Variant: j.idx, Records: []string{"one"}, Panics: j.panics()}
		o := harness.RunOptions{CPU: -1, Files: map[string]string{"one": path}}
		exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Replay: q}, &reply, o)
		remove()
		if err != nil {
			return nil, err
		}
		j.result.Cases += reply.Cases
		if exit == nil && reply.Diff != nil { // the replay reports calls that do not return
			return j.Env.differs(reply.Diff), nil
		}
		if d := foundDiff(exit); d != nil {
			return j.Env.differs(d), nil
		}
	}
	return nil, nil
}

// keeps reports whether the candidate has a package variable that its functions may change or pass
// to other code. Tables that its functions only read do not count.
func (c *code) keeps() bool {
	vars := map[types.Object]bool{}
	for _, d := range c.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				vars[c.info.Defs[name]] = true
			}
		}
	}
	delete(vars, nil)
	if len(vars) == 0 {
		return false
	}
	uses, reads := 0, 0
	for _, d := range c.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			u, r := c.usesOf(vars, f.Body)
			uses, reads = uses+u, reads+r
		}
	}
	return uses > reads
}

// usesOf counts the mentions of variables in a body, and those mentions that only read an element,
// a field or a length of plain values.
func (c *typedText) usesOf(vars map[types.Object]bool, body ast.Node) (uses, reads int) {
	written := map[ast.Expr]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		// Each mention counts as a use.
		case *ast.Ident:
			if vars[c.info.Uses[n]] {
				uses++
			}
		// An element that is assigned, counted up, or has its address taken is written.
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				written[e] = true
			}
		case *ast.IncDecStmt:
			written[n.X] = true
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				written[n.X] = true
			}
		// The other forms only read plain values.
		case *ast.RangeStmt:
			if c.names(vars, n.X) && (n.Value == nil || c.isPlainValue(n.Value)) {
				reads++
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "len" || f.Name == "cap") && len(n.Args) == 1 &&
				c.names(vars, n.Args[0]) {
				reads++
			}
		case *ast.IndexExpr:
			if !written[n] && c.names(vars, n.X) && c.isPlainValue(n) {
				reads++
			}
		case *ast.SelectorExpr:
			if !written[n] && c.names(vars, n.X) && c.isPlainValue(n) {
				reads++
			}
		}
		return true
	})
	return uses, reads
}

func (c *typedText) names(vars map[types.Object]bool, e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && vars[c.info.Uses[id]]
}

// isPlainValue reports whether a value leads to no memory that could be written.
func (c *typedText) isPlainValue(e ast.Expr) bool {
	t := c.info.TypeOf(e)
	return syntax.Is[*types.Basic](t)
}
