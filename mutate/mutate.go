// Package mutate defines what a rewrite is: a [Mutator] finds [Site]s in a
// type-checked candidate and rewrites one of them by text edits. Rules live in
// mutate/rules, one a file.
package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"sync"

	"github.com/beagle-go/beagle"
)

// A Mutator is one kind of rewrite. It is a value in a slice: adding one is
// adding a file and an entry.
type Mutator struct {
	Name   string       // short, kebab-case: "unsigned-index"
	Doc    string       // one sentence that a maintainer understands, then why it pays and when it is legal
	Before string       // Go code, as documentation and in prompts
	After  string       // the same after the rewrite
	Class  beagle.Class // the legality class, which fixes the mandatory checks
	Gain   float64      // expected gain as a factor on the site's share of the time, before anything was measured; 1.1 when unknown

	// Find returns the places where the rewrite applies. On any doubt it
	// leaves the place out. The order must be deterministic.
	Find func(*Pass) []Site
	// Params returns what can be chosen at a site (unroll factors, sizes);
	// nil means that there is no choice.
	Params func(*Pass, Site) []Param
	// Rewrite returns the edits. An error says why the site is refused after
	// all; it is shown by `beagle explain`.
	Rewrite func(*Pass, Site, Param) ([]Edit, error)
}

// A Site is a place where a mutator applies.
type Site struct {
	Node  ast.Node // what is rewritten
	Label string   // for people, without positions: "for loop over s"
	Data  any      // the mutator's own notes from Find to Rewrite
}

// A Param is one choice at a site.
type Param struct {
	Label string // "4"; empty when there is no choice
	Value any
}

// An Edit replaces the bytes [Start, End) of the candidate's source by New.
// Start == End inserts. Edits of one rewrite must not overlap.
type Edit struct {
	Start, End int
	New        string
}

// A Pass is all that a mutator sees of a candidate: its source, its types,
// where the time goes, and what the target receives.
// A Pass is read-only.
type Pass struct {
	Src  []byte // the candidate file
	Fset *token.FileSet
	File *ast.File
	Pkg  *types.Package // the whole package, the candidate's declarations included
	Info *types.Info    // for File only
	Func *ast.FuncDecl  // the target's declaration in File

	Target *beagle.Target
	Facets *beagle.Facets         // of the training corpus; never nil
	Weight func(ast.Node) float64 // share of the profile on the node's lines, 0 to 1; never nil

	Guard *Guard // bounds the calls of mutators; nil bounds nothing

	once  sync.Once // guards index, which is made when it is first asked for
	index *index
	known known // values that were worked out

	whole *Pass // which has these three, when a Guard made this Pass for a call
	call  *call
}
