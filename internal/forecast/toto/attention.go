package toto

import "math"

// A grid is the tokens of a forecast: a row of patches for each series. Tokens see each other when
// they have the same group; patches without any value have a group of their own.
type grid struct {
	series, patches int
	groups          []int // by token, a series after the other
}

// unseen is the group of patches without any value.
const unseen = -1

// A line is tokens that a layer looks along: those of a series in time, or those of all series at
// one time.
type line struct{ first, step, n int }

// lines returns the lines of a layer.
func (g grid) lines(across bool) (all []line) {
	if across {
		for p := range g.patches {
			all = append(all, line{p, g.patches, g.series})
		}
		return all
	}
	for s := range g.series {
		all = append(all, line{s * g.patches, 1, g.patches})
	}
	return all
}

// An attention lets tokens of a line take over from others what fits them.
type attention struct {
	config
	across        bool
	in, leave     linear
	queries, keys *norm     // nil is none
	scale         []float32 // of queries, by dimension; nil is 1
	turns         *rotation // nil across series, which have no order
}

// apply returns what each token takes over.
func (a *attention) apply(x []float32, g grid) []float32 {
	width := a.in.out
	all := a.in.apply(x) // by token: queries of all heads, keys of all groups, values of all groups
	for t := range g.groups {
		a.prepare(all[t*width : (t+1)*width])
	}
	out := make([]float32, len(g.groups)*a.leave.in)
	scores := make([]float32, max(g.series, g.patches))
	for _, l := range g.lines(a.across) {
		if a.turns != nil {
			a.turn(all, l)
		}
		for h := range a.Heads {
			a.head(all, out, g, l, h, scores)
		}
	}
	return a.leave.apply(out)
}

// part returns a vector of n numbers of head h in a token's row, after skip numbers.
func part(row []float32, skip, h, n int) []float32 { return row[skip+h*n : skip+(h+1)*n] }

// prepare norms and scales the queries and keys of a token.
func (a *attention) prepare(row []float32) {
	for h := range a.Heads {
		q := part(row, 0, h, a.KeyWidth)
		if a.queries != nil {
			a.queries.row(q, q)
		}
		for i, s := range a.scale {
			q[i] *= s
		}
	}
	for h := range a.Groups {
		if k := part(row, a.Heads*a.KeyWidth, h, a.KeyWidth); a.keys != nil {
			a.keys.row(k, k)
		}
	}
}

// turn rotates the queries and keys of a line by their place.
func (a *attention) turn(all []float32, l line) {
	center := l.n / 2
	for i := range l.n {
		t := (l.first + i*l.step) * a.in.out
		row := all[t : t+a.in.out]
		for h := range a.Heads {
			a.turns.apply(part(row, 0, h, a.KeyWidth), i, i-center, 1)
		}
		for h := range a.Groups {
			a.turns.apply(part(row, a.Heads*a.KeyWidth, h, a.KeyWidth), i, i-center, -1)
		}
	}
}

// head computes one head of a line: values of the tokens that a token sees, weighed by how well
// their keys fit its query. In time, a token sees itself and those before it.
func (a *attention) head(all, out []float32, g grid, l line, h int, scores []float32) {
	width, shared := a.in.out, h/(a.Heads/a.Groups)
	keys, values := a.Heads*a.KeyWidth, (a.Heads+a.Groups)*a.KeyWidth
	fit := float32(1) / float32(a.KeyWidth)
	for i := range l.n {
		t := l.first + i*l.step
		q := part(all[t*width:(t+1)*width], 0, h, a.KeyWidth)
		// Score the tokens that it sees: all, or those until itself. Other groups do not count.
		n := l.n
		if !a.across {
			n = i + 1
		}
		for j := range n {
			u := l.first + j*l.step
			scores[j] = float32(math.Inf(-1))
			if g.groups[u] == g.groups[t] {
				scores[j] = fit * dot(q, part(all[u*width:(u+1)*width], keys, shared, a.KeyWidth))
			}
		}
		// Sum their values, weighed by the scores.
		softmax(scores[:n])
		sum := part(out[t*a.leave.in:(t+1)*a.leave.in], 0, h, a.ValueWidth)
		for j, s := range scores[:n] {
			if s == 0 {
				continue
			}
			u := l.first + j*l.step
			for k, v := range part(all[u*width:(u+1)*width], values, shared, a.ValueWidth) {
				sum[k] += s * v
			}
		}
	}
}

// softmax makes weights of scores. At least one score is finite: a token sees itself.
func softmax(scores []float32) {
	most := scores[0]
	for _, s := range scores {
		most = max(most, s)
	}
	total := float32(0)
	for i, s := range scores {
		scores[i] = float32(math.Exp(float64(s - most)))
		total += scores[i]
	}
	for i := range scores {
		scores[i] /= total
	}
}

// A rotation turns pairs of the first half of a vector by angles that grow with its place, so that
// a product of two depends on how far they are apart (RoPE, arXiv 2104.09864). With stretch, it
// also falls with that distance (xPos, arXiv 2212.10554).
type rotation struct {
	angles  []float32 // by pair, of one place
	stretch []float64 // by pair, of 256 places; nil means none
}

func newRotation(c config) *rotation {
	width := c.KeyWidth / 2
	r := &rotation{}
	for i := 0; i < width; i += 2 {
		r.angles = append(r.angles, float32(math.Pow(10000, -float64(i)/float64(width))))
		if c.Stretch {
			r.stretch = append(r.stretch, (float64(i)+0.4*float64(width))/(1.4*float64(width)))
		}
	}
	return r
}

// apply turns a vector at a place. A key is stretched by the inverse of a query's factor: sign is 1
// for a query and -1 for a key, and off the distance from the middle.
func (r *rotation) apply(x []float32, place, off int, sign float64) {
	for i, angle := range r.angles {
		sin, cos := math.Sincos(float64(float32(place) * angle))
		if r.stretch != nil {
			by := math.Pow(r.stretch[i], sign*float64(off)/256)
			sin, cos = sin*by, cos*by
		}
		a, b := x[2*i], x[2*i+1]
		x[2*i], x[2*i+1] = float32(cos)*a-float32(sin)*b, float32(cos)*b+float32(sin)*a
	}
}
