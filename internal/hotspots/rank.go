package hotspots

import (
	"cmp"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A cost sums up a function in all stacks.
type cost struct {
	fn       *function
	flat     float64
	cum      float64
	gc       float64 // of net
	runtime  float64 // of net
	net      float64
	count    int64 // samples of net
	lines    map[int64]float64
	entry    bool
	folded   float64   // net before it went to the callers
	into     *function // the function that it is a part of, see host
	callees  map[*function]float64
	carriers map[*function]float64 // entries whose cum contains it
	stacks   []int                 // in which it is on the stack
}

// A ranking knows for each stack which entry pays for it.
type ranking struct {
	m     *merged
	costs map[*function]*cost
	order []*cost // by cum, then name
	payer []*cost // by stack; nil when no entry is on it
	least float64

	collected float64 // by the collector
}

// rank finds the entries: functions of own code whose net share is at least
// least. The others are folded into their callers, callees first: a callee's
// cum is mostly below its caller's.
func rank(m *merged, least float64) *ranking {
	r := &ranking{m: m, costs: map[*function]*cost{}, payer: make([]*cost, len(m.stacks)), least: least,
		collected: m.collections()}
	for i, s := range m.stacks {
		r.spread(i, s)
	}
	r.order = make([]*cost, 0, len(r.costs))
	for _, c := range r.costs {
		c.entry = c.fn.target != ""
		r.order = append(r.order, c)
	}
	inorder.By(r.order, func(a, b *cost) int {
		return cmp.Or(cmp.Compare(a.cum, b.cum), cmp.Compare(a.fn.key, b.fn.key))
	})
	for i, s := range m.stacks {
		r.assign(i, s)
	}
	for _, c := range r.order {
		if c.into = r.host(c); c.into != nil {
			r.fold(c)
		}
	}
	for _, c := range r.order {
		if c.entry && c.net < least*m.total {
			r.fold(c)
		}
	}
	r.contain()
	return r
}

// spread adds a stack to the flat and cum of its functions, each of which
// counts once however often it is on the stack.
func (r *ranking) spread(i int, s *stack) {
	for depth, f := range s.frames {
		c := r.costs[f.fn]
		if c == nil {
			c = &cost{fn: f.fn, lines: map[int64]float64{}}
			r.costs[f.fn] = c
		}
		if n := len(c.stacks); n == 0 || c.stacks[n-1] != i {
			c.stacks = append(c.stacks, i)
			c.cum += s.weight
			c.lines[f.line] += s.weight
		}
		if depth == 0 {
			c.flat += s.weight
		}
	}
}

// assign gives a stack to the innermost entry on it.
func (r *ranking) assign(i int, s *stack) {
	if old := r.payer[i]; old != nil {
		old.add(s, -1)
	}
	r.payer[i] = nil
	for _, f := range s.frames {
		if c := r.costs[f.fn]; c.entry {
			r.payer[i] = c
			c.add(s, 1)
			return
		}
	}
}

func (c *cost) add(s *stack, sign float64) {
	c.net += sign * (s.weight + s.gc)
	c.gc += sign * s.gc
	c.count += int64(sign) * s.count
	if s.frames[0].fn.class == goRuntime {
		c.runtime += sign * s.weight
	}
}

func (r *ranking) fold(c *cost) {
	c.entry, c.folded = false, c.net
	for _, i := range c.stacks {
		if r.payer[i] == c {
			r.assign(i, r.m.stacks[i])
		}
	}
}

// Shares of a function's time from which on it is a part of another function.
const (
	inlinedShare = 0.95 // in which it is inlined
	hostShare    = 0.75 // in which it is inlined into that other one
)

// host returns the function of the same package that a function is inlined into nearly everywhere;
// nil without one. The two are one piece of machine code. A search of the host reaches both, and a
// switch in production stands at the host's entry: at the entry of a function of some nanoseconds
// it would cost more than the function.
func (r *ranking) host(c *cost) *function {
	if !c.entry {
		return nil
	}
	inlined, hosts := 0.0, map[*function]float64{}
	for _, i := range c.stacks {
		s := r.m.stacks[i]
		for at, f := range s.frames {
			if f.fn != c.fn {
				continue
			}
			if f.inlined && at+1 < len(s.frames) {
				inlined += s.weight
				if next := s.frames[at+1].fn; next != c.fn {
					hosts[next] += s.weight
				}
			}
			break
		}
	}
	if inlined < inlinedShare*c.cum || len(hosts) == 0 {
		return nil
	}
	host := costliest(hosts, 1)[0]
	if host.target == "" || packageOf(host.target) != packageOf(c.fn.target) || hosts[host] < hostShare*c.cum {
		return nil
	}
	return host
}

// packageOf returns the package of a target's name.
func packageOf(target string) string {
	slash := strings.LastIndexByte(target, '/') + 1
	name, _, _ := strings.Cut(target[slash:], ".")
	return target[:slash] + name
}

// contain sums the entries up, and notes for each function without an entry which entries pay for
// it.
func (r *ranking) contain() {
	for _, c := range r.order { // add up once more: differences leave rounding errors
		c.net, c.gc, c.runtime, c.count = 0, 0, 0, 0
	}
	for i, s := range r.m.stacks {
		p := r.payer[i]
		if p == nil {
			continue
		}
		p.add(s, 1)
		seen := map[*function]bool{}
		for _, f := range s.frames {
			if f.fn == p.fn {
				break
			}
			if c := r.costs[f.fn]; !seen[f.fn] {
				seen[f.fn] = true
				if c.carriers == nil {
					c.carriers = map[*function]float64{}
				}
				c.carriers[p.fn] += s.weight
				if p.callees == nil {
					p.callees = map[*function]float64{}
				}
				p.callees[f.fn] += s.weight
			}
		}
	}
}

// effective returns the number of samples of equal weight that would tell a function's net share as
// well; its cum if it has no entry.
func (r *ranking) effective(c *cost) float64 {
	share, collected := c.net, r.collected
	if !c.entry {
		share, collected = c.cum, 0
	}
	var paid []*stack
	for _, i := range c.stacks {
		if !c.entry || r.payer[i] == c {
			paid = append(paid, r.m.stacks[i])
		}
	}
	return r.m.effectiveOf(share/r.m.total, r.m.weights(paid, collected))
}

// collecting reports whether a function costs most in the collector.
func (r *ranking) collecting(c *cost) bool {
	inside := 0.0
	for _, i := range c.stacks {
		if s := r.m.stacks[i]; s.collects() {
			inside += s.weight
		}
	}
	return inside > c.cum/2
}

// hottest returns the line with the largest cost, the first of equals.
func (c *cost) hottest() int {
	var best int64
	most := -1.0
	for line, v := range c.lines {
		if v > most || v == most && line < best {
			best, most = line, v
		}
	}
	return int(best)
}

// costliest returns the most expensive functions of a table.
func costliest(of map[*function]float64, n int) []*function {
	var all []*function
	for f := range of {
		all = append(all, f)
	}
	inorder.By(all, func(a, b *function) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a.key, b.key))
	})
	return all[:min(n, len(all))]
}
