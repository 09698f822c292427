package mutate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/symbol"
	"github.com/beagle-go/beagle/internal/syntax"
)

// splice applies the edits. Several insertions at one place keep their order.
func splice(src []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	inorder.By(edits, func(a, b Edit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End // insertions come before a replacement that starts there
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edit [%d, %d) overlaps another or leaves the file", e.Start, e.End)
		}
		out.Write(src[at:e.Start])
		out.WriteString(e.New)
		at = e.End
	}
	out.Write(src[at:])
	return out.Bytes(), nil
}

// unusedImports returns edits that delete the imports whose name no selector of the file uses any
// more. Blank and dot imports stay. A variable that has the name of a package is no use of it.
func unusedImports(fset *token.FileSet, f *ast.File, src []byte) []Edit {
	used := syntax.Qualifiers(f)
	var cut []Edit
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		specs := unusedSpecs(g, used)
		if len(specs) == len(g.Specs) {
			specs = []ast.Node{g}
		}
		for _, s := range specs {
			cut = append(cut, deleteLines(src, fset.Position(s.Pos()).Offset, fset.Position(s.End()).Offset))
		}
	}
	return cut
}

func unusedSpecs(g *ast.GenDecl, used map[string]bool) []ast.Node {
	var out []ast.Node
	for _, s := range g.Specs {
		spec := s.(*ast.ImportSpec)
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := importName(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name != "_" && name != "." && name != "C" && !used[name] && (spec.Name != nil || symbol.Standard(path)) {
			out = append(out, spec)
		}
	}
	return out
}

// importName returns the package name that an import path suggests. It is exact for the standard
// library.
func importName(path string) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
		last = parts[len(parts)-2]
	}
	return last
}

// deleteLines widens [start, end) to whole lines if nothing else stands on them.
func deleteLines(src []byte, start, end int) Edit {
	a, b := start, end
	for a > 0 && (src[a-1] == ' ' || src[a-1] == '\t') {
		a--
	}
	for b < len(src) && (src[b] == ' ' || src[b] == '\t') {
		b++
	}
	if (a == 0 || src[a-1] == '\n') && b < len(src) && src[b] == '\n' {
		return Edit{Start: a, End: b + 1}
	}
	return Edit{Start: start, End: end}
}
