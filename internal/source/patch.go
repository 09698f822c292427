package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Patch turns a candidate into a change of the user's files. A changed declaration is replaced in
// its place, a dropped one is removed, a new one follows the target, and imports follow the code.
// All other text keeps its bytes. extra holds further files, such as a regression test.
func (w *Writer) Patch(src string, extra []beagle.PatchFile) (beagle.Patch, error) {
	// The candidate must still be one: the user's files may have changed.
	f, problem := w.reader.Parse(src)
	if problem != nil {
		return beagle.Patch{},
			fmt.Errorf("the candidate for %s: line %d: %s", w.target.Spec(), problem.Line, problem.Message)
	}
	// Find out which declarations of the candidate stand for which of the package, and rewrite each
	// file.
	m := w.match(f)
	var patch beagle.Patch
	patched := map[*srcFile]string{}
	for _, file := range w.pkg.files {
		after, err := m.rewrite(file)
		if err != nil {
			return beagle.Patch{}, err
		}
		patched[file] = after
		if after != file.text {
			path, err := filepath.Rel(w.target.Dir, file.path)
			if err != nil {
				return beagle.Patch{}, err
			}
			path = filepath.ToSlash(path)
			patch.Files = append(patch.Files, beagle.PatchFile{Path: path, Before: fileHash(file.text), After: after})
			patch.Diff += unified(path, file.text, after, false)
		}
	}
	// Never return a patch that does not compile.
	if err := w.compiles(patched); err != nil {
		return beagle.Patch{}, fmt.Errorf("the patch for %s would not compile: %w", w.target.Spec(), err)
	}
	// Further files are new, or replace one of the module.
	for _, e := range extra {
		before, err := w.replacedText(e)
		if err != nil {
			return beagle.Patch{}, err
		}
		patch.Files = append(patch.Files, e)
		patch.Diff += unified(e.Path, before, e.After, e.Before == "")
	}
	return patch, nil
}

// replacedText returns the text that a further file replaces. That of go.mod is the one that the
// change was made from: a diff from a later one would take back what the user changed since.
func (w *Writer) replacedText(e beagle.PatchFile) (string, error) {
	if e.Before == "" {
		return "", nil
	}
	if text, ok := w.required.originalText(e.Path); ok {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join(w.target.Dir, filepath.FromSlash(e.Path)))
	return string(text), err
}

// compiles type-checks the package with the patched files: the last guard
// before a user sees them.
func (w *Writer) compiles(text map[*srcFile]string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range w.pkg.files {
		g, err := parser.ParseFile(fset, f.path, text[f], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, g)
	}
	_, err := w.pkg.config(nil).Check(w.target.PkgPath, fset, files, nil)
	return err
}

func fileHash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// A matching maps pieces of a candidate to pieces of the user's files.
type matching struct {
	writer     *Writer
	file       *srcFile            // the candidate
	qualifiers []qualifier         // in the candidate
	stand      map[*piece][]*piece // original -> what replaces it; absent: removed
	fresh      []*piece            // new declarations, for the target's file
}

// match finds the original of each declaration of a candidate. A declaration without one is new.
func (w *Writer) match(f *File) *matching {
	file := &srcFile{path: candidateName, text: f.Src, tok: f.Fset.File(f.AST.FileStart), ast: f.AST}
	m := &matching{writer: w, file: file, stand: map[*piece][]*piece{}}
	m.findQualifiers(f)
	// A group may give several names, and each leads to it.
	byKey := map[string]*piece{}
	for _, s := range w.scope.pieces {
		for _, key := range s.keys() {
			byKey[key] = s
		}
	}
	for _, p := range pieces(file) {
		// Imports are put together from what the patched file uses.
		if p.kind == "import" {
			continue
		}
		if was := m.original(p, byKey); was != nil {
			m.stand[was] = append(m.stand[was], p)
		} else {
			m.fresh = append(m.fresh, p)
		}
	}
	return m
}

// original finds the piece that p replaces. A line of a group can only be
// replaced by a line of its own kind.
func (m *matching) original(p *piece, byKey map[string]*piece) *piece {
	for _, key := range p.keys() {
		was := byKey[key]
		if was == nil || was.spec != nil && (was.kind != p.kind || !isSingleSpec(p)) {
			continue
		}
		return was
	}
	return nil
}

// isSingleSpec reports whether a piece is one spec, so that it fits in a group.
func isSingleSpec(p *piece) bool {
	g, ok := p.decl.(*ast.GenDecl)
	return ok && (p.spec != nil || len(g.Specs) == 1)
}

// rewrite returns the new text of one of the user's files.
func (m *matching) rewrite(file *srcFile) (string, error) {
	// Keep the file's line ends.
	crlf := strings.Contains(file.text, "\r\n")
	names := newFileImports(m.writer.pkg, file)
	var edits []syntax.Edit
	var gone []*piece
	// Replace what changed, leave what did not, and note what is gone.
	for _, was := range m.writer.scope.pieces {
		if was.file != file {
			continue
		}
		now := m.stand[was]
		if len(now) == 0 {
			gone = append(gone, was)
			continue
		}
		if m.unchanged(was, now) && was != m.writer.scope.target {
			continue
		}
		text := m.replacement(was, now, names)
		// New declarations follow the target.
		if was == m.writer.scope.target {
			for _, p := range m.fresh {
				text += "\n\n" + p.standalone(m.renamed(names))
			}
			if m.unchanged(was, now) && len(m.fresh) == 0 {
				continue
			}
		}
		edits = append(edits, syntax.Edit{Start: was.start, End: was.end, New: newlines(text, crlf)})
	}
	// Imports come last, when it is known what the file uses.
	edits = append(edits, removals(file, gone)...)
	if len(edits) == 0 {
		return file.text, nil
	}
	return names.finish(syntax.Apply(file.text, edits), crlf)
}

// unchanged compares texts as gofmt would print them, so that a user's own
// layout is not touched without need.
func (m *matching) unchanged(was *piece, now []*piece) bool {
	return len(now) == 1 && canonical(was.standalone(was.file.plain)) == canonical(now[0].standalone(m.file.plain))
}

// canonical returns the gofmt form of a declaration.
func canonical(text string) string {
	out, err := format.Source([]byte(strings.ReplaceAll(text, "\r", "")))
	if err != nil {
		return text
	}
	// A group of one line is the line.
	return strings.TrimSpace(string(out))
}

// replacement returns the text for a piece's place. A doc comment that the candidate dropped stays.
func (m *matching) replacement(was *piece, now []*piece, names *fileImports) string {
	r := m.renamed(names)
	// Several declarations may stand for one, if a version splits it.
	var parts []string
	for i, p := range now {
		text := p.standalone(r)
		if was.spec != nil {
			text = p.line(r)
		}
		switch doc := strings.ReplaceAll(was.doc(), "\r", ""); {
		// A first declaration without a comment gets the original's.
		case i == 0 && p.doc() == "":
			text = doc + text
		case i == 0 && m.writer.scope.documented(was): // what an API promises is not a version's to change
			text = doc + missingDirectives(doc, m.writer.conditions.statedIn(was, p.doc())) +
				r(p.file.offset(p.startAfterDoc()), p.end)
		}
		parts = append(parts, text)
	}
	sep := "\n\n"
	if was.spec != nil {
		sep = "\n"
	}
	return strings.Join(parts, sep)
}

// renamed gives the candidate's text with the package names of the file that
// receives it, and notes what that file has to import.
func (m *matching) renamed(names *fileImports) render {
	return func(start, end int) string {
		var edits []syntax.Edit
		// Only names within the part that is written.
		for _, q := range m.qualifiers {
			if q.at < start || q.at >= end {
				continue
			}
			if name := names.use(q.path, q.name); name != q.name {
				edits = append(edits, syntax.Edit{Start: q.at - start, End: q.at - start + len(q.name), New: name})
			}
		}
		return syntax.Apply(m.file.text[start:end], edits)
	}
}

// A qualifier is one use of an imported package's name.
type qualifier struct {
	at         int
	name, path string
}

func (m *matching) findQualifiers(f *File) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		// The path is what stays the same in another file; the name may not.
		if pkg, ok := f.Info.Uses[id].(*types.PkgName); ok {
			m.qualifiers = append(m.qualifiers, qualifier{m.file.offset(id.Pos()), id.Name, pkg.Imported().Path()})
		}
		return true
	})
}

func newlines(text string, crlf bool) string {
	if crlf {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// removals returns the edits that take pieces out, with the blank line after them, and a whole
// group if nothing is left in it.
func removals(file *srcFile, gone []*piece) []syntax.Edit {
	// Count what is left of each group.
	left := map[ast.Decl]int{}
	for _, p := range gone {
		if g, ok := p.decl.(*ast.GenDecl); ok && p.spec != nil {
			if _, seen := left[g]; !seen {
				left[g] = len(g.Specs)
			}
			left[g]--
		}
	}
	var out []syntax.Edit
	done := map[ast.Decl]bool{}
	// A group of which nothing is left goes as a whole.
	for _, p := range gone {
		q := *p
		if p.spec != nil && left[p.decl] == 0 {
			if done[p.decl] {
				continue
			}
			done[p.decl] = true
			q.span(p.decl.(*ast.GenDecl).Doc, p.decl, nil)
		}
		out = append(out, removal(file.text, q.start, q.end))
	}
	return joinTouching(file.text, out)
}

// joinTouching makes one removal of those that touch: of two neighbours the first may
// take the blank line between them, and the second too when it is the last of
// the file.
func joinTouching(text string, removed []syntax.Edit) []syntax.Edit {
	inorder.By(removed, func(a, b syntax.Edit) int { return a.Start - b.Start })
	var out []syntax.Edit
	for _, e := range removed {
		// Ranges that touch or overlap become one.
		if n := len(out) - 1; n >= 0 && e.Start <= out[n].End {
			out[n].End = max(out[n].End, e.End)
			// At the end of the file no blank line is left.
			if e.End == len(text) {
				out[n].Start = skipLine(text, len(strings.TrimRight(text[:out[n].Start], "\r\n")))
			}
			continue
		}
		out = append(out, e)
	}
	return out
}

// removal takes a range out with its line, and one of the blank lines around.
func removal(text string, start, end int) syntax.Edit {
	if !ownLine(text, start, end) {
		return withSemicolon(text, start, end)
	}
	// The indentation goes with the line.
	for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
		start--
	}
	end = skipLine(text, end)
	// One of two blank lines around it stays.
	blankBefore := start == 0 || strings.HasSuffix(strings.ReplaceAll(text[:start], "\r", ""), "\n\n")
	if after := skipLine(text, end); blankBefore && after > end && strings.TrimSpace(text[end:after]) == "" {
		end = after
	} else if end == len(text) {
		start = len(strings.TrimRight(text[:start], "\r\n"))
		start = skipLine(text, start)
	}
	return syntax.Edit{Start: start, End: end, New: ""}
}

// ownLine reports whether nothing but comments shares the lines of a range.
func ownLine(text string, start, end int) bool {
	line := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
	rest := strings.TrimSpace(text[end:skipLine(text, end)])
	return strings.TrimSpace(line) == "" && (rest == "" || strings.HasPrefix(rest, "//"))
}

// withSemicolon takes out a range that shares its line, with the separator
// after it.
func withSemicolon(text string, start, end int) syntax.Edit {
	if after := strings.TrimLeft(text[end:], " \t"); strings.HasPrefix(after, ";") {
		end = len(text) - len(after) + 1
	}
	return syntax.Edit{Start: start, End: end, New: ""}
}

// skipLine returns the offset of the next line.
func skipLine(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// parseText parses a text that is known to be a Go file, for its imports and
// free names.
func parseText(text string) (*ast.File, *token.File, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "patched.go", text, parser.ParseComments)
	if err != nil {
		return nil, nil, fmt.Errorf("the patched file does not parse: %w", err)
	}
	return f, fset.File(f.FileStart), nil
}
