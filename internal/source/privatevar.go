package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Limits of the initialiser of a variable that a candidate gets a copy of.
const (
	privateVarLines = 60
	privateVarBytes = 4096
)

// variable returns the name of a package variable's private copy, or "" if the variable gets none.
func (w *widener) variable(id *ast.Ident, info *types.Info) string {
	if w.most.only != nil {
		return ""
	}
	// Only variables of the package itself come into question.
	v, ok := info.Uses[id].(*types.Var)
	if !ok || v.Pkg() == nil || v.Pkg().Path() != w.copies.pkg.Types.Path() || v.Parent() != v.Pkg().Scope() {
		return ""
	}
	key := "var " + v.Name()
	if name, ok := w.names[key]; ok {
		return name
	}
	// Note the answer in advance; it is a refusal until all conditions hold.
	w.names[key] = ""
	p, text := w.copies.privateVar(v.Name())
	if p == nil || slices.Contains(w.copies.scope.pieces, p) {
		return ""
	}
	name := w.copies.privateVarName(v.Name())
	if w.locals[name] {
		return ""
	}
	if w.takenVars[name] { // an earlier step changed it
		w.names[key] = name
		return name
	}
	// The lines of all copies are bounded.
	lines := strings.Count(text, "\n") + 1
	if w.copies.scope.declare[name] || w.taken[name] || lines > privateVarLines || w.lines+lines > w.most.lines ||
		w.clash(p) {
		return ""
	}
	w.lines += lines
	w.names[key] = name
	w.added = append(w.added, name)
	fmt.Fprintf(&w.text, "\n// %s is %s as %s needs it.\nvar %s%s\n", name, v.Name(), w.copies.target.Name, name, text)
	return name
}

// privateVarName returns the name of a variable's copy.
func (cp *Copies) privateVarName(name string) string {
	target := cp.target.Name
	return lowered(name) + "For" + Exported(target[strings.LastIndexByte(target, '.')+1:])
}

// privateVar returns the declaration of a variable that a copy can replace, and the text that
// follows the copy's name. No code may change the variable, and it must hold a list or map of plain
// values, or a compiled pattern.
func (cp *Copies) privateVar(name string) (*piece, string) {
	v, ok := cp.pkg.Types.Scope().Lookup(name).(*types.Var)
	if !ok {
		return nil, ""
	}
	watched := cp.pkg.watch()
	p := cp.pkg.graph.owner[v]
	if p == nil || p.kind != "var" || len(p.names) != 1 || constrained(p.file.path, p.file.text) {
		return nil, ""
	}
	// The variable must be declared alone, in a file for all systems.
	spec := p.spec
	if g, ok := p.decl.(*ast.GenDecl); spec == nil && ok && len(g.Specs) == 1 {
		spec, _ = g.Specs[0].(*ast.ValueSpec)
	}
	if spec == nil || len(spec.Names) != 1 || spec.End()-spec.Pos() > privateVarBytes {
		return nil, ""
	}
	text := p.file.text[p.file.offset(spec.Names[0].End()):p.file.offset(spec.End())]
	// Its value must be known: a plain one that nothing changes, or a pattern that is set once,
	// before anything runs.
	switch {
	case len(spec.Values) == 1:
		if !watched.unchanged[name] || !cp.plainValue(spec.Values[0]) {
			return nil, ""
		}
	case !cp.givenPattern(p, watched.setOnce[name]):
		return nil, ""
	default:
		e := watched.setOnce[name]
		text = " = " + p.file.text[p.file.offset(e.Pos()):p.file.offset(e.End())]
	}
	copied := cp.privateVarName(name)
	if cp.pkg.Types.Scope().Lookup(copied) != nil || cp.privates()[copied] != nil || cp.pkg.localNames()[copied] {
		return nil, ""
	}
	return p, text
}

// givenPattern reports whether an init function of the variable's own file gives it a pattern,
// under names that the declaration uses too. A list or map would be seen empty by what runs before
// init; without its pattern, a function panics there.
func (cp *Copies) givenPattern(p *piece, e ast.Expr) bool {
	// The value must be in the variable's own file, where its imports are the same.
	if e == nil || e.Pos() < p.file.ast.FileStart || e.End() > p.file.ast.FileEnd ||
		e.End()-e.Pos() > privateVarBytes {
		return false
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || !cp.plainValue(call) {
		return false
	}
	known := cp.pkg.graph.uses[p].imports
	same := true
	// A package's name must lead to the same package in both places.
	ast.Inspect(call, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if pkg, ok := cp.pkg.info.Uses[id].(*types.PkgName); ok && known[id.Name] != pkg.Imported().Path() {
				same = false
			}
		}
		return same
	})
	return same
}

// plainValue reports whether an initialiser makes the same value wherever it stands: a literal of
// constants and literals, or a compiled pattern.
func (cp *Copies) plainValue(e ast.Expr) bool {
	// A compiled pattern behaves as its text says.
	if call, ok := e.(*ast.CallExpr); ok {
		_, name := syntax.Called(call)
		fn, _ := cp.pkg.info.Uses[name].(*types.Func)
		return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "regexp" && fn.Name() == "MustCompile" &&
			cp.pkg.info.Types[call.Args[0]].Value != nil
	}
	if _, ok := e.(*ast.CompositeLit); !ok {
		return false
	}
	// Calls, addresses and variables make a value that depends on where and when it is made.
	plain := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.StarExpr:
			plain = false
		case *ast.UnaryExpr:
			plain = plain && n.Op != token.AND
		case *ast.CallExpr:
			plain = plain && cp.pkg.info.Types[n.Fun].IsType()
		case *ast.Ident:
			if v, ok := cp.pkg.info.Uses[n].(*types.Var); ok && !v.IsField() {
				plain = false
			}
		}
		return plain
	})
	return plain
}

// findVars lists the copies of variables, and marks those that equal their originals.
func (n *narrower) findVars() {
	// Map the names of copies to their originals.
	originals := map[string]string{}
	for name := range n.copies.pkg.Unchanged() {
		originals[n.copies.privateVarName(name)] = name
	}
	for name := range n.copies.pkg.watch().setOnce {
		originals[n.copies.privateVarName(name)] = name
	}
	var kept map[string]bool
	for _, d := range n.file.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || len(g.Specs) != 1 {
			continue
		}
		spec := g.Specs[0].(*ast.ValueSpec)
		name := spec.Names[0].Name
		p, before := n.copies.privateVar(originals[name])
		if p == nil || len(spec.Names) != 1 {
			continue
		}
		// The whole file is looked through once, and only if there is a copy.
		if kept == nil {
			kept = n.copies.pkg.unchangedIn(n.file)
		}
		text := n.file.Src[n.tok.Offset(spec.Names[0].End()):n.tok.Offset(spec.End())]
		c := &privateCopy{piece: p, decl: g}
		c.same = spelled("var x"+text) == spelled("var x"+before) && n.sameImports(c) && kept[name]
		n.found[n.file.Info.Defs[spec.Names[0]]] = c
	}
}
