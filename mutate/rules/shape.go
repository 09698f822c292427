package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
)

// This file holds shapes of code that several rules look for.

// precomputed is the Rewrite of rules without a choice: Find has prepared the edits.
func precomputed(_ *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	return s.Data.([]mutate.Edit), nil
}

// site returns a place with its edits.
func site(n ast.Node, label string, edits ...mutate.Edit) mutate.Site {
	return mutate.Site{Node: n, Label: label, Data: edits}
}

// offset returns where pos lies in the source.
func offset(p *mutate.Pass, pos token.Pos) int { return p.Offset(pos) }

// statements yields every statement of a function declaration that stands in a list, with the list.
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

// before inserts a statement in front of s, above the comment that belongs to s.
func before(p *mutate.Pass, s ast.Stmt, text string) mutate.Edit {
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

// assigned splits `x = e`, `x := e` and `x op= e`.
func assigned(s ast.Stmt, toks ...token.Token) (lhs, rhs ast.Expr, ok bool) {
	as, ok := s.(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 || !slices.Contains(toks, as.Tok) {
		return nil, nil, false
	}
	return as.Lhs[0], ast.Unparen(as.Rhs[0]), true
}

// appends recognises `v = append(v, args...)` on a local variable.
func appends(p *mutate.Pass, s ast.Node) (v *types.Var, call *ast.CallExpr, ok bool) {
	st, ok := s.(ast.Stmt)
	if !ok {
		return nil, nil, false
	}
	lhs, rhs, ok := assigned(st, token.ASSIGN)
	if !ok {
		return nil, nil, false
	}
	call, ok = p.IsBuiltin(rhs, "append")
	if !ok || len(call.Args) < 2 {
		return nil, nil, false
	}
	v = p.Var(lhs)
	return v, call, local(p, v) && p.Var(call.Args[0]) == v
}

// local reports whether a function declares v; parameters count.
func local(p *mutate.Pass, v *types.Var) bool {
	return v != nil && !v.IsField() && !p.IsGlobal(v) && v.Pkg() == p.Pkg
}

// A declared is a statement that gives a new local variable its first value: `v := e`, `var v T`,
// `var v T = e`. Value is nil if there is none.
type declared struct {
	Stmt  ast.Stmt
	Var   *types.Var
	Name  *ast.Ident
	Type  ast.Expr // as written, or nil
	Value ast.Expr
}

// declaration recognises a statement that declares one variable.
func declaration(p *mutate.Pass, s ast.Stmt) (d declared, ok bool) {
	d.Stmt = s
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			return d, false
		}
		d.Name, _ = s.Lhs[0].(*ast.Ident)
		d.Value = ast.Unparen(s.Rhs[0])
	case *ast.DeclStmt:
		g := s.Decl.(*ast.GenDecl)
		if g.Tok != token.VAR || len(g.Specs) != 1 {
			return d, false
		}
		spec := g.Specs[0].(*ast.ValueSpec)
		if len(spec.Names) != 1 {
			return d, false
		}
		d.Name, d.Type = spec.Names[0], spec.Type
		if len(spec.Values) == 1 {
			d.Value = ast.Unparen(spec.Values[0])
		}
	}
	if d.Name == nil {
		return d, false
	}
	d.Var, _ = p.Info.Defs[d.Name].(*types.Var)
	return d, d.Var != nil
}

// captured reports whether a function literal uses v without declaring it.
func captured(p *mutate.Pass, v *types.Var) bool {
	for lit := range mutate.Nodes[*ast.FuncLit](p, nil) {
		if !(lit.Pos() <= v.Pos() && v.Pos() < lit.End()) && len(p.Uses(v, lit)) > 0 {
			return true
		}
	}
	return false
}

// reads lists the uses of v below root. It returns nil and false if one of them assigns, captures
// or takes the address of v.
func reads(p *mutate.Pass, v *types.Var, root ast.Node) ([]*ast.Ident, bool) {
	if p.Assigned(v, root) || captured(p, v) {
		return nil, false
	}
	return p.Uses(v, root), true
}

// inside reports whether n lies within m.
func inside(n, m ast.Node) bool { return m.Pos() <= n.Pos() && n.End() <= m.End() }

// usedAfter reports whether v's function uses v behind pos.
func usedAfter(p *mutate.Pass, v *types.Var, f ast.Node, pos token.Pos) bool {
	return slices.ContainsFunc(p.Uses(v, f), func(id *ast.Ident) bool { return id.Pos() >= pos })
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

// stable reports whether e has the same value wherever root evaluates it: it is pure, and root
// changes none of its parts.
func stable(p *mutate.Pass, e ast.Expr, root ast.Node) bool {
	f := p.Effects(e)
	if f.Writes || f.Panics {
		return false
	}
	for id := range mutate.Nodes[*ast.Ident](p, e) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v.IsField() {
			continue
		}
		if root.Pos() <= v.Pos() && v.Pos() < root.End() && !(e.Pos() <= v.Pos() && v.Pos() < e.End()) {
			return false // root declares it
		}
		if !p.IsGlobal(v) && (p.Assigned(v, root) || captured(p, v) && p.Assigned(v, p.FuncOf(root))) {
			return false
		}
	}
	return !f.Reads || !changesMemory(p, root)
}

// changesMemory reports whether n may change memory other than plain local variables.
func changesMemory(p *mutate.Pass, n ast.Node) bool {
	changes := false
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.AssignStmt:
			for _, l := range m.Lhs {
				changes = changes || !plainLocal(p, l)
			}
		case *ast.IncDecStmt:
			changes = changes || !plainLocal(p, m.X)
		case *ast.CallExpr:
			changes = changes || callChanges(p, m)
		case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt:
			changes = true
		case *ast.UnaryExpr:
			changes = changes || m.Op == token.ARROW
		}
		return !changes
	})
	return changes
}

func plainLocal(p *mutate.Pass, e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	// A type switch's variable has no object of its own.
	return ok && (id.Name == "_" || p.Info.ObjectOf(id) == nil || local(p, p.Var(id)))
}

// callChanges reports whether a call may change memory. append counts as a change, since it writes
// behind the length of its argument.
func callChanges(p *mutate.Pass, call *ast.CallExpr) bool {
	if p.Info.Types[call.Fun].IsType() {
		return false
	}
	switch obj := p.Callee(call).(type) {
	case *types.Builtin:
		return slices.Contains([]string{"append", "copy", "clear", "delete", "close", "print", "println", "panic",
			"recover"}, obj.Name())
	case *types.Func:
		return p.Effects(call).Writes
	}
	return true
}

// typeText writes a type in the terms of the candidate. ok is false if the type needs a package
// that the file does not import by name.
func typeText(p *mutate.Pass, t types.Type) (text string, ok bool) {
	ok = true
	text = types.TypeString(t, func(pkg *types.Package) string {
		if pkg == p.Pkg {
			return ""
		}
		for _, s := range p.File.Imports {
			if s.Path.Value != strconv.Quote(pkg.Path()) {
				continue
			}
			if s.Name == nil {
				return pkg.Name()
			}
			if s.Name.Name != "_" && s.Name.Name != "." {
				return s.Name.Name
			}
		}
		ok = false
		return pkg.Name()
	})
	return text, ok
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

// converts recognises the conversion T(e), where T is "string", "[]byte" or "[]rune", and e has
// exactly the other type.
func converts(p *mutate.Pass, e ast.Expr, to string) (from ast.Expr, ok bool) {
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

// constString returns the value of a constant string expression.
func constString(p *mutate.Pass, e ast.Expr) (string, bool) {
	tv := p.Info.Types[e]
	if tv.Value == nil || p.Basic(e) != types.String && p.Basic(e) != types.UntypedString {
		return "", false
	}
	s, err := strconv.Unquote(tv.Value.ExactString())
	return s, err == nil
}

// hoistable returns the statement in front of which code may evaluate e in advance. e must be pure,
// and the statement must evaluate it exactly once, as far as control reaches it.
func hoistable(p *mutate.Pass, e ast.Expr) (ast.Stmt, bool) {
	var child ast.Node = e
	path := p.Path(e)
	for i, up := range path {
		if up == child || i == 0 && up.Pos() == e.Pos() && up.End() == e.End() {
			continue
		}
		switch up := up.(type) {
		case *ast.BinaryExpr:
			if (up.Op == token.LAND || up.Op == token.LOR) && up.Y == child {
				return nil, false
			}
		case *ast.IfStmt:
			if up.Else == child || up.Init != nil && up.Init != child {
				return nil, false
			}
		case *ast.SwitchStmt:
			if up.Init != nil && up.Init != child {
				return nil, false
			}
		case *ast.ForStmt, *ast.TypeSwitchStmt, *ast.CommClause, *ast.FuncLit, *ast.FuncDecl, *ast.GenDecl:
			return nil, false
		}
		if s, ok := child.(ast.Stmt); ok {
			switch up := up.(type) {
			case *ast.BlockStmt:
				return s, true
			case *ast.CaseClause:
				return s, slices.Contains(up.Body, s)
			}
		}
		if c, ok := up.(*ast.CaseClause); ok && !slices.Contains(c.Body, asStmt(child)) {
			return nil, false
		}
		child = up
	}
	return nil, false
}

func asStmt(n ast.Node) ast.Stmt {
	s, _ := n.(ast.Stmt)
	return s
}

// goAtLeast reports whether the module's language version is at least 1.minor.
func goAtLeast(p *mutate.Pass, minor int) bool {
	if p.Target == nil || p.Target.Go == "" {
		return true
	}
	major, rest, _ := strings.Cut(p.Target.Go, ".")
	rest, _, _ = strings.Cut(rest, ".")
	n, err := strconv.Atoi(rest)
	return major != "1" || err == nil && n >= minor
}

// countTo returns the head of a loop that counts an int from 0, in the module's language version.
func countTo(p *mutate.Pass, index, limit string) string {
	if goAtLeast(p, 22) {
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
		if !slices.ContainsFunc(edits, func(e mutate.Edit) bool { return mentionsPackage(e.New, base) }) {
			continue
		}
		name, imports := p.Import(path)
		out = append(out, imports...)
		for i := range edits {
			if name != base && mentionsPackage(edits[i].New, base) {
				edits[i].New = renamePackage(edits[i].New, base, name)
			}
		}
	}
	return append(mergeImports(p, out), edits...)
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

// mergeImports joins several edits that each turn the same single import into a group.
func mergeImports(p *mutate.Pass, edits []mutate.Edit) []mutate.Edit {
	var out []mutate.Edit
	for _, e := range edits {
		if n := len(out); n > 0 && e.Start == out[n-1].Start && e.End == out[n-1].End && e.Start < e.End {
			added := strings.TrimSuffix(strings.SplitN(e.New, "\n", 3)[2], ")")
			out[n-1].New = strings.TrimSuffix(out[n-1].New, ")") + added + ")"
			continue
		}
		out = append(out, e)
	}
	return out
}

var assignTokens = []token.Token{token.ASSIGN}
