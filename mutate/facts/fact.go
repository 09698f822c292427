// Package facts answers the questions about a version that several rules ask: which loops there are
// and how they count, whose memory a variable holds, which variables keep their first value, which
// effects a piece of code has, and where control leaves it.
//
// A [Fact] is a value. It is computed once for each version, at the first question, and kept on
// the version's [mutate.Pass]. Questions about one expression or one statement are functions.
package facts

import (
	"github.com/beagle-go/beagle/mutate"
)

// A Fact follows from a version alone. Its value must not change afterwards.
type Fact[T any] struct {
	Name     string
	Requires []Named // the facts that Find asks
	Find     func(*mutate.Pass) T
}

// Named is any Fact, whatever its value is.
type Named interface {
	name() string
	requires() []Named
	compute(*mutate.Pass)
}

// Of returns the fact of a version.
func (f *Fact[T]) Of(p *mutate.Pass) T {
	return p.Once(f, func() any { return f.Find(p) }).(T)
}

func (f *Fact[T]) name() string           { return f.Name }
func (f *Fact[T]) requires() []Named      { return f.Requires }
func (f *Fact[T]) compute(p *mutate.Pass) { f.Of(p) }
