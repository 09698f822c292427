package lift

import (
	"fmt"
	"go/ast"
	"go/token"
	gotypes "go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// A Region is a piece of code that reads some values and leaves others.
type Region struct {
	Func    string // the function that it stands in
	Kind    string // "function", "loop", "rest" (from a statement to the end), or "expression"
	Inputs  []Input
	Outputs []Output

	stmts      []ast.Stmt
	expr       ast.Expr
	fn         *ast.FuncDecl
	start, end token.Pos
	returns    bool // it ends the function: its outputs are the results
	early      bool // it may end the function, or go on
	loops      bool
	calls      []string // functions of the library that it calls
}

// An Input is a variable, or a field of one, that a region reads.
type Input struct {
	Name string // in the copy of the region
	Expr string // in the code
	Type *Type

	goType  gotypes.Type
	obj     *gotypes.Var // nil for a field
	param   bool
	changed bool // the region writes its elements
}

// An Output is a value that a region leaves.
type Output struct {
	Name string // of the variable; "" for a result, and "returned" for whether it ends the function
	Type *Type

	goType   gotypes.Type
	declared bool         // the variable is declared in the region
	elements bool         // it is the elements of an input that the region writes
	builder  gotypes.Type // of the variable, where the output is the text appended to it
	result   int          // place among the function's results; -1
	early    bool         // it counts only where the region ends the function
	late     bool         // it counts only where it does not
}

const (
	maxBack  = 4  // statements in front of a loop that may belong to it
	maxLines = 60 // of a region
)

// Regions returns the pieces of a candidate that could be terms: the target, its helpers, their
// loops with the statements that prepare them, and the ends of their bodies.
func Regions(p *mutate.Pass) []*Region {
	var out []*Region
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Type.TypeParams != nil || genericReceiver(p, fn) {
			continue
		}
		out = append(out, regionsOf(p, fn)...)
	}
	return out
}

func genericReceiver(p *mutate.Pass, fn *ast.FuncDecl) bool {
	f, ok := p.Info.Defs[fn.Name].(*gotypes.Func)
	return !ok || f.Signature().RecvTypeParams().Len() > 0
}

// regionsOf cuts a function into its body, each loop with plain statements in front of it, what
// follows up to a return, and single expressions.
func regionsOf(p *mutate.Pass, fn *ast.FuncDecl) (out []*Region) {
	// Two cuts with the same ends are one region.
	add := func(r *Region, kind string) {
		if r != nil && !slices.ContainsFunc(out, func(o *Region) bool { return o.start == r.start && o.end == r.end }) {
			r.Kind = kind
			out = append(out, r)
		}
	}
	body := fn.Body.List
	if len(body) == 0 {
		return nil
	}
	add(cut(p, fn, body, true), "function")
	for _, list := range p.Lists() {
		if len(list) == 0 || list[0].Pos() < fn.Body.Pos() || list[0].Pos() > fn.Body.End() {
			continue
		}
		for j, s := range list {
			if !isLoop(s) {
				continue
			}
			last := len(list) - 1
			// Go back from the loop over statements that prepare it. With each start, the region
			// may end with the loop, or with a return close after it.
			for i := j; i >= max(0, j-maxBack) && (i == j || plain(list[i])); i-- {
				if _, ends := list[last].(*ast.ReturnStmt); ends && last-i <= 8 {
					add(cut(p, fn, list[i:], false), "rest")
				}
				add(cut(p, fn, list[i:j+1], false), "loop")
			}
		}
	}
	for _, e := range expressions(p, fn) {
		add(cutExpression(p, fn, e), "expression")
	}
	return out
}

func isLoop(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return true
	}
	return false
}

// plain reports whether a statement may prepare a loop.
func plain(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.AssignStmt, *ast.DeclStmt, *ast.IncDecStmt, *ast.IfStmt:
		return true
	}
	return false
}

// expressions returns the outermost expressions of a function that call a function of the library.
func expressions(p *mutate.Pass, fn *ast.FuncDecl) (out []ast.Expr) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		// Only a value that the program computes is worth a search: no constant, and nothing
		// without a call into another package.
		if !ok {
			return true
		}
		// The code in a function literal is looked at, not the literal.
		if _, lit := e.(*ast.FuncLit); lit {
			return true
		}
		tv := p.Info.Types[e]
		if !tv.IsValue() || tv.Value != nil || grammarType(tv.Type) == nil || !hasCall(p, e) {
			return true
		}
		// The outermost has the others in it, and a term for it is worth more.
		out = append(out, e)
		return false
	})
	return out
}

// hasCall reports whether an expression calls a function of another package. Only such calls have
// components to be found.
func hasCall(p *mutate.Pass, e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			f, _ := p.Callee(call).(*gotypes.Func)
			found = found || f != nil && f.Pkg() != nil && f.Pkg() != p.Pkg
		}
		return !found
	})
	return found
}

// grammarType returns the type of the grammar with the same values; nil for none.
func grammarType(t gotypes.Type) *Type {
	if t == nil {
		return nil
	}
	// A named type has the values of its underlying type. The elements of a slice must be basic
	// types themselves.
	u := t.Underlying()
	switch v := u.(type) {
	case *gotypes.Basic:
		return types[spelled(v.Name())]
	case *gotypes.Slice:
		if b, ok := gotypes.Unalias(v.Elem()).(*gotypes.Basic); ok {
			return types["[]"+spelled(b.Name())]
		}
	}
	return nil
}

// spelled returns the name of a basic type in the grammar.
func spelled(name string) string {
	// Types that are the same have one name in the grammar, and constants take their default type.
	switch name {
	case "uint8":
		return "byte"
	case "int32", "untyped rune":
		return "rune"
	case "untyped string":
		return "string"
	case "untyped int":
		return "int"
	case "untyped bool":
		return "bool"
	}
	return name
}

// cut makes a region of statements; it returns nil if they make none.
func cut(p *mutate.Pass, fn *ast.FuncDecl, list []ast.Stmt, whole bool) *Region {
	r := &Region{fn: fn, stmts: list, start: list[0].Pos(), end: list[len(list)-1].End()}
	r.Func = syntax.FuncName(p.Info.Defs[fn.Name].(*gotypes.Func))
	// Long code does more than one function of a library.
	if p.Fset.Position(r.end).Line-p.Fset.Position(r.start).Line > maxLines {
		return nil
	}
	x := &cutter{p: p, r: r, inputs: map[any]*Input{}}
	for _, s := range list {
		ast.Inspect(s, x.visit)
	}
	if x.bad != "" {
		return nil
	}
	// Find out how the region ends: it always returns, sometimes does, or goes on.
	_, r.returns = list[len(list)-1].(*ast.ReturnStmt)
	r.returns = r.returns || whole
	r.early = !r.returns && x.ends > 0
	// With too many inputs or outputs the search has no chance.
	if !x.collect(whole) || len(r.Inputs) == 0 || len(r.Inputs) > 5 || len(r.Outputs) == 0 || len(r.Outputs) > 4 {
		return nil
	}
	return r
}

// cutExpression makes a region of an expression.
func cutExpression(p *mutate.Pass, fn *ast.FuncDecl, e ast.Expr) *Region {
	r := &Region{fn: fn, expr: e, start: e.Pos(), end: e.End()}
	r.Func = syntax.FuncName(p.Info.Defs[fn.Name].(*gotypes.Func))
	x := &cutter{p: p, r: r, inputs: map[any]*Input{}}
	ast.Inspect(e, x.visit)
	t := p.Info.TypeOf(e)
	r.Outputs = []Output{{Type: grammarType(t), goType: gotypes.Default(t), result: -1}}
	// One without inputs is a constant, one with many has too large a space, and one that changes
	// an input has an effect besides its value.
	if x.bad != "" || len(r.Inputs) == 0 || len(r.Inputs) > 5 || slices.ContainsFunc(r.Inputs, func(in Input) bool {
		return in.changed
	}) {
		return nil
	}
	return r
}

// names lists, for messages, the inputs and outputs of a region.
func (r *Region) names() string {
	var in, out []string
	for _, v := range r.Inputs {
		in = append(in, v.Expr+" "+v.Type.Name)
	}
	for _, o := range r.Outputs {
		out = append(out, strings.TrimSpace(o.Name+" "+o.Type.Name))
	}
	return fmt.Sprintf("%s of %s: %s -> %s", r.Kind, r.Func, strings.Join(in, ", "), strings.Join(out, ", "))
}

// String describes a region for people.
func (r *Region) String() string { return r.names() }
