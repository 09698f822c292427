package source

import (
	"cmp"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// stdNames lists the packages that a missing import may mean.
var stdNames = map[string]string{
	"binary": "encoding/binary", "bits": "math/bits", "bufio": "bufio", "bytes": "bytes", "cmp": "cmp",
	"errors": "errors", "fmt": "fmt", "hex": "encoding/hex", "io": "io", "iter": "iter", "maphash": "hash/maphash",
	"maps": "maps", "math": "math", "slices": "slices", "sort": "sort", "strconv": "strconv", "strings": "strings",
	"sync": "sync", "atomic": "sync/atomic", "time": "time", "unicode": "unicode", "utf16": "unicode/utf16",
	"utf8": "unicode/utf8", "unsafe": "unsafe",
}

// An importSpec is one import: the name is "" when the package's own is used.
type importSpec struct{ name, path string }

func (s importSpec) String() string {
	if s.name == "" {
		return strconv.Quote(s.path)
	}
	return s.name + " " + strconv.Quote(s.path)
}

// Normalize gives a candidate its canonical text: one block of the imports that it uses, standard
// library first, and gofmt. Normalize(Normalize(s)) equals Normalize(s).
func (r *Reader) Normalize(src string) (string, error) {
	t, err := syntax.Read(src)
	if err != nil {
		return "", err
	}
	return r.Canonical(t)
}

// Canonical is Normalize for a caller that has parsed the source. It may change the tree.
func (r *Reader) Canonical(t *syntax.Text) (string, error) {
	src, f, tok := t.Src, t.File, t.Fset.File(t.File.FileStart)
	var b strings.Builder
	header, last := src[:tok.Offset(f.Name.End())], tok.Offset(f.Name.End())
	plain := header == "package "+f.Name.Name // and no comments stand between imports
	b.WriteString(header + "\n")
	if specs := r.wantedImports(f); len(specs) > 0 {
		b.WriteString("\n" + importBlock(specs))
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		start, end := g.Pos(), tok.Offset(g.End())
		if g.Doc != nil {
			start = g.Doc.Pos()
		}
		// or canonical text would change, and be read again
		if between := src[last:tok.Offset(start)]; strings.TrimSpace(between) != "" {
			b.WriteString(between + "\n")
			plain = false
		}
		last = end
		if src[last:] != "" && src[last] == ';' {
			last++
		}
		last += lineComment(src[last:])
	}
	if plain {
		if text, ok := r.printed(b.String(), t, last); ok {
			return text, nil
		}
	}
	b.WriteString("\n" + strings.TrimLeft(src[last:], "\n"))
	return formatted(b.String(), t)
}

// lineComment returns the length of a comment that ends the line at the start of s.
func lineComment(s string) int {
	line, _, _ := strings.Cut(s, "\n")
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "//") {
		return len(line)
	}
	return 0
}

// wantedImports returns the imports that the file needs, in canonical order.
func (r *Reader) wantedImports(f *ast.File) []importSpec {
	// Keep the imports that are used, and those whose name is unknown. An explicit name that is the
	// package's own is left out.
	free := syntax.Qualifiers(f)
	var out []importSpec
	have := map[string]bool{}
	for _, s := range f.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		spec := importSpec{path: path}
		local, known := r.pkg.packageName(path)
		if s.Name != nil {
			if s.Name.Name != local || !known {
				spec.name = s.Name.Name
			}
			local, known = s.Name.Name, true
		}
		if local == "_" || local == "." || free[local] || !known {
			if !slices.Contains(out, spec) {
				out = append(out, spec)
			}
			have[local] = true
		}
	}
	// Add those that are missing: what the package imports under the name, or else a package of the
	// library.
	for name := range free {
		if have[name] || r.scope.declare[name] {
			continue
		}
		if spec, ok := r.imported(name); ok {
			out = append(out, spec)
		} else if path, ok := stdNames[name]; ok {
			out = append(out, importSpec{path: path})
		}
	}
	inorder.By(out, importOrder)
	return out
}

// importOrder compares two imports: those of the standard library come first.
func importOrder(a, b importSpec) int {
	if isStd(a.path) != isStd(b.path) {
		if isStd(a.path) {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.name, b.name))
}

// imported returns the import by which the package's own files know a name, the target's file
// first. Code that a version keeps of them needs the same import.
func (r *Reader) imported(name string) (importSpec, bool) {
	var found importSpec
	ok := false
	for _, f := range r.pkg.files {
		// Files may disagree on a name; the target's own decides.
		own := r.scope.target != nil && f == r.scope.target.file
		for _, s := range f.ast.Imports {
			path, _ := strconv.Unquote(s.Path.Value)
			spec := importSpec{path: path}
			local, _ := r.pkg.packageName(path)
			if s.Name != nil && s.Name.Name != local {
				spec.name, local = s.Name.Name, s.Name.Name
			}
			if local == name && path != "C" && (own || !ok) {
				found, ok = spec, true
			}
		}
	}
	return found, ok
}

var versionElem = regexp.MustCompile(`^v\d+$`)

// packageName returns the name in the package clause of an import path, and whether it is certain.
func (pkg *Package) packageName(path string) (string, bool) {
	if n, ok := pkg.names[path]; ok && n != "" {
		return n, true
	}
	elems := strings.Split(path, "/")
	last := elems[len(elems)-1]
	if len(elems) > 1 && versionElem.MatchString(last) {
		last = elems[len(elems)-2]
	}
	return last, isStd(path)
}

// importName returns the name by which the package's files import a package, or "". The target's
// own file decides. Files may disagree on what a name means: [Reader.imported] must find the
// package by it.
func (r *Reader) importName(path string) string {
	files := r.pkg.files
	if r.scope.target != nil {
		files = slices.Concat([]*srcFile{r.scope.target.file}, files)
	}
	for _, f := range files {
		names := importedNames(r.pkg, f.ast)
		for _, name := range inorder.Keys(names) {
			if spec, _ := r.imported(name); names[name] == path && spec.path == path && name != "_" && name != "." {
				return name
			}
		}
	}
	return ""
}

func importBlock(specs []importSpec) string {
	if len(specs) == 1 {
		return "import " + specs[0].String() + "\n"
	}
	var b strings.Builder
	b.WriteString("import (\n")
	for i, s := range specs {
		// As gofmt's users do, the standard library stands apart.
		if i > 0 && isStd(specs[i-1].path) && !isStd(s.path) {
			b.WriteString("\n")
		}
		b.WriteString("\t" + s.String() + "\n")
	}
	b.WriteString(")\n")
	return b.String()
}
