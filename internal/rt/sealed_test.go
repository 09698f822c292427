package rt

import (
	"slices"
	"testing"
)

type findArgs struct {
	A0 []int
	A1 int
	A2 map[string]int
}
type findResults struct{ R0 int }

func find(a *findArgs, r *findResults) { r.R0 = slices.Index(a.A0, a.A1) }

// sentinel puts what it looks for at the end, so that the loop needs no bound.
func sentinel(a *findArgs, r *findResults) {
	n := len(a.A0)
	if n == 0 {
		r.R0 = -1
		return
	}
	last := a.A0[n-1]
	a.A0[n-1] = a.A1
	i := 0
	for a.A0[i] != a.A1 {
		i++
	}
	a.A0[n-1] = last
	if i == n-1 && last != a.A1 {
		i = -1
	}
	r.R0 = i
}

func TestSealed(t *testing.T) {
	records := calls(t, findArgs{A0: []int{5, 7, 9}, A1: 7}, findArgs{A0: []int{5, 7, 9}, A1: 4}, findArgs{})
	if d := replayed[findArgs, findResults](t, &Replay{}, records, find, sentinel).Diff; d == nil ||
		d.Check != CheckSealed || d.Kind != "race" {
		t.Errorf("a write that is taken back was not seen: %+v", d)
	}
	if d := replayed[findArgs, findResults](t, &Replay{}, records, find, find).Diff; d != nil {
		t.Errorf("a version that only reads: %+v", d)
	}
	if d := replayed[findArgs, findResults](t, &Replay{}, records, sentinel, sentinel).Diff; d != nil {
		t.Errorf("what the original does too: %+v", d)
	}
}

type nestedArgs struct {
	A0 *struct{ rows [][]byte }
	A1 [][]string
}
type nestedResults struct {
	R0 [][]byte
	R1 []string
}

// TestSealedShares: results that lead into sealed memory, and memory that
// leads to other memory, are like any other.
func TestSealedShares(t *testing.T) {
	rows := &struct{ rows [][]byte }{[][]byte{[]byte("ab"), nil, []byte("c")}}
	records := calls(t, nestedArgs{rows, [][]string{{"x", "y"}, {"z"}}})
	shares := func(a *nestedArgs, r *nestedResults) {
		if a.A0 == nil || len(a.A1) == 0 {
			return
		}
		r.R0, r.R1 = a.A0.rows[1:], a.A1[0]
	}
	if d := replayed[nestedArgs, nestedResults](t, &Replay{}, records, shares, shares).Diff; d != nil {
		t.Errorf("%+v", d)
	}
	inner := func(a *nestedArgs, r *nestedResults) {
		if a.A0 != nil && len(a.A0.rows) > 0 && len(a.A0.rows[0]) > 0 {
			a.A0.rows[0][0]++
			a.A0.rows[0][0]--
		}
		shares(a, r)
	}
	if d := replayed[nestedArgs, nestedResults](t, &Replay{}, records, shares, inner).Diff; d == nil ||
		d.Check != CheckSealed {
		t.Errorf("a write far inside was not seen: %+v", d)
	}
}
