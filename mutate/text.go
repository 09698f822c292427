package mutate

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// Offset returns the byte offset of a position in Src.
func (p *Pass) Offset(pos token.Pos) int {
	if p.File.FileStart <= pos && pos <= p.File.FileEnd {
		return int(pos - p.File.FileStart)
	}
	return p.Fset.Position(pos).Offset
}

// Text returns the source text of a node, including comments inside it.
func (p *Pass) Text(n ast.Node) string { return p.Between(n.Pos(), n.End()) }

// Between returns the source text from one position to another.
func (p *Pass) Between(from, to token.Pos) string {
	return string(p.base().Src[p.Offset(from):p.Offset(to)])
}

// TextWith returns the text of n in which sub may replace nodes, outermost first. Rules use it to
// repeat a loop's body with another index.
func (p *Pass) TextWith(n ast.Node, sub func(ast.Node) (string, bool)) string {
	var out strings.Builder
	at := n.Pos()
	ast.Inspect(n, func(m ast.Node) bool {
		if m == nil {
			return true
		}
		text, ok := sub(m)
		if !ok {
			return true
		}
		out.WriteString(p.Between(at, m.Pos()))
		out.WriteString(text)
		at = m.End()
		return false
	})
	out.WriteString(p.Between(at, n.End()))
	return out.String()
}

// BodyText returns the text between the braces of a block, without the surrounding blank space. It
// keeps a comment after the last statement.
func (p *Pass) BodyText(b *ast.BlockStmt) string {
	return strings.TrimSpace(p.Between(b.Lbrace+1, b.Rbrace))
}

// Replace replaces a node.
func (p *Pass) Replace(n ast.Node, text string) Edit { return p.Span(n.Pos(), n.End(), text) }

// Span replaces the text between two positions.
func (p *Pass) Span(from, to token.Pos, text string) Edit {
	return Edit{Start: p.Offset(from), End: p.Offset(to), New: text}
}

// Insert puts text before a position.
//
//go:noinline
func (p *Pass) Insert(pos token.Pos, text string) Edit { return p.Span(pos, pos, text) }

// Delete removes a statement or declaration together with its line.
func (p *Pass) Delete(n ast.Node) Edit {
	return deleteLines(p.Src, p.Offset(n.Pos()), p.Offset(n.End()))
}

// Declare adds package-level declarations after the declaration that holds n, separated by blank
// lines.
func (p *Pass) Declare(n ast.Node, text string) Edit {
	for _, d := range p.File.Decls {
		if d.Pos() <= n.Pos() && n.End() <= d.End() {
			return p.Insert(p.lineEnd(d.End()), "\n\n"+strings.TrimSpace(text)+"\n")
		}
	}
	return Edit{Start: len(p.Src), End: len(p.Src), New: "\n" + strings.TrimSpace(text) + "\n"}
}

// lineEnd moves a position after a comment on the same line.
func (p *Pass) lineEnd(pos token.Pos) token.Pos {
	line := p.Fset.Position(pos).Line
	for _, g := range p.File.Comments {
		if g.Pos() >= pos && p.Fset.Position(g.Pos()).Line == line {
			return g.End()
		}
	}
	return pos
}

// enclosing lists the nodes of a file around the place where n would stand, the innermost first.
func enclosing(f *ast.File, n ast.Node) []ast.Node {
	path, _ := astutil.PathEnclosingInterval(f, n.Pos(), n.End())
	return path
}

// FuncOf returns the function declaration that holds n, or nil.
func (p *Pass) FuncOf(n ast.Node) *ast.FuncDecl {
	for _, d := range p.File.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= n.Pos() && n.End() <= f.End() {
			return f
		}
	}
	return nil
}

func stmtsOf(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}
