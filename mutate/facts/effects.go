package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/symbol"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// Stable reports whether e has the SameValue wherever root evaluates it, and cannot panic.
func Stable(p *mutate.Pass, e ast.Expr, root ast.Node) bool {
	f := p.Effects(e)
	return !f.Panics && SameValue(p, e, root)
}

// SameValue reports whether e has the same value wherever root evaluates it, with all memory that
// the value leads to: it has no effects, and root changes none of its parts. It may panic. That is
// enough where root evaluates it anyway, or where the rule's class allows an earlier panic.
func SameValue(p *mutate.Pass, e ast.Expr, root ast.Node) bool {
	if SharesNoMemory(p.Info.TypeOf(e)) {
		return sameItself(p, e, root)
	}
	return namesKept(p, e, root, p.Assigned) && memoryKept(p, e, root, func(Change) bool { return false })
}

// sameItself is SameValue for the value alone: memory that it leads to may change.
func sameItself(p *mutate.Pass, e ast.Expr, root ast.Node) bool {
	if !namesKept(p, e, root, func(v *types.Var, root ast.Node) bool { return replaced(p, v, root) }) {
		return false
	}
	places, known := readPlaces(p, e)
	return memoryKept(p, e, root, func(c Change) bool { return known && c.Spares(p, places...) })
}

// memoryKept reports whether root makes only changes that leave the memory which an expression
// reads: those that spares accepts, and stores to entries of maps, which no pointer reaches.
func memoryKept(p *mutate.Pass, e ast.Expr, root ast.Node, spares func(Change) bool) bool {
	if !readsMemory(p, e) {
		return true
	}
	for c := range Changes(p, root) {
		entry := c.Store != nil && Inside(c.Store, root) && MapElement(p, c.Store) && !readsMap(p, e)
		if !entry && !spares(c) {
			return false
		}
	}
	return true
}

// namesKept reports whether an expression has no effects, and root neither declares nor assigns a
// variable of it.
func namesKept(p *mutate.Pass, e ast.Expr, root ast.Node, assigned func(*types.Var, ast.Node) bool) bool {
	if p.Effects(e).Writes {
		return false
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		obj := p.Info.Uses[id]
		v, ok := obj.(*types.Var)
		if obj == nil || ok && v.IsField() {
			continue
		}
		if obj.Pkg() == p.Pkg && DeclaredIn(obj, root) && !DeclaredIn(obj, e) {
			return false
		}
		if !ok || p.IsGlobal(v) {
			continue // a constant, a type or a function; or memory
		}
		if assigned(v, root) || Captured.Of(p)[v] && p.Assigned(v, p.FuncOf(root)) {
			return false
		}
	}
	return true
}

// readsMemory reports whether an expression reads memory that code may change without its name.
func readsMemory(p *mutate.Pass, e ast.Expr) bool {
	if p.Effects(e).Reads {
		return true
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		if v, ok := p.Info.Uses[id].(*types.Var); ok && !v.IsField() && Pointed(p, v) {
			return true
		}
	}
	return false
}

// replaced reports whether code below root may give a variable another value, or change a part of
// it. A field behind a pointer, an element of a slice and an entry of a map are no parts.
func replaced(p *mutate.Pass, v *types.Var, root ast.Node) bool {
	return slices.ContainsFunc(p.Uses(v, root), func(id *ast.Ident) bool { return p.Changes(id) && !behind(p, id) })
}

// behind reports whether the code around a variable goes on to memory that the variable leads to.
func behind(p *mutate.Pass, id *ast.Ident) bool {
	var child ast.Node = id
	for _, up := range p.Path(id)[1:] {
		switch up := up.(type) {
		case *ast.ParenExpr:
		case *ast.SelectorExpr:
			s := p.Info.Selections[up]
			if s == nil || s.Kind() != types.FieldVal {
				return false
			}
			if s.Indirect() {
				return true
			}
		case *ast.IndexExpr:
			if up.X != child {
				return false
			}
			if _, array := p.Info.TypeOf(up.X).Underlying().(*types.Array); !array {
				return true
			}
		default:
			return false
		}
		child = up
	}
	return false
}

// DeclaredIn reports whether an object is declared within a node.
func DeclaredIn(obj types.Object, n ast.Node) bool {
	return n.Pos() <= obj.Pos() && obj.Pos() < n.End()
}

// Pointed reports whether code takes the address of a local variable or of a part of it, so that
// other code may change it without its name. A method may keep the address that it is called with,
// unless it is one of the standard library.
func Pointed(p *mutate.Pass, v *types.Var) bool {
	return IsLocal(p, v) && slices.ContainsFunc(p.Uses(v, p.File), func(id *ast.Ident) bool {
		// A use that reads takes no address. Climb along the parts of the variable.
		if !p.Changes(id) {
			return false
		}
		for _, up := range p.Path(id)[1:] {
			switch up := up.(type) {
			case *ast.ParenExpr, *ast.IndexExpr:
			// A pointer method of the candidate's packages may keep the address that it is called
			// with.
			case *ast.SelectorExpr:
				if syntax.Is[*types.Pointer](p.Info.TypeOf(up.X)) {
					return false // no part of the variable
				}
				if p.PointerMethod(up) {
					of := p.Info.Uses[up.Sel].Pkg()
					return of == p.Pkg || of != nil && (!symbol.Standard(of.Path()) || neighbours(of, p.Pkg))
				}
			case *ast.UnaryExpr:
				return up.Op == token.AND
			default:
				_, cut := up.(*ast.SliceExpr)
				return cut
			}
		}
		return false
	})
}

// readsMap reports whether an expression may read an element of a map.
func readsMap(p *mutate.Pass, e ast.Expr) bool {
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		switch n := n.(type) {
		case *ast.CallExpr:
			return true
		case *ast.IndexExpr:
			if t := p.Info.TypeOf(n.X); t == nil || syntax.Is[*types.Map](t) {
				return true
			}
		}
	}
	return false
}

// IsSlice reports whether values of a type are slices.
func IsSlice(t types.Type) bool { return syntax.Is[*types.Slice](t) }

// MapElement reports whether l is an element of a map, which no pointer can reach.
func MapElement(p *mutate.Pass, l ast.Expr) bool {
	ix, ok := ast.Unparen(l).(*ast.IndexExpr)
	return ok && syntax.Is[*types.Map](p.Info.TypeOf(ix.X))
}

// PlainLocal reports whether e names a local variable, or is blank.
func PlainLocal(p *mutate.Pass, e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	// A type switch's variable has no object of its own.
	return ok && (id.Name == "_" || p.Info.ObjectOf(id) == nil || IsLocal(p, p.Var(id)))
}

// CallChanges reports whether a call may change memory. append counts as a change, since it writes
// beyond the length of its argument.
func CallChanges(p *mutate.Pass, call *ast.CallExpr) bool {
	if p.Info.Types[call.Fun].IsType() {
		return false
	}
	switch obj := p.Callee(call).(type) {
	case *types.Builtin:
		return slices.Contains([]string{"append", "copy", "clear", "delete", "close", "print", "println", "panic",
			"recover"}, obj.Name())
	case *types.Func:
		return p.Effects(call).Writes
	}
	return true
}

// Leaves reports whether one of the statements may leave the list: by return, goto, or a break or
// continue for a loop around it.
func Leaves(p *mutate.Pass, list []ast.Stmt) bool {
	return slices.ContainsFunc(list, func(s ast.Stmt) bool { return p.Effects(s).Jumps })
}

// EndsIn reports whether the last statement of a list is a jump of one of the kinds: RETURN, BREAK,
// CONTINUE, FALLTHROUGH, or GOTO for all jumps to a label.
func EndsIn(list []ast.Stmt, kinds ...token.Token) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return slices.Contains(kinds, token.RETURN)
	case *ast.BranchStmt:
		if s.Label != nil {
			return slices.Contains(kinds, token.GOTO)
		}
		return slices.Contains(kinds, s.Tok)
	}
	return false
}

// Reached holds the target, the functions that it names, the functions that these name, and so on.
// Other functions, such as one that fills a table at the program's start, take no time of the
// target.
var Reached = &Fact[map[*ast.FuncDecl]bool]{
	Name: "reached",
	Find: func(p *mutate.Pass) map[*ast.FuncDecl]bool {
		seen := map[*ast.FuncDecl]bool{}
		var visit func(d *ast.FuncDecl)
		visit = func(d *ast.FuncDecl) {
			if d == nil || seen[d] {
				return
			}
			seen[d] = true
			for _, id := range mutate.Nodes[*ast.Ident](p, d) {
				if obj := p.Info.Uses[id]; obj != nil {
					visit(p.Decl(obj))
				}
			}
		}
		visit(p.Func)
		return seen
	},
}

// MapKept reports whether nothing in code can change a map that an expression names. The code may
// assign plain variables and elements of other kinds, and make calls without effects.
func MapKept(p *mutate.Pass, m ast.Expr, code ast.Node) bool {
	if code == nil {
		return true
	}
	if v := p.Var(m); v != nil && p.Assigned(v, code) || v == nil && !Stable(p, m, code) {
		return false
	}
	otherElement := func(l ast.Expr) bool {
		ix, ok := ast.Unparen(l).(*ast.IndexExpr)
		return ok && ElemOf(p.Info.TypeOf(ix.X)) != nil && IsBasic(p.Info.TypeOf(ix)) // no map under a parameter's name
	}
	return ChangesOnly(p, code, otherElement, func(call *ast.CallExpr) bool {
		_, grows := p.IsBuiltin(call, "append")
		return grows
	})
}

// IsBasic reports whether a type is a number, a string or a bool, under any name.
func IsBasic(t types.Type) bool { return syntax.Is[*types.Basic](t) }

// neighbours reports whether the paths of two packages begin alike, as those of one module do,
// though it may have a name without a dot.
func neighbours(a, b *types.Package) bool {
	first, _, _ := strings.Cut(a.Path(), "/")
	other, _, _ := strings.Cut(b.Path(), "/")
	return first == other
}

// ChangesOnlyLocals reports whether code changes nothing but local variables, elements of maps,
// which no address reaches, and slices of the function's own, apart from one.
func ChangesOnlyLocals(p *mutate.Pass, code ast.Node, elements *types.Var) bool {
	owned := func(v *types.Var) bool { return v != elements && Owns(p, v) }
	return ChangesOnly(p, code, func(l ast.Expr) bool {
		ix, ok := ast.Unparen(l).(*ast.IndexExpr)
		return MapElement(p, l) || ok && owned(p.Var(ix.X))
	}, func(call *ast.CallExpr) bool {
		_, more := p.IsBuiltin(call, "append")
		return more && owned(p.Var(call.Args[0]))
	})
}

// ChangesWhole reports whether code gives a variable that holds an array or a struct another value.
// A slice may share the variable's memory.
func ChangesWhole(p *mutate.Pass, code ast.Node) bool {
	// whole reports whether e names a value; a pointer to it would see its parts change.
	whole := func(e ast.Expr) bool {
		if id, ok := ast.Unparen(e).(*ast.Ident); !ok || id.Name == "_" {
			return false
		}
		switch p.Info.TypeOf(e).Underlying().(type) {
		case *types.Array, *types.Struct, *types.Interface: // and type parameters
			return true
		}
		return false
	}
	// A definition makes a new variable, which nothing points to.
	for _, n := range mutate.Nodes[ast.Stmt](p, code) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				id, _ := ast.Unparen(l).(*ast.Ident)
				if p.Info.Defs[id] == nil && whole(l) {
					return true
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN && (whole(n.Key) || whole(n.Value)) {
				return true
			}
		}
	}
	return false
}

// ReadsOnly reports whether a helper only reads what a pointer parameter points to, and keeps no
// address.
func ReadsOnly(p *mutate.Pass, fn *ast.FuncDecl, v *types.Var) bool {
	if !syntax.Is[*types.Pointer](v.Type()) || Captured.Of(p)[v] {
		return false
	}
	// Neither a write nor an address may go through the parameter.
	for _, id := range p.Uses(v, fn.Body) {
		if p.Changes(id) || AddressTaking(p, id) != nil {
			return false
		}
		// A field or an element may only be read.
		switch up := p.Parent(id).(type) {
		case *ast.StarExpr:
			if p.Changes(up) {
				return false
			}
		case *ast.SelectorExpr:
			if s := p.Info.Selections[up]; s == nil || s.Kind() != types.FieldVal {
				return false
			}
		case *ast.IndexExpr:
			if ast.Unparen(up.X) != ast.Expr(id) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// KeepsValueOver reports whether an operand has the same value before and after a call of a helper:
// it is a constant, or a local variable that no other function can reach.
func KeepsValueOver(p *mutate.Pass, e ast.Expr) bool {
	if tv := p.Info.Types[e]; tv.Value != nil || tv.IsNil() || tv.IsType() {
		return true
	}
	v := p.Var(e)
	return IsLocal(p, v) && !Captured.Of(p)[v] && !slices.ContainsFunc(p.Uses(v, p.FuncOf(e)),
		func(id *ast.Ident) bool { return AddressTaking(p, id) != nil })
}
