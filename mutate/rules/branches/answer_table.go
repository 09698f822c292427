package branches

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// answerTable (catalogue N3 for one or two numbers) matches a function that chooses among constants
// by its small numbers: a transition, a precedence, a name. It writes a table of the answers, which
// the function fills, and keeps the function for other numbers.
var answerTable = &mutate.Mutator{
	Name: "answer-table",
	Doc: "Look up the result of a function of one or two small numbers in a table that the function itself fills " +
		"when the program starts. A switch over many cases is a search with unpredictable branches. Exact: the " +
		"answers are constants, and the function still answers for numbers outside of the table.",
	Example: mutate.Shows(`switch state<<8 | class {
case inText<<8 | quote:
	return inString, emit
case inString<<8 | quote:
	return inText, emit
...`,
		`if uint64(state) < 4 && uint64(class) < 16 {
	a := &nextTable[uint64(state)][uint64(class)]
	return int(a.state), int(a.action)
}
return nextOther(state, class)`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findAnswerTables,
	Rewrite: rewriteAnswerTable,
}

// Limits of the tables of answers.
const (
	fewestAnswers = 6         // cases that a function asks for, at least
	maxAnswers    = 1024      // numbers of one key
	maxTableSize  = 128 << 10 // bytes of a table
)

// An answers is a function that chooses among constants.
type answers struct {
	fn      *ast.FuncDecl
	keys    []*types.Var
	sizes   []int64  // the numbers that the table holds for each key, from zero
	keyType []string // as written in the candidate
	results []answer
}

// An answer is one result.
type answer struct {
	typ, stored string // the result's type, and that of the table's field
	field       string // the field's name, if there are several results
}

func findAnswerTables(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		// A function that fills such a table already would get a second one in front of it.
		if fn.Body == nil || fn.Type.TypeParams != nil || !facts.TakesTime(p, fn.Body) || fillsTable(p, fn) {
			continue
		}
		a := &answers{fn: fn}
		// Find the index of the table; see that the body has only answers; find their type, and
		// then the size.
		if !a.findKeys(p) || !onlyAnswers(fn.Body.List) || !a.findResults(p) || !a.findSizes(p) || !a.plain(p) {
			continue
		}
		sites = append(sites, mutate.Site{Node: fn, Label: "answers of " + fn.Name.Name, Data: a})
	}
	return sites
}

// fillsTable reports whether a table is filled by a function already.
func fillsTable(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, id := range p.Uses(p.Info.Defs[fn.Name], p.File) {
		if p.FuncOf(id) == nil {
			return true
		}
	}
	return false
}

// findKeys takes the receiver and the parameters, one or two numbers.
func (a *answers) findKeys(p *mutate.Pass) bool {
	// A receiver counts as the first key.
	lists := a.fn.Type.Params.List
	if a.fn.Recv != nil {
		lists = append(a.fn.Recv.List[:len(a.fn.Recv.List):len(a.fn.Recv.List)], lists...)
	}
	for _, f := range lists {
		// A parameter without a name has nothing to index by.
		if len(f.Names) == 0 {
			return false
		}
		for _, name := range f.Names {
			v, _ := p.Info.Defs[name].(*types.Var)
			if v == nil || name.Name == "_" || !syntax.IsInteger(v.Type()) ||
				!facts.TypeMeans(p, a.fn.Pos(), v.Type()) {
				return false
			}
			// The type must be written in the table's declaration.
			text, ok := facts.TypeText(p, v.Type())
			if !ok {
				return false
			}
			a.keys, a.keyType = append(a.keys, v), append(a.keyType, text)
		}
	}
	return len(a.keys) == 1 || len(a.keys) == 2
}

// onlyAnswers reports whether statements do nothing but ask and return.
func onlyAnswers(list []ast.Stmt) bool {
	for _, s := range list {
		ok := false
		// A break without a label leaves only the switch, so the questions after it still follow.
		switch s := s.(type) {
		case *ast.ReturnStmt:
			ok = len(s.Results) > 0
		case *ast.BlockStmt:
			ok = onlyAnswers(s.List)
		case *ast.IfStmt:
			ok = s.Init == nil && onlyAnswers(s.Body.List) && (s.Else == nil || onlyAnswers([]ast.Stmt{s.Else}))
		case *ast.SwitchStmt:
			ok = s.Init == nil && onlyAnswers(s.Body.List)
		case *ast.CaseClause:
			ok = onlyAnswers(s.Body)
		case *ast.BranchStmt:
			ok = s.Label == nil
		}
		if !ok {
			return false
		}
	}
	return len(list) > 0
}

// plain reports whether the questions depend on the keys alone and cannot fail, and whether the
// words that the table needs mean what they should.
func (a *answers) plain(p *mutate.Pass) bool {
	// The table is filled at the program's start, so the answer must not depend on anything else
	// and the filling must not panic.
	if f := p.Effects(a.fn.Body); f.Writes || f.Reads || f.Panics {
		return false
	}
	for _, e := range mutate.Nodes[ast.Expr](p, a.fn.Body) {
		switch e := e.(type) {
		case *ast.CallExpr:
			if !p.Info.Types[e.Fun].IsType() {
				return false
			}
		case *ast.FuncLit, *ast.CompositeLit, *ast.StarExpr, *ast.TypeAssertExpr, *ast.IndexExpr, *ast.SliceExpr:
			return false
		}
		if v := p.Var(e); v != nil && !facts.IsLocal(p, v) {
			return false
		}
	}
	// Names of types that the declarations use must not mean something else in this function or
	// package.
	for _, name := range []string{"uint64", "int8", "int16", "int32", "int64", "bool", "string"} {
		if !facts.Means(p, a.fn.Body.Lbrace+1, name, types.Universe.Lookup(name)) ||
			p.Pkg.Scope().Lookup(name) != nil {
			return false
		}
	}
	return true
}

// rewriteAnswerTable moves the function's body to one for numbers beyond the table. The
// function itself looks up small numbers and calls that one for others.
func rewriteAnswerTable(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	a := s.Data.(*answers)
	base := edit.BaseName(a.fn.Name.Name)
	other, table := p.Fresh(base+"Other", base+"Otherwise"), p.Fresh(base+"Table", base+"Answers")
	entry := p.Fresh(base+"Entry", base+"Answer")
	var keys, tests, typed, indices, params []string
	// A key outside of the table goes to the old body, which a second function holds. An unsigned
	// comparison covers negative keys as well.
	for i, k := range a.keys {
		keys = append(keys, k.Name())
		tests = append(tests, fmt.Sprintf("uint64(%s) < %d", k.Name(), a.sizes[i]))
		typed = append(typed, convertName(a.keyType[i], "int", indexNames[i]))
		indices = append(indices, fmt.Sprintf("[uint64(%s)]", k.Name()))
		params = append(params, k.Name()+" "+a.keyType[i])
	}
	body := fmt.Sprintf("{\n\tif %s {\n%s\n\t}\n\treturn %s(%s)\n}", strings.Join(tests, " && "),
		a.lookUp(p, table+strings.Join(indices, "")), other, strings.Join(keys, ", "))
	result := ""
	if r := a.fn.Type.Results; r != nil {
		result = p.Between(r.Pos(), r.End())
	}
	decl := fmt.Sprintf("// %s answers for the numbers outside of %s.\nfunc %s(%s) %s %s\n\n%s",
		other, table, other, strings.Join(params, ", "), result, p.Text(a.fn.Body), a.table(table, other, entry, typed))
	return []mutate.Edit{p.Replace(a.fn.Body, body), p.Declare(a.fn, decl)}, nil
}

// indexNames are the names of the numbers in the code that fills a table.
var indexNames = []string{"i", "j"}

// fieldNames are those of a table's entries that hold several results without names.
var fieldNames = []string{"a", "b", "c", "d"}

// convertName writes the conversion of a name from one type to another.
func convertName(to, from, name string) string {
	if to == from {
		return name
	}
	return to + "(" + name + ")"
}

// lookUp writes the statements that return an entry.
func (a *answers) lookUp(p *mutate.Pass, entry string) string {
	if len(a.results) == 1 {
		return "return " + convertName(a.results[0].typ, a.results[0].stored, entry)
	}
	name := p.Fresh("answer", "entry")
	var values []string
	for _, r := range a.results {
		values = append(values, convertName(r.typ, r.stored, name+"."+r.field))
	}
	return name + " := &" + entry + "\nreturn " + strings.Join(values, ", ")
}

// table declares the table, and the type of its entries if they hold several results.
func (a *answers) table(name, other, entry string, keys []string) string {
	// One key indexes a list, two index a list of lists.
	place, loops, ends, size := "t[i]", "for i := range t {\n", "}\n", fmt.Sprintf("[%d]", a.sizes[0])
	if len(keys) == 2 {
		place, loops, ends = "t[i][j]", loops+"for j := range t[i] {\n", "}\n}\n"
		size += fmt.Sprintf("[%d]", a.sizes[1])
	}
	call := fmt.Sprintf("%s(%s)", other, strings.Join(keys, ", "))
	// A table for one result holds the results themselves. For several, an entry is a struct.
	if len(a.results) == 1 {
		r := a.results[0]
		return fmt.Sprintf("// %s holds what %s answers for small numbers.\nvar %s = func() (t %s%s) {\n"+
			"%s%s = %s\n%s\treturn t\n}()",
			name, other, name, size, r.stored, loops, place, convertName(r.stored, r.typ, call), ends)
	}
	// The function is called once for each entry, and its results are kept in fields.
	var fields, got, kept, values []string
	for i, r := range a.results {
		fields = append(fields, r.field+" "+r.stored)
		got = append(got, fieldNames[i])
		kept = append(kept, "e."+r.field)
		values = append(values, convertName(r.stored, r.typ, fieldNames[i]))
	}
	return fmt.Sprintf("// %s is an entry of %s.\ntype %s struct {\n%s\n}\n\n"+
		"// %s holds what %s answers for small numbers.\nvar %s = func() (t %s%s) {\n"+
		"%s%s := %s\ne := &%s\n%s = %s\n%s\treturn t\n}()",
		entry, name, entry, strings.Join(fields, "\n"),
		name, other, name, size, entry, loops, strings.Join(got, ", "), call, place,
		strings.Join(kept, ", "), strings.Join(values, ", "), ends)
}
