// Package mutants makes wrong versions of functions, to measure how many a judge
// lets through.
//
// [Make] changes a text in one place at a time, as slips of the hand and of the mind do: a boundary
// off by one, a negated condition, a statement left out, the wrong variable. A mutant need not
// compile, and some mutants behave as before; [Try] takes each through the real checks and tells
// which.
package mutants

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/tail"
)

// A Mutant is a text that differs from another in one place.
type Mutant struct {
	Op     string `json:"op"`   // what was done: one of Operators
	Line   int    `json:"line"` // in the text it was made from
	Was    string `json:"was"`
	Is     string `json:"is"` // "" when it was left out
	Source string `json:"-"`  // the whole text, formatted
}

func (m *Mutant) String() string {
	is := m.Is
	if is == "" {
		is = "nothing"
	}
	return fmt.Sprintf("line %d: %s: %s -> %s", m.Line, m.Op, shorten(m.Was), shorten(is))
}

func shorten(s string) string {
	return "`" + tail.Short(strings.Join(strings.Fields(s), " "), 60) + "`"
}

// An operator proposes changes of one node.
type operator struct {
	name string
	find func(m *maker, n ast.Node)
}

var operators = []operator{
	{"relation", relation},
	{"arithmetic", arithmetic},
	{"logic", logic},
	{"negation", negation},
	{"constant", constant},
	{"text", text},
	{"truth", truth},
	{"assignment", assignment},
	{"left out", leftOut},
	{"dropped case", droppedCase},
	{"dropped else", droppedElse},
	{"swapped", swapped},
	{"boundary", boundary},
	{"early return", earlyReturn},
	{"wrong variable", wrongVariable},
}

// Make returns every mutant of a Go file, each text once, in the order of their
// places.
func Make(src string) ([]Mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "mutant.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	m := &maker{src: src, fset: fset, file: file, seen: map[string]bool{}}
	if same, err := format.Source([]byte(src)); err == nil {
		m.seen[string(same)] = true
	}
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok != token.CONST && gen.Tok != token.VAR {
			continue
		}
		m.names = namesOf(decl)
		for _, op := range operators {
			m.op = op.name
			ast.Inspect(decl, func(n ast.Node) bool {
				if n != nil {
					op.find(m, n)
				}
				return true
			})
		}
	}
	slices.SortStableFunc(m.out, func(a, b Mutant) int { return a.Line - b.Line })
	return m.out, nil
}

// A maker collects the mutants of a file.
type maker struct {
	src   string
	fset  *token.FileSet
	file  *ast.File
	op    string
	names []string // variables of the current function
	seen  map[string]bool
	out   []Mutant
}

// offsets returns where a node begins and ends in the source.
func (m *maker) offsets(n ast.Node) (start, end int) {
	return m.fset.Position(n.Pos()).Offset, m.fset.Position(n.End()).Offset
}

func (m *maker) text(n ast.Node) string {
	start, end := m.offsets(n)
	return m.src[start:end]
}

// proposeText proposes another text for a node.
func (m *maker) proposeText(n ast.Node, is string) {
	start, end := m.offsets(n)
	m.replaceRange(start, end, is)
}

// token proposes another token at a place.
func (m *maker) token(pos token.Pos, was, is token.Token) {
	start := m.fset.Position(pos).Offset
	m.replaceRange(start, start+len(was.String()), is.String())
}

// replaceRange adds the mutant with another text in a range, if it parses and is new.
func (m *maker) replaceRange(start, end int, is string) {
	text, err := format.Source([]byte(m.src[:start] + is + m.src[end:]))
	if err != nil || m.seen[string(text)] {
		return
	}
	m.seen[string(text)] = true
	line := 1 + strings.Count(m.src[:start], "\n")
	m.out = append(m.out, Mutant{Op: m.op, Line: line, Was: m.src[start:end], Is: is, Source: string(text)})
}

// namesOf lists the variables that a function declares, parameters first.
func namesOf(decl ast.Decl) []string {
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.Name != "_" && !slices.Contains(names, id.Name) {
				names = append(names, id.Name)
			}
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			// The inspection meets the signature first, and those of closures later.
			for _, f := range n.Params.List {
				add(f.Names...)
			}
			if n.Results != nil {
				for _, f := range n.Results.List {
					add(f.Names...)
				}
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				break
			}
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					add(id)
				}
			}
		}
		return true
	})
	return names
}

// number reads an integer or character literal.
func number(lit *ast.BasicLit) (int64, bool) {
	switch lit.Kind {
	case token.INT:
		n, err := strconv.ParseInt(lit.Value, 0, 64)
		return n, err == nil
	case token.CHAR:
		r, _, _, err := strconv.UnquoteChar(strings.Trim(lit.Value, "'"), '\'')
		return int64(r), err == nil
	}
	return 0, false
}
