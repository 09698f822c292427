package toto

import (
	"fmt"
	"math"
	"slices"

	"github.com/beagle-go/beagle/internal/forecast/safetensors"
)

// A layer is an attention and a gated network, each beside what passes by it.
type layer struct {
	first, second  norm
	attention      *attention
	network        gated
	tauOne, tauTwo float64 // the weight of what each computes
}

// A net is the weights of a model.
type net struct {
	config
	embed  bypass // a patch and its gaps to a token
	layers []layer
	last   norm
	head   bypass // a token to the quantiles of the next patch
}

// A loader reads tensors by the names that the reference gives them. It keeps the first error.
type loader struct {
	file *safetensors.File
	read []string
	err  error
}

// load reads the weights. A file with other tensors than the settings ask for is refused.
func load(file *safetensors.File, c config) (*net, error) {
	l := &loader{file: file}
	n := &net{config: c}
	// The input and output layers come first: if their tensors have other shapes, nothing more is
	// read.
	n.embed = l.bypass("patch_proj", 2*c.Patch, 4*c.Width, c.Width, 0.5)
	n.head = l.bypass("output_head.param_projection.proj", c.Width, 4*c.Width, c.Patch*len(Levels), 1)
	for i := 0; i < c.Layers && l.err == nil; i++ {
		n.layers = append(n.layers, l.layer(fmt.Sprintf("transformer.layers.%d.", i), c, c.looksAcross(i)))
	}
	n.last = l.norm("transformer.out_norm", c.Width, c.Epsilon, c.NormWeight)
	if l.err != nil {
		return nil, l.err
	}
	for _, name := range file.Names() {
		if !slices.Contains(l.read, name) {
			return nil, fmt.Errorf("tensor %q has no place in Toto 2.0 with these settings", name)
		}
	}
	return n, nil
}

// layer loads a layer's weights; across is for attention between the series.
func (l *loader) layer(name string, c config, across bool) layer {
	out := layer{
		first:  l.norm(name+"norm1", c.Width, c.Epsilon, c.NormWeight),
		second: l.norm(name+"norm2", c.Width, c.Epsilon, c.NormWeight),
		network: gated{
			l.linear(name+"ffn.fc1", c.Width, 2*c.Hidden, c.HiddenBias, 0.5),
			l.linear(name+"ffn.fc2", c.Hidden, c.Width, c.HiddenBias, 0.5),
		},
		tauOne: l.number(name + "attn_tau"), tauTwo: l.number(name + "mlp_tau"),
	}
	name += "attn."
	a := &attention{config: c, across: across}
	rows := (c.Heads+c.Groups)*c.KeyWidth + c.Groups*c.ValueWidth
	a.in = l.linear(name+"in_proj", c.Width, rows, c.AttnBias, 0.5)
	a.leave = l.linear(name+"out_proj", c.Heads*c.ValueWidth, c.Width, c.AttnBias, 0.5)
	if c.NormKeys {
		queries := l.norm(name+"q_norm", c.KeyWidth, c.Epsilon, *c.KeysWeight)
		keys := l.norm(name+"k_norm", c.KeyWidth, c.Epsilon, *c.KeysWeight)
		a.queries, a.keys = &queries, &keys
	}
	if c.ScaleQueries {
		a.scale = l.floats(name+"_pds.per_dim_scale", c.KeyWidth)
		for i, p := range a.scale { // softplus, and 1 where the parameter is 0
			a.scale[i] = float32(math.Log1p(math.Exp(float64(min(p, 80)))) / math.Ln2)
		}
	}
	if !across {
		a.turns = newRotation(c)
	}
	out.attention = a
	return out
}

func (l *loader) bypass(name string, in, hidden, out int, power float64) bypass {
	return bypass{
		l.linear(name+".linear1", in, hidden, true, 0.5), l.linear(name+".linear2", hidden, out, true, power),
		l.linear(name+".skip_proj", in, out, true, power),
	}
}

// linear reads a linear map, and scales it by a power of the number of its inputs.
func (l *loader) linear(name string, in, out int, bias bool, power float64) linear {
	m := linear{in: in, out: out, weight: l.floats(name+".weight", out, in)}
	if bias {
		m.bias = l.floats(name+".bias", out)
	}
	by := float32(math.Pow(float64(in), -power))
	for _, numbers := range [][]float32{m.weight, m.bias} {
		for i := range numbers {
			numbers[i] *= by
		}
	}
	return m
}

func (l *loader) norm(name string, width int, epsilon float64, weighed bool) norm {
	n := norm{epsilon: epsilon}
	if weighed {
		n.weight = l.floats(name+".weight", width)
	}
	return n
}

func (l *loader) number(name string) float64 {
	if x := l.floats(name); len(x) == 1 {
		return float64(x[0])
	}
	return 0
}

func (l *loader) floats(name string, shape ...int) []float32 {
	if l.err != nil {
		return nil
	}
	var out []float32
	if out, l.err = l.file.Floats(name, shape...); l.err != nil {
		return nil
	}
	l.read = append(l.read, name)
	for i, x := range out {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			l.err = fmt.Errorf("number %d of tensor %q is %g", i, name, x)
			return nil
		}
	}
	return out
}

// run returns the quantiles that follow each token, by place in the patch and level.
func (n *net) run(tokens []float32, g grid) []float32 {
	x := n.embed.apply(tokens)
	for _, l := range n.layers {
		y := l.attention.apply(l.first.apply(x, n.Width), g)
		mix(y, x, l.tauOne)
		x = l.network.apply(l.second.apply(y, n.Width))
		mix(x, y, l.tauTwo)
	}
	return n.head.apply(n.last.apply(x, n.Width))
}
