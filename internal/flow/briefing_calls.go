package flow

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/mutate/llm"
)

const (
	spelledCalls = 512 // training calls whose results are looked at
	sampleBytes  = 300 // of a sample's arguments, and of its result
	topResults   = 4
)

// sample runs a program with the original, which samples whole calls of the training corpus with
// their results and counts how they are distributed. No model can guess that from the code. sample
// returns nil for a target whose values cannot be written in Go. With redaction it keeps shapes
// only.
func (b *briefer) sample(ctx context.Context, bin *harness.Binary) (*llm.Calls, error) {
	records := b.inputs.corpus().Train
	if !writable(b.unit.Sig) || len(records) == 0 {
		return nil, nil
	}
	records = records[:min(len(records), spelledCalls)]
	reply, err := spelledBy(ctx, b.lab, bin, records)
	if err != nil { // prompts do without, unless the run ends
		return nil, ctx.Err()
	}
	out := callsOf(&b.unit.Target, b.inputs.facets(), reply.Calls, weights(records, len(reply.Calls)))
	if b.spec.Redacted() {
		return out.Shapes(&b.unit.Target), nil
	}
	return out, nil
}

// weights returns how many calls each spelled call stands for. If some records panicked, the
// spelled calls cannot be matched to their records, and all count the same.
func weights(records []beagle.Record, calls int) []float64 {
	out := make([]float64, calls)
	for i := range out {
		if out[i] = 1; calls == len(records) {
			out[i] = records[i].Weight
		}
	}
	return out
}

// callsOf sums up spelled calls.
func callsOf(t *beagle.Target, f *beagle.Facets, calls []rt.SpelledCall, weight []float64) *llm.Calls {
	out := &llm.Calls{Seen: len(calls)}
	shares, total := map[string]float64{}, 0.0
	var results []string
	for i, c := range calls {
		results = append(results, strings.Join(c.Results, ", "))
		shares[results[i]] += weight[i]
		total += weight[i]
	}
	out.Distinct = len(shares)
	frequent := inorder.Collect(maps.Keys(shares), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b))
	})
	for _, text := range frequent {
		if share := shares[text] / total; share > 0.02 && len(out.Results) < topResults && len(text) <= sampleBytes {
			out.Results = append(out.Results, llm.Share{Value: text, Share: share})
		}
	}
	out.Samples = samplesOf(t, calls, results, weight, shares)
	out.Lengths = lengthsOf(t, f, calls)
	return out
}

// samplesOf picks up to three calls: one that stands for most calls with the most
// frequent result, one with the rarest, and one that fails.
func samplesOf(
	t *beagle.Target, calls []rt.SpelledCall, results []string, weight []float64, shares map[string]float64,
) (out []llm.Sample) {
	// best picks the best short call that fits, unless it is shown already.
	best := func(why string, better func(i, j int) bool, fits func(i int) bool) {
		at := -1
		for i, c := range calls {
			short := len(strings.Join(c.Args, ", ")) <= sampleBytes && len(results[i]) <= sampleBytes
			if short && fits(i) && (at < 0 || better(i, at)) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		s := llm.Sample{
			Why: why, Args: t.Name + "(" + strings.Join(calls[at].Args, ", ") + ")", Result: results[at],
		}
		if !slices.ContainsFunc(out, func(o llm.Sample) bool { return o.Args == s.Args }) {
			out = append(out, s)
		}
	}
	all := func(i int) bool { return !fails(t, &calls[i]) }
	best("frequent", func(i, j int) bool {
		return cmp.Or(cmp.Compare(shares[results[i]], shares[results[j]]), cmp.Compare(weight[i], weight[j])) > 0
	}, all)
	best("rare", func(i, j int) bool { return shares[results[i]] < shares[results[j]] }, all)
	best("fails", func(i, j int) bool { return weight[i] > weight[j] }, func(i int) bool { return fails(t, &calls[i]) })
	return out
}

// fails reports whether a call returns an error.
func fails(t *beagle.Target, c *rt.SpelledCall) bool {
	for i, r := range t.Results {
		if r.Type == "error" && i < len(c.Results) && c.Results[i] != `""` && c.Results[i] != "nil" {
			return true
		}
	}
	return false
}

// lengthsOf describes how long the results are, and the elements of lists of texts.
func lengthsOf(t *beagle.Target, f *beagle.Facets, calls []rt.SpelledCall) (out []llm.Length) {
	add := func(of string, lengths []int) {
		if len(lengths) == 0 {
			return
		}
		inorder.Sort(lengths)
		if n := len(lengths); lengths[n-1] > 0 {
			out = append(out, llm.Length{Of: of, Least: lengths[0], Median: lengths[n/2], Most: lengths[n-1]})
		}
	}
	// The elements of arguments.
	for i, p := range t.Params {
		var inside []int
		for _, c := range calls {
			if i < len(c.Args) {
				_, elements := lengthIn(c.Args[i])
				inside = append(inside, elements...)
			}
		}
		name := p.Name
		if f != nil && i < len(f.Params) && name == "" {
			name = f.Params[i].Name
		}
		add("the elements of "+name, inside)
	}
	// The results and their elements.
	for i := range t.Results {
		var lengths, inside []int
		for _, c := range calls {
			if i < len(c.Results) && t.Results[i].Type != "error" {
				n, elements := lengthIn(c.Results[i])
				if inside = append(inside, elements...); n >= 0 {
					lengths = append(lengths, n)
				}
			}
		}
		of := "the result"
		if len(t.Results) > 1 {
			of = "result " + strconv.Itoa(i+1)
		}
		add(of, lengths)
		add("the elements of "+of, inside)
	}
	return out
}

// lengthIn returns the length of a text or a list in Go syntax, and the lengths of the texts in a
// list. It returns -1 for anything else.
func lengthIn(goSyntax string) (n int, elements []int) {
	e, err := parser.ParseExpr(goSyntax)
	if err != nil {
		return -1, nil
	}
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 { // a conversion, such as []byte("ab")
		e = call.Args[0]
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Value[0] != '\'' {
			return len(s), nil
		}
	case *ast.CompositeLit:
		if _, list := e.Type.(*ast.ArrayType); !list {
			return -1, nil
		}
		for _, el := range e.Elts {
			if lit, ok := el.(*ast.BasicLit); ok {
				if s, err := strconv.Unquote(lit.Value); err == nil && lit.Value[0] != '\'' {
					elements = append(elements, len(s))
				}
			}
		}
		return len(e.Elts), elements
	}
	return -1, nil
}
