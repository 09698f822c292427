package source

import (
	"go/ast"
	"go/format"
	"go/token"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// fileImports follows the imports of one of the user's files through a patch.
type fileImports struct {
	pkg   *Package
	file  *srcFile
	names map[string]string // import path -> name in this file
	added map[string]string // import path -> name, to be imported
	used  map[string]bool   // names that the file used before the patch
}

// newFileImports notes the imports of a file by path, and which of them its code uses.
func newFileImports(pkg *Package, file *srcFile) *fileImports {
	n := &fileImports{pkg: pkg, file: file, names: map[string]string{}, added: map[string]string{}}
	for _, s := range file.ast.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		name, _ := pkg.packageName(path)
		if s.Name != nil {
			name = s.Name.Name
		}
		// A dot import has no name that code writes.
		if name != "_" && name != "." {
			n.names[path] = name
		}
	}
	// The check of the candidate reports a file that does not parse.
	if f, _, err := parseText(file.text); err == nil {
		n.used = syntax.Qualifiers(f)
	}
	return n
}

// use returns the name of a package in this file, and imports the package if the file does not.
// want is the name in the candidate.
func (n *fileImports) use(path, want string) string {
	if name, ok := n.names[path]; ok {
		return name
	}
	name := want
	for i := 2; n.isTaken(name); i++ {
		name = want + strconv.Itoa(i)
	}
	n.names[path], n.added[path] = name, name
	return name
}

func (n *fileImports) isTaken(name string) bool {
	for _, other := range n.names {
		if other == name {
			return true
		}
	}
	return n.pkg.Types.Scope().Lookup(name) != nil
}

// finish adds and removes imports in the patched text. It does not format a file that was not
// formatted before.
func (n *fileImports) finish(text string, crlf bool) (string, error) {
	text, err := n.prune(text)
	if err != nil {
		return "", err
	}
	for _, path := range inorder.Keys(n.added) {
		// The name is written out where it is not the package's own.
		spec := importSpec{path: path}
		if name, known := n.pkg.packageName(path); name != n.added[path] || !known {
			spec.name = n.added[path]
		}
		if text, err = addImport(text, spec, crlf); err != nil {
			return "", err
		}
	}
	// Formatting a file that was not would bury the patch in other changes.
	if clean, err := format.Source([]byte(n.file.text)); err == nil && string(clean) == n.file.text {
		out, err := format.Source([]byte(text))
		return string(out), err
	}
	return text, nil
}

// prune removes the imports that only replaced code used.
func (n *fileImports) prune(text string) (string, error) {
	f, tok, err := parseText(text)
	if err != nil {
		return "", err
	}
	// An import goes if code used it before, and nothing uses it any more. One that nothing used
	// was there for another reason.
	free := syntax.Qualifiers(f)
	var edits []syntax.Edit
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		var drop []*ast.ImportSpec
		for _, s := range g.Specs {
			s := s.(*ast.ImportSpec)
			path, _ := strconv.Unquote(s.Path.Value)
			if name, ok := n.names[path]; ok && !free[name] && n.used[name] {
				drop = append(drop, s)
			}
		}
		// A block without imports goes as a whole.
		if len(drop) == len(g.Specs) {
			edits = append(edits, removal(text, tok.Offset(g.Pos()), tok.Offset(g.End())))
			continue
		}
		for _, s := range drop {
			start := s.Pos()
			if s.Doc != nil {
				start = s.Doc.Pos()
			}
			edits = append(edits, dropLine(text, tok.Offset(start), tok.Offset(s.End())))
		}
	}
	return syntax.Apply(text, edits), nil
}

// dropLine takes a range out with the whole lines that it stands on.
func dropLine(text string, start, end int) syntax.Edit {
	if start < end && !ownLine(text, start, end) {
		return withSemicolon(text, start, end)
	}
	for start > 0 && text[start-1] != '\n' {
		start--
	}
	return syntax.Edit{Start: start, End: skipLine(text, end), New: ""}
}

// addImport adds an import to a file's text, in order if there is an order.
func addImport(text string, spec importSpec, crlf bool) (string, error) {
	f, tok, err := parseText(text)
	if err != nil {
		return "", err
	}
	// Find the first block of imports, other than that of cgo.
	nl := newlines("\n", crlf)
	var decl *ast.GenDecl
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT && !isC(g) {
			decl = g
			break
		}
	}
	// Without one, the import follows the package clause, on the same line if more follows there.
	if decl == nil {
		at := tok.Offset(f.Name.End())
		if strings.HasPrefix(strings.TrimLeft(text[at:], " \t"), ";") {
			return syntax.Apply(text, []syntax.Edit{{Start: at, End: at, New: "; import " + spec.String()}}), nil
		}
		at += len(strings.TrimRight(text[at:skipLine(text, at)], "\r\n"))
		return syntax.Apply(text, []syntax.Edit{{Start: at, End: at, New: nl + nl + "import " + spec.String()}}), nil
	}
	// A single import becomes a block of two, in order, with a line between the library's and
	// others.
	if !decl.Lparen.IsValid() {
		old := decl.Specs[0].(*ast.ImportSpec)
		lines := []string{text[tok.Offset(old.Pos()):tok.Offset(old.End())], spec.String()}
		if importBefore(spec, old) {
			lines[0], lines[1] = lines[1], lines[0]
		}
		sep := nl
		if isStd(spec.path) != isStd(importPath(old)) {
			sep = nl + nl
		}
		block := "import (" + nl + "\t" + lines[0] + sep + "\t" + lines[1] + nl + ")"
		return syntax.Apply(text,
			[]syntax.Edit{{Start: tok.Offset(decl.Pos()), End: tok.Offset(decl.End()), New: block}}), nil
	}
	return insertSpec(text, decl, tok, spec, nl), nil
}

// insertSpec puts an import into a parenthesised block: before the first of
// its kind that sorts after it, else after the last of its kind.
func insertSpec(text string, decl *ast.GenDecl, tok *token.File, spec importSpec, nl string) string {
	var last *ast.ImportSpec
	// Look among the imports of the same kind.
	for _, s := range decl.Specs {
		s := s.(*ast.ImportSpec)
		if isStd(importPath(s)) != isStd(spec.path) {
			continue
		}
		if importPath(s) > spec.path {
			start := s.Pos()
			if s.Doc != nil {
				start = s.Doc.Pos()
			}
			at := dropLine(text, tok.Offset(start), tok.Offset(start)).Start
			return syntax.Apply(text, []syntax.Edit{{Start: at, End: at, New: "\t" + spec.String() + nl}})
		}
		last = s
	}
	// Without one that sorts after it, it follows the last of its kind, or to the end of the
	// block where its kind begins.
	if last != nil {
		at := skipLine(text, tok.Offset(last.End()))
		return syntax.Apply(text, []syntax.Edit{{Start: at, End: at, New: "\t" + spec.String() + nl}})
	}
	if isStd(spec.path) {
		at := skipLine(text, tok.Offset(decl.Lparen))
		return syntax.Apply(text, []syntax.Edit{{Start: at, End: at, New: "\t" + spec.String() + nl + nl}})
	}
	at := dropLine(text, tok.Offset(decl.Rparen), tok.Offset(decl.Rparen)).Start
	return syntax.Apply(text, []syntax.Edit{{Start: at, End: at, New: nl + "\t" + spec.String() + nl}})
}

func importBefore(a importSpec, b *ast.ImportSpec) bool {
	if isStd(a.path) != isStd(importPath(b)) {
		return isStd(a.path)
	}
	return a.path < importPath(b)
}

func importPath(s *ast.ImportSpec) string {
	path, _ := strconv.Unquote(s.Path.Value)
	return path
}

func isC(g *ast.GenDecl) bool {
	return len(g.Specs) == 1 && importPath(g.Specs[0].(*ast.ImportSpec)) == "C"
}
