package source

import (
	"cmp"
	"go/ast"
	"go/format"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Narrow takes back the private copies of a candidate that say what their originals
// say: see [Unit.Widen]. A copy that calls a changed one stays.
func (u *Unit) Narrow(src string) (string, error) {
	f, problem := u.Parse(src)
	if problem != nil {
		return src, nil // who checks the candidate says why
	}
	n := &narrower{unit: u, file: f, tok: f.Fset.File(f.AST.FileStart), copies: map[string]*privateCopy{}}
	n.find()
	n.findVars()
	if len(n.copies) == 0 && len(n.vars) == 0 {
		return src, nil
	}
	n.settle()
	var edits []syntax.Edit
	for _, c := range n.copies {
		if c.same {
			start := c.decl.Pos()
			if c.decl.Doc != nil {
				start = c.decl.Doc.Pos()
			}
			edits = append(edits, syntax.Edit{Start: n.tok.Offset(start), End: n.tok.Offset(c.decl.End()), New: ""})
		}
	}
	gone := map[ast.Node]bool{}
	for _, c := range n.vars {
		if c.same {
			gone[c.node] = true
			start := c.node.Pos()
			if doc := c.node.(*ast.GenDecl).Doc; doc != nil {
				start = doc.Pos()
			}
			edits = append(edits, syntax.Edit{Start: n.tok.Offset(start), End: n.tok.Offset(c.node.End()), New: ""})
		}
	}
	if len(edits) == 0 {
		return src, nil
	}
	for _, d := range f.AST.Decls {
		if gone[d] {
			continue
		}
		fn, ok := d.(*ast.FuncDecl)
		if c := n.copies[nameOf(fn, ok)]; c == nil || !c.same {
			edits = append(edits, n.restore(d, func(c *privateCopy) bool { return c.same })...)
		}
	}
	slices.SortStableFunc(edits, func(a, b syntax.Edit) int { return cmp.Compare(a.Start, b.Start) })
	return u.Normalize(syntax.Apply(src, edits))
}

func nameOf(fn *ast.FuncDecl, ok bool) string {
	if !ok || fn.Recv != nil {
		return ""
	}
	return fn.Name.Name
}

// A narrower takes copies back.
type narrower struct {
	unit   *Unit
	file   *File
	tok    *token.File
	copies map[string]*privateCopy // by name
	vars   map[string]*privateVarCopy
}

// A privateCopy is a copy in a candidate.
type privateCopy struct {
	piece *piece // the original
	decl  *ast.FuncDecl
	same  bool // it says what the original says, and calls what that calls
}

// find lists the copies.
func (n *narrower) find() {
	of := n.unit.privates()
	for _, d := range n.file.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if p := of[nameOf(fn, ok)]; p != nil {
			n.copies[fn.Name.Name] = &privateCopy{piece: p, decl: fn}
		}
	}
}

// settle finds out which copies are the same.
func (n *narrower) settle() {
	all := func(*privateCopy) bool { return true }
	for _, c := range n.copies {
		c.same = n.restored(c, all) == n.original(c)
	}
	for changed := true; changed; {
		changed = false
		for _, c := range n.copies {
			if !c.same {
				continue
			}
			ast.Inspect(c.decl.Body, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && c.same {
					if to := n.called(call); to != nil && !to.same {
						c.same, changed = false, true
					}
				}
				return true
			})
		}
	}
}

// restored is a copy's text with calls of the originals.
func (n *narrower) restored(c *privateCopy, which func(*privateCopy) bool) string {
	from := n.tok.Offset(c.decl.Pos())
	edits := n.restore(c.decl.Body, which)
	for i := range edits {
		edits[i].Start -= from
		edits[i].End -= from
	}
	slices.SortStableFunc(edits, func(a, b syntax.Edit) int { return cmp.Compare(a.Start, b.Start) })
	return printed(syntax.Apply(n.file.Src[from:n.tok.Offset(c.decl.End())], edits))
}

// original is what Widen would make of the original, with calls of originals.
func (n *narrower) original(c *privateCopy) string {
	fn, f := c.piece.decl.(*ast.FuncDecl), c.piece.file
	return printed(n.unit.privateHead(c.piece, c.decl.Name.Name) + " " +
		f.text[f.offset(fn.Body.Lbrace):f.offset(fn.Body.End())])
}

// printed is a declaration as gofmt prints it.
func printed(text string) string {
	out, err := format.Source([]byte(strings.ReplaceAll(text, "\r", "")))
	if err != nil {
		return text
	}
	return strings.TrimSpace(string(out))
}

// restore is how calls of some copies become calls of the originals.
func (n *narrower) restore(in ast.Node, which func(*privateCopy) bool) []syntax.Edit {
	var edits []syntax.Edit
	ast.Inspect(in, func(node ast.Node) bool {
		if id, ok := node.(*ast.Ident); ok {
			if v := n.variable(id); v != nil && v.same {
				edits = append(edits, syntax.Edit{
					Start: n.tok.Offset(id.Pos()),
					End:   n.tok.Offset(id.End()),
					New:   v.original,
				})
			}
		}
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if c := n.called(call); c != nil && which(c) {
			edits = append(edits, n.back(call, c)...)
		}
		return true
	})
	return edits
}

// called is the copy that a call names, or nil.
func (n *narrower) called(call *ast.CallExpr) *privateCopy {
	id, sel := calledName(call)
	if id == nil || sel != nil {
		return nil
	}
	c := n.copies[id.Name]
	if c == nil || n.file.Info.Uses[id] != n.file.Info.Defs[c.decl.Name] {
		return nil
	}
	return c
}

// back is how one call becomes a call of the original.
func (n *narrower) back(call *ast.CallExpr, c *privateCopy) []syntax.Edit {
	id, _ := calledName(call)
	at := func(p token.Pos) int { return n.tok.Offset(p) }
	name := c.piece.names[0].Name
	if c.piece.recv == "" {
		return []syntax.Edit{{Start: at(id.Pos()), End: at(id.End()), New: name}}
	}
	if len(call.Args) == 0 {
		return nil
	}
	recv := call.Args[0]
	from := recv
	switch x := recv.(type) {
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			from = x.X
		}
	case *ast.StarExpr:
		from = x.X
	}
	open, shut := "", ""
	switch from.(type) {
	case *ast.UnaryExpr, *ast.StarExpr, *ast.BinaryExpr, *ast.FuncLit, *ast.CompositeLit:
		open, shut = "(", ")"
	}
	after := recv.End()
	if len(call.Args) > 1 {
		after = call.Args[1].Pos()
	} else if call.Ellipsis.IsValid() || call.Rparen.IsValid() {
		after = call.Rparen
	}
	return []syntax.Edit{
		{Start: at(call.Pos()), End: at(from.Pos()), New: open},
		{Start: at(from.End()), End: at(after), New: shut + "." + name + "("},
	}
}
