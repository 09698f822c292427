package verify

import (
	"go/ast"
	"go/token"
	"go/types"
)

// packageState refuses writes to package variables, or to memory that a
// package variable holds, and results that lead into such memory.
//
// It is a may-point-to analysis with one fact for each variable of the
// candidate: which package variable its value may lead into. The facts flow
// through assignments, calls within the file and results until nothing
// changes; the order of statements is ignored. Doubt counts against the
// candidate: memory of a package variable that is handed to a function
// outside the file, other than one known to read only, counts as written.
func packageState(c *code, report func(ast.Node, string, string, string)) {
	s := &state{code: c, leads: make(map[types.Object]string), results: make(map[types.Object]string)}
	for changed := true; changed; {
		s.changed = false
		ast.Inspect(c.file, s.flow)
		changed = s.changed
	}
	s.report = report
	for _, decl := range c.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn == c.fn {
			s.target = fn
		} else {
			s.target = nil
		}
		ast.Inspect(decl, s.check)
	}
}

type state struct {
	*code
	leads   map[types.Object]string // variable -> package variable that its value may lead into
	results map[types.Object]string // function of the file -> package variable that its results may lead into
	changed bool

	report func(ast.Node, string, string, string)
	target *ast.FuncDecl // while inside the target's own body
}

// flow adds the facts of one node.
func (s *state) flow(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		s.assign(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		lhs := make([]ast.Expr, len(n.Names))
		for i, id := range n.Names {
			lhs[i] = id
		}
		s.assign(lhs, n.Values)
	case *ast.RangeStmt:
		for _, v := range []ast.Expr{n.Key, n.Value} {
			if v != nil {
				s.learn(v, s.valueOf(n.X))
			}
		}
	case *ast.TypeSwitchStmt:
		s.typeSwitch(n)
	case *ast.CallExpr:
		s.call(n)
	case *ast.SelectorExpr:
		s.bound(n)
	case *ast.FuncDecl:
		s.returns(n)
	}
	return true
}

func (s *state) assign(lhs, rhs []ast.Expr) {
	for i, l := range lhs {
		switch {
		case len(rhs) == len(lhs):
			s.learn(l, s.valueOf(rhs[i]))
		case len(rhs) == 1:
			s.learn(l, s.valueOf(rhs[0]))
		}
	}
}

// learn notes that the value stored at l leads into a package variable. When
// l is a part of a variable, the whole variable does.
func (s *state) learn(l ast.Expr, into string) {
	if into = first(into, s.keysOf(l)); into == "" {
		return
	}
	if id := root(l); id != nil {
		obj := s.info.ObjectOf(id)
		if obj != nil && (!isPackageVar(obj) || isFunc(obj.Type())) && hasRefs(obj.Type(), nil) && s.leads[obj] == "" {
			s.leads[obj] = into
			s.changed = true
		}
	}
}

func (s *state) typeSwitch(n *ast.TypeSwitchStmt) {
	assign, ok := n.Assign.(*ast.AssignStmt)
	if !ok {
		return
	}
	into := s.valueOf(ast.Unparen(assign.Rhs[0]).(*ast.TypeAssertExpr).X)
	for _, clause := range n.Body.List {
		if obj := s.info.Implicits[clause]; obj != nil && into != "" && s.leads[obj] == "" && hasRefs(obj.Type(), nil) {
			s.leads[obj] = into
			s.changed = true
		}
	}
}

// bound hands what a method of the file is called on, or bound to as a method
// value, to its receiver.
func (s *state) bound(n *ast.SelectorExpr) {
	sel, ok := s.info.Selections[n]
	if !ok || sel.Kind() != types.MethodVal {
		return
	}
	if fn := origin(sel.Obj()).(*types.Func); s.declares(fn) {
		s.learnVar(fn.Signature().Recv(), s.receiver(n, fn.Signature()))
	}
}

// call hands the facts of arguments to the parameters of the file's functions.
func (s *state) call(n *ast.CallExpr) {
	fn := s.callee(n)
	if fn == nil || !s.declares(fn) {
		s.callback(n)
		return
	}
	sig, args := fn.Signature(), n.Args
	if s.isMethodExpr(n.Fun) && len(args) > 0 {
		s.learnVar(sig.Recv(), s.valueOf(args[0]))
		args = args[1:]
	}
	for i, arg := range args {
		if p := min(i, sig.Params().Len()-1); p >= 0 {
			s.learnVar(sig.Params().At(p), s.valueOf(arg))
		}
	}
}

// callback hands what a function outside the file receives on to the functions
// of the file that it receives with it: slices.IndexFunc(table, f) calls f.
func (s *state) callback(n *ast.CallExpr) {
	if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && id.Name == "copy" && len(n.Args) == 2 {
		s.learn(n.Args[0], s.elementsOf(n.Args[1]))
	}
	into := ""
	for _, arg := range n.Args {
		if !isFunc(s.info.TypeOf(arg)) {
			into = first(into, s.valueOf(arg))
		}
	}
	for _, arg := range n.Args {
		if t := s.info.TypeOf(arg); into != "" && isFunc(t) {
			s.learnParams(arg, t.Underlying().(*types.Signature), into)
		}
	}
}

// learnParams hands a fact to the parameters of a function value. When its
// declaration is not at hand, every function of the file that it may be
// receives the fact.
func (s *state) learnParams(arg ast.Expr, sig *types.Signature, into string) {
	all := func(sig *types.Signature) {
		s.learnVar(sig.Recv(), into)
		for i := range sig.Params().Len() {
			s.learnVar(sig.Params().At(i), into)
		}
	}
	switch f := ast.Unparen(arg).(type) {
	case *ast.FuncLit:
		all(sig)
		return
	case *ast.Ident:
		if fn, ok := origin(s.info.Uses[f]).(*types.Func); ok {
			all(fn.Signature())
			return
		}
	}
	for _, obj := range s.info.Defs {
		if fn, ok := obj.(*types.Func); ok && fn != s.info.Defs[s.fn.Name] {
			all(fn.Signature())
		}
	}
	for e, tv := range s.info.Types {
		if _, ok := e.(*ast.FuncLit); ok && types.Identical(tv.Type, sig) {
			all(tv.Type.(*types.Signature))
		}
	}
}

// elementsOf is what the elements of a slice lead into.
func (s *state) elementsOf(e ast.Expr) string {
	if t := s.info.TypeOf(e); t != nil && elementsHaveRefs(t) {
		return s.valueOf(e)
	}
	return ""
}

func (s *state) isMethodExpr(fun ast.Expr) bool {
	sel, ok := ast.Unparen(fun).(*ast.SelectorExpr)
	return ok && s.info.Selections[sel] != nil && s.info.Selections[sel].Kind() == types.MethodExpr
}

func (s *state) learnVar(v *types.Var, into string) {
	if v != nil && into != "" && s.leads[v] == "" && hasRefs(v.Type(), nil) {
		s.leads[v] = into
		s.changed = true
	}
}

// returns notes which package variable a function's results lead into.
func (s *state) returns(fn *ast.FuncDecl) {
	obj := s.info.Defs[fn.Name]
	if fn.Body == nil || obj == nil {
		return
	}
	note := func(into string) {
		if into != "" && s.results[obj] == "" {
			s.results[obj] = into
			s.changed = true
		}
	}
	sig := obj.Type().(*types.Signature)
	for i := range sig.Results().Len() {
		note(s.leads[sig.Results().At(i)])
	}
	note(s.resultsOf(fn.Body))
}

// resultsOf is what the return statements of one function body lead into.
func (s *state) resultsOf(body *ast.BlockStmt) (into string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				into = first(into, s.valueOf(e))
			}
		}
		return true
	})
	return into
}

// receiver says which package variable a method could reach through its receiver.
func (s *state) receiver(n *ast.SelectorExpr, sig *types.Signature) string {
	if into := s.valueOf(n.X); into != "" {
		return into
	}
	if _, ok := types.Unalias(sig.Recv().Type()).(*types.Pointer); ok {
		return s.ownerOf(n.X)
	}
	return ""
}

// ownerOf names the package variable in whose memory the location e lies.
func (s *state) ownerOf(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if obj := s.info.ObjectOf(e); obj != nil && isPackageVar(obj) {
			return s.varName(obj)
		}
	case *ast.SelectorExpr:
		sel, ok := s.info.Selections[e]
		if !ok {
			return s.ownerOf(e.Sel) // pkg.Var
		}
		if sel.Kind() == types.FieldVal {
			return s.through(e.X, sel.Indirect())
		}
	case *ast.IndexExpr:
		return s.through(e.X, !isArray(s.info.TypeOf(e.X)))
	case *ast.StarExpr:
		return s.valueOf(e.X)
	}
	return ""
}

func (s *state) through(x ast.Expr, indirect bool) string {
	if indirect {
		if into := s.valueOf(x); into != "" {
			return into
		}
	}
	if t := s.info.TypeOf(x); t != nil && !isPointerLike(t) {
		return s.ownerOf(x)
	}
	return ""
}

// valueOf names the package variable into whose memory the value of e may lead.
func (s *state) valueOf(e ast.Expr) string {
	e = ast.Unparen(e)
	t := s.info.TypeOf(e)
	if t == nil || !hasRefs(t, nil) {
		return ""
	}
	switch e := e.(type) {
	case *ast.Ident:
		if obj := s.info.ObjectOf(e); obj != nil && s.leads[obj] != "" {
			return s.leads[obj]
		}
		if isFunc(t) || isError(t) {
			return "" // package variables of these types hold no state: see packageVars
		}
		return s.ownerOf(e)
	case *ast.FuncLit:
		return s.resultsOfLiteral(e)
	case *ast.SelectorExpr:
		if sel, ok := s.info.Selections[e]; ok && sel.Kind() != types.FieldVal {
			return s.boundTo(e, sel)
		} else if ok {
			return first(s.ownerOf(e), s.valueOf(e.X))
		}
		return s.valueOf(e.Sel) // pkg.Var
	case *ast.IndexExpr:
		return first(s.ownerOf(e), s.valueOf(e.X))
	case *ast.StarExpr:
		return s.valueOf(e.X)
	case *ast.SliceExpr:
		return first(s.valueOf(e.X), s.ownerOf(e.X))
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return first(s.ownerOf(e.X), s.valueOf(e.X))
		}
		return s.valueOf(e.X)
	case *ast.TypeAssertExpr:
		return s.valueOf(e.X)
	case *ast.CompositeLit:
		return s.valueOfElements(e)
	case *ast.CallExpr:
		return s.valueOfCall(e)
	}
	return ""
}

// boundTo is what a method value leads into: its receiver.
func (s *state) boundTo(e *ast.SelectorExpr, sel *types.Selection) string {
	if sel.Kind() != types.MethodVal {
		return ""
	}
	return s.receiver(e, sel.Obj().(*types.Func).Signature())
}

func (s *state) valueOfElements(e *ast.CompositeLit) string {
	for _, el := range e.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			if into := s.valueOf(kv.Key); into != "" { // a map's key; a field's name leads nowhere
				return into
			}
			el = kv.Value
		}
		if into := s.valueOf(el); into != "" {
			return into
		}
	}
	return ""
}

func (s *state) varName(obj types.Object) string {
	if obj.Pkg() == s.pkg {
		return obj.Name()
	}
	return objectName(obj)
}

func (s *state) text(e ast.Expr) string {
	start, end := s.fset.Position(e.Pos()).Offset, s.fset.Position(e.End()).Offset
	if 0 <= start && start < end && end <= len(s.src) {
		return s.src[start:end]
	}
	return "a function"
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
