package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// concreteParam (catalogue A9) matches a helper that takes an interface and gets the same concrete
// type at some calls. It writes a copy of the helper for that type, with type switches decided, and
// calls it.
var concreteParam = &mutate.Mutator{
	Name: "concrete-param",
	Doc: "Give a helper that takes an interface, and is always handed one concrete type, that type as its " +
		"parameter. The argument need not be boxed, its methods can be inlined, and a switch on its type is decided " +
		"once. Legal because the helper only calls methods of the parameter or switches on its type.",
	Example: mutate.Shows(`func text(v any) string {
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case string:
		return v
	}
	return "?"
}

b = append(b, text(id)...) // id is an int`,
		`func textInt(v int) string {
	return strconv.Itoa(v)
}

b = append(b, textInt(id)...)`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findConcreteParam,
	Rewrite: rewriteConcreteParam,
}

type concreteSite struct {
	helper *ast.FuncDecl
	param  *types.Var
	at     int
	typ    types.Type
	text   string
	calls  []*ast.CallExpr
}

// findConcreteParam looks for helpers with an interface parameter that a type switch decides. The
// parameter must hold what the caller passed: nothing may assign or capture it.
func findConcreteParam(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		// The target keeps its signature, and a method may be called through an interface.
		if fn == p.Func || fn.Body == nil || fn.Recv != nil || fn.Type.TypeParams != nil || facts.CallsItself(p, fn) {
			continue
		}
		for i, v := range facts.ParametersOf(p, fn) {
			if v == nil || !types.IsInterface(v.Type()) || facts.MentionsTypeParam(v.Type()) || p.Assigned(v, fn) ||
				facts.Captured.Of(p)[v] || !isDecidable(p, fn, v) {
				continue
			}
			sites = append(sites, concreteSites(p, fn, v, i)...)
		}
	}
	return sites
}

// isDecidable reports whether all uses of v call a method or are the subject of a type switch.
func isDecidable(p *mutate.Pass, fn *ast.FuncDecl, v *types.Var) bool {
	uses := p.Uses(v, fn.Body)
	// A call of a method becomes a direct call, and a type switch one of its cases. Anything else
	// needs the interface.
	for _, id := range uses {
		switch up := p.Parent(id).(type) {
		case *ast.SelectorExpr:
			if !facts.IsCalled(p, up) {
				return false
			}
		case *ast.TypeAssertExpr:
			if up.Type != nil {
				return false
			}
		default:
			return false
		}
	}
	return len(uses) > 0
}

// concreteSites makes a site for each concrete type that calls pass.
func concreteSites(p *mutate.Pass, fn *ast.FuncDecl, v *types.Var, at int) []mutate.Site {
	// Collect the calls by the type of the argument, in the order of the text.
	var order []*concreteSite
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		// A variadic call or one outside of a function has no argument at a fixed place, or no room
		// for the edit.
		if p.Decl(p.Callee(call)) != fn || p.FuncOf(call) == nil || call.Ellipsis.IsValid() || len(call.Args) <= at ||
			p.Info.Defs[fn.Name].Type().(*types.Signature).Variadic() {
			continue
		}
		// The copy of the function names the type, so it must have a name there that means the
		// same. A nil argument has no type.
		t := types.Default(p.Info.TypeOf(call.Args[at]))
		text, ok := facts.TypeText(p, t)
		if !ok || types.IsInterface(t) || facts.MentionsTypeParam(t) || p.Info.Types[call.Args[at]].IsNil() ||
			facts.NilSpeaks(p, v, fn.Body, t) {
			continue
		}
		// Calls with the same type share a copy of the helper.
		var s *concreteSite
		for _, c := range order {
			if types.Identical(c.typ, t) {
				s = c
			}
		}
		if s == nil {
			s = &concreteSite{fn, v, at, t, text, nil}
			order = append(order, s)
		}
		s.calls = append(s.calls, call)
	}
	var sites []mutate.Site
	for _, s := range order {
		sites = append(sites, mutate.Site{Node: s.calls[0], Label: fn.Name.Name + " of " + s.text, Data: s})
	}
	return sites
}

// rewriteConcreteParam copies the helper for one concrete type, and redirects the calls that pass
// it.
func rewriteConcreteParam(p *mutate.Pass, site mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*concreteSite)
	fn := s.helper
	// The name tells the type, or what is left of it without its package and its stars.
	short := s.text[strings.LastIndexAny(s.text, ".]*")+1:]
	name := p.Fresh(fn.Name.Name+edit.UpperFirst(short), fn.Name.Name+"Of"+edit.UpperFirst(short))
	var failed error
	body := p.TextWith(fn.Body, func(n ast.Node) (string, bool) {
		sw, ok := n.(*ast.TypeSwitchStmt)
		if !ok || switchSubject(p, sw) != s.param {
			return "", false
		}
		text, err := s.decided(p, sw)
		if err != nil {
			failed = err
		}
		if len(fn.Body.List) == 1 && fn.Body.List[0] == ast.Stmt(sw) {
			// without the braces, since it stands in a block already
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}"))
		}
		return text, true
	})
	if failed != nil {
		return nil, failed
	}
	// The copy has the concrete type for this parameter, and all others as they were.
	var params []string
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			typ := p.Text(f.Type)
			if p.Info.Defs[id] == s.param {
				typ = s.text
			}
			params = append(params, id.Name+" "+typ)
		}
	}
	results := ""
	if fn.Type.Results != nil {
		results = " " + p.Text(fn.Type.Results)
	}
	edits := []mutate.Edit{
		p.Declare(fn,
			fmt.Sprintf("// %s is %s for %s.\nfunc %s(%s)%s %s", name, fn.Name.Name, s.text, name,
				strings.Join(params, ", "), results, body)),
	}
	// The calls pass what they passed.
	for _, call := range s.calls {
		edits = append(edits, p.Replace(call.Fun, name))
	}
	return edits, nil
}

// switchSubject returns the variable whose type a switch tests.
func switchSubject(p *mutate.Pass, s *ast.TypeSwitchStmt) *types.Var {
	// With a name or without, the assertion is the same.
	var e ast.Expr
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		e = a.Rhs[0]
	case *ast.ExprStmt:
		e = a.X
	}
	t, ok := ast.Unparen(e).(*ast.TypeAssertExpr)
	if !ok {
		return nil
	}
	return p.Var(t.X)
}

// decided returns, in braces, the body of the first case that the type matches, or else the
// default.
func (s *concreteSite) decided(p *mutate.Pass, sw *ast.TypeSwitchStmt) (string, error) {
	if sw.Init != nil {
		return "", fmt.Errorf("the switch declares something")
	}
	// The cases are asked in order, and the default last of all, wherever it stands.
	var chosen *ast.CaseClause
	for _, c := range sw.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil && chosen == nil {
			chosen = clause // unless a later case matches
		}
		for _, e := range clause.List {
			t := p.Info.TypeOf(e)
			// The parameter has a concrete type, so it is never nil.
			if p.Info.Types[e].IsNil() {
				continue
			}
			// Whether the type implements an interface is not decided here.
			if types.IsInterface(t) {
				return "", fmt.Errorf("a case asks for the interface %s", p.Text(e))
			}
			if types.Identical(t, s.typ) {
				return s.clause(p, sw, clause, len(clause.List) == 1)
			}
		}
	}
	if chosen == nil {
		return "{}", nil
	}
	return s.clause(p, sw, chosen, false)
}

// clause writes a case as a block that declares the switch's variable. In a case of several types,
// and in the default, that variable is an interface.
func (s *concreteSite) clause(p *mutate.Pass, sw *ast.TypeSwitchStmt, c *ast.CaseClause, exact bool) (string, error) {
	// The switch disappears, so a break that leaves it has no target any more. A break of an inner
	// loop is refused too, which is the safe side.
	for _, b := range mutate.Nodes[*ast.BranchStmt](p, c) {
		if b.Tok == token.BREAK {
			return "", fmt.Errorf("a case leaves the switch early")
		}
	}
	// The clause ends where the next one begins, so that its trailing comments move along.
	end := sw.Body.Rbrace
	for i, other := range sw.Body.List {
		if other == ast.Stmt(c) && i+1 < len(sw.Body.List) {
			end = sw.Body.List[i+1].Pos()
		}
	}
	text := strings.TrimSpace(p.Between(c.Colon+1, end))
	// A clause that does not use the variable needs none.
	as, named := sw.Assign.(*ast.AssignStmt)
	if !named {
		return "{\n" + text + "\n}", nil
	}
	v := p.Info.Implicits[c]
	if v == nil || len(p.Uses(v, c)) == 0 {
		return "{\n" + text + "\n}", nil
	}
	// In a case of several types the variable is an interface, and its uses may rely on that. The
	// block would declare a variable of the concrete type.
	if !exact {
		return "", fmt.Errorf("a case needs the value as an interface")
	}
	name := p.Text(as.Lhs[0])
	// The parameter itself can stand for a variable of its name, if the clause does not change it.
	if name == s.param.Name() && !p.Assigned(v.(*types.Var), c) {
		return "{\n" + text + "\n}", nil
	}
	return fmt.Sprintf("{\n%s := %s\n%s\n}", name, s.param.Name(), text), nil
}
