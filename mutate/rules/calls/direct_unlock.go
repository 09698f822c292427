package calls

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// directUnlock (catalogue K4) matches a function that locks, defers the unlock, and has one way out
// without a panic. It unlocks at the end and drops the defer.
var directUnlock = &mutate.Mutator{
	Name: "direct-unlock",
	Doc: "Unlock where the work ends instead of by defer, in a small function with one way out. Legal because " +
		"nothing between lock and unlock can panic: map reads, plain variables and fields of the lock's owner.",
	Example: mutate.Shows(`c.mu.Lock()
defer c.mu.Unlock()
c.n++
return c.n`,
		`c.mu.Lock()
c.n++
n := c.n
c.mu.Unlock()
return n`),
	Class:   beagle.E1,
	Gain:    1.1,
	Find:    findDirectUnlock,
	Rewrite: edit.Precomputed,
}

// findDirectUnlock looks at the first deferred call of a function's own statements. A second one
// would run before it, so the order matters.
func findDirectUnlock(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		if fn.Body == nil {
			continue
		}
		for i, s := range fn.Body.List {
			d, ok := s.(*ast.DeferStmt)
			if !ok {
				continue
			}
			// The statements after it must end at known places, and must not panic: a deferred call
			// runs then, too.
			if edits := unlockEdits(p, fn, d, fn.Body.List[i+1:]); edits != nil {
				sites = append(sites, edit.Site(d, p.Text(d), edits...))
			}
			break
		}
	}
	return sites
}

// unlockEdits puts the unlocking after the last statement, and deletes the defer statement.
// Nothing in between may panic, return or change which mutex is meant: a deferred call would run
// even then, and on the mutex of that time.
func unlockEdits(p *mutate.Pass, fn *ast.FuncDecl, d *ast.DeferStmt, rest []ast.Stmt) []mutate.Edit {
	_, ok := p.IsCall(d.Call, "sync", "Mutex.Unlock", "RWMutex.Unlock", "RWMutex.RUnlock")
	if !ok || len(rest) == 0 {
		return nil
	}
	// Named results can be read after the return by deferred code, so the order of return and
	// unlock would matter.
	base := facts.RootVar(p, d.Call.Fun)
	results := fn.Type.Results
	if base == nil || results != nil && len(results.List) > 0 && len(results.List[0].Names) > 0 {
		return nil
	}
	// Only the last statement may return. All must be calm.
	for i, s := range rest {
		ret, isReturn := s.(*ast.ReturnStmt)
		if isReturn != (i == len(rest)-1 && results != nil) || !onlyMovesValues(p, s, base) ||
			movesLock(p, s, d.Call.Fun) || facts.DeclaresName(p, s, base.Name()) {
			return nil
		}
		if isReturn && len(ret.Results) != 1 {
			return nil
		}
	}
	unlock := p.Text(d.Call)
	edits := []mutate.Edit{p.Delete(d)}
	last := rest[len(rest)-1]
	// Without results, unlocking last is all.
	ret, ok := last.(*ast.ReturnStmt)
	if !ok {
		return append(edits, p.Insert(last.End(), "\n"+unlock))
	}
	// The result of a constant or a local variable is the same after unlocking.
	if p.Info.Types[ret.Results[0]].Value != nil ||
		p.Var(ret.Results[0]) != nil && facts.IsLocal(p, p.Var(ret.Results[0])) {
		return append(edits, edit.InsertBefore(p, ret, unlock))
	}
	// Any other result must be read while the lock is held, so a variable of the result's own type
	// keeps it.
	text, ok := facts.TypeText(p, p.Info.Defs[fn.Name].Type().(*types.Signature).Results().At(0).Type())
	if !ok {
		return nil
	}
	name := p.Fresh("result", "out")
	value := name + " := " + p.Text(ret.Results[0])
	if t, _ := facts.TypeText(p, p.Info.TypeOf(ret.Results[0])); t != text {
		value = "var " + name + " " + text + " = " + p.Text(ret.Results[0])
	}
	return append(edits, p.Replace(ret, value+"\n"+unlock+"\nreturn "+name))
}

// movesLock reports whether a statement assigns a part of what names the lock, which the deferred
// call has read before.
func movesLock(p *mutate.Pass, s ast.Stmt, unlock ast.Expr) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, e := range mutate.Nodes[ast.Expr](p, unlock) {
		if slices.ContainsFunc(as.Lhs, func(l ast.Expr) bool { return p.Same(l, e) }) {
			return true
		}
	}
	return false
}

// onlyMovesValues reports whether a statement cannot panic, jump or start anything, provided that
// base is not nil. It assigns and reads variables, fields of base, and elements of maps that it
// reads there.
func onlyMovesValues(p *mutate.Pass, s ast.Stmt, base *types.Var) bool {
	if !syntax.IsPlainStmt(s) {
		return false
	}
	ok := true
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		// A call may panic or jump. Conversions and len do neither.
		case *ast.CallExpr:
			_, isLen := p.IsBuiltin(n, "len")
			ok = ok && (isLen || p.Info.Types[n.Fun].IsType()) && !facts.MayNotReturn(p, n)
		case *ast.IndexExpr:
			m, isMap := p.Info.TypeOf(n.X).Underlying().(*types.Map)
			ok = ok && isMap && !facts.AssignedTo(p, n) && !mutate.HoldsInterface(m.Key())
		case *ast.SelectorExpr:
			if sel := p.Info.Selections[n]; sel != nil {
				ok = ok && sel.Kind() == types.FieldVal && p.Var(n.X) == base && len(sel.Index()) == 1
			}
		// Division by zero and shifts by a negative count panic, as do comparisons of some
		// interfaces.
		case *ast.BinaryExpr:
			ok = ok && !facts.MayFail(p, n.Op, n.Y) && !mutate.HoldsInterface(p.Info.TypeOf(n.X)) &&
				!mutate.HoldsInterface(p.Info.TypeOf(n.Y))
		case *ast.AssignStmt:
			ok = ok && !facts.MayFail(p, n.Tok, n.Rhs[0])
		case *ast.CompositeLit:
			m, isMap := p.Info.TypeOf(n).Underlying().(*types.Map)
			ok = ok && !(isMap && mutate.HoldsInterface(m.Key()))
		case *ast.StarExpr, *ast.TypeAssertExpr, *ast.SliceExpr, *ast.FuncLit:
			ok = false
		}
		return ok
	})
	return ok
}
