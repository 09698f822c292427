package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/symbol"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// oneObject (part of catalogue A6) matches a struct on the heap whose literal makes short slices or
// other structs for its fields. It makes all of them as one object.
var oneObject = &mutate.Mutator{
	Name: "one-object",
	Doc: "Allocate a struct in one piece with the short slices and the structs that its literal makes: one " +
		"allocation instead of several. Contents, lengths, capacities and identities are the same; only, one part in " +
		"use keeps all alive. A package that uses runtime is left out, since an object that points to itself has no " +
		"finalizer.",
	Example: mutate.Shows(`return &Selection{Nodes: []*Node{n}, doc: d}`,
		`whole := struct {
	selection Selection
	nodes     [1]*Node
}{
	selection: Selection{doc: d},
	nodes:     [1]*Node{n},
}
whole.selection.Nodes = whole.nodes[:]
return &whole.selection`),
	Class:   beagle.E2,
	Gain:    1.3,
	Find:    findOneObject,
	Rewrite: rewriteOneObject,
}

// maxObject is the size in bytes above which parts stay allocations of their own.
const maxObject = 1024

// An objectSite is &T{...}, and the parts that its fields point to.
type objectSite struct {
	whole *ast.UnaryExpr
	lit   *ast.CompositeLit
	front ast.Stmt // what the object is made in front of
	parts []objectPart
}

// An objectPart is what a field points to.
type objectPart struct {
	at    int    // in the literal
	field string // of the literal's type
	typ   string // in the object
	value string // what it holds at first; empty if that is its zero value
	use   string // the value of the field; %s is the part
}

// findOneObject looks for literals with parts that are allocated apart. Packages that see addresses
// or sizes, such as runtime and unsafe, could tell the difference.
func findOneObject(p *mutate.Pass) []mutate.Site {
	if importsAny(p, "runtime", "unsafe", "weak", "C") {
		return nil
	}
	var sites []mutate.Site
	for _, u := range mutate.Nodes[*ast.UnaryExpr](p, nil) {
		lit := structLiteral(p, u)
		// A type of another package may rely on where its parts lie.
		if lit == nil || !ownType(p, p.Info.TypeOf(lit)) || !facts.TakesTime(p, u) || facts.IsRedefined(p, u, "nil") {
			continue
		}
		s := &objectSite{whole: u, lit: lit}
		// The parts must be made right in front, or within the literal.
		if s.inFront(p) && s.divides(p) {
			sites = append(sites, mutate.Site{Node: u, Label: "object of " + p.Text(lit.Type), Data: s})
		}
	}
	return sites
}

// importsAny reports whether the package imports one of several others.
func importsAny(p *mutate.Pass, paths ...string) bool {
	for _, f := range p.File.Imports {
		if slices.Contains(paths, strings.Trim(f.Path.Value, "`\"")) {
			return true
		}
	}
	return slices.ContainsFunc(p.Pkg.Imports(), func(pkg *types.Package) bool {
		return slices.Contains(paths, pkg.Path())
	})
}

// inFront finds the statement in front of which the object can be made: all that the statement
// evaluates before the literal is plain.
func (s *objectSite) inFront(p *mutate.Pass) bool {
	var values []ast.Expr
	// A return or an assignment is the statement itself. Its other operands are evaluated after
	// the new statement, so they must have no effects and not depend on any.
	switch st := p.Parent(s.whole).(type) {
	case *ast.ReturnStmt:
		s.front, values = st, st.Results
	case *ast.AssignStmt:
		// A compound assignment reads its target first.
		if st.Tok != token.DEFINE && st.Tok != token.ASSIGN {
			return false
		}
		s.front, values = st, st.Rhs
		for _, l := range st.Lhs {
			if sel, ok := l.(*ast.SelectorExpr); ok {
				l = sel.X
			}
			if !quietOperand(p, l) {
				return false
			}
		}
	// In any other statement the whole literal moves to the front, if its parts allow it.
	default:
		front, ok := facts.Hoistable(p, s.whole)
		f := p.Effects(s.lit)
		if !ok || f.Writes || f.Panics || !facts.Stable(p, s.lit, front) {
			return false
		}
		s.front = front
	}
	for _, e := range values {
		if e != ast.Expr(s.whole) && p.Info.Types[e].Value == nil && !p.Info.Types[e].IsNil() && !quietOperand(p, e) {
			return false
		}
	}
	// The new declarations need room in a list of statements.
	_, at := p.Siblings(s.front)
	return at >= 0 && facts.CanDeclare(p, s.front)
}

// quietOperand reports whether an expression is a local variable that only its own name changes.
func quietOperand(p *mutate.Pass, e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	if id.Name == "_" || p.Info.Defs[id] != nil {
		return true
	}
	v := p.Var(id)
	return facts.IsLocal(p, v) && !facts.Captured.Of(p)[v] && !facts.Pointed(p, v)
}

// divides finds the parts.
func (s *objectSite) divides(p *mutate.Pass) bool {
	t := p.Info.TypeOf(s.lit).Underlying().(*types.Struct)
	size := facts.ElementSize(p.Info.TypeOf(s.lit))
	// Find the field of each element, by its position or its name.
	for i, e := range s.lit.Elts {
		field := t.Field(i)
		if kv, keyed := e.(*ast.KeyValueExpr); keyed {
			key := kv.Key.(*ast.Ident)
			e, field = kv.Value, nil
			for f := range t.Fields() {
				if f.Name() == key.Name {
					field = f
				}
			}
		}
		if field == nil || field.Name() == "_" {
			return false
		}
		// Take the parts one by one, until the object would get too large.
		part, n := s.part(p, ast.Unparen(e), field)
		if size += n; n == 0 || size > maxObject {
			size -= n
			continue
		}
		part.at, part.field = i, field.Name()
		s.parts = append(s.parts, part)
	}
	return len(s.parts) > 0
}

// part recognises a value that is an allocation of known size.
func (s *objectSite) part(p *mutate.Pass, e ast.Expr, field *types.Var) (part objectPart, size int64) {
	// The literal's field is a slice or a pointer that is allocated here. Its memory becomes a
	// field of the one object, so that one allocation serves for both.
	_, slice := field.Type().Underlying().(*types.Slice)
	switch e := e.(type) {
	// []T{...} becomes an array of known length, and the field a slice of it. The elements must
	// mean the same in front of the statement.
	case *ast.CompositeLit:
		typ, ok := e.Type.(*ast.ArrayType)
		if !slice || !ok || typ.Len != nil || len(e.Elts) == 0 || !s.same(p, e.Elts) {
			return part, 0
		}
		part.typ = fmt.Sprintf("[%d]%s", len(e.Elts), p.Text(typ.Elt))
		part.value, part.use = part.typ+p.Between(e.Lbrace, e.End()), "%s[:]"
		return part, s.sized(p, typ.Elt, int64(len(e.Elts)))
	// &T{...} becomes a value of the object, and the field its address.
	case *ast.UnaryExpr:
		lit := structLiteral(p, e)
		if lit == nil || !s.same(p, lit.Elts) || !ownType(p, p.Info.TypeOf(lit)) {
			return part, 0
		}
		part.typ, part.use = p.Text(lit.Type), "&%s"
		if len(lit.Elts) > 0 {
			part.value = p.Text(lit)
		}
		return part, s.sized(p, lit.Type, 1)
	// new(T) likewise, with the zero value that the object has anyway.
	case *ast.CallExpr:
		if call, ok := p.IsBuiltin(e, "new"); ok && p.Info.Types[call.Args[0]].IsType() {
			part.typ, part.use = p.Text(call.Args[0]), "&%s"
			if !ownType(p, p.Info.TypeOf(call.Args[0])) {
				return part, 0
			}
			return part, s.sized(p, call.Args[0], 1)
		}
		if call, ok := p.IsBuiltin(e, "make"); ok && slice {
			return s.made(p, call)
		}
	}
	return part, 0
}

// made recognises make([]E, n) and make([]E, n, m) of known sizes.
func (s *objectSite) made(p *mutate.Pass, call *ast.CallExpr) (part objectPart, size int64) {
	typ, ok := call.Args[0].(*ast.ArrayType)
	if !ok || typ.Len != nil || len(call.Args) < 2 {
		return part, 0
	}
	room := call.Args[len(call.Args)-1]
	n, constant := p.Int(room)
	if first, known := p.Int(call.Args[1]); !constant || !known || first < 0 || first > n {
		return part, 0
	}
	part.typ, part.use = fmt.Sprintf("[%s]%s", p.Text(room), p.Text(typ.Elt)), "%s[:]"
	if len(call.Args) == 3 {
		part.use = "%s[:" + edit.EscapeFormat(p.Text(call.Args[1])) + "]"
	}
	return part, s.sized(p, typ.Elt, n)
}

// same reports whether the elements of a literal inside are the same when they are evaluated after
// all others of the struct. It refuses lists with indexes.
func (s *objectSite) same(p *mutate.Pass, values []ast.Expr) bool {
	for _, e := range values {
		if kv, keyed := e.(*ast.KeyValueExpr); keyed {
			if p.Info.Types[kv.Key].Value != nil {
				return false // an index
			}
			e = kv.Value
		}
		if !facts.Stable(p, e, s.lit) {
			return false
		}
	}
	return true
}

// sized returns the size of n values of a type, or 0 if they may be no part of an object: on small
// machines sync/atomic finds words of 64 bits aligned only where an allocation begins.
func (s *objectSite) sized(p *mutate.Pass, typ ast.Expr, n int64) int64 {
	t := p.Info.TypeOf(typ)
	size := facts.ElementSize(t)
	if size <= 0 || n <= 0 || n > maxObject || importsAny(p, "sync/atomic") && holdsWords(t) {
		return 0
	}
	return size * n
}

// holdsWords reports whether a value holds integers of 64 bits.
func holdsWords(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Kind() == types.Int64 || t.Kind() == types.Uint64
	case *types.Array:
		return holdsWords(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if holdsWords(f.Type()) {
				return true
			}
		}
	}
	return false
}

// ownType reports whether a type is of this package or of the standard library, so that no other
// code gives its values finalizers.
func ownType(p *mutate.Pass, t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		_, basic := types.Unalias(t).(*types.Basic)
		return basic
	}
	pkg := n.Obj().Pkg()
	if pkg == nil || pkg == p.Pkg {
		return pkg == p.Pkg
	}
	return symbol.Standard(pkg.Path())
}

// rewriteOneObject declares a struct of the object and its parts, allocates that, and sets the
// fields to its parts.
func rewriteOneObject(p *mutate.Pass, site mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*objectSite)
	whole := p.Fresh("whole", "together")
	names := map[string]bool{}
	typ := p.Text(s.lit.Type)
	bare, _, _ := strings.Cut(typ, "[") // without type arguments
	self := memberName(names, bare[strings.LastIndex(bare, ".")+1:])
	fields, values, then := self+" "+typ+"\n", s.rest(p, self), ""
	for _, part := range s.parts {
		name := memberName(names, part.field)
		fields += name + " " + part.typ + "\n"
		if part.value != "" {
			values += name + ": " + part.value + ",\n"
		}
		then += fmt.Sprintf("%s.%s.%s = "+part.use+"\n", whole, self, part.field, whole+"."+name)
	}
	if values != "" {
		values = "\n" + values
	}
	// A variable, and no pointer to one: a value that is stored through a pointer escapes to the
	// heap.
	text := fmt.Sprintf("%s := struct {\n%s}{%s}\n%s", whole, fields, values, then)
	return []mutate.Edit{edit.InsertBefore(p, s.front, text), p.Replace(s.whole, "&"+whole+"."+self)}, nil
}

// rest writes the struct without its parts, or nothing if no value is left.
func (s *objectSite) rest(p *mutate.Pass, self string) string {
	var kept []string
	_, keyed := s.lit.Elts[0].(*ast.KeyValueExpr)
	some := false
	// An element without a key needs something in the place of the part.
	for i, e := range s.lit.Elts {
		if !slices.ContainsFunc(s.parts, func(part objectPart) bool { return part.at == i }) {
			kept, some = append(kept, p.Text(e)), true
		} else if !keyed {
			kept = append(kept, "nil")
		}
	}
	if !some {
		return ""
	}
	text := strings.Join(kept, ", ")
	// A literal over several lines stays one.
	if p.Fset.Position(s.lit.Lbrace).Line != p.Fset.Position(s.lit.Rbrace).Line {
		text = "\n" + strings.Join(kept, ",\n") + ",\n"
	}
	return self + ": " + p.Text(s.lit.Type) + "{" + text + "},\n"
}

// memberName makes a name for a part of the object that no other part has.
func memberName(taken map[string]bool, name string) string {
	name = edit.LowerFirst(name)
	for token.IsKeyword(name) || taken[name] {
		name += "Part"
	}
	taken[name] = true
	return name
}
