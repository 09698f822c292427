package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"

	"github.com/beagle-go/beagle/mutate"
)

// A Change is something that code does to memory beyond its plain local variables: a store to what
// an expression names, or a call that may change memory. If it is neither, it may change anything.
type Change struct {
	At    ast.Node // the place in the code; for what a helper does, the call of the helper
	Store ast.Expr
	Call  *ast.CallExpr
}

// Changes yields the changes that code makes, in the order of the text. A variable whose address
// code takes is memory. A call of a function of the candidate file makes the changes of its body,
// apart from those of its own variables. Code that receives, sends, defers, starts a goroutine or
// calls an iterator may change anything.
func Changes(p *mutate.Pass, code ast.Node) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		more := true
		ast.Inspect(code, func(n ast.Node) bool {
			for c := range changesAt(p, n) {
				helper := c.helper(p)
				if helper == nil {
					more = more && yield(c)
					continue
				}
				for _, inner := range changesOfBody(p, helper) {
					inner.At = c.At
					more = more && yield(inner)
				}
			}
			return more
		})
	}
}

// helper returns the function of the candidate file that a change calls, or nil.
func (c Change) helper(p *mutate.Pass) *ast.FuncDecl {
	if c.Call == nil {
		return nil
	}
	if d := p.Decl(p.Callee(c.Call)); d != nil && d.Body != nil {
		return d
	}
	return nil
}

// changesAt yields the changes that a node makes by itself.
func changesAt(p *mutate.Pass, n ast.Node) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		stores := func(at ast.Node, l ast.Expr) bool {
			return l == nil || ownPart(p, l) || yield(Change{At: at, Store: l})
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if !stores(n, l) {
					return
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN && !(stores(n, n.Key) && stores(n, n.Value)) {
				return
			}
			if mutate.RangeRunsOther(p.Info.TypeOf(n.X)) {
				yield(Change{At: n})
			}
		case *ast.IncDecStmt:
			stores(n, n.X)
		case *ast.CallExpr:
			if CallChanges(p, n) {
				yield(Change{At: n, Call: n})
			}
		case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt:
			yield(Change{At: n})
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				yield(Change{At: n})
			}
		}
	}
}

// ownPart reports whether a target of an assignment is blank, a local variable, or a part of the
// variable's own memory, which no other code can reach by its address.
func ownPart(p *mutate.Pass, l ast.Expr) bool {
	switch l := ast.Unparen(l).(type) {
	case *ast.SelectorExpr:
		if s := p.Info.Selections[l]; s != nil && !s.Indirect() {
			return ownPart(p, l.X)
		}
		return false
	case *ast.IndexExpr:
		_, array := p.Info.TypeOf(l.X).Underlying().(*types.Array)
		return array && ownPart(p, l.X)
	}
	return PlainLocal(p, l) && !Pointed(p, p.Var(l))
}

// changesOf is the key of a function's changes in Once.
type changesOf struct{ d *ast.FuncDecl }

// changesOfBody returns the changes that a function makes, and those of all functions of the
// candidate file that it may call.
func changesOfBody(p *mutate.Pass, d *ast.FuncDecl) []Change {
	return p.Once(changesOf{d}, func() any {
		var out []Change
		seen := map[*ast.FuncDecl]bool{d: true}
		for next := []*ast.FuncDecl{d}; len(next) > 0; next = next[1:] {
			ast.Inspect(next[0].Body, func(n ast.Node) bool {
				for c := range changesAt(p, n) {
					switch callee := c.helper(p); {
					case callee == nil:
						out = append(out, c)
					case !seen[callee]:
						seen[callee] = true
						next = append(next, callee)
					}
				}
				return true
			})
		}
		return out
	}).([]Change)
}

// ChangesOnly reports whether code makes only changes that store and call accept: store decides
// about the left sides of assignments, call about calls that may change memory. nil accepts none.
func ChangesOnly(p *mutate.Pass, code ast.Node, store func(ast.Expr) bool, call func(*ast.CallExpr) bool) bool {
	for c := range Changes(p, code) {
		switch {
		case c.Store != nil && store != nil && store(c.Store):
		case c.Call != nil && call != nil && call(c.Call):
		default:
			return false
		}
	}
	return true
}
