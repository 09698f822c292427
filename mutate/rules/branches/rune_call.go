package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// This file finds calls that rune-table answers from a table although they are no tests: a search
// in a table of the package that nothing changes, a width, a class.

// A runeCall is a call that depends on one rune only. Its other arguments are constants and
// variables of the package that nothing changes.
//
//	width(r, narrow)    // a table of the widths, if narrow never changes
//	width(r, w.mode)    // no table: w.mode is another one at each call
type runeCall struct {
	call *ast.CallExpr
	fn   *ast.FuncDecl
	rune ast.Expr
	key  string // the function and the other arguments
}

// runeCallSites offers a table for each function and its fixed arguments.
func runeCallSites(p *mutate.Pass) []mutate.Site {
	// The helper uses these two types.
	if p.Pkg.Scope().Lookup("uint64") != nil || p.Pkg.Scope().Lookup("rune") != nil {
		return nil
	}
	groups, order := map[string][]*runeCall{}, []string{}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		c, ok := runeCallOf(p, call)
		if !ok || !facts.TakesTime(p, call) || asksASCII(p, call) {
			continue
		}
		if groups[c.key] == nil {
			order = append(order, c.key)
		}
		groups[c.key] = append(groups[c.key], c)
	}
	var sites []mutate.Site
	// Each group gets a table of ASCII or a larger one; the search finds out which is worth its
	// size.
	for _, key := range order {
		c := groups[key][0]
		for _, scope := range tableScopes {
			if edits := runeCallEdits(p, groups[key], scope); edits != nil {
				label := fmt.Sprintf("calls of %s on %s", c.fn.Name.Name, scope.name)
				sites = append(sites, edit.Site(c.call, label, edits...))
			}
		}
	}
	return sites
}

// A tableScope is the runes below a bound.
type tableScope struct {
	size         int
	name, suffix string
}

// tableScopes are ASCII, and the runes that two bytes hold: most letters with marks, Greek,
// Cyrillic, Hebrew and Arabic.
var tableScopes = []tableScope{{128, "ASCII", "ASCII"}, {2048, "runes of two bytes", "Short"}}

// runeCallOf recognises a call of a function of the candidate file.
func runeCallOf(p *mutate.Pass, call *ast.CallExpr) (*runeCall, bool) {
	// The function must be a plain one of this file, not the target itself, so that its results can
	// be computed at the program's start.
	fn := p.Decl(p.Callee(call))
	if fn == nil || fn == p.Func || fn.Recv != nil || fn.Body == nil || fn.Type.TypeParams != nil ||
		call.Ellipsis.IsValid() || p.FuncOf(call) == nil || p.FuncOf(call) == fn {
		return nil, false
	}
	// It has one result that a table can hold. A test with a bool is a matter for another rule.
	sig := p.Info.Defs[fn.Name].(*types.Func).Signature()
	if sig.Variadic() || sig.Results().Len() != 1 || !tableValue(sig.Results().At(0).Type()) ||
		len(call.Args) != sig.Params().Len() || characters.IsPredicate(p, fn) {
		return nil, false
	}
	c := &runeCall{call: call, fn: fn}
	// Find the one argument that is a rune. All others must be constants or variables that never
	// change: they are the same when the table is filled. The key names the table, which calls with
	// the same arguments share.
	var key strings.Builder
	key.WriteString(fn.Name.Name)
	for i, arg := range call.Args {
		t, ok := sig.Params().At(i).Type().(*types.Basic)
		if v := p.Var(arg); ok && t.Kind() == types.Int32 && facts.IsLocal(p, v) &&
			facts.IsPredeclared(p, arg, types.Int32) {
			if c.rune != nil {
				return nil, false
			}
			c.rune = arg
			key.WriteString(" rune")
			continue
		}
		constant := p.Info.Types[arg].Value != nil
		if constant && !facts.PackageLevel(p, arg) || !constant && !p.NeverChanges(p.Var(arg)) {
			return nil, false
		}
		key.WriteString(" " + p.Text(arg))
	}
	c.key = key.String()
	// A table is worth its room only if the function does some work, and legal only if nothing else
	// has a part in the result.
	return c, c.rune != nil && worksLong(p, fn, 0) && dependsOnArguments(p, fn, 0)
}

// tableValue reports whether a type is a plain value of which 128 are small.
func tableValue(t types.Type) bool {
	if a, ok := t.Underlying().(*types.Array); ok {
		return a.Len() <= 4 && tableValue(a.Elem())
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsBoolean|types.IsNumeric|types.IsString) != 0 && b.Info()&types.IsUntyped == 0
}

// worksLong reports whether a function loops or calls one that does, so that a load is cheaper.
func worksLong(p *mutate.Pass, fn *ast.FuncDecl, depth int) bool {
	for _, s := range mutate.Nodes[ast.Stmt](p, fn.Body) {
		if syntax.LoopBody(s) != nil {
			return true
		}
	}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, fn.Body) {
		if next := p.Decl(p.Callee(call)); next != nil && next.Body != nil && depth < 3 && worksLong(p, next, depth+1) {
			return true
		}
		// These two search in tables.
		if _, ok := p.IsCall(call, "unicode", "Is", "In", "IsOneOf"); ok {
			return true
		}
		if _, ok := p.IsCall(call, "sort", "Search"); ok {
			return true
		}
	}
	return false
}

// dependsOnArguments reports whether a function depends on its arguments, and on what they share
// with variables that nothing changes, only. It may panic: the table would as the program starts,
// which every check sees.
func dependsOnArguments(p *mutate.Pass, fn *ast.FuncDecl, depth int) bool {
	// The depth bounds the walk through callees. A function that writes has an effect that the
	// table would leave out.
	if fn.Body == nil || depth > 3 || facts.CallsItself(p, fn) || p.Effects(fn.Body).Writes {
		return false
	}
	// Reject whatever reaches other memory: pointers, channels, closures, addresses, methods.
	for _, n := range mutate.Nodes[ast.Node](p, fn.Body) {
		switch n := n.(type) {
		case *ast.StarExpr, *ast.FuncLit, *ast.TypeAssertExpr, *ast.SelectStmt:
			return false
		case *ast.UnaryExpr:
			if n.Op == token.AND || n.Op == token.ARROW {
				return false
			}
		case *ast.SelectorExpr:
			if s := p.Info.Selections[n]; s != nil && (s.Kind() != types.FieldVal || s.Indirect()) {
				return false
			}
		// A variable from outside must never change. The tables of package unicode are such, though
		// they are variables.
		case *ast.Ident:
			v, ok := p.Info.Uses[n].(*types.Var)
			if ok && !v.IsField() && !(fn.Pos() <= v.Pos() && v.Pos() < fn.End()) && !p.NeverChanges(v) {
				if v.Pkg() == nil || v.Pkg().Path() != "unicode" {
					return false
				}
			}
		// Callees are asked in turn; a function without a body here must at least write nothing.
		case *ast.CallExpr:
			if p.Info.Types[n.Fun].IsType() {
				continue
			}
			next := p.Decl(p.Callee(n))
			if next != nil && !dependsOnArguments(p, next, depth+1) || next == nil && p.Effects(n).Writes {
				return false
			}
		}
	}
	return true
}

// asksASCII reports whether a call stands in a function that this rule wrote: one that asks first
// whether the rune is ASCII.
func asksASCII(p *mutate.Pass, call *ast.CallExpr) bool {
	fn := p.FuncOf(call)
	s, ok := fn.Body.List[0].(*ast.IfStmt)
	if !ok || s.Init != nil {
		return false
	}
	b, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.LSS {
		return false
	}
	return slices.ContainsFunc(tableScopes, func(t tableScope) bool { return p.IsInt(b.Y, int64(t.size)) })
}

// runeCallEdits has the calls ask a table first.
func runeCallEdits(p *mutate.Pass, calls []*runeCall, scope tableScope) []mutate.Edit {
	c := calls[0]
	result, ok := facts.TypeText(p, p.Info.TypeOf(c.call))
	if !ok {
		return nil
	}
	base := edit.BaseName(c.fn.Name.Name)
	name := p.Fresh(base+"Quick", base+"Fast")
	table := p.Fresh(name+scope.suffix, name+"Table")
	var edits []mutate.Edit
	for _, d := range calls {
		edits = append(edits, p.Replace(d.call, name+"("+p.Text(d.rune)+")"))
	}
	// with writes the call with another rune.
	with := func(r string) string {
		var args []string
		for _, arg := range c.call.Args {
			if arg == c.rune {
				args = append(args, r)
			} else {
				args = append(args, p.Text(arg))
			}
		}
		return c.fn.Name.Name + "(" + strings.Join(args, ", ") + ")"
	}
	quick := quickRune{name: name, table: table, param: "r", typ: "rune", result: result, slow: with("r"),
		of: scope.name, each: "of " + scope.name, size: scope.size}
	return append(edits, p.Declare(c.fn, quick.function()+"\n\n"+quick.filled(c.fn.Name.Name, with("rune(i)"))))
}
