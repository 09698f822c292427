package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strconv"
	"strings"

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

// insertBefore inserts a statement in front of s, above the comment that belongs to s.
func insertBefore(p *mutate.Pass, s ast.Stmt, text string) mutate.Edit {
	at := s.Pos()
	for _, g := range slices.Backward(p.File.Comments) {
		if g.End() < at && p.Fset.Position(g.End()).Line == p.Fset.Position(at).Line-1 && ownLine(p, g.Pos()) {
			at = g.Pos()
			break
		}
	}
	return p.Insert(at, strings.TrimSpace(text)+"\n")
}

// ownLine reports whether only blank space precedes pos on its line.
func ownLine(p *mutate.Pass, pos token.Pos) bool {
	at := p.Offset(pos)
	line := p.Src[strings.LastIndexByte(string(p.Src[:at]), '\n')+1 : at]
	return strings.TrimSpace(string(line)) == ""
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

// readsOf lists the uses of v below root. It returns nil and false if one of them assigns, captures
// or takes the address of v.
func readsOf(p *mutate.Pass, v *types.Var, root ast.Node) ([]*ast.Ident, bool) {
	if p.Assigned(v, root) || facts.Captured.Of(p)[v] {
		return nil, false
	}
	return p.Uses(v, root), true
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

// plainKind returns the info bits of a basic type without methods, and 0 for others. Formatting and
// comparing a plain type work as for its basic type.
func plainKind(t types.Type) types.BasicInfo {
	if t == nil || types.NewMethodSet(t).Len() > 0 {
		return 0
	}
	if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
		return 0
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// isBasic reports whether the type of e is exactly the predeclared type.
func isBasic(p *mutate.Pass, e ast.Expr, kind types.BasicKind) bool {
	b, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Basic)
	return ok && (b.Kind() == kind || kind == types.String && b.Kind() == types.UntypedString)
}

// isExactString reports whether the type of e is exactly string.
func isExactString(p *mutate.Pass, e ast.Expr) bool { return isBasic(p, e, types.String) }

func isByteSlice(p *mutate.Pass, e ast.Expr) bool {
	s, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Slice)
	if !ok {
		return false
	}
	b, ok := types.Unalias(s.Elem()).(*types.Basic)
	return ok && b.Kind() == types.Uint8
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
	if tv.Value == nil || p.Basic(e) != types.String && p.Basic(e) != types.UntypedString || !p.Portable(e) {
		return "", false
	}
	s, err := strconv.Unquote(tv.Value.ExactString())
	return s, err == nil
}

// assignedTo reports whether e is the target of an assignment, or code takes its address.
func assignedTo(p *mutate.Pass, e ast.Expr) bool {
	// The expression itself must be on the left; in an index there it is only read.
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		for _, l := range up.Lhs {
			if ast.Unparen(l) == e {
				return true
			}
		}
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// isRedefined reports whether the name of a builtin means something else in the package, or in the
// function around n.
func isRedefined(p *mutate.Pass, n ast.Node, name string) bool {
	if p.Pkg.Scope().Lookup(name) != nil {
		return true
	}
	for id := range mutate.Nodes[*ast.Ident](p, p.FuncOf(n)) {
		if id.Name == name && p.Info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// redefinesAny is redefined for several names.
func redefinesAny(p *mutate.Pass, n ast.Node, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return isRedefined(p, n, name) })
}

func asStmt(n ast.Node) ast.Stmt {
	s, _ := n.(ast.Stmt)
	return s
}

// countTo returns the head of a loop that counts an int from 0, in the module's language version.
func countTo(p *mutate.Pass, index, limit string) string {
	if p.GoAtLeast(22) {
		return fmt.Sprintf("for %s := range %s ", index, limit)
	}
	return fmt.Sprintf("for %s := 0; %s < %s; %s++ ", index, index, limit, index)
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

// withImports adds the imports that the edits' text needs of the given standard packages, and uses
// the names of these imports.
func withImports(p *mutate.Pass, edits []mutate.Edit, paths ...string) []mutate.Edit {
	var out []mutate.Edit
	for _, path := range paths {
		base := path[strings.LastIndexByte(path, '/')+1:]
		// Only packages that the new text names are imported.
		if !slices.ContainsFunc(edits, func(e mutate.Edit) bool { return mentionsPackage(e.New, base) }) {
			continue
		}
		name, imports := p.Import(path)
		out = append(out, imports...)
		for i := range edits {
			// The file may know the package by another name.
			if name != base && mentionsPackage(edits[i].New, base) {
				edits[i].New = renamePackage(edits[i].New, base, name)
			}
		}
	}
	return append(mutate.MergeImports(out), edits...)
}

// mentionsPackage reports whether text uses the package of that name.
func mentionsPackage(text, name string) bool { return renamePackage(text, name, "") != text }

// renamePackage gives a package another name wherever its name stands alone and an exported name
// follows.
func renamePackage(text, from, to string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		exported := i+len(from)+1 < len(text) && text[i+len(from)+1] >= 'A' && text[i+len(from)+1] <= 'Z'
		if exported && strings.HasPrefix(text[i:], from+".") &&
			// A field or a string with that text is no package.
			(i == 0 || !isNameByte(text[i-1]) && text[i-1] != '.' && text[i-1] != '"') {
			out.WriteString(to)
			i += len(from)
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

var assignTokens = []token.Token{token.ASSIGN}

// pureElements reports whether e is pure, given that the elements of a loop are within bounds.
func pureElements(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
	return facts.Quiet(p, e, facts.Loops.Of(p)[loop])
}

func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

func isBool(p *mutate.Pass, e ast.Expr, want bool) bool {
	v := p.Info.Types[e].Value
	return v != nil && v.Kind() == constant.Bool && constant.BoolVal(v) == want
}

func isString(v *types.Var) bool {
	b, ok := v.Type().Underlying().(*types.Basic)
	return ok && b.Kind() == types.String
}

func isArray(v *types.Var) bool {
	_, ok := v.Type().Underlying().(*types.Array)
	return ok
}

func commaOK(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		return len(up.Lhs) == 2 && len(up.Rhs) == 1
	case *ast.ValueSpec:
		return len(up.Names) == 2 && len(up.Values) == 1
	}
	return false
}

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

// canDeclare reports whether a variable may be declared at s: in a function, where no goto could
// jump over it.
func canDeclare(p *mutate.Pass, s ast.Stmt) bool {
	fn := p.FuncOf(s)
	if fn == nil {
		return false
	}
	for b := range mutate.Nodes[*ast.BranchStmt](p, fn) {
		if b.Tok == token.GOTO {
			return false
		}
	}
	return true
}

// callsItself reports whether a function names itself.
func callsItself(p *mutate.Pass, fn *ast.FuncDecl) bool {
	return len(p.Uses(p.Info.Defs[fn.Name], fn.Body)) > 0
}

// inFuncLit reports whether a node stands in a function literal.
func inFuncLit(p *mutate.Pass, n ast.Node) bool {
	_, in := enclosing[*ast.FuncLit](p, n)
	return in
}
