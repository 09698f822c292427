package verify

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A candidate may change statements that no input reached. No run says anything
// about such a change. The judge refuses it when it is independent: when the
// candidate still compiles with the original's statements in its place.

// A change is a hunk in which no input reached a statement of either version.
type change struct {
	hunk
	marks [2][]int // offsets of the marks that decide it, by version
}

// A coverage says which statements of a version the inputs reached.
type coverage struct {
	marked  map[int]bool // offsets of marks
	reached map[int]bool // those of them that an input reached
}

// untested refuses a candidate that changes statements which no input reached and
// no proof covers.
func untested(ctx context.Context, j *Job) (*Rejection, error) {
	if len(j.changes) == 0 {
		return nil, nil
	}
	if p := j.assurance().Proof; p != nil && p.Complete {
		return nil, nil
	}
	// Try to reach the changes with the inputs of all other checks, and report the rest.
	g := &guidance{j, j.held}
	if err := g.reachMore(ctx); err != nil {
		return nil, err
	}
	j.changes = slices.DeleteFunc(j.changes, func(c change) bool { return !j.unreached(&c) })
	for i := range j.changes {
		j.addGap("%s, which no input reached", g.lineNames(&j.changes[i]))
	}
	// Under a condition, statements may be those that no caller needs any more.
	if rewritten(j.Candidate) || j.Env.Unit.Target.Contract.Requires != "" {
		return nil, nil
	}
	// Refuse the changes that are independent of reached ones.
	alone := g.separable()
	if len(alone) == 0 {
		return nil, nil
	}
	places := make([]string, len(alone))
	for i := range alone {
		places[i] = g.lineNames(&alone[i])
	}
	reason := fmt.Sprintf("no input reaches %s, so nothing shows that the change is right: "+
		"keep the original's statements there, or give a call that reaches them with --corpus",
		strings.Join(places, ", nor "))
	return &Rejection{Status: beagle.Forbidden, Reason: reason}, nil
}

// rewritten reports whether a rule made a step of the candidate. A rule rewrites
// statements by their form, reached or not, and its lemma or its tests answer for
// that form.
func rewritten(c beagle.Candidate) bool {
	return slices.ContainsFunc(c.Steps, func(s beagle.Step) bool { return rules.Named(s.Mutator) != nil })
}

// watch finds the changes that the guided search did not reach. If there are any,
// it keeps the traced program, so that reachMore can try more inputs.
func (g *guidance) watch(reply *rt.GuideReply) {
	if g.terms != nil { // another contract is tried out
		return
	}
	g.covered = [2]coverage{newCoverage(), newCoverage()}
	g.cover(g.traced, reply)
	marks := [2]map[ast.Stmt]int{marksOf(g.orig, &g.covered[0]), marksOf(g.cand, &g.covered[1])}
	led := leadsTo(g.cand)
	for _, h := range hunks(g.orig, g.cand) {
		c := change{hunk: h}
		if led(h.from) && decided(&c, marks) && g.unreached(&c) {
			g.changes = append(g.changes, c)
		}
	}
	if len(g.changes) > 0 {
		g.held = g.traced
	}
}

// leadsTo returns whether a place of a version is in code that the target leads to. In a version of
// a group there are functions that it does not: the inputs of the others reach these.
func leadsTo(c *code) func(token.Pos) bool {
	// Collect the declarations. Methods count as reached, since an interface may call them.
	decls := map[types.Object]ast.Decl{}
	led, next := map[ast.Decl]bool{}, []ast.Decl{c.fn}
	for _, d := range c.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil { // an interface may call it
				next = append(next, d)
			}
			decls[c.info.Defs[d.Name]] = d
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						decls[c.info.Defs[id]] = d
					}
				}
			}
		}
	}
	// Follow the names from the target.
	for len(next) > 0 {
		d := next[0]
		if next = next[1:]; led[d] {
			continue
		}
		led[d] = true
		for n := range ast.Preorder(d) {
			id, ok := n.(*ast.Ident)
			if !ok {
				continue
			}
			if to := decls[syntax.Origin(c.info.Uses[id])]; to != nil {
				next = append(next, to)
			}
		}
	}
	return func(at token.Pos) bool {
		for _, d := range c.file.Decls {
			if d.Pos() <= at && at <= d.End() {
				return led[d]
			}
		}
		return true
	}
}

func newCoverage() coverage { return coverage{map[int]bool{}, map[int]bool{}} }

// cover adds the coverage of a run.
func (w *searchCoverage) cover(traced *harness.Traced, reply *rt.GuideReply) {
	missed := map[int]bool{}
	for _, id := range reply.Unreached[0] {
		missed[id] = true
	}
	for id, s := range traced.Sites {
		if s.Mark == 0 || s.Version < 0 {
			continue
		}
		c := &w.covered[s.Version]
		c.marked[s.Mark] = true
		if !missed[id] {
			c.reached[s.Mark] = true
		}
	}
}

// decided finds the marks that show whether an input reached a change. A statement
// without a mark counts as reached.
func decided(c *change, marks [2]map[ast.Stmt]int) bool {
	for i, side := range [2][]ast.Stmt{c.was, c.is} {
		for _, s := range side {
			at := marks[i][s]
			if at == 0 {
				return false
			}
			c.marks[i] = append(c.marks[i], at)
		}
	}
	return len(c.marks[0])+len(c.marks[1]) > 0
}

// A marker finds the last mark on the way to each statement of a version.
type marker struct {
	*code
	marked map[int]bool
	last   map[ast.Stmt]int // 0 when there is none
}

// marksOf are the last marks on the way to the statements of a version.
func marksOf(c *code, covered *coverage) map[ast.Stmt]int {
	m := &marker{c, covered.marked, map[ast.Stmt]int{}}
	m.node(c.file, 0)
	return m.last
}

// node enters the last mark on the way to each statement below n.
func (m *marker) node(n ast.Node, last int) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			m.list(n.List, last)
		case *ast.CaseClause:
			for _, e := range n.List {
				m.node(e, last)
			}
			m.list(n.Body, last)
		case *ast.CommClause:
			if n.Comm != nil {
				m.node(n.Comm, last)
			}
			m.list(n.Body, last)
		case ast.Stmt:
			m.last[n] = last
			return true
		default:
			return true
		}
		return false
	})
}

func (m *marker) list(list []ast.Stmt, last int) {
	for _, s := range list {
		if at := m.offset(s.Pos()); m.marked[at] {
			last = at
		}
		m.last[s] = last
		m.node(s, last)
	}
}

// unreached reports whether no input reached a statement of a change.
func (w *searchCoverage) unreached(c *change) bool {
	for i, marks := range c.marks {
		if slices.ContainsFunc(marks, func(at int) bool { return w.covered[i].reached[at] }) {
			return false
		}
	}
	return true
}

// reachMore runs the traced program on the inputs of the other checks: all
// records, those that a solver made, and the whole exhaustion.
func (g *guidance) reachMore(ctx context.Context) error {
	x, err := g.exhaustRequest(ctx, g.Budget.Exhaust)
	if err != nil {
		return err
	}
	x.Variant = 1 // of the traced program
	// Add the records of all checks and the inputs of the solver.
	x.Skip, x.Slow = g.skips()
	files := g.learned.pick("quick", "train", "holdout", "generated")
	if seeds := g.branchSeeds(ctx); len(seeds) > 0 && g.Env.doubtful() == "" {
		path, remove, err := g.recordFile(seeds)
		if err != nil {
			return err
		}
		defer remove()
		files["made"] = path
	}
	for _, name := range []string{"train", "holdout", "generated", "made"} {
		if files[name] != "" {
			x.Records = append(x.Records, name)
		}
	}
	// Run the traced program on all of them, and on the whole exhaustion.
	q := &rt.GuideRequest{Exhaust: *x, Sites: len(g.traced.Sites), Reach: true}
	reply := new(rt.GuideReply)
	wall := 40*g.Budget.Exhaust + 2*time.Minute
	exit, err := g.traced.Run(ctx, g.Env.Box, &rt.Request{Guide: q}, reply,
		harness.RunOptions{CPU: -1, Wall: wall, Files: files})
	if err != nil || exit == nil {
		if err == nil {
			g.result.Cases += reply.Inputs
			g.cover(g.traced, reply)
		}
		return err
	}
	g.note("the statements that inputs reach could not be counted: the traced program ended (%s)", exit.Kind)
	g.changes = nil
	return nil
}

// separable returns the independent changes. The candidate compiles with the
// original's statements in the place of all of them, or of each one alone.
func (g *guidance) separable() []change {
	if g.Env.versionWithout(g.cand, g.changes...) {
		return g.changes
	}
	return slices.DeleteFunc(slices.Clone(g.changes), func(c change) bool { return !g.Env.versionWithout(g.cand, c) })
}

// versionWithout reports whether the candidate is still a version of the target
// with the original's statements in the place of some changes.
func (e *Env) versionWithout(of *code, changes ...change) bool {
	list := slices.Clone(changes)
	inorder.By(list, func(x, y change) int { return int(y.from - x.from) }) // from the end, so that places stay
	src := of.src
	for _, c := range list {
		src = src[:of.offset(c.from)] + c.originalText + src[of.offset(c.to):]
	}
	reader := e.Unit.Reader
	if text, err := reader.Normalize(reader.Complete(src)); err == nil { // imports may come and go with them
		src = text
	}
	_, problem := reader.Parse(src)
	return problem == nil
}

// lineNames names the lines of a change for people.
func (g *guidance) lineNames(c *change) string {
	if len(c.is) > 0 {
		return "the changed " + g.cand.linesOf(c.is)
	}
	return g.orig.linesOf(c.was) + " of the original, which the version leaves out"
}

// linesOf names the lines of some statements.
func (c *code) linesOf(list []ast.Stmt) string {
	line := func(p token.Pos) int { return c.fset.Position(p).Line }
	from, to := line(list[0].Pos()), line(list[len(list)-1].End())
	if from == to {
		return fmt.Sprintf("line %d", from)
	}
	return fmt.Sprintf("lines %d to %d", from, to)
}
