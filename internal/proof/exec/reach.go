package exec

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// Observe makes the machine note, from now on, each side of each decision and
// each sum and product that may exceed its width.
func (m *Machine) Observe() { m.observe, m.Wraps, m.Branches = true, nil, nil }

// Uniform returns the shape in which each length is n and no pointer is nil.
func Uniform(params []types.Type, n int) (Shape, error) {
	b := builder{c: &Chooser{most: n, top: true}}
	for _, t := range params {
		if err := b.plan(t, 0); err != nil {
			return nil, err
		}
	}
	if len(b.c.picks) > 4096 {
		return nil, fmt.Errorf("more than 4096 lengths")
	}
	return b.c.picks, nil
}

// Filled makes arguments of a shape that are constants: fill says which, by
// width and signedness. The input has values for [Input.Params] all the same.
func (m *Machine) Filled(
	params []types.Type, shape Shape, fill func(t types.Type, w int) uint64,
) (in *Input, values map[*term.Term]uint64) {
	values = map[*term.Term]uint64{}
	// While the input is made, variables are constants.
	m.fill = func(t types.Type, w int) *term.Term {
		return m.Pool.Const(w, fill(t, w))
	}
	defer func() { m.fill = nil }()
	in = m.Input(params, shape)
	// Collect what the constants stand for, as a solver would name them.
	var each func(p *Param)
	// Strings have a term for each byte, other values one, and composed ones those of their parts.
	each = func(p *Param) {
		for _, t := range append(p.Bytes, p.Term) {
			if t != nil {
				values[t] = t.Val
			}
		}
		for i := range p.Elems {
			each(&p.Elems[i])
		}
	}
	for i := range in.Params {
		each(&in.Params[i])
	}
	return in, values
}

// Line returns the line of a position in the machine's program.
func (m *Machine) Line(pos token.Pos) int { return m.prog.Line(pos) }
