package memory

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// pointerParam (catalogue A7, the reverse) matches a helper that takes a large struct or array by
// value and only reads it. It passes the address.
var pointerParam = &mutate.Mutator{
	Name: "pointer-param",
	Doc: "Pass the address of a large struct or array to a helper that only reads it, instead of a copy for each " +
		"call. Legal because the helper keeps neither the address nor anything behind it, and nothing changes the " +
		"value during the call: it is a variable whose address nobody else has, or the helper changes no memory.",
	Example: mutate.Shows(`func width(o options, text string) int {
	return o.indent + len(text)
}

n += width(o, text)`,
		`func width(o *options, text string) int {
	return o.indent + len(text)
}

n += width(&o, text)`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findPointerParams,
	Rewrite: edit.Precomputed,
}

// findPointerParams looks for helpers that are handed large values, and only read them.
func findPointerParams(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn == p.Func || fn.Body == nil || fn.Recv != nil || fn.Type.TypeParams != nil ||
			facts.CallsItself(p, fn) {
			continue
		}
		// All calls must be known, since their arguments change, and at least one must run often.
		calls, ok := onlyCalls(p, fn)
		if !ok || !slices.ContainsFunc(calls, func(c *ast.CallExpr) bool { return facts.TakesTime(p, c) }) {
			continue
		}
		// A field declares one or more parameters; at counts them.
		at := 0
		for _, f := range fn.Type.Params.List {
			if s := (&pointerPassing{p: p, fn: fn, calls: calls}).of(f, at); s != nil {
				sites = append(sites, edit.Site(fn, f.Names[0].Name+" of "+fn.Name.Name, s...))
			}
			at += len(f.Names)
		}
	}
	return sites
}

// A pointerPassing turns a parameter of a helper into a pointer.
type pointerPassing struct {
	p     *mutate.Pass
	fn    *ast.FuncDecl
	calls []*ast.CallExpr
	edits []mutate.Edit
}

// of returns the edits for the parameters that a field declares, the first of which is the
// helper's at-th parameter, or nil.
func (s *pointerPassing) of(f *ast.Field, at int) []mutate.Edit {
	// Only structs and arrays are copied as a whole, and only those beyond registers are slow to
	// copy.
	t := s.p.Info.TypeOf(f.Type)
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
	default:
		return nil
	}
	if len(f.Names) == 0 || facts.InRegisters(t) || facts.MentionsTypeParam(t) {
		return nil
	}
	s.edits = []mutate.Edit{s.p.Insert(f.Type.Pos(), "*")}
	// Each parameter of the field must be rewritten in the body and in all calls: they have one
	// type.
	for i, id := range f.Names {
		v, ok := s.p.Info.Defs[id].(*types.Var)
		if !ok || id.Name == "_" || !s.body(v) {
			return nil
		}
		for _, call := range s.calls {
			if !s.argument(call, at+i, t) {
				return nil
			}
		}
	}
	return s.edits
}

// body rewrites the uses of a parameter, which must only read it.
func (s *pointerPassing) body(v *types.Var) bool {
	p := s.p
	// A closure would have to be rewritten as well.
	if facts.Captured.Of(p)[v] {
		return false
	}
	// The parameter becomes a pointer to the caller's value, so a use may only read it.
	for _, id := range p.Uses(v, s.fn.Body) {
		up := p.Parent(id)
		// &v that is only lent to a call is the pointer itself.
		if addr, ok := up.(*ast.UnaryExpr); ok && addr.Op == token.AND && lentTo(p, addr) {
			s.edits = append(s.edits, p.Replace(addr, id.Name))
			continue
		}
		if p.Changes(id) {
			return false
		}
		// Fields, elements and ranges need no star: Go follows a pointer there by itself.
		switch up := up.(type) {
		case *ast.SelectorExpr: // Go follows the pointer by itself here
			continue
		case *ast.IndexExpr:
			if ast.Unparen(up.X) == ast.Expr(id) {
				continue
			}
		case *ast.RangeStmt:
			if ast.Unparen(up.X) == ast.Expr(id) {
				continue
			}
		}
		s.edits = append(s.edits, p.Replace(id, "*"+id.Name))
	}
	return true
}

// argument rewrites an argument of a call.
func (s *pointerPassing) argument(call *ast.CallExpr, at int, t types.Type) bool {
	p, arg := s.p, ast.Unparen(call.Args[at])
	if !types.Identical(p.Info.TypeOf(arg), t) {
		return false
	}
	// While the helper runs, nothing may change the value that the pointer leads to. Arguments that
	// are evaluated later count as well.
	quiet := !p.Effects(s.fn).Writes &&
		!slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return p.Effects(e).Writes })
	if star, ok := arg.(*ast.StarExpr); ok {
		q := p.Var(star.X)
		if !quiet || q == nil || !givenAddress(p, q) {
			return false
		}
		s.edits = append(s.edits, p.Replace(arg, p.Text(star.X)))
		return true
	}
	// Any other argument needs an address. If something is written, it must be a variable that only
	// this function changes.
	if !p.Info.Types[arg].Addressable() || !quiet && !ownVariable(p, p.Var(arg)) {
		return false
	}
	s.edits = append(s.edits, p.Replace(arg, "&"+p.Text(arg)))
	return true
}

// ownVariable reports whether only its function's statements can reach a variable: no literal uses
// it, and no pointer to it outlives a call of a helper that only reads.
func ownVariable(p *mutate.Pass, v *types.Var) bool {
	if !facts.IsLocal(p, v) || facts.Captured.Of(p)[v] {
		return false
	}
	for _, id := range p.Uses(v, p.File) {
		if addr := facts.AddressTaking(p, id); addr != nil {
			if u, ok := addr.(*ast.UnaryExpr); !ok || ast.Unparen(u.X) != ast.Expr(id) || !lentTo(p, u) {
				return false
			}
		}
	}
	return true
}

// lentTo reports whether an address is an argument of a helper that only reads what lies there.
func lentTo(p *mutate.Pass, addr ast.Expr) bool {
	call, ok := p.Parent(addr).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := p.Decl(p.Callee(call))
	if fn == nil || fn.Recv != nil || fn.Body == nil || facts.CallsItself(p, fn) {
		return false
	}
	// The helper's parameter must be found by its place, and only be read through.
	params := facts.ParametersOf(p, fn)
	at := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return ast.Unparen(e) == addr })
	if at < 0 || len(params) != len(call.Args) || params[at] == nil {
		return false
	}
	return facts.ReadsOnly(p, fn, params[at])
}

// givenAddress reports whether a pointer is a helper's parameter for which all calls pass an
// address.
func givenAddress(p *mutate.Pass, v *types.Var) bool {
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn == p.Func || fn.Recv != nil || fn.Body == nil || facts.CallsItself(p, fn) {
			continue
		}
		// The pointer is a parameter of a helper whose calls are all known.
		at := slices.Index(facts.ParametersOf(p, fn), v)
		if at < 0 {
			continue
		}
		calls, ok := onlyCalls(p, fn)
		// Each call passes an address, or a pointer of which the same is known.
		for _, call := range calls {
			addr, is := ast.Unparen(call.Args[at]).(*ast.UnaryExpr)
			ok = ok && (is && addr.Op == token.AND || p.Var(call.Args[at]) != nil && p.Var(call.Args[at]) != v &&
				givenAddress(p, p.Var(call.Args[at])))
		}
		return ok && !p.Assigned(v, fn)
	}
	return false
}
