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
	if into == "" {
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

// call hands the facts of arguments to the parameters of the file's functions.
func (s *state) call(n *ast.CallExpr) {
	fn := s.callee(n)
	if fn == nil || !s.declares(fn) {
		s.callback(n)
		return
	}
	sig := fn.Signature()
	if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && sig.Recv() != nil {
		s.learnVar(sig.Recv(), s.receiver(sel, sig))
	}
	for i, arg := range n.Args {
		if p := min(i, sig.Params().Len()-1); p >= 0 {
			s.learnVar(sig.Params().At(p), s.valueOf(arg))
		}
	}
}

// callback hands what a function outside the file receives on to the functions
// of the file that it receives with it: slices.IndexFunc(table, f) calls f.
func (s *state) callback(n *ast.CallExpr) {
	into := ""
	for _, arg := range n.Args {
		if !isFunc(s.info.TypeOf(arg)) {
			into = first(into, s.valueOf(arg))
		}
	}
	for _, arg := range n.Args {
		sig, ok := s.info.TypeOf(arg).(*types.Signature)
		if !ok {
			continue
		}
		if id, ok := ast.Unparen(arg).(*ast.Ident); ok {
			if fn, ok := origin(s.info.Uses[id]).(*types.Func); ok && s.declares(fn) {
				sig = fn.Signature()
			}
		}
		for i := range sig.Params().Len() {
			s.learnVar(sig.Params().At(i), into)
		}
	}
}

func (s *state) learnVar(v *types.Var, into string) {
	if into != "" && s.leads[v] == "" && hasRefs(v.Type(), nil) {
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
		if v := sig.Results().At(i); !isError(v.Type()) {
			note(s.leads[v])
		}
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
				if t := s.info.TypeOf(e); t != nil && !isError(t) {
					into = first(into, s.valueOf(e))
				}
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
		if isFunc(t) {
			return ""
		}
		return s.ownerOf(e)
	case *ast.FuncLit:
		return s.resultsOf(e.Body)
	case *ast.SelectorExpr:
		if sel, ok := s.info.Selections[e]; ok && sel.Kind() != types.FieldVal {
			return "" // method values are checked where they are made
		} else if ok {
			return first(s.ownerOf(e), s.valueOf(e.X))
		}
		return s.ownerOf(e)
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

func (s *state) valueOfElements(e *ast.CompositeLit) string {
	for _, el := range e.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			el = kv.Value
		}
		if into := s.valueOf(el); into != "" {
			return into
		}
	}
	return ""
}

// valueOfCall: a function of the file returns what was found for it; any other
// may return what it was given, except those that are known to make copies.
func (s *state) valueOfCall(e *ast.CallExpr) string {
	fn := s.callee(e)
	if fn != nil && s.declares(fn) {
		return s.results[fn]
	}
	if isFunc(s.info.TypeOf(e.Fun)) && fn == nil {
		if into := s.valueOf(e.Fun); into != "" {
			return into
		}
	}
	if fn != nil && copies[objectName(fn)] {
		return ""
	}
	args := e.Args
	if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && id.Name == "append" && len(args) > 1 && !s.appendsRefs(e) {
		args = args[:1]
	}
	for _, arg := range args {
		if into := s.valueOf(arg); into != "" {
			return into
		}
	}
	return ""
}

// appendsRefs reports whether the appended elements themselves hold references.
func (s *state) appendsRefs(e *ast.CallExpr) bool {
	sl, ok := s.info.TypeOf(e).Underlying().(*types.Slice)
	return !ok || hasRefs(sl.Elem(), nil)
}

var copies = set(`slices.Clone slices.Concat maps.Clone bytes.Clone bytes.Join bytes.ToLower bytes.ToUpper slices.Repeat
	slices.Collect slices.Sorted errors.New fmt.Errorf`)

func (s *state) callee(n *ast.CallExpr) *types.Func {
	fun := ast.Unparen(n.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, ok := origin(s.info.Uses[id]).(*types.Func)
	if !ok {
		return nil
	}
	return fn
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
