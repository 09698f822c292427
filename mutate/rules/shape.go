package rules

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file holds shapes of code that several rules look for.

// precomputed is the Rewrite of rules without a choice: Find has prepared the edits.
func precomputed(_ *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	return s.Data.([]mutate.Edit), nil
}

// site returns a place with its edits.
//
//go:noinline
func site(n ast.Node, label string, edits ...mutate.Edit) mutate.Site {
	return mutate.Site{Node: n, Label: label, Data: edits}
}

// sitesOf returns the Find of a rule that applies at each node in which parse recognises something.
func sitesOf[N ast.Node, S any](
	parse func(*mutate.Pass, N) *S, label func(*mutate.Pass, *S) string,
) func(*mutate.Pass) []mutate.Site {
	return func(p *mutate.Pass) []mutate.Site {
		var sites []mutate.Site
		for n := range mutate.Nodes[N](p, nil) {
			if s := parse(p, n); s != nil {
				sites = append(sites, mutate.Site{Node: n, Label: label(p, s), Data: s})
			}
		}
		return sites
	}
}

// statements yields every statement of a function declaration that stands in a list, with the list.
//
//go:noinline
func statements(p *mutate.Pass) iter.Seq2[[]ast.Stmt, int] {
	return func(yield func([]ast.Stmt, int) bool) {
		for list := range p.Lists() {
			for i := range list {
				if !yield(list, i) {
					return
				}
			}
		}
	}
}

// declarations yields every local variable that a statement in a list declares, alone or as a part
// of a group, with the statements that follow.
//
//go:noinline
func declarations(p *mutate.Pass) iter.Seq2[facts.Declaration, []ast.Stmt] {
	return func(yield func(facts.Declaration, []ast.Stmt) bool) {
		for list, i := range statements(p) {
			for _, d := range facts.Declarations(p, list[i]) {
				if !yield(d, list[i+1:]) {
					return
				}
			}
		}
	}
}

// movable reports whether a declaration may stand after the others of its statement: none of them
// uses the variable, whose name could mean something else to it, and none declares anew a name that
// the declaration uses. A declaration that stands alone does not move.
func movable(p *mutate.Pass, d facts.Declaration) bool {
	return d.Spec == nil || meansSameAfter(p, d.Stmt, d.Spec) && len(p.Uses(d.Var, d.Stmt)) == 0
}

// meansSameAfter reports whether the names in a node mean after a statement what they mean in the
// node.
func meansSameAfter(p *mutate.Pass, s ast.Stmt, n ast.Node) bool {
	for id := range mutate.Nodes[*ast.Ident](p, n) {
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); ok && sel.Sel == id {
			continue // it is looked up in what stands in front of it
		}
		if obj := p.Info.Uses[id]; obj != nil && !facts.Means(p, s.End(), id.Name, obj) {
			return false
		}
	}
	return true
}

// redeclare puts statements in place of a declaration. Where it is one of several, they go after
// all.
func redeclare(p *mutate.Pass, d facts.Declaration, text string) []mutate.Edit {
	if d.Spec != nil {
		return []mutate.Edit{p.Replace(d.Spec, ""), p.Insert(d.Stmt.End(), "\n"+text)}
	}
	return []mutate.Edit{p.Replace(d.Stmt, text)}
}

// dropping returns the statement that makes a call and drops its results, or nil.
func dropping(p *mutate.Pass, call *ast.CallExpr) ast.Stmt {
	s, ok := p.Parent(call).(ast.Stmt)
	if !ok || facts.Dropped(s) != call {
		return nil
	}
	return s
}

// inList reports whether a statement stands in a list, with room for others beside it.
func inList(p *mutate.Pass, s ast.Stmt) bool {
	if s == nil {
		return false
	}
	_, at := p.Siblings(s)
	return at >= 0
}

// splitAssign splits `x = e`, `x := e` and `x op= e`.
func splitAssign(s ast.Stmt, toks ...token.Token) (lhs, rhs ast.Expr, ok bool) {
	as, ok := s.(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 || !slices.Contains(toks, as.Tok) {
		return nil, nil, false
	}
	return as.Lhs[0], ast.Unparen(as.Rhs[0]), true
}

// appendsTo recognises `v = append(v, args...)` on a local variable.
func appendsTo(p *mutate.Pass, s ast.Node) (v *types.Var, call *ast.CallExpr, ok bool) {
	st, ok := s.(ast.Stmt)
	if !ok {
		return nil, nil, false
	}
	lhs, rhs, ok := splitAssign(st, token.ASSIGN)
	if !ok {
		return nil, nil, false
	}
	call, ok = p.IsBuiltin(rhs, "append")
	if !ok || len(call.Args) < 2 {
		return nil, nil, false
	}
	v = p.Var(lhs)
	// The list must be the same on both sides.
	return v, call, facts.IsLocal(p, v) && p.Var(call.Args[0]) == v
}

// enclosing returns the innermost node of type N around n, other than n itself.
func enclosing[N ast.Node](p *mutate.Pass, n ast.Node) (N, bool) {
	for _, up := range p.Path(n) {
		if m, ok := up.(N); ok && ast.Node(m) != n {
			return m, true
		}
	}
	var zero N
	return zero, false
}

// loopBody returns the body of a for or range statement, or nil.
func loopBody(s ast.Node) *ast.BlockStmt {
	switch s := s.(type) {
	case *ast.ForStmt:
		return s.Body
	case *ast.RangeStmt:
		return s.Body
	}
	return nil
}

// convertsTo recognises the conversion T(e), where T is "string", "[]byte" or "[]rune", and e has
// exactly the other type.
func convertsTo(p *mutate.Pass, e ast.Expr, to string) (from ast.Expr, ok bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !p.Info.Types[call.Fun].IsType() {
		return nil, false
	}
	from = call.Args[0]
	switch to {
	case "string":
		return from, isExactString(p, call) && isByteSlice(p, from)
	case "[]byte":
		return from, isByteSlice(p, call) && isExactString(p, from)
	case "[]rune":
		t, slice := types.Unalias(p.Info.TypeOf(call)).(*types.Slice)
		return from, slice && types.Identical(t.Elem(), types.Universe.Lookup("rune").Type()) && isExactString(p, from)
	}
	return nil, false
}

// constString returns the value of a constant string expression that is the same on all systems.
func constString(p *mutate.Pass, e ast.Expr) (string, bool) {
	tv := p.Info.Types[e]
	if tv.Value == nil || p.Basic(e) != types.String && p.Basic(e) != types.UntypedString || !p.Values().Portable(e) {
		return "", false
	}
	s, err := strconv.Unquote(tv.Value.ExactString())
	return s, err == nil
}

// asStmt returns n as a statement, or nil.
func asStmt(n ast.Node) ast.Stmt {
	s, _ := n.(ast.Stmt)
	return s
}

// percentile99 returns the greatest of the lengths that parameters of the target keep in 99 of 100
// calls, or 0 if unknown.
func percentile99(p *mutate.Pass) int {
	longest := 0
	for _, f := range p.Facets.Params {
		longest = max(longest, f.Len[3])
	}
	return longest
}

var assignTokens = []token.Token{token.ASSIGN}

// pureElements reports whether e is pure, given that the elements of a loop are within bounds.
func pureElements(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
	return facts.Quiet(p, e, facts.Loops.Of(p)[loop])
}

// orNil returns e, or an expression that no pattern matches if e is missing.
func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

// isBool reports whether e is the constant true or false, as wanted.
func isBool(p *mutate.Pass, e ast.Expr, want bool) bool {
	v := p.Info.Types[e].Value
	return v != nil && v.Kind() == constant.Bool && constant.BoolVal(v) == want
}

// commaOK reports whether the two results of e are assigned, a value and whether it is there.
func commaOK(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		return len(up.Lhs) == 2 && len(up.Rhs) == 1
	case *ast.ValueSpec:
		return len(up.Names) == 2 && len(up.Values) == 1
	}
	return false
}

// isBlank reports whether e is missing or _.
func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return e == nil || ok && id.Name == "_"
}

// isLabelled reports whether a statement has a label.
func isLabelled(p *mutate.Pass, n ast.Node) bool {
	_, ok := p.Parent(n).(*ast.LabeledStmt)
	return ok
}

// holdsLabel reports whether code has a label. A copy of it in the same function would have the
// label again.
func holdsLabel(p *mutate.Pass, n ast.Node) bool {
	for range mutate.Nodes[*ast.LabeledStmt](p, n) {
		return true
	}
	return false
}

// hasDefer reports whether code defers a call.
func hasDefer(p *mutate.Pass, n ast.Node) bool {
	for range mutate.Nodes[*ast.DeferStmt](p, n) {
		return true
	}
	return false
}

// isPlainStmt reports whether a statement holds no other statement and does not jump, apart from
// return.
func isPlainStmt(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.IncDecStmt, *ast.DeclStmt:
		return true
	}
	return false
}

// breaksOut reports whether a break in b belongs to a statement around b: inside a switch it would
// leave the switch.
func breaksOut(p *mutate.Pass, b *ast.BlockStmt) bool {
	list, _, ok := p.Branches(b)
	return len(list) > 0 || !ok
}

// takesTime reports whether code may take a share of the time that is worth a rewrite: it runs in a
// loop, the profile shows it, or there is no profile, so that not even the target has a share.
// Initialisers of the package's variables take none.
func takesTime(p *mutate.Pass, n ast.Node) bool {
	return p.FuncOf(n) != nil && (p.InLoop(n) || p.Weight(n) >= 0.02 || p.Weight(p.Func) == 0)
}

// lineCount returns how many lines of code after its first one a node has. It leaves out comments
// and blank lines.
func lineCount(p *mutate.Pass, n ast.Node) int {
	lines := map[int]bool{}
	for m := range mutate.Nodes[ast.Node](p, n) {
		switch m.(type) {
		case *ast.Comment, *ast.CommentGroup:
			continue
		}
		if !m.Pos().IsValid() {
			continue // a list of no fields
		}
		lines[p.Fset.Position(m.Pos()).Line], lines[p.Fset.Position(m.End()).Line] = true, true
	}
	return len(lines) - 1
}

// stepOf reads `i++`, `i--`, `i += c` and `i -= c`.
func stepOf(p *mutate.Pass, s ast.Stmt, v *types.Var) (int64, bool) {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		// A step down is a step by a negative number.
		if s.Tok == token.DEC {
			return -1, p.Var(s.X) == v
		}
		return 1, p.Var(s.X) == v
	case *ast.AssignStmt:
		lhs, rhs, ok := splitAssign(s, token.ADD_ASSIGN, token.SUB_ASSIGN)
		if !ok || p.Var(lhs) != v {
			return 0, false
		}
		n, ok := p.Int(rhs)
		if s.Tok == token.SUB_ASSIGN {
			n = -n
		}
		return n, ok
	}
	return 0, false
}

// elementAppend recognises x = append(x, a, b): elements, not a whole slice. x is a variable, or a
// field of one.
func elementAppend(p *mutate.Pass, s ast.Stmt) (*ast.CallExpr, bool) {
	lhs, rhs, ok := splitAssign(s, assignTokens...)
	if !ok {
		return nil, false
	}
	call, ok := p.IsBuiltin(rhs, "append")
	if !ok || call.Ellipsis.IsValid() || len(call.Args) < 2 || !p.Same(lhs, call.Args[0]) {
		return nil, false
	}
	return call, plainPlace(p, lhs)
}

// definitionOf finds `i := start` of a local variable.
func definitionOf(p *mutate.Pass, v *types.Var, fn *ast.FuncDecl) (*ast.AssignStmt, ast.Expr) {
	for as := range mutate.Nodes[*ast.AssignStmt](p, fn) {
		if as.Tok == token.DEFINE && len(as.Lhs) == 1 && len(as.Rhs) == 1 && p.Var(as.Lhs[0]) == v {
			return as, as.Rhs[0]
		}
	}
	return nil, nil
}

// structLiteral recognises &T{...} of a struct that is neither empty nor large.
func structLiteral(p *mutate.Pass, e ast.Expr) *ast.CompositeLit {
	u, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return nil
	}
	lit, ok := u.X.(*ast.CompositeLit)
	if !ok || lit.Type == nil {
		return nil
	}
	t := p.Info.TypeOf(lit)
	if _, isStruct := t.Underlying().(*types.Struct); !isStruct {
		return nil
	}
	// Large structs are rarely made in large numbers, and one that lives on would keep all others.
	if n := elementSize(t); n <= 0 || n > maxStruct {
		return nil
	}
	return lit
}

// maxStruct is the size in bytes above which a struct's own allocation hardly counts.
const maxStruct = 256

// placeOf splits an index into a place and the constant that is added to it.
func placeOf(p *mutate.Pass, e ast.Expr) (place ast.Expr, offset int64) {
	place = ast.Unparen(e)
	for {
		b, ok := place.(*ast.BinaryExpr)
		if !ok || b.Op != token.ADD && b.Op != token.SUB {
			return place, offset
		}
		if c, ok := p.Int(b.Y); ok && b.Op == token.ADD {
			offset, place = offset+c, ast.Unparen(b.X)
		} else if ok {
			offset, place = offset-c, ast.Unparen(b.X)
		} else if c, ok := p.Int(b.X); ok && b.Op == token.ADD {
			offset, place = offset+c, ast.Unparen(b.Y)
		} else {
			return place, offset
		}
	}
}

// nameOf returns the name of a variable or of the function that is called, or "".
func nameOf(e ast.Expr) string {
	if c, ok := e.(*ast.CallExpr); ok {
		e = c.Fun
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// hasLoop reports whether code holds a loop.
func hasLoop(p *mutate.Pass, n ast.Node) bool {
	for s := range mutate.Nodes[ast.Stmt](p, n) {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		}
	}
	return false
}

// byteShares returns the byte frequencies of the corpus, if one parameter has them.
func byteShares(p *mutate.Pass) []float64 {
	var found []float64
	for _, f := range p.Facets.Params {
		if len(f.Bytes) == 256 {
			if found != nil {
				return nil
			}
			found = f.Bytes
		}
	}
	return found
}
