package example

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate/facts"
)

// bindings say what the names of Before stand for: parameters by name, and its own variables.
type bindings struct {
	exprs  map[string]ast.Expr
	places map[string]*types.Var
	types  map[string]types.Type
	blocks map[string]*block
	kept   map[string]*facts.Loop // the loops whose heads After keeps
	locals map[types.Object]*types.Var
	loops  map[types.Object]role
	// addressed holds the parameters of pointer types whose expression is a variable that a method
	// call takes the address of.
	addressed map[string]bool
	named     map[*types.Var]facts.Declaration // variables that are matched as their values

	trail []func() // takes back each binding, in their order
}

// A role is the part of a variable in a loop's head.
type role struct {
	loop  *facts.Loop
	value bool
}

func newBindings() bindings {
	return bindings{exprs: map[string]ast.Expr{}, places: map[string]*types.Var{},
		types: map[string]types.Type{}, blocks: map[string]*block{}, kept: map[string]*facts.Loop{},
		locals: map[types.Object]*types.Var{}, loops: map[types.Object]role{},
		addressed: map[string]bool{}, named: map[*types.Var]facts.Declaration{}}
}

// bind binds a name. undo takes it back.
func bind[K comparable, V any](b *bindings, to map[K]V, key K, value V) {
	to[key] = value
	b.trail = append(b.trail, func() { delete(to, key) })
}

// try keeps the bindings of attempt only if it succeeds.
func (b *bindings) try(attempt func() bool) bool {
	mark := len(b.trail)
	if attempt() {
		return true
	}
	b.undo(mark)
	return false
}

func (b *bindings) undo(mark int) {
	for _, back := range slices.Backward(b.trail[mark:]) {
		back()
	}
	b.trail = b.trail[:mark]
}

// standsFor reports whether a variable of Before stands for v.
func (b *bindings) standsFor(v *types.Var) bool {
	for _, w := range b.locals {
		if w == v {
			return true
		}
	}
	for _, r := range b.loops {
		if r.loop.Index == v || r.loop.Value == v {
			return true
		}
	}
	return false
}

func (b *bindings) isPlace(v *types.Var) bool {
	for _, w := range b.places {
		if w == v {
			return true
		}
	}
	return false
}
