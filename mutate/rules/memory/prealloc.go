package memory

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// prealloc (catalogue A1) matches a slice that starts empty, nil or with some elements, and that a
// loop or appends then fill. It allocates the slice once, at a bound of its final size; a slice
// that stays nil today still does.
var prealloc = &mutate.Mutator{
	Name: "prealloc",
	Doc: "Allocate a slice once, at the size that it can reach in the next loop, or that all parts have together. " +
		"Growing step by step allocates and copies about twice the elements. A nil slice stays nil when nothing is " +
		"appended; only the capacity differs.",
	Example: mutate.Shows(`var out []string
for _, u := range users {
	out = append(out, u.Name)
}`,
		`var out []string
if len(users) > 0 {
	out = make([]string, 0, len(users))
}
for _, u := range users {
	out = append(out, u.Name)
}`),
	Class:   beagle.E2,
	Gain:    1.5,
	Find:    findPrealloc,
	Rewrite: edit.Precomputed,
}

// findPrealloc looks for empty slices that a loop fills: declared ones, named results, and the base
// of nested appends. Then it looks for slices that grow from their first elements.
func findPrealloc(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d, rest := range facts.AllDeclarations(p) {
		kind, typ := facts.EmptyValue(p, d)
		// A nil slice gets its room later. An empty one gets it where it is declared, which in a
		// group may be in front of what the bound reads.
		if kind == "" || !facts.IsSlice(d.Var.Type()) || d.Spec != nil && (kind == "empty" || !facts.Movable(p, d)) {
			continue
		}
		s := preallocSite{v: d.Var, decl: d.Stmt, kind: kind, typ: typ}
		sites = append(sites, s.fill(p, rest)...)
	}
	// A named result is nil at the start.
	for _, f := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		sites = append(sites, namedResults(p, f)...)
	}
	return append(append(sites, longerSites(p)...), partsSites(p)...)
}

// namedResults treats a named result as declared nil in front of the body.
func namedResults(p *mutate.Pass, f *ast.FuncDecl) []mutate.Site {
	var sites []mutate.Site
	if f.Body == nil || f.Type.Results == nil || facts.MayRecover(p, f.Body) {
		return nil // its caller may see what the result held as the function panicked
	}
	for _, field := range f.Type.Results.List {
		for _, id := range field.Names {
			if v, ok := p.Info.Defs[id].(*types.Var); ok && facts.IsSlice(v.Type()) && !facts.Captured.Of(p)[v] {
				// A closure could see the capacity, or append as well.
				s := preallocSite{v: v, kind: "nil", typ: p.Text(field.Type)}
				sites = append(sites, s.fill(p, f.Body.List)...)
			}
		}
	}
	return sites
}

// A preallocSite is a slice that starts without elements, and the loop that fills it.
type preallocSite struct {
	v     *types.Var
	decl  ast.Stmt // nil for a named result
	kind  string   // "nil" or "empty", as facts.EmptyValue says
	typ   string   // the type as written
	loop  ast.Stmt
	bound bound      // of the elements
	every bool       // each iteration appends
	at    []ast.Stmt // the appends
}

// fill looks for the loop that fills the slice: the first statement of rest that mentions it.
func (s preallocSite) fill(p *mutate.Pass, rest []ast.Stmt) []mutate.Site {
	for _, st := range rest {
		// Statements that do not mention it change nothing.
		if len(p.Uses(s.v, st)) == 0 {
			continue
		}
		if l, ok := st.(*ast.LabeledStmt); ok {
			st = l.Stmt
		}
		// How many elements come in an iteration, and how many iterations there are.
		per, every, at := appendsPerIteration(p, s.v, st)
		b, ok := loopBound(p, st)
		if per == 0 || !ok || s.kind == "empty" && b.negative && !p.GoAtLeast(21) || facts.Captured.Of(p)[s.v] ||
			!every && hidesBound(p, st) || facts.IsRedefined(p, st, "make") {
			return nil
		}
		s.loop, s.bound, s.every, s.at = st, b.times(per), every, at
		return []mutate.Site{edit.Site(st, s.v.Name()+" filled by a loop", s.edits(p)...)}
	}
	return nil
}

// hidesBound reports whether the loop's body declares a name that the loop's head uses. The bound
// would mean something else there.
func hidesBound(p *mutate.Pass, loop ast.Stmt) bool {
	body := syntax.LoopBody(loop)
	for _, id := range mutate.Nodes[*ast.Ident](p, body) {
		if p.Info.Defs[id] == nil {
			continue
		}
		for _, head := range mutate.Nodes[*ast.Ident](p, loop) {
			if head.Pos() < body.Pos() && head.Name == id.Name {
				return true
			}
		}
	}
	return false
}

// appendsPerIteration counts how many elements one iteration of the loop appends to v at most. It
// returns 0 if code uses v in any other way that could change it, or if an inner loop appends.
// every says that each iteration appends; at lists the appends, of neighbours the first.
func appendsPerIteration(p *mutate.Pass, v *types.Var, loop ast.Stmt) (per int, every bool, at []ast.Stmt) {
	body := syntax.LoopBody(loop)
	if body == nil {
		return 0, false, nil
	}
	// Collect the appends to v. An append of a whole slice has no known number, and one in an inner
	// loop happens any number of times; a second use of v in the statement reads it.
	own := map[ast.Node]bool{}
	for _, st := range mutate.Nodes[*ast.AssignStmt](p, body) {
		w, call, ok := facts.AppendsTo(p, st)
		if !ok || w != v {
			continue
		}
		if call.Ellipsis.IsValid() || len(p.Uses(v, st)) != 2 || facts.InInnerLoop(p, st, body) {
			return 0, false, nil
		}
		own[st] = true
		// Only the first of neighbouring appends is a place: it makes room for all of them at once.
		if list, i := p.Siblings(st); i < 1 || !own[list[i-1]] {
			at = append(at, st)
		}
	}
	// A jump out of the body or to another loop makes some iterations shorter.
	if _, _, clean := p.Branches(body); !clean {
		return 0, false, nil
	}
	for _, id := range p.Uses(v, loop) {
		st, _ := facts.Enclosing[*ast.AssignStmt](p, id)
		if !own[st] {
			return 0, false, nil // the loop reads or changes v while it grows
		}
	}
	// An append that is the first statement, or one under no condition, runs in each iteration.
	return mostAppends(body.List, own), len(body.List) > 0 && own[body.List[0]] || reachesAppend(p, body, own), at
}

// mostAppends returns how many elements one path through a list appends at most.
func mostAppends(list []ast.Stmt, own map[ast.Node]bool) int {
	n := 0
	for i, s := range list {
		switch s := s.(type) {
		// The larger of two branches counts. If the body leaves, the code after it counts as the
		// other branch.
		case *ast.IfStmt:
			then := mostAppends(s.Body.List, own)
			if s.Else == nil && mutate.Terminates(s.Body.List) {
				return n + max(then, mostAppends(list[i+1:], own))
			}
			if s.Else != nil {
				then = max(then, mostAppends([]ast.Stmt{s.Else}, own))
			}
			n += then
		case *ast.BlockStmt:
			n += mostAppends(s.List, own)
		// In any other statement every append may run.
		default:
			ast.Inspect(s, func(m ast.Node) bool {
				if own[m] {
					n += len(m.(*ast.AssignStmt).Rhs[0].(*ast.CallExpr).Args) - 1
				}
				return true
			})
		}
	}
	return n
}

// reachesAppend reports whether the first iteration of a loop certainly reaches an append. The
// append must stand in the body itself, after nothing that jumps.
func reachesAppend(p *mutate.Pass, body *ast.BlockStmt, own map[ast.Node]bool) bool {
	for _, s := range body.List {
		if own[s] {
			return true
		}
		if p.Effects(s).Jumps || facts.HoldsBranch(p, s) {
			return false
		}
	}
	return false
}

// edits chooses the place of the allocation: at the declaration of an empty slice, or in front of
// the loop for a nil slice. If the loop may append nothing, it allocates at the appends.
func (s preallocSite) edits(p *mutate.Pass) []mutate.Edit {
	// An empty slice must stay empty and not nil, so it is made in any case. The room is made at
	// the declaration if the loop follows at once; otherwise the declaration moves down, where the
	// bound is known.
	name := s.v.Name()
	if s.kind == "empty" {
		made := fmt.Sprintf("make(%s, 0, %s)", s.typ, s.bound.capacity())
		d, _ := facts.Declares(p, s.decl)
		if list, i := p.Siblings(s.decl); i+1 < len(list) && list[i+1] == edit.LabelOf(p, s.loop) {
			return []mutate.Edit{p.Replace(d.Value, made)}
		}
		name += " := "
		if d.Type != nil {
			name = "var " + s.v.Name() + " " + p.Text(d.Type) + " = "
		}
		return []mutate.Edit{p.Delete(s.decl), edit.InsertBefore(p, edit.LabelOf(p, s.loop), name+made)}
	}
	// A nil slice gets its room in front of the loop if at least one element certainly comes.
	text := fmt.Sprintf("%s = make(%s, 0, %s)", name, s.typ, s.bound.text)
	if s.every && s.bound.positive {
		return []mutate.Edit{edit.InsertBefore(p, edit.LabelOf(p, s.loop), text)}
	}
	if s.every {
		text = fmt.Sprintf("if %s > 0 {\n%s\n}", s.bound.text, text)
		return []mutate.Edit{edit.InsertBefore(p, edit.LabelOf(p, s.loop), text)}
	}
	// Otherwise it stays nil until the first append.
	var edits []mutate.Edit
	text = fmt.Sprintf("if %s == nil {\n%s // stays nil when nothing is kept\n}", name, text)
	for _, st := range s.at {
		edits = append(edits, edit.InsertBefore(p, st, text))
	}
	return edits
}
