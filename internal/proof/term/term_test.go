package term

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A pair is a term and what it should be, for one assignment.
type pair struct {
	t *Term
	v uint64
}

// grow makes random terms over variables of fixed values, and computes beside
// them what the operations mean.
type grow struct {
	p    *Pool
	r    *rand.Rand
	vars map[*Term]uint64
	all  []pair
}

func newGrow(seed uint64) *grow {
	g := &grow{p: NewPool(1<<20, nil), r: rand.New(rand.NewPCG(seed, 1)), vars: map[*Term]uint64{}}
	for i, w := range []int{8, 8, 8, 1, 1, 16, 32, 64, 64, 5} {
		v := g.p.Var(string(rune('a'+i)), w)
		n := g.r.Uint64()
		if g.r.IntN(3) == 0 {
			n = []uint64{0, ^uint64(0), 1, 0x80, 0x7f}[g.r.IntN(5)]
		}
		g.vars[v] = n & mask(w)
		g.all = append(g.all, pair{v, n & mask(w)})
	}
	return g
}

func (g *grow) pick(w int) pair {
	for range 20 {
		if x := g.all[g.r.IntN(len(g.all))]; x.t.W == w {
			return x
		}
	}
	x := g.all[g.r.IntN(len(g.all))]
	switch {
	case g.r.IntN(3) == 0:
		v := []uint64{0, 1, ^uint64(0), 3, 0x80, 0x7f7f7f7f7f7f7f7f, 0x0101010101010101, 10,
			g.r.Uint64()}[g.r.IntN(9)] & mask(w)
		return pair{g.p.Const(w, v), v}
	case x.t.W > w:
		lo := g.r.IntN(x.t.W - w + 1)
		return pair{g.p.Extract(x.t, lo, w), x.v >> lo & mask(w)}
	case x.t.W == w:
		return x
	case g.r.IntN(2) == 0:
		return pair{g.p.SExt(x.t, w), uint64(signed(x.v, x.t.W)) & mask(w)}
	}
	return pair{g.p.ZExt(x.t, w), x.v}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (g *grow) step() pair {
	p := g.p
	w := []int{1, 8, 8, 16, 32, 64, 64, 7, 9}[g.r.IntN(9)]
	a, b, c := g.pick(w), g.pick(w), g.pick(1)
	m := mask(w)
	switch n := g.r.IntN(18); {
	case n == 0 && w > 1:
		return pair{p.Add(a.t, b.t), (a.v + b.v) & m}
	case n == 1 && w > 1:
		return pair{p.Sub(a.t, b.t), (a.v - b.v) & m}
	case n == 2 && w > 1:
		return pair{p.Mul(a.t, b.t), a.v * b.v & m}
	case n == 3 && w > 1 && b.v != 0:
		return pair{p.UDiv(a.t, b.t), a.v / b.v}
	case n == 4 && w > 1 && b.v != 0:
		return pair{p.URem(a.t, b.t), a.v % b.v}
	case n == 5:
		return pair{p.And(a.t, b.t), a.v & b.v}
	case n == 6:
		return pair{p.Or(a.t, b.t), a.v | b.v}
	case n == 7:
		return pair{p.Xor(a.t, b.t), a.v ^ b.v}
	case n == 8:
		return pair{p.Not(a.t), ^a.v & m}
	case n == 9 && w > 1:
		s := g.pick([]int{8, 64, 16}[g.r.IntN(3)])
		if g.r.IntN(2) == 0 {
			k := uint64(g.r.IntN(w + 2))
			s = pair{p.Const(8, k), k}
		}
		switch g.r.IntN(3) {
		case 0:
			return pair{p.Shift(Shl, a.t, s.t), a.v << s.v & m}
		case 1:
			return pair{p.Shift(Lshr, a.t, s.t), a.v >> s.v}
		}
		return pair{p.Shift(Ashr, a.t, s.t), uint64(signed(a.v, w)>>s.v) & m}
	case n == 10 && w <= 32:
		return pair{p.Concat(a.t, b.t), a.v<<w | b.v}
	case n == 11 || n == 12:
		if c.v == 1 {
			return pair{p.Ite(c.t, a.t, b.t), a.v}
		}
		return pair{p.Ite(c.t, a.t, b.t), b.v}
	case n == 13:
		return pair{p.Eq(a.t, b.t), truth(a.v == b.v)}
	case n == 14:
		return pair{p.Ult(a.t, b.t), truth(a.v < b.v)}
	case n == 15:
		return pair{p.Slt(a.t, b.t), truth(signed(a.v, w) < signed(b.v, w))}
	case n == 16 && w > 1 && b.v != 0 && signed(b.v, w) != 0:
		q, r := signed(a.v, w)/signed(b.v, w), signed(a.v, w)%signed(b.v, w)
		if g.r.IntN(2) == 0 {
			return pair{p.SDiv(a.t, b.t), uint64(q) & m}
		}
		return pair{p.SRem(a.t, b.t), uint64(r) & m}
	case n == 17:
		var list []*Term
		i := g.pick(8)
		base := pair{p.Const(8, 0), 0}
		for k := range 1 + g.r.IntN(20) {
			x := g.pick(w)
			list = append(list, x.t)
			if uint64(k) == i.v {
				base = x
			}
		}
		if i.v < uint64(len(list)) {
			return pair{p.Select(list, i.t), base.v}
		}
	}
	return g.pick(w)
}

// TestFoldingKeepsMeaning grows random terms and compares their values with
// plain arithmetic, and their bounds with their values.
func TestFoldingKeepsMeaning(t *testing.T) {
	for seed := range uint64(400) {
		g := newGrow(seed)
		for range 150 {
			x := g.step()
			if got := g.p.Eval(g.vars).Value(x.t); got != x.v {
				t.Fatalf("seed %d: a term of %d bits is %#x, want %#x\n%s", seed, x.t.W, got, x.v, dump(g.p, x.t))
			}
			lo, hi := x.t.Bounds()
			if x.v < lo || x.v > hi || x.v&^x.t.maybe != 0 {
				t.Fatalf("seed %d: %#x is not between %#x and %#x, bits %#x\n%s", seed, x.v, lo, hi, x.t.maybe,
					dump(g.p, x.t))
			}
			g.all = append(g.all, x)
		}
	}
}

func dump(p *Pool, t *Term) string {
	var b strings.Builder
	if t.W == 1 {
		p.Write(&b, t)
	} else {
		p.Write(&b, p.Eq(t, p.Var("result", t.W)))
	}
	s := b.String()
	return s[max(0, len(s)-3000):]
}

// TestEqualByFolding: forms of one function that come out as one term.
func TestEqualByFolding(t *testing.T) {
	p := NewPool(1<<20, nil)
	b := p.Var("b", 8)
	k := func(v uint64) *Term { return p.Const(8, v) }
	within := func(x *Term, lo, hi uint64) *Term { return p.And(p.Not(p.Ult(x, k(lo))), p.Not(p.Ult(k(hi), x))) }
	lower := p.Ite(within(b, 'A', 'Z'), p.Add(b, k(32)), b)
	table := make([]*Term, 256)
	for i := range table {
		table[i] = k(uint64(i))
		if i >= 'A' && i <= 'Z' {
			table[i] = k(uint64(i) + 32)
		}
	}
	same(t, "lower case by table", lower, p.Select(table, b))
	same(t, "range by subtraction", within(b, '0', '9'), p.Ult(p.Sub(b, k('0')), k(10)))

	// A word of eight bytes, lower-cased at once.
	var bytes, lowered []*Term
	for i := range 8 {
		v := p.Var(string(rune('p'+i)), 8)
		bytes = append(bytes, v)
		lowered = append(lowered, p.Ite(within(v, 'A', 'Z'), p.Add(v, k(32)), v))
	}
	w := p.Concat(bytes...)
	c := func(v uint64) *Term { return p.Const(64, v*0x0101010101010101) }
	low7 := p.And(w, c(0x7f))
	ge, gt := p.Add(low7, c(0x80-'A')), p.Add(low7, c(0x7f-'Z'))
	up := p.And(p.And(p.Xor(ge, gt), c(0x80)), p.Not(w))
	same(t, "a word lower-cased at once", p.Concat(lowered...), p.Or(w, p.Shift(Lshr, up, k(2))))

	// Remainders of sums, taken once or at each step.
	m := p.Const(32, 65521)
	often, once := p.Const(32, 1), p.Const(32, 1)
	for _, v := range bytes {
		often = p.URem(p.Add(often, p.ZExt(v, 32)), m)
		once = p.Add(once, p.ZExt(v, 32))
	}
	same(t, "a remainder deferred", often, p.URem(once, m))
}

func same(t *testing.T, what string, a, b *Term) {
	t.Helper()
	if a != b {
		t.Errorf("%s: two terms:\n%s\n%s", what, dump(a.pool, a), dump(b.pool, b))
	}
}

func TestLimit(t *testing.T) {
	defer func() {
		if r := recover(); r != (Limit{100}) {
			t.Errorf("recovered %v, want a Limit", r)
		}
	}()
	p := NewPool(100, nil)
	for i := range uint64(200) {
		p.Const(64, i)
	}
	t.Error("200 terms fit into a pool of 100")
}
