package source

import (
	"go/ast"
	"go/token"
)

// A candidate is read in this process, without walls. Texts that are short and
// stand for something huge are refused before anything looks at what they stand
// for: string constants that double line by line, and structs that do.
const (
	maxText  = 1 << 20 // bytes of a string constant
	maxParts = 1 << 12 // parts of a type, counted as often as they occur
)

// checkSize refuses what would take the reader's memory or time.
func checkSize(f *File) *Problem {
	// Measure constants and types by their declarations: a few lines that double each other make
	// gigabytes when they are checked.
	m := measurer{texts: map[string][]ast.Expr{}, types: map[string][]ast.Expr{}, known: map[string]int{}}
	ast.Inspect(f.AST, m.declare)
	for name := range m.texts {
		if m.sizeOfName("const "+name, m.texts[name], m.text) > maxText {
			return f.problem("parse", m.texts[name][0].Pos(), "the constant %s is too long: at most %d bytes",
				name, maxText)
		}
	}
	for name := range m.types {
		if m.sizeOfName("type "+name, m.types[name], m.parts) > maxParts {
			return f.problem("parse", m.types[name][0].Pos(), "the type %s has too many parts: at most %d",
				name, maxParts)
		}
	}
	// Texts in expressions may be long, too.
	var found *Problem
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.ADD && found == nil && m.text(b) > maxText {
			found = f.problem("parse", b.Pos(), "this text is too long: at most %d bytes", maxText)
		}
		return found == nil
	})
	return found
}

// A measurer adds up sizes by names alone, before any types are known: two
// declarations of one name count as one that is as large as both.
type measurer struct {
	texts, types map[string][]ast.Expr // definitions by name
	known        map[string]int        // -1 while under way
}

// declare notes the expressions of constants and the types of a file, by name. A name that is
// declared twice is measured for both.
func (m *measurer) declare(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			for _, s := range n.Specs {
				// A constant without an expression repeats the one before, which is measured
				// already.
				for i, v := range s.(*ast.ValueSpec).Values {
					if names := s.(*ast.ValueSpec).Names; i < len(names) {
						m.texts[names[i].Name] = append(m.texts[names[i].Name], v)
					}
				}
			}
		}
	case *ast.TypeSpec:
		m.types[n.Name.Name] = append(m.types[n.Name.Name], n.Type)
	}
	return true
}

// sizeOfName returns the size of a name's definition. A definition that uses its own name counts as
// infinitely large; an inner constant of the same name looks like one.
func (m *measurer) sizeOfName(key string, list []ast.Expr, size func(ast.Expr) int) int {
	// A negative size is that of a definition that is being measured: it uses its own name.
	if n, ok := m.known[key]; ok {
		if n < 0 {
			return 2 * maxText
		}
		return n
	}
	m.known[key] = -1
	sum := 0
	for _, e := range list {
		sum = min(sum+size(e), 2*maxText)
	}
	m.known[key] = sum
	return sum
}

// text returns the length of a string constant, or more.
func (m *measurer) text(e ast.Expr) int {
	switch e := e.(type) {
	// Sizes grow at each use of a name, so a few lines may make a text of gigabytes.
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return len(e.Value)
		}
	case *ast.Ident:
		if list := m.texts[e.Name]; list != nil {
			return m.sizeOfName("const "+e.Name, list, m.text)
		}
	case *ast.ParenExpr:
		return m.text(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return min(m.text(e.X)+m.text(e.Y), 2*maxText)
		}
	case *ast.CallExpr: // a conversion
		if len(e.Args) == 1 {
			return m.text(e.Args[0])
		}
	}
	return 0
}

// parts counts the parts of a type that lie in it. It does not follow pointers, slices and maps.
func (m *measurer) parts(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.Ident:
		if list := m.types[e.Name]; list != nil {
			return m.sizeOfName("type "+e.Name, list, m.parts)
		}
	case *ast.ParenExpr:
		return m.parts(e.X)
	case *ast.ArrayType:
		if e.Len != nil {
			return 1 + m.parts(e.Elt)
		}
	case *ast.StructType:
		sum := 1
		for _, f := range e.Fields.List {
			// Several names of one type are several fields. All sums stop above the bound, far
			// below overflow.
			sum = min(sum+max(1, len(f.Names))*m.parts(f.Type), 2*maxText)
		}
		return sum
	}
	return 1
}
