package flow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle/internal/source"
)

// Weights of the parts that a reader must take in, in lines. A helper costs more than its lines,
// since its name stands for code elsewhere. A table has to be checked value by value. A meaningless
// name has to be kept in mind.
const (
	perHelper  = 4
	perTable   = 6
	perNumber  = 0.25 // a number in the code that is neither small nor a character
	perBadName = 2
)

// readingEffort returns the effort to read a version. The version with the least effort wins among
// those about as fast.
func readingEffort(src string) int {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return len(src)
	}
	return effort(fset, f, src)
}

// readingEffortOf is readingEffort for a version of a unit, which the unit has often read already.
func readingEffortOf(u *source.Unit, src string) int {
	if f, problem := u.Reader.Parse(src); problem == nil {
		return effort(f.Fset, f.AST, src)
	}
	return readingEffort(src)
}

// effort returns the lines of a file without comments, and a weight for each helper, table, number
// and name of the package.
func effort(fset *token.FileSet, f *ast.File, src string) int {
	// Add up lines, tables, names and long numbers.
	sum, functions := 0.0, 0
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		sum += float64(codeLines(fset, d, src))
		switch d := d.(type) {
		case *ast.FuncDecl:
			functions++
			sum += badName(d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					sum += perTable * float64(len(v.Names))
					sum += badName(v.Names[0].Name)
				}
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.INT && len(lit.Value) > 3 {
				sum += perNumber * float64(len(lit.Value)) / 4
			}
			return true
		})
	}
	return int(sum + perHelper*float64(max(0, functions-1)) + 0.5)
}

// codeLines counts the lines of a declaration that hold code.
func codeLines(fset *token.FileSet, d ast.Decl, src string) (n int) {
	for line := range strings.Lines(src[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset]) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "//") &&
			strings.Trim(text, "{})") != "" {
			n++
		}
	}
	return n
}

// badName returns the cost of a package-level name that says too little: a single letter, or a
// name that only a number tells from another.
func badName(name string) float64 {
	last := rune(name[len(name)-1])
	width := strings.HasSuffix(name, "8") || strings.HasSuffix(name, "16") || strings.HasSuffix(name, "32") ||
		strings.HasSuffix(name, "64") || strings.HasSuffix(name, "128") || strings.HasSuffix(name, "256")
	if len(name) == 1 || unicode.IsDigit(last) && !width {
		return perBadName
	}
	return 0
}
