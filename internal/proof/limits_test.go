package proof

import (
	"fmt"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/term"
)

// TestOutOfTime checks that the end of the time ends the questions, and that what was found before
// it still counts.
func TestOutOfTime(t *testing.T) {
	const text = `package p

func F(s string) (n int) {
	for i := 0; i < len(s); i++ {
		if s[i] > 'z' {
			n++
		}
	}
	return n
}
`
	lib := exec.NewLibrary(".")
	f, err := lib.FromText(text, "F")
	if err != nil {
		t.Fatal(err)
	}
	var spent time.Duration
	p := &prover{ctx: t.Context(), b: Budget{Time: time.Minute}.orDefaults(), res: &Result{},
		now: func() time.Duration { return spent }, params: f.Params()}
	p.pool = term.NewPool(p.b.Nodes, p.tick)
	p.m, p.n = exec.NewMachine(t.Context(), f, lib, p.pool), exec.NewMachine(t.Context(), f, lib, p.pool)
	const most = 9
	shapes, _, err := exec.Shapes(p.params, -1, most, maxShapes)
	if err != nil {
		t.Fatal(err)
	}
	sides, when := map[string]*Side{}, map[string][]shaped{}
	var order []string
	p.branches(shapes, most, func(key string, s Side, w shaped) {
		if sides[key] == nil {
			sides[key], order = &s, append(order, key)
		}
		when[key] = append(when[key], w)
	})
	spent = time.Hour
	if out := p.answers(sides, when, order); len(out) != len(order) || len(out) == 0 {
		t.Errorf("%d answers on %d sides", len(out), len(order))
	}
	// A bound that is not answered leaves the proof of the bounds before it.
	var list []question
	spent = 0
	for i := range 200 {
		x := p.pool.Var(fmt.Sprintf("x%d", i), 1)
		list = append(list, question{nil, &exec.Difference{Differ: x, Unknown: x}})
	}
	p.res.Proved, p.res.Length = true, 4
	spent = 2 * time.Hour
	if p.answer(list, most) || !p.res.Proved || p.res.Why != "the time was over while terms were made (bound 9)" {
		t.Errorf("%+v", p.res)
	}
}
