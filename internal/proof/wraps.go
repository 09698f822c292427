package proof

import (
	"context"
	"fmt"
	"go/types"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/term"
)

// Extremes sums up where sums and products wrap around.
type Extremes struct {
	Inputs []*Witness
	Notes  []string // where each wrap is and at which length it begins
}

// A fill makes arguments as large as they can be.
type fill struct {
	name string
	of   func(t types.Type, w int) uint64
}

var fills = []fill{
	{"all bits set", func(types.Type, int) uint64 { return ^uint64(0) }},
	{"the greatest values", func(t types.Type, w int) uint64 {
		if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsUnsigned == 0 {
			return ^uint64(0) >> (65 - w)
		}
		return ^uint64(0)
	}},
}

// farthest is the greatest length at which wraps are looked for.
const farthest = 4096

// Wraps looks for sums and products that exceed their width in one version
// and not in the other, on arguments that are as large as they can be. A
// version that wraps from some length on gives inputs of that length, of its
// neighbours and of its double, for both fills. Bounded proofs do not reach so
// far.
func Wraps(ctx context.Context, orig, cand *exec.Program, lib *exec.Library, budget time.Duration) *Extremes {
	now, stop := startClock()
	defer stop()
	out := &Extremes{}
	for _, f := range fills {
		w := &wrapper{ctx: ctx, params: orig.Params(), fill: f, now: now}
		share := budget / time.Duration(2*len(fills))
		a, reachA := w.begins(orig, lib, share)
		b, reachB := w.begins(cand, lib, share)
		w.compare(out, "original", a, b, reachB, orig)
		w.compare(out, "candidate", b, a, reachA, cand)
	}
	return out
}

type wrapper struct {
	ctx    context.Context
	params []types.Type
	fill   fill
	now    func() time.Duration
}

// A begin is the place at which a wrap begins: the width of the result and the length of the
// arguments.
type begin struct{ width, length int }

// begins finds the wraps of a version, each with its place, and up to which
// length it looked.
func (w *wrapper) begins(p *exec.Program, lib *exec.Library, budget time.Duration) (out map[begin]int, reach int) {
	out = map[begin]int{}
	end := w.now() + budget
	// One machine serves all lengths, and its clock ends the search.
	m := exec.NewMachine(w.ctx, p, lib, term.NewPool(1<<20, nil))
	m.Tick = func() {
		if w.now() > end {
			panic(exec.LimitReached{Why: "the time was over"})
		}
	}
	// Double the length, so that a wrap that begins at a length is found between two runs. The
	// exact length follows by bisection.
	before := map[int]int{}
	for n := 1; n <= farthest; n *= 2 {
		now, ok := w.wrapsAt(m, p, n)
		if !ok {
			break
		}
		for line, width := range now {
			if _, known := before[line]; known {
				continue
			}
			first := w.firstWrap(m, p, line, n/2, n)
			out[begin{width, first}] = line
		}
		for line, width := range now {
			before[line] = width
		}
		reach = n
	}
	return out, reach
}

// firstWrap returns the smallest length above lo at which a line wraps; it does at hi.
func (w *wrapper) firstWrap(m *exec.Machine, p *exec.Program, line, lo, hi int) int {
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		now, ok := w.wrapsAt(m, p, mid)
		if !ok {
			break
		}
		if _, wraps := now[line]; wraps {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// wrapsAt runs a version on arguments of one length and lists the lines that wrap,
// with their widths. A length that takes too long ends the search for this version.
func (w *wrapper) wrapsAt(m *exec.Machine, p *exec.Program, n int) (lines map[int]int, ok bool) {
	limit := withinLimits(func() { lines, ok = w.run(m, p, n) })
	return lines, ok && limit == ""
}

func (w *wrapper) run(m *exec.Machine, p *exec.Program, n int) (lines map[int]int, ok bool) {
	shape, err := exec.Uniform(w.params, n)
	if err != nil {
		return nil, false
	}
	// All values are constants, so there is one path.
	m.Begin(1<<16, 1<<16)
	m.Observe()
	in, _ := m.Filled(w.params, shape, w.fill.of)
	for _, o := range m.Run(in) {
		if o.Kind == exec.Unknown {
			return nil, false
		}
	}
	lines = map[int]int{}
	for _, x := range m.Wraps {
		lines[p.Line(x.Pos)] = x.Width
	}
	return lines, true
}

// compare makes inputs for the wraps that the other version, looked at up to
// the length reach, does not have.
func (w *wrapper) compare(out *Extremes, who string, mine, others map[begin]int, reach int, p *exec.Program) {
	var list []begin
	for b := range mine {
		if _, both := others[b]; !both && b.length <= reach {
			list = append(list, b)
		}
	}
	inorder.By(list, func(a, b begin) int { return a.length - b.length })
	for _, b := range list[:min(len(list), 4)] {
		out.Notes = append(out.Notes,
			fmt.Sprintf("a result of %d bits on line %d of the %s wraps from length %d on, with %s", b.width, mine[b],
				who, b.length, w.fill.name))
		for _, n := range []int{b.length - 1, b.length, b.length + 1, 2 * b.length} {
			for _, f := range fills {
				w.input(out, p, n, f)
			}
		}
	}
}

func (w *wrapper) input(out *Extremes, p *exec.Program, n int, f fill) {
	shape, err := exec.Uniform(w.params, n)
	if err != nil {
		return
	}
	m := exec.NewMachine(w.ctx, p, nil, term.NewPool(1<<20, nil))
	in, values := m.Filled(w.params, shape, f.of)
	out.Inputs = append(out.Inputs, &Witness{Params: in.Params, Values: values})
}
