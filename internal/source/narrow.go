package source

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Narrow takes back the private copies of a candidate that equal their originals: see
// [Copies.Widen]. A copy stays if it uses a changed copy, if the candidate writes to it, or if the
// original's name means something else there.
func (cp *Copies) Narrow(src string) (string, error) {
	f, problem := cp.reader.Parse(src)
	if problem != nil {
		return src, nil // the check of the candidate says why
	}
	n := &narrower{copies: cp, file: f, tok: f.Fset.File(f.AST.FileStart), found: map[types.Object]*privateCopy{}}
	// Copies are found by their names, and then compared with their originals.
	n.imports = importedNames(cp.pkg, f.AST)
	n.findFuncs()
	n.findVars()
	n.findForeign()
	if len(n.found) == 0 {
		return src, nil
	}
	n.findUses()
	n.settle()
	// The edits need the final verdict on each copy.
	edits := n.edits()
	if len(edits) == 0 {
		return src, nil
	}
	return cp.reader.Normalize(syntax.Apply(src, edits))
}

// A narrower takes copies back.
type narrower struct {
	copies  *Copies
	file    *File
	tok     *token.File
	imports map[string]string // paths, by the name in the candidate
	found   map[types.Object]*privateCopy
	uses    []copyUse
}

// A privateCopy is the copy of a function or variable in a candidate.
type privateCopy struct {
	piece *piece // the original
	decl  ast.Decl
	same  bool // it says what the original says, and everything that it uses does

	foreign *foreign   // the original, where it is of another package
	more    []ast.Decl // its declarations
}

// A copyUse is an identifier that names a copy.
type copyUse struct {
	of, in *privateCopy  // in is the copy that holds the identifier, or nil
	back   []syntax.Edit // names the original instead; empty if that is impossible
}

// findFuncs lists the copies of functions.
func (n *narrower) findFuncs() {
	of := n.copies.privates()
	for _, d := range n.file.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		if p := of[fn.Name.Name]; p != nil {
			n.found[n.file.Info.Defs[fn.Name]] = &privateCopy{piece: p, decl: fn}
		}
	}
}

// findUses lists the uses of copies.
func (n *narrower) findUses() {
	for _, d := range n.file.AST.Decls {
		in := n.declared(d)
		calls := map[*ast.Ident]*ast.CallExpr{}
		ast.Inspect(d, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				// A method's copy is called as a function, so only plain names are calls of copies.
				if id, sel := calledName(node); id != nil && sel == nil {
					calls[id] = node
				}
			case *ast.Ident:
				if c := n.found[n.file.Info.Uses[node]]; c != nil {
					n.uses = append(n.uses, copyUse{of: c, in: in, back: n.restoreName(node, calls[node], c)})
				}
			}
			return true
		})
	}
}

// declared returns the copy that a declaration declares, or nil.
func (n *narrower) declared(d ast.Decl) *privateCopy {
	for _, c := range n.found {
		if c.decl == d {
			return c
		}
	}
	return nil
}

// settle finds the copies that equal their originals, with all copies that they use.
func (n *narrower) settle() {
	// A copy is the same if its text with the original names restored is the original's.
	for _, c := range n.found {
		if fn, ok := c.decl.(*ast.FuncDecl); ok && c.foreign == nil {
			c.same = n.restored(c, fn) == n.original(c, fn) && n.sameImports(c)
		}
	}
	// A use that cannot be put back keeps the copy.
	for _, use := range n.uses {
		if len(use.back) == 0 {
			use.of.same = false
		}
	}
	// And a copy that uses a changed one is changed as well, however long the chain.
	for changed := true; changed; {
		changed = false
		for _, use := range n.uses {
			if use.in != nil && use.in.same && !use.of.same {
				use.in.same, changed = false, true
			}
		}
	}
}

// edits remove the copies that are the same, and name their originals.
func (n *narrower) edits() []syntax.Edit {
	var edits []syntax.Edit
	// Drop the copies that equal their originals, with their comments.
	for _, c := range n.found {
		if !c.same {
			continue
		}
		decls := c.more
		if c.foreign == nil {
			decls = []ast.Decl{c.decl}
		}
		for _, d := range decls {
			start := d.Pos()
			if doc := docOf(d); doc != nil {
				start = doc.Pos()
			}
			edits = append(edits, syntax.Edit{Start: n.tok.Offset(start), End: n.tok.Offset(d.End())})
		}
	}
	// Uses of a dropped copy go back to the original, except in copies that are dropped themselves.
	for _, use := range n.uses {
		if use.of.same && (use.in == nil || !use.in.same) {
			edits = append(edits, use.back...)
		}
	}
	return edits
}

func docOf(d ast.Decl) *ast.CommentGroup {
	if fn, ok := d.(*ast.FuncDecl); ok {
		return fn.Doc
	}
	return d.(*ast.GenDecl).Doc
}

// sameImports reports whether the package names in a copy mean the same packages as in its
// original.
func (n *narrower) sameImports(c *privateCopy) bool {
	original := n.copies.pkg.graph.uses[c.piece].imports
	same := true
	ast.Inspect(c.decl, func(node ast.Node) bool {
		if id, ok := node.(*ast.Ident); ok {
			if _, ok := n.file.Info.Uses[id].(*types.PkgName); ok && n.imports[id.Name] != original[id.Name] {
				same = false
			}
		}
		return same
	})
	return same
}

// restored returns a copied function's text with the originals' names.
func (n *narrower) restored(c *privateCopy, fn *ast.FuncDecl) string {
	from := n.tok.Offset(fn.Pos())
	var edits []syntax.Edit
	for _, use := range n.uses {
		if use.in != c {
			continue
		}
		for _, e := range use.back {
			edits = append(edits, syntax.Edit{Start: e.Start - from, End: e.End - from, New: e.New})
		}
	}
	return spelled(syntax.Apply(n.file.Src[from:n.tok.Offset(fn.End())], edits))
}

// original returns the copy that Widen would make of the original, with calls of originals.
func (n *narrower) original(c *privateCopy, fn *ast.FuncDecl) string {
	body, f := c.piece.decl.(*ast.FuncDecl).Body, c.piece.file
	return spelled(n.copies.privateHead(c.piece, fn.Name.Name) + " " +
		f.text[f.offset(body.Lbrace):f.offset(body.End())])
}

// spelled returns the text of a declaration by its tokens. It leaves out comments
// and line breaks: a rewrite may have printed unchanged code anew.
func spelled(text string) string {
	// Scan the tokens. A comma or a semicolon counts only if no bracket closes behind it.
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), func(token.Position, string) {}, 0)
	var out strings.Builder
	held := "" // a semicolon or comma, which a closing bracket may drop
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return out.String()
		case token.SEMICOLON, token.COMMA:
			out.WriteString(held)
			held = tok.String() + " "
			continue
		case token.RBRACE, token.RPAREN, token.RBRACK:
		default:
			out.WriteString(held)
		}
		held = ""
		if !tok.IsLiteral() {
			lit = tok.String()
		}
		out.WriteString(lit + " ")
	}
}

// restoreName returns the edits that replace one use of a copy by the original's name; none if the
// original cannot be named. call is the call of that use, or nil.
func (n *narrower) restoreName(id *ast.Ident, call *ast.CallExpr, c *privateCopy) []syntax.Edit {
	if c.foreign != nil {
		return n.backAbroad(id, c.foreign)
	}
	name := c.piece.names[0].Name
	if c.piece.recv != "" {
		if call == nil {
			return nil
		}
		return n.backMethod(call, c.piece)
	}
	// A local of this name would hide the original.
	inner := n.file.Types.Scope().Innermost(id.Pos())
	if inner == nil {
		return nil
	}
	if in, _ := inner.LookupParent(name, id.Pos()); in != n.file.Types.Scope() {
		return nil
	}
	return []syntax.Edit{{Start: n.tok.Offset(id.Pos()), End: n.tok.Offset(id.End()), New: name}}
}

// backMethod returns the edits that turn a call of a method's copy into a call of the method: its
// first argument becomes the receiver, without the & or * that Widen may have added.
func (n *narrower) backMethod(call *ast.CallExpr, p *piece) []syntax.Edit {
	if len(call.Args) == 0 || manyValued(call, n.file.Info) {
		return nil
	}
	name, recv := p.names[0].Name, call.Args[0]
	from := recv
	// Take off the operator that made the receiver fit the parameter.
	switch x := recv.(type) {
	case *ast.UnaryExpr:
		if _, literal := ast.Unparen(x.X).(*ast.CompositeLit); x.Op == token.AND && !literal {
			from = x.X
		}
	case *ast.StarExpr:
		from = x.X
	}
	if !n.selects(from, p) {
		return nil
	}
	// A selector binds more than these operators.
	open, shut := "", ""
	switch from.(type) {
	case *ast.UnaryExpr, *ast.StarExpr, *ast.BinaryExpr, *ast.FuncLit, *ast.CompositeLit:
		open, shut = "(", ")"
	}
	// Without further arguments nothing stands between the receiver and the closing parenthesis.
	after := call.Rparen
	if len(call.Args) > 1 {
		after = call.Args[1].Pos()
	}
	at := func(p token.Pos) int { return n.tok.Offset(p) }
	return []syntax.Edit{
		{Start: at(call.Pos()), End: at(from.Pos()), New: open},
		{Start: at(from.End()), End: at(after), New: shut + "." + name + "("},
	}
}

// selects reports whether a method's name means the method p when it follows an expression.
func (n *narrower) selects(e ast.Expr, p *piece) bool {
	t := n.file.Info.TypeOf(e)
	if t == nil {
		return false
	}
	obj, path, _ := types.LookupFieldOrMethod(t, true, n.file.Types, p.names[0].Name)
	fn, ok := obj.(*types.Func)
	return ok && len(path) == 1 && syntax.FuncName(fn) == p.key()
}
