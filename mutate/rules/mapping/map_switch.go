package mapping

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// mapSwitch (catalogue M3) matches a small map of constants that code only looks up. It writes a
// function with a switch over the keys, or a scan of a few constants.
var mapSwitch = &mutate.Mutator{
	Name: "map-switch",
	Doc: "Replace a small map that never changes by a function with a switch, or by a scan of a few constants. The " +
		"compiler searches constant cases by length and value, without hashing. Legal because keys and elements are " +
		"constants and the map is only looked up.",
	Example: mutate.Shows(`var vowels = map[string]bool{"a": true, "e": true}

ok := vowels[s]`,
		`ok := inVowels(s)

// inVowels reports whether s is in the fixed set vowels.
func inVowels(s string) bool {
	switch s {
	case "a", "e":
		return true
	}
	return false
}`),
	Class:   beagle.E0,
	Gain:    2,
	Find:    findMapSwitch,
	Params:  mapSwitchForms,
	Rewrite: rewriteMapSwitch,
}

type constMap struct {
	v       *types.Var
	node    ast.Node // the declaration, which the rewrite deletes
	typ     *types.Map
	set     bool     // only membership counts
	keys    []string // as written
	values  []string
	remarks []string // the comments of each element, with a line end each
	lookups []*ast.IndexExpr
	ok      bool // look-ups ask for presence
}

// findMapSwitch looks for maps of constants that code only looks things up in.
func findMapSwitch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	// The map, and the way it is looked up, decide whether there is a site.
	add := func(m *constMap, value ast.Expr) {
		if m.read(p, value) && m.uses(p) {
			sites = append(sites, mutate.Site{Node: m.lookups[0], Label: "map " + m.v.Name(), Data: m})
		}
	}
	// Candidates are variables of the package that nothing changes, declared alone so that the
	// declaration can be dropped, and local ones that no closure sees.
	for _, g := range mutate.Nodes[*ast.GenDecl](p, nil) {
		if g.Tok != token.VAR || len(g.Specs) != 1 {
			continue
		}
		spec := g.Specs[0].(*ast.ValueSpec)
		v, ok := p.Info.Defs[spec.Names[0]].(*types.Var)
		if ok && len(spec.Names) == 1 && len(spec.Values) == 1 && (!p.IsGlobal(v) || p.Frozen(v)) {
			add(&constMap{v: v, node: g}, spec.Values[0])
		}
	}
	// A local map is made at each call, so that a switch saves that as well.
	for list, i := range facts.Statements(p) {
		if as, ok := list[i].(*ast.AssignStmt); ok && as.Tok == token.DEFINE {
			if d, ok := facts.Declares(p, as); ok && !facts.Captured.Of(p)[d.Var] {
				add(&constMap{v: d.Var, node: as}, d.Value)
			}
		}
	}
	return sites
}

// read takes the literal apart.
func (m *constMap) read(p *mutate.Pass, value ast.Expr) bool {
	lit, ok := ast.Unparen(value).(*ast.CompositeLit)
	// A long switch compares more often than a map looks up.
	if !ok || len(lit.Elts) == 0 || len(lit.Elts) > 64 {
		return false
	}
	m.typ, ok = m.v.Type().Underlying().(*types.Map)
	if !ok || syntax.PlainKind(m.typ.Key())&(types.IsString|types.IsInteger) == 0 {
		return false
	}
	empty, isStruct := m.typ.Elem().Underlying().(*types.Struct)
	m.set = isStruct && empty.NumFields() == 0
	allTrue := syntax.IsPredeclared(m.typ.Elem(), types.Bool)
	// All keys and values must be constants: keys are cases, and values are returned. A map of
	// bools that are all true is a set.
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || p.Info.Types[kv.Key].Value == nil {
			return false
		}
		v := p.Info.Types[kv.Value].Value
		if v == nil && !m.set {
			return false
		}
		allTrue = allTrue && v != nil && constant.BoolVal(v)
		m.keys, m.values = append(m.keys, p.Text(kv.Key)), append(m.values, p.Text(kv.Value))
	}
	m.set = m.set || allTrue
	m.remarks = remarksOn(p, lit)
	return facts.PackageLevel(p, lit)
}

// remarksOn assigns the comments in a literal to its elements: to the element before a comment on
// the same line, or else to the next one.
func remarksOn(p *mutate.Pass, lit *ast.CompositeLit) []string {
	remarks := make([]string, len(lit.Elts))
	line := func(pos token.Pos) int { return p.Fset.Position(pos).Line }
	// A comment belongs to an element if it lies inside the literal's braces.
	for _, g := range p.File.Comments {
		if g.Pos() < lit.Lbrace || g.End() > lit.Rbrace {
			continue
		}
		// Find the first element that does not end above the comment.
		of := len(lit.Elts) - 1
		for i, e := range slices.Backward(lit.Elts) {
			if line(e.End()) < line(g.Pos()) {
				break
			}
			of = i
		}
		for _, c := range g.List {
			remarks[of] += c.Text + "\n"
		}
	}
	return remarks
}

// uses collects the look-ups, which must all have one form.
func (m *constMap) uses(p *mutate.Pass) bool {
	plain := 0
	for _, id := range p.Uses(m.v, p.File) {
		// Every use is a look-up. With and without the second result they would need two functions.
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(id) || facts.AssignedTo(p, ix) {
			return false
		}
		m.lookups = append(m.lookups, ix)
		if !facts.CommaOK(p, ix) {
			plain++
			continue
		}
		as, ok := p.Parent(ix).(*ast.AssignStmt)
		if !ok || m.set && !syntax.IsBlank(as.Lhs[0]) {
			return false
		}
	}
	m.ok = plain == 0
	_, isStruct := m.typ.Elem().Underlying().(*types.Struct)
	// A plain look-up of a struct{} says nothing.
	return len(m.lookups) > 0 && (m.ok || plain == len(m.lookups)) && (m.ok || !isStruct)
}

func mapSwitchForms(_ *mutate.Pass, s mutate.Site) []mutate.Param {
	m := s.Data.(*constMap)
	out := []mutate.Param{{Label: "switch", Value: "switch"}}
	if m.set && len(m.keys) <= 8 {
		out = append(out, mutate.Param{Label: "scan", Value: "scan"})
	}
	return out
}

// rewriteMapSwitch declares a function that answers for the map, and has the look-ups call it.
func rewriteMapSwitch(p *mutate.Pass, s mutate.Site, form mutate.Param) ([]mutate.Edit, error) {
	m := s.Data.(*constMap)
	key, ok := facts.TypeText(p, m.typ.Key())
	elem, ok2 := facts.TypeText(p, m.typ.Elem())
	if !ok || !ok2 {
		return nil, fmt.Errorf("the types of %s cannot be written here", m.v.Name())
	}
	// A set answers a question, and any other map gives an element. The names say which.
	name := p.Fresh("in"+edit.UpperFirst(m.v.Name()), m.v.Name()+"Contain")
	if !m.set {
		name = p.Fresh(m.v.Name()+"Of", "lookup"+edit.UpperFirst(m.v.Name()))
	}
	edits := []mutate.Edit{p.Declare(s.Node, m.function(name, key, elem, form.Value == "scan")), m.dropDeclaration(p)}
	// The second result of a set's look-up is the call itself.
	for _, ix := range m.lookups {
		call := name + "(" + p.Text(ix.Index) + ")"
		as, isAssign := p.Parent(ix).(*ast.AssignStmt)
		if m.set && m.ok && isAssign {
			edits = append(edits, presenceCall(p, as, ix.Index, call)...)
			continue
		}
		edits = append(edits, p.Replace(ix, call))
	}
	return edits, nil
}

// dropDeclaration deletes the map. At package level, it deletes the map's comment too, since the
// function has its own.
func (m *constMap) dropDeclaration(p *mutate.Pass) mutate.Edit {
	if g, ok := m.node.(*ast.GenDecl); ok && g.Doc != nil {
		e := p.Delete(g)
		e.Start = p.Offset(g.Doc.Pos())
		return e
	}
	if up, ok := p.Parent(m.node).(*ast.DeclStmt); ok {
		return p.Delete(up)
	}
	return p.Delete(m.node)
}

// presenceCall turns `_, ok := m[k]` into `ok := in(k)`, or into in(k) in the condition of an if,
// which may evaluate k later, or not at all.
func presenceCall(p *mutate.Pass, as *ast.AssignStmt, key ast.Expr, call string) []mutate.Edit {
	if s, ok := p.Parent(as).(*ast.IfStmt); ok && s.Init == ast.Stmt(as) && facts.Stable(p, key, s.Cond) {
		if uses := p.Uses(p.Var(as.Lhs[1]), s); len(uses) == 1 && facts.Inside(uses[0], s.Cond) {
			return []mutate.Edit{p.Span(as.Pos(), s.Cond.Pos(), ""), p.Replace(uses[0], call)}
		}
	}
	return []mutate.Edit{p.Replace(as, p.Text(as.Lhs[1])+" "+as.Tok.String()+" "+call)}
}

// function writes that function: a loop over the few keys of a set, or a switch.
func (m *constMap) function(name, key, elem string, scan bool) string {
	switch {
	// With a few keys, comparisons in a loop are shorter than a switch and as fast.
	case m.set && scan:
		return fmt.Sprintf("// %s reports whether key is in the fixed set %s.\nfunc %s(key %s) bool {\n"+
			"for _, k := range [...]%s{%s} {\nif k == key {\nreturn true\n}\n}\nreturn false\n}",
			name, m.v.Name(), name, key, key, strings.Join(m.keys, ", "))
	case m.set:
		return fmt.Sprintf("// %s reports whether key is in the fixed set %s.\nfunc %s(key %s) bool {\nswitch key {\n"+
			"case %s:\nreturn true\n}\nreturn false\n}",
			name, m.v.Name(), name, key, m.cases(m.keys))
	}
	var arms strings.Builder
	result, zero, also := elem, zeroOf(m.typ.Elem()), ""
	// The second result says whether the key is there.
	if m.ok {
		result, zero, also = "("+elem+", bool)", zero+", false", ", true"
	}
	for i, k := range m.keys {
		fmt.Fprintf(&arms, "%scase %s:\nreturn %s%s\n", m.remarks[i], k, m.values[i], also)
	}
	return fmt.Sprintf("// %s returns the element of key in a fixed table, or zero.\nfunc %s(key %s) %s {\n"+
		"switch key {\n%s}\nreturn %s\n}",
		name, name, key, result, &arms, zero)
}

// zeroOf returns the zero of a type that constants can have.
func zeroOf(t types.Type) string {
	b, _ := t.Underlying().(*types.Basic)
	switch {
	case b == nil:
		return "nil" // an interface
	case b.Info()&types.IsString != 0:
		return `""`
	case b.Info()&types.IsBoolean != 0:
		return "false"
	}
	return "0"
}

// cases breaks a long list of keys into lines.
func (m *constMap) cases(keys []string) string {
	text := strings.Join(keys, ", ")
	if len(text) < 100 {
		return text
	}
	return strings.Join(keys, ",\n")
}
