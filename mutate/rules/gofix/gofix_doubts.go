package gofix

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// goFixDoubts reports, by the analyzer's name, where its fix may change what the code does. The
// node is where the analyzer's diagnostic points.
var goFixDoubts = map[string]func(*mutate.Pass, ast.Node) bool{
	"fmtappendf":       formatsNothing,
	"mapsloop":         copiesUnasked,
	"slicescontains":   asksUnasked,
	"slicessort":       sortsFractions,
	"stringsbuilder":   hidesOwnName,
	"stringscut":       cutsUnfound,
	"stringscutprefix": cutsOtherwise,
	"stringsseq":       splitsLater,
}

// formatsNothing reports whether a text that fmt writes may be empty. Its bytes are an empty list,
// where Appendf returns nil.
func formatsNothing(p *mutate.Pass, n ast.Node) bool {
	conversion, ok := n.(*ast.CallExpr)
	if !ok || len(conversion.Args) != 1 {
		return true
	}
	if _, line := p.IsCall(conversion.Args[0], "fmt", "Sprintln"); line {
		return false
	}
	call, ok := p.IsCall(conversion.Args[0], "fmt", "Sprint", "Sprintf")
	if !ok || len(call.Args) == 0 {
		return true
	}
	_, constant := facts.ConstString(p, call.Args[0])
	return !constant // the analyzer looks at constants only
}

// copiesUnasked reports whether naming the map of a loop that copies into it does more than once
// what maps.Copy does once, or fails where the loop has no turn.
func copiesUnasked(p *mutate.Pass, n ast.Node) bool {
	ix, ok := n.(*ast.IndexExpr)
	loop, found := facts.Enclosing[*ast.RangeStmt](p, n)
	if !ok || !found {
		return true
	}
	f := p.Effects(ix.X)
	if _, overMap := p.Info.TypeOf(loop.X).Underlying().(*types.Map); !overMap {
		return f.Writes || f.Panics || !facts.OwnValue(p, ix.X) // the iterator runs other code
	}
	base := facts.RootVar(p, ix.X)
	return f.Writes || f.Panics && (base == nil || !facts.DereferencedBefore(p, base, loop))
}

// asksUnasked reports whether the needle or the function of a search may fail where the list is
// empty and the loop never asks for it.
func asksUnasked(p *mutate.Pass, n ast.Node) bool {
	loop, ok := n.(*ast.RangeStmt)
	if !ok || len(loop.Body.List) == 0 {
		return true
	}
	test, ok := loop.Body.List[0].(*ast.IfStmt)
	if !ok {
		return true
	}
	switch cond := ast.Unparen(test.Cond).(type) {
	case *ast.BinaryExpr:
		return !facts.PureElements(p, cond.X, loop) || !facts.PureElements(p, cond.Y, loop)
	case *ast.CallExpr:
		_, name := ast.Unparen(cond.Fun).(*ast.Ident)
		return !name && !facts.IsKnownFunc(p, cond.Fun)
	}
	return true
}

// sortsFractions reports whether a sorted slice may hold a NaN: slices.Sort puts those first, and
// sort.Slice leaves them somewhere.
func sortsFractions(p *mutate.Pass, n ast.Node) bool {
	call, ok := p.Parent(n).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return true
	}
	list, ok := p.Info.TypeOf(call.Args[0]).Underlying().(*types.Slice)
	if !ok {
		return true
	}
	b, basic := list.Elem().Underlying().(*types.Basic)
	return !basic || b.Info()&types.IsFloat != 0
}

// hidesOwnName reports whether the first value of a text mentions another variable of its name,
// which the builder hides from it.
func hidesOwnName(p *mutate.Pass, n ast.Node) bool {
	as, ok := n.(*ast.AssignStmt)
	if !ok {
		return true
	}
	v := p.Var(as.Lhs[0])
	d, ok := facts.Declared.Of(p)[v]
	return !ok || d.Value != nil && facts.MentionsName(p, d.Value, v.Name())
}

// cutsUnfound reports whether code slices a text at an index that may be -1, or not beside what
// was looked for. The analyzer asks for a test of the index only where one byte is looked for, and
// takes i-1 for i+1.
func cutsUnfound(p *mutate.Pass, n ast.Node) bool {
	// Find the call that looks for the index, and the variable that holds it.
	call, ok := p.Parent(n).(*ast.CallExpr)
	if _, split := p.IsCall(call, "strings", "Split", "SplitN"); split {
		return false
	}
	if !ok || len(call.Args) != 2 {
		return true
	}
	var index *types.Var
	switch up := p.Parent(call).(type) {
	case *ast.AssignStmt:
		index = p.Var(up.Lhs[0])
	case *ast.ValueSpec:
		index = p.Var(up.Names[0])
	}
	// Look for slices at the index. At i-1 the analyzer errs.
	sliced := false
	for _, id := range p.Uses(index, p.File) {
		up := p.Parent(id)
		if b, ok := up.(*ast.BinaryExpr); ok {
			_, cut := p.Parent(b).(*ast.SliceExpr)
			if cut && b.Op != token.ADD {
				return true
			}
			sliced = sliced || cut
		}
		_, cut := up.(*ast.SliceExpr)
		sliced = sliced || cut
	}
	// A constant of one byte is safe.
	sought := call.Args[1]
	if from, ok := facts.ConvertsTo(p, sought, "[]byte"); ok {
		sought = from
	}
	text, constant := facts.ConstString(p, sought)
	return sliced && constant && len(text) != 1
}

// cutsOtherwise reports whether CutPrefix or CutSuffix of one place may differ from a test and a
// cut at two: a part may change in between, or be read several times, and what is cut may be empty.
func cutsOtherwise(p *mutate.Pass, n ast.Node) bool {
	test, ok := facts.Enclosing[*ast.IfStmt](p, n)
	if s, is := n.(*ast.IfStmt); is {
		test, ok = s, true
	}
	if !ok {
		return true
	}
	writes := func(e ast.Expr) bool { return p.Effects(e).Writes }
	if test.Init != nil { // if rest := strings.TrimPrefix(s, x); rest != s
		as, ok := test.Init.(*ast.AssignStmt)
		if !ok {
			return true
		}
		call, ok := ast.Unparen(as.Rhs[0]).(*ast.CallExpr)
		if !ok || slices.ContainsFunc(call.Args, writes) {
			return true
		}
		affix, constant := facts.ConstString(p, call.Args[1])
		return !constant || affix == ""
	}
	call, ok := ast.Unparen(test.Cond).(*ast.CallExpr)
	if !ok || slices.ContainsFunc(call.Args, writes) {
		return true
	}
	first := test.Body.List[0]
	for range mutate.Nodes[*ast.FuncLit](p, first) {
		return true
	}
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		return !facts.SameValue(p, e, first) && !(syntax.IsPlainStmt(first) && facts.OwnValue(p, e))
	})
}

// splitsLater reports whether a loop through parts of bytes may change them: SplitSeq looks for the
// next part when the loop asks for it, where Split has looked for all.
func splitsLater(p *mutate.Pass, n ast.Node) bool {
	if _, text := p.IsCall(p.Parent(n), "strings", "Split", "Fields"); text {
		return false
	}
	split, _ := p.Parent(n).(*ast.CallExpr)
	loop, ok := facts.Enclosing[*ast.RangeStmt](p, n)
	if split == nil || !ok || !facts.Inside(n, loop.X) {
		return true
	}
	return !facts.ChangesOnly(p, loop.Body, nil, func(call *ast.CallExpr) bool {
		_, grows := p.IsBuiltin(call, "append")
		return grows && !slices.ContainsFunc(split.Args, func(e ast.Expr) bool {
			return !apartFrom(p, p.Var(call.Args[0]), e)
		})
	})
}

// apartFrom reports whether the value of an expression shares no memory with a slice.
func apartFrom(p *mutate.Pass, slice *types.Var, e ast.Expr) bool {
	return facts.Fresh(p, slice) && p.OwnMemory(nil, e) || facts.Apart(p, slice, p.Var(e)) ||
		facts.Owns(p, slice) && len(p.Uses(slice, e)) == 0
}
