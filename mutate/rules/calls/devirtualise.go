package calls

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// devirtualise (catalogue D1) matches a loop that calls methods of an interface variable. It tests
// in front of the loop for one type, and writes a copy of the loop that calls that type's methods
// directly.
var devirtualise = &mutate.Mutator{
	Name: "devirtualise",
	Doc: "Ask once before a loop whether an interface holds a certain type, and run a copy of the loop that calls " +
		"the methods of that type directly: such calls can be inlined. Any other type takes the loop as before. The " +
		"parameter is the type.",
	Example: mutate.Shows(`for _, b := range data {
	w.WriteByte(b)
}`,
		`if known, ok := w.(*bytes.Buffer); ok {
	for _, b := range data {
		known.WriteByte(b)
	}
} else {
	for _, b := range data {
		w.WriteByte(b)
	}
}`),
	Class:   beagle.E3,
	Gain:    1.3,
	Find:    findDevirtualise,
	Params:  knownTypes,
	Rewrite: rewriteDevirtualise,
}

type dynamicCalls struct {
	loop ast.Stmt
	v    *types.Var
}

// findDevirtualise looks for outermost loops that call methods of an interface, which is the same
// during the loop.
func findDevirtualise(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		// The loop is written twice, once for the concrete type. A label may occur only once, and
		// only an outermost loop is worth it.
		if syntax.LoopBody(s) == nil || p.InLoop(s) || facts.IsLabelled(p, s) || facts.HoldsLabel(p, s) {
			continue
		}
		if _, at := p.Siblings(s); at < 0 {
			continue
		}
		seen := map[*types.Var]bool{}
		// The variable may only be used for calls, so that each loop can have its own of another
		// type.
		for _, call := range mutate.Nodes[*ast.CallExpr](p, syntax.LoopBody(s)) {
			v := receiverVar(p, call)
			if v == nil || seen[v] || !onlyMethodCalls(p, v, s) || s.Pos() <= v.Pos() && v.Pos() < s.End() {
				continue
			}
			seen[v] = true
			d := dynamicCalls{s, v}
			if len(d.types(p)) > 0 {
				sites = append(sites, mutate.Site{Node: s, Label: "calls of " + v.Name(), Data: d})
			}
		}
	}
	return sites
}

// receiverVar returns the local interface variable whose method is called.
func receiverVar(p *mutate.Pass, call *ast.CallExpr) *types.Var {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	v := p.Var(sel.X)
	if !facts.IsLocal(p, v) || !types.IsInterface(v.Type()) || facts.MentionsTypeParam(v.Type()) ||
		facts.Captured.Of(p)[v] || facts.Pointed(p, v) {
		return nil
	}
	return v
}

func onlyMethodCalls(p *mutate.Pass, v *types.Var, loop ast.Stmt) bool {
	for _, id := range p.Uses(v, loop) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || sel.X != ast.Expr(id) || !facts.IsCalled(p, sel) {
			return false
		}
	}
	return !p.Assigned(v, loop)
}

// wellKnown lists the types of the standard library that most often stand behind its interfaces.
// The rule tries a type only if the file imports its package.
var wellKnown = []string{"bytes.Buffer", "strings.Builder", "bufio.Writer", "bufio.Reader", "strings.Reader",
	"bytes.Reader"}

// types lists the types that the variable may hold: those of the candidate file with the methods,
// those of the package if they are few, and the well-known ones.
func (d dynamicCalls) types(p *mutate.Pass) []mutate.Param {
	iface := d.v.Type().Underlying().(*types.Interface)
	var out []mutate.Param
	// An abstract type resolves no call. Each type or its pointer is listed once, by its text, and
	// the number is bounded: each one is a candidate.
	add := func(t types.Type) {
		if _, abstract := t.Underlying().(*types.Interface); abstract || len(out) >= 4 {
			return
		}
		// The value is preferred to the pointer if both have the methods.
		both := []types.Type{t, types.NewPointer(t)}
		if syntax.Is[*types.Pointer](t) {
			both = both[:1]
		}
		for _, t := range both {
			text, ok := facts.TypeText(p, t)
			ok = ok && d.means(p, t, text)
			if param := (mutate.Param{Label: text, Value: t}); ok && types.Implements(t, iface) {
				if !slices.ContainsFunc(out, func(q mutate.Param) bool { return q.Label == text }) {
					out = append(out, param)
				}
				return
			}
		}
	}
	// Types with methods in this file come first: they are the likeliest, and their methods can be
	// inlined.
	seen := map[types.Type]bool{}
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		if fn.Recv == nil {
			continue
		}
		t := p.Info.TypeOf(fn.Recv.List[0].Type)
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if named, ok := t.(*types.Named); ok && named.TypeParams().Len() == 0 && !seen[named] {
			seen[named] = true
			add(named)
		}
	}
	for _, named := range fewTypes(p, iface) {
		if !seen[named] {
			add(named)
			add(types.NewPointer(named)) // the interface may hold either, and the code does not say
		}
	}
	// Only library types of imported packages can be named without a new import.
	for _, pkg := range p.Pkg.Imports() {
		for _, name := range wellKnown {
			path, typ, _ := strings.Cut(name, ".")
			if obj := pkg.Scope().Lookup(typ); pkg.Path() == path && obj != nil {
				add(obj.Type())
			}
		}
	}
	return out
}

// means reports whether the text of a type stands for it in front of the loop: no variable or type
// of the function has the name.
func (d dynamicCalls) means(p *mutate.Pass, t types.Type, text string) bool {
	obj := types.Unalias(syntax.Pointee(t)).(*types.Named).Obj()
	if obj.Pkg() == p.Pkg {
		return facts.Means(p, d.loop.Pos(), obj.Name(), obj)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "*"), ".")
	_, found := p.Pkg.Scope().Innermost(d.loop.Pos()).LookupParent(name, d.loop.Pos())
	_, ok := found.(*types.PkgName)
	return ok
}

// maxTypes is how many types of a package an interface may stand for, so that asking for one of
// them is likely to be right.
const maxTypes = 3

type typesBehind struct{ iface *types.Interface }

// fewTypes lists the package's types that have the methods of an interface, or nothing if there are
// many. Methods that all kinds of types have, such as String, say nothing of a loop.
func fewTypes(p *mutate.Pass, iface *types.Interface) []*types.Named {
	// Many loops ask for the same interface.
	return p.Once(typesBehind{iface}, func() any {
		var out []*types.Named
		for _, name := range p.Pkg.Scope().Names() {
			obj, ok := p.Pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || obj.IsAlias() || types.IsInterface(obj.Type()) {
				continue
			}
			named, ok := obj.Type().(*types.Named)
			// A pointer has the methods of the value, too.
			if ok && named.TypeParams().Len() == 0 && types.Implements(types.NewPointer(named), iface) {
				if out = append(out, named); len(out) > maxTypes {
					return []*types.Named(nil)
				}
			}
		}
		return out
	}).([]*types.Named)
}

func knownTypes(p *mutate.Pass, s mutate.Site) []mutate.Param { return s.Data.(dynamicCalls).types(p) }

// rewriteDevirtualise asks for the type once in front of the loop. The loop is written twice: with
// a variable of that type, and as it was.
func rewriteDevirtualise(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	d := s.Data.(dynamicCalls)
	t := param.Value.(types.Type)
	known, ok := p.Fresh("known", "concrete"), p.Fresh("ok", "is")
	cond := ok
	if facts.NilSpeaks(p, d.v, d.loop, t) {
		cond = fmt.Sprintf("%s && %s != nil", ok, known)
	}
	copied := p.TextWith(d.loop, func(n ast.Node) (string, bool) {
		id, ok := n.(*ast.Ident)
		return known, ok && p.Info.Uses[id] == d.v
	})
	return []mutate.Edit{
		p.Replace(d.loop, fmt.Sprintf("if %s, %s := %s.(%s); %s {\n%s\n} else {\n%s\n}", known, ok, d.v.Name(),
			param.Label, cond, copied, p.Text(d.loop))),
	}, nil
}
