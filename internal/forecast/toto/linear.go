package toto

import "math"

// A linear maps rows of in numbers to rows of out numbers. Its output is scaled: the weights of a
// unit-scaled model are near 1, whatever the width (u-µP, arXiv 2407.17465). The scale is within
// the weights here.
type linear struct {
	in, out      int
	weight, bias []float32 // a row of in weights for each output; no bias is nil
}

// apply maps all rows of x. It takes four outputs at a time and all rows for them, so that each
// weight comes from memory once.
func (l linear) apply(x []float32) []float32 {
	rows := len(x) / l.in
	y := make([]float32, rows*l.out)
	o := 0
	for ; o+4 <= l.out; o += 4 {
		r := 0
		for ; r+2 <= rows; r += 2 {
			l.block(x[r*l.in:(r+2)*l.in], y[r*l.out:(r+2)*l.out], o)
		}
		if r < rows {
			l.computeRow(x, y, r, o, o+4)
		}
	}
	for r := range rows {
		l.computeRow(x, y, r, o, l.out)
		if l.bias != nil {
			add(y[r*l.out:(r+1)*l.out], l.bias)
		}
	}
	return y
}

func (l linear) row(o int) []float32 { return l.weight[o*l.in : (o+1)*l.in] }

// computeRow computes outputs of a row one by one.
func (l linear) computeRow(x, y []float32, r, from, to int) {
	for o := from; o < to; o++ {
		y[r*l.out+o] = dot(x[r*l.in:(r+1)*l.in], l.row(o))
	}
}

// block computes four outputs of two rows: eight sums that do not wait for each other, over six
// loads.
func (l linear) block(x, y []float32, o int) {
	x0 := x[:l.in]
	x1, w0, w1, w2, w3 := x[l.in:], l.row(o), l.row(o+1), l.row(o+2), l.row(o+3)
	x1, w0, w1, w2, w3 = x1[:len(x0)], w0[:len(x0)], w1[:len(x0)], w2[:len(x0)], w3[:len(x0)] // no bounds below
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	for i, a := range x0 {
		b := x1[i]
		w := w0[i]
		a0 += a * w
		b0 += b * w
		w = w1[i]
		a1 += a * w
		b1 += b * w
		w = w2[i]
		a2 += a * w
		b2 += b * w
		w = w3[i]
		a3 += a * w
		b3 += b * w
	}
	copy(y[o:], []float32{a0, a1, a2, a3})
	copy(y[l.out+o:], []float32{b0, b1, b2, b3})
}

// dot returns the sum of products, in four sums that do not wait for each other.
func dot(x, y []float32) float32 {
	y = y[:len(x)]
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		d += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return (a + b) + (c + d)
}

func add(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

// mix weighs the output of a layer against its input, so that the variance stays 1. It overwrites
// x.
func mix(x, by []float32, tau float64) {
	all := math.Sqrt(1 + tau*tau)
	own, other := float32(tau/all), float32(1/all)
	for i := range x {
		x[i] = own*x[i] + other*by[i]
	}
}

// A norm divides rows by the root of their mean square.
type norm struct {
	epsilon float64
	weight  []float32 // nil is 1
}

// apply returns x with each row of width numbers divided.
func (n norm) apply(x []float32, width int) []float32 {
	out := make([]float32, len(x))
	for r := 0; r < len(x); r += width {
		n.row(out[r:r+width], x[r:r+width])
	}
	return out
}

func (n norm) row(out, x []float32) {
	squares := dot(x, x)
	by := float32(1 / math.Sqrt(float64(squares)/float64(len(x))+n.epsilon))
	for i, v := range x {
		out[i] = v * by
	}
	for i, w := range n.weight {
		out[i] *= w
	}
}

// silu is x times the logistic function of x.
func silu(x float32) float32 { return float32(float64(x) / (1 + math.Exp(-float64(x)))) }

// siluScale keeps the variance of silu's output at 1: the published constant of unit scaling, an
// interpolation between 2 and the second value on a logarithmic scale.
var siluScale = float32(math.Exp(0.8*math.Log(math.Sqrt(2/(1-1/math.Pi))) + 0.2*math.Log(2)))

// A bypass is a network of one hidden layer beside a linear map of the same input.
type bypass struct{ first, second, skip linear }

func (b bypass) apply(x []float32) []float32 {
	h := b.first.apply(x)
	for i, v := range h {
		h[i] = siluScale * silu(v)
	}
	y := b.second.apply(h)
	mix(y, b.skip.apply(x), 1)
	return y
}

// A gated network multiplies one half of its hidden numbers with silu of the other.
type gated struct{ first, second linear }

func (g gated) apply(x []float32) []float32 {
	h := g.first.apply(x)
	width := g.second.in
	rows := len(h) / (2 * width)
	hidden := make([]float32, rows*width)
	for r := range rows {
		left, right := h[2*r*width:(2*r+1)*width], h[(2*r+1)*width:(2*r+2)*width]
		for i, v := range right {
			hidden[r*width+i] = left[i] * silu(v)
		}
	}
	return g.second.apply(hidden)
}
