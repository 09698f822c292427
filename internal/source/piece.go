package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A srcFile is one parsed file.
type srcFile struct {
	path string
	text string
	tok  *token.File
	ast  *ast.File
}

func readFile(fset *token.FileSet, path string) (*srcFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFile(fset, path, string(text), parser.ParseComments|parser.SkipObjectResolution)
}

func parseFile(fset *token.FileSet, path, text string, mode parser.Mode) (*srcFile, error) {
	f, err := parser.ParseFile(fset, path, text, mode)
	if err != nil {
		return nil, err
	}
	return &srcFile{path: path, text: text, tok: fset.File(f.FileStart), ast: f}, nil
}

func (f *srcFile) offset(p token.Pos) int { return f.tok.Offset(p) }

// A piece is the smallest run of declarations that can be moved or replaced
// as text: a function, a type declaration, a group of constants that hang
// together through iota, or one line of any other var or const group.
type piece struct {
	file       *srcFile
	decl       ast.Decl
	spec       *ast.ValueSpec // set if the piece is one spec of a parenthesised group
	names      []*ast.Ident   // declared names; for a method, its name
	kind       string         // "func", "var", "const", "type" or "import"
	recv       string         // base type of a method's receiver
	start, end int            // byte range, doc comment and trailing comment included
}

// key returns the name under which a piece is known in a [beagle.Decl].
func (p *piece) key() string {
	if len(p.names) == 0 {
		return ""
	}
	if p.recv != "" {
		return p.recv + "." + p.names[0].Name
	}
	return p.names[0].Name
}

func (p *piece) keys() []string {
	if p.recv != "" || len(p.names) == 0 {
		return []string{p.key()}
	}
	var out []string
	for _, n := range p.names {
		out = append(out, n.Name)
	}
	return out
}

// A render returns the bytes [start, end) of a piece's file, perhaps with
// names changed.
type render func(start, end int) string

func (f *srcFile) plain(start, end int) string { return f.text[start:end] }

// standalone returns the piece as a top-level declaration.
func (p *piece) standalone(r render) string {
	if p.spec == nil {
		return r(p.start, p.end)
	}
	at := p.file.offset(p.spec.Pos())
	return r(p.start, at) + p.kind + " " + r(at, p.end)
}

// line returns a variable or constant as a line of a group.
func (p *piece) line(r render) string {
	g := p.decl.(*ast.GenDecl)
	spec := g.Specs[0].(*ast.ValueSpec)
	doc := g.Doc
	// A variable of its own is a declaration, whose comment stands in front of the keyword.
	if p.spec != nil {
		spec, doc = p.spec, nil
	}
	if doc == nil {
		doc = spec.Doc
	}
	text := commentText(doc) + r(p.file.offset(spec.Pos()), p.file.offset(spec.End()))
	if spec.Comment != nil {
		text += " " + strings.TrimSpace(commentText(spec.Comment))
	}
	return text
}

// doc returns the piece's doc comment with the line break after it, or "".
func (p *piece) doc() string {
	return p.file.text[p.start:p.file.offset(p.startAfterDoc())]
}

// startAfterDoc returns the start of the piece after its doc comment.
func (p *piece) startAfterDoc() token.Pos {
	if p.spec != nil {
		return p.spec.Pos()
	}
	return p.decl.Pos()
}

// pieces splits a file.
func pieces(f *srcFile) []*piece {
	var out []*piece
	for _, d := range f.ast.Decls {
		// Each function is a piece, and so is each part of a group that can stand alone.
		switch d := d.(type) {
		case *ast.FuncDecl:
			p := &piece{file: f, decl: d, kind: "func", names: []*ast.Ident{d.Name}, recv: syntax.Receiver(d)}
			p.span(d.Doc, d, nil)
			out = append(out, p)
		case *ast.GenDecl:
			out = append(out, genPieces(f, d)...)
		}
	}
	return out
}

// genPieces splits a group of variables into its parts. Constants of a group may depend on each
// other's order, and stay together, as do types.
func genPieces(f *srcFile, d *ast.GenDecl) []*piece {
	whole := &piece{file: f, decl: d, kind: d.Tok.String()}
	whole.span(d.Doc, d, nil)
	// Parts that depend on their order stay one piece.
	split := d.Lparen.IsValid() && len(d.Specs) > 1 && !hangsTogether(d)
	var out []*piece
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			whole.names = append(whole.names, s.Name)
		case *ast.ValueSpec:
			if !split {
				whole.names = append(whole.names, s.Names...)
				continue
			}
			p := &piece{file: f, decl: d, spec: s, kind: whole.kind, names: s.Names}
			p.span(s.Doc, s, s.Comment)
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		out = append(out, whole)
	}
	return out
}

// hangsTogether reports whether the specs of a group depend on their order:
// iota or an expression repeated implicitly.
func hangsTogether(d *ast.GenDecl) bool {
	if d.Tok != token.CONST {
		return d.Tok != token.VAR
	}
	for _, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		// Without a value, a constant repeats the line before with another iota.
		iota := len(s.Values) == 0
		for _, v := range s.Values {
			ast.Inspect(v, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				iota = iota || ok && id.Name == "iota"
				return true
			})
		}
		if iota {
			return true
		}
	}
	return false
}

// span sets the byte range: from the doc comment to the end of the comment on
// the last line.
func (p *piece) span(doc *ast.CommentGroup, n ast.Node, comment *ast.CommentGroup) {
	f := p.file
	p.start, p.end = f.offset(n.Pos()), f.offset(n.End())
	if doc != nil {
		p.start = f.offset(doc.Pos())
	}
	if comment != nil {
		p.end = f.offset(comment.End())
		return
	}
	// A comment after the last token belongs to the piece if nothing else follows on the line.
	line := f.text[p.end:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = strings.TrimRight(line, " \t\r")
	if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "//") ||
		strings.HasPrefix(rest, "/*") && strings.Index(rest, "*/") == len(rest)-2 {
		p.end += len(line)
	}
}
