package branches

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// runeTable (catalogue C1 for runes, with C7's guard) matches a pure test of one rune in a loop. It
// calls a helper that looks ASCII up in a table, filled by the test, and runs the test for other
// runes.
var runeTable = &mutate.Mutator{
	Name: "rune-table",
	Doc: "Answer a question about a rune, a function's or an expression's, from a table for ASCII, and by the " +
		"original code for others. Exact, because that code has no effects, depends only on the rune and on values " +
		"that never change, and fills the table itself.",
	Example: mutate.Shows(`if isTagRune(r) {`,
		`if tagRune(r) {

// tagRune is isTagRune(r), from a table for ASCII.
func tagRune(r rune) bool {
	if uint64(r) < 128 {
		return tagRuneASCII[uint64(r)]
	}
	return isTagRune(r)
}

var tagRuneASCII = func() (t [128]bool) {
	for i := range t {
		t[i] = isTagRune(rune(i))
	}
	return t
}()`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findRuneTable,
	Rewrite: edit.Precomputed,
}

// findRuneTable looks for questions about characters that a table can answer for the frequent ones:
// predicates, calls with fixed other arguments, and tests that are written out.
func findRuneTable(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		// Fewer than two comparisons are as fast as a load.
		if fn == p.Func || !characters.IsPredicate(p, fn) || characters.CountComparisons(p, fn) < 2 ||
			facts.CallsItself(p, fn) {
			continue
		}
		v := p.Info.Defs[fn.Name].(*types.Func).Signature().Params().At(0)
		if !holdsRunes(v.Type()) {
			continue
		}
		if edits := runeTableEdits(p, fn, v.Type()); edits != nil {
			sites = append(sites, edit.Site(fn, "calls of "+fn.Name.Name, edits...))
		}
	}
	sites = append(sites, runeCallSites(p)...)
	return append(sites, runeTestSites(p)...)
}

// holdsRunes reports whether numbers of a type may be characters: not bytes, which byte-table
// handles, nor words.
func holdsRunes(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok &&
		(b.Kind() == types.Int32 || b.Kind() == types.Uint32 || b.Kind() == types.Int || b.Kind() == types.Uint16)
}

// runeTableEdits replaces the calls in loops. It leaves calls on a byte to byteTable, and leaves
// the call inside the table's helper alone.
func runeTableEdits(p *mutate.Pass, fn *ast.FuncDecl, t types.Type) []mutate.Edit {
	typ, ok := facts.TypeText(p, t)
	if !ok {
		return nil
	}
	name := p.Fresh(edit.BaseName(fn.Name.Name), edit.BaseName(fn.Name.Name)+"Quick")
	table := p.Fresh(name+"ASCII", name+"Table")
	var edits []mutate.Edit
	// A use of the function other than by a call stays, and so does a call at package level, which
	// fills a table of an earlier application.
	for _, id := range p.Uses(p.Info.Defs[fn.Name], p.File) {
		call, ok := p.Parent(id).(*ast.CallExpr)
		if !ok || ast.Unparen(call.Fun) != ast.Expr(id) || p.FuncOf(call) == nil {
			if p.FuncOf(id) == nil {
				return nil // a table is filled by it already
			}
			continue
		}
		// A byte has a cheaper table.
		if _, arg := characters.PredicateCall(p, call); arg == nil && facts.TakesTime(p, call) {
			edits = append(edits, p.Replace(call.Fun, name))
		}
	}
	if len(edits) == 0 {
		return nil
	}
	of := fn.Name.Name
	quick := quickRune{name: name, table: table, param: "r", typ: typ, result: "bool", slow: of + "(r)", of: "ASCII",
		each: "character of ASCII", size: 128}
	return append(edits, p.Declare(fn, quick.function()+"\n\n"+quick.filled(of, of+"("+typ+"(i))")))
}
