// Package mutate defines rewrites: a [Mutator] finds [Site]s in a type-checked candidate and
// rewrites one of them by text edits. The rules stand below mutate/rules, one a file.
package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"sync"

	"github.com/beagle-go/beagle"
)

// A Mutator is one kind of rewrite. It is a value in a slice: a new one needs a file and an entry.
type Mutator struct {
	Name string // short, kebab-case: "unsigned-index"
	Doc  string // one sentence for maintainers, then why it pays and when it is legal
	// Example returns Go code before and after the rewrite, for readers.
	Example func() (before, after string)
	Class   beagle.Class // the legality class, which decides the mandatory checks
	// Gain is the expected gain as a factor on the site's share of the time, before any
	// measurement; 1.1 if unknown.
	Gain float64

	// Find returns the places where the rewrite applies. On any doubt it
	// leaves the place out. The order must be deterministic.
	Find func(*Pass) []Site
	// Params returns the choices at a site, such as unroll factors or sizes; nil means that there
	// is no choice.
	Params func(*Pass, Site) []Param
	// Rewrite returns the edits. An error says why it refuses the site after all; `beagle explain`
	// shows the error.
	Rewrite func(*Pass, Site, Param) ([]Edit, error)
}

// Shows makes the Example of a mutator from its two texts.
func Shows(before, after string) func() (string, string) {
	return func() (string, string) { return before, after }
}

// A Site is a place where a mutator applies.
type Site struct {
	Node  ast.Node // the code to rewrite
	Label string   // for readers, without positions: "for loop over s"
	Data  any      // the mutator's own notes for Params and Rewrite
}

// A Param is one choice at a site.
type Param struct {
	Label string // "4"; empty if there is no choice
	Value any
}

// An Edit replaces the bytes [Start, End) of the candidate's source with New. Start == End inserts.
// Edits of one rewrite must not overlap.
type Edit struct {
	Start, End int
	New        string
}

// A Background is what a search knows beyond the text of a candidate: the target, its inputs, its
// profile, and the rest of its package.
type Background struct {
	Target *beagle.Target
	Facets *beagle.Facets         // of the training corpus; never nil
	Weight func(ast.Node) float64 // share of the profile on the node's lines, 0 to 1; never nil

	// Cold reports whether a measured profile says that code takes no time; nil knows of none.
	Cold func(ast.Node) bool

	// Unchanged names the package's variables that hold what their initialisers give them, with all
	// elements. It may be nil. It speaks of the package as the user wrote it.
	Unchanged map[string]bool

	// Entries names the functions of the candidate that code outside it calls: what all calls in
	// the file have in common holds for others only. Nil means the target alone.
	Entries map[string]bool

	// Elsewhere returns a Pass of a function of the package by its name, such as T.Len, in the file
	// in which the user wrote it. It returns nil for a function that it cannot show, and may be
	// nil. See [Pass.Body].
	Elsewhere func(name string) *Pass

	Guard *Guard // bounds the calls of mutators; nil bounds nothing
}

// A Pass is all that a mutator sees of a candidate: its source, its types, its profile, and facts
// about the target's inputs. A Pass is read-only.
type Pass struct {
	Src  []byte // the candidate file
	Fset *token.FileSet
	File *ast.File
	Pkg  *types.Package // the whole package, including the candidate's declarations
	Info *types.Info    // for File only
	Func *ast.FuncDecl  // the target's declaration in File

	Background

	once  sync.Once // guards index, which the first question makes
	index *index
	known versionFacts // computed values

	whole *Pass // if a Guard made this Pass for a call, the Pass that has these three
	call  *call
}
