package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/special"
)

// A comparison is one figure of a facet, of the trace and of the capture.
type comparison struct {
	facet, of      string
	trace, capture float64
	low, high      float64 // where 95 % of the captures of that many calls are
}

func (c comparison) inside() bool { return c.low <= c.capture && c.capture <= c.high }

// A comparer compares a capture with the trace of the same time.
type comparer struct {
	t      *trace
	facets *beagle.Facets // of the capture
	n      float64        // captured calls, as many as tell as much of a trace without an end
	list   []comparison
}

// compare returns all comparisons that sampling decides.
func compare(u *source.Unit, t *trace, r *capture.Records) ([]comparison, error) {
	seen, err := corpus.Observed(u, r.List, r.Seen)
	if err != nil {
		return nil, err
	}
	n, all := float64(len(r.List)), float64(len(t.calls))
	c := &comparer{t: t, facets: &seen.Facets, n: n / max(1-n/all, 1e-9)}
	for i := range c.facets.Params {
		c.param(i)
	}
	captured, err := c.alike(corpus.Merge(r.List))
	if err != nil {
		return nil, err
	}
	if err := c.classes(captured); err != nil {
		return nil, err
	}
	if err := c.values(captured, len(r.List)); err != nil {
		return nil, err
	}
	c.number(r.Seen.Calls)
	c.order()
	return c.list, nil
}

// share compares shares of calls. A kind of call of which a sample has fewer than five is too rare
// for the normal interval; so is its absence.
func (c *comparer) share(facet, of string, trace, captured, n float64) {
	if n*min(trace, 1-trace) >= 5 {
		c.compareKnown(facet, of, trace, captured, math.Sqrt(trace*(1-trace)/n))
	}
}

// compareKnown compares a figure whose standard error is known.
func (c *comparer) compareKnown(facet, of string, trace, captured, deviation float64) {
	half := special.Normal95 * deviation
	c.list = append(c.list, comparison{facet, of, trace, captured, trace - half, trace + half})
}

// alike leaves the parameters out of captured calls that the trace leaves out.
func (c *comparer) alike(captured []beagle.Record) ([]beagle.Record, error) {
	for i, r := range captured {
		v, err := rt.ParseValue(r.Args)
		if err != nil {
			return nil, err
		}
		for k, p := range c.t.facets.Params {
			if p.Nil == 1 {
				v.Elems[k] = rt.Value{Kind: rt.KindNil}
			}
		}
		captured[i].Args = v.Append(nil)
	}
	return corpus.Merge(captured), nil
}

// param compares the shares of a parameter.
func (c *comparer) param(i int) {
	a, b := c.t.facets.Params[i], c.facets.Params[i]
	for _, s := range []struct {
		facet string
		a, b  float64
	}{{"nil", a.Nil, b.Nil}, {"empty", a.Empty, b.Empty}, {"ASCII", a.ASCII, b.ASCII},
		{"invalid UTF-8", a.Invalid, b.Invalid}, {"sorted", a.Sorted, b.Sorted}, {"unique", a.Unique, b.Unique}} {
		c.share(s.facet, a.Name, s.a, s.b, c.n)
	}
}

// classes compares the shares of the strata that the trace has.
func (c *comparer) classes(captured []beagle.Record) error {
	a, err := corpus.Strata(c.t.facets, c.t.records)
	if err != nil {
		return err
	}
	b, err := corpus.Strata(c.t.facets, captured)
	if err != nil {
		return err
	}
	for _, s := range a {
		share := 0.0
		for _, x := range b {
			if x.Name == s.Name {
				share = x.Share
			}
		}
		if s.Name != "the rest" {
			c.share("class", s.Name, s.Share, share, c.n)
		}
	}
	return nil
}

// values holds what a parameter gets.
type values struct {
	lengths []weighted
	bytes   [256]float64 // occurrences
	texts   []text
	counts  map[string]float64 // calls by value
	calls   float64
}

type weighted struct{ n, w float64 }

// A text is what a call has of bytes.
type text struct {
	bytes  map[byte]float64
	length float64
	w      float64
}

// values compares what needs the values themselves: lengths, bytes, frequent ones and cardinality.
func (c *comparer) values(captured []beagle.Record, calls int) error {
	theirs, err := valuesOf(c.t.records, len(c.facets.Params))
	if err != nil {
		return err
	}
	ours, err := valuesOf(captured, len(c.facets.Params))
	if err != nil {
		return err
	}
	for i := range theirs {
		c.lengths(i, &theirs[i])
		c.bytes(i, &theirs[i])
		c.distinct(i, &theirs[i], calls)
		c.frequent(i, &theirs[i], &ours[i])
	}
	return nil
}

func valuesOf(records []beagle.Record, params int) ([]values, error) {
	all := make([]values, params)
	for _, r := range records {
		v, err := rt.ParseValue(r.Args)
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i].add(&v.Elems[i], r.Weight)
		}
	}
	return all, nil
}

func (x *values) add(v *rt.Value, w float64) {
	if x.counts == nil {
		x.counts = map[string]float64{}
	}
	x.counts[string(v.Append(nil))] += w
	x.calls += w
	switch v.Kind {
	case rt.KindString, rt.KindBytes:
		x.lengths = append(x.lengths, weighted{float64(len(v.Str)), w})
		x.text([]rt.Value{*v}, w)
	case rt.KindList:
		x.lengths = append(x.lengths, weighted{float64(len(v.Elems)), w})
		x.text(v.Elems, w)
	}
}

// text counts bytes as the facet does: a text of a list weighs as its part of the list.
func (x *values) text(list []rt.Value, w float64) {
	t := text{bytes: map[byte]float64{}, w: w}
	for _, v := range list {
		if v.Kind != rt.KindString && v.Kind != rt.KindBytes {
			return
		}
		for _, b := range []byte(v.Str) {
			t.bytes[b] += 1 / float64(len(list))
			x.bytes[b] += w / float64(len(list))
		}
		t.length += float64(len(v.Str)) / float64(len(list))
	}
	x.texts = append(x.texts, t)
}

// lengths compares the quantiles: the part of the trace that is no longer than a captured quantile
// is known to the error of a share.
func (c *comparer) lengths(i int, x *values) {
	for k, p := range map[int]float64{1: 0.5, 2: 0.95, 3: 0.99} {
		q, total, below, upTo := float64(c.facets.Params[i].Len[k]), 0.0, 0.0, 0.0
		for _, l := range x.lengths {
			total += l.w
			if l.n < q {
				below += l.w
			}
			if l.n <= q {
				upTo += l.w
			}
		}
		if total == 0 || c.t.facets.Params[i].Len[0] == c.t.facets.Params[i].Len[4] {
			continue
		}
		// The quantile fits if p lies between both parts, give or take.
		half := special.Normal95 * math.Sqrt(p*(1-p)/c.n)
		at := min(max(p, below/total), upTo/total)
		c.list = append(c.list, comparison{"length", fmt.Sprintf("%s, the %g %% quantile %g, in the trace %d",
			c.t.facets.Params[i].Name, 100*p, q, c.t.facets.Params[i].Len[k]), p, at, p - half, p + half})
	}
}

// bytes compares the shares of the most frequent bytes. The bytes of a call come together, so
// calls are what is drawn.
func (c *comparer) bytes(i int, x *values) {
	total, calls := 0.0, 0.0
	for _, t := range x.texts {
		total += t.length * t.w
		calls += t.w
	}
	if total == 0 {
		return
	}
	order := make([]int, 256)
	for b := range order {
		order[b] = b
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, x.bytes[b]-x.bytes[a])) })
	for _, b := range order[:4] {
		share, squares := x.bytes[b]/total, 0.0
		for _, t := range x.texts {
			off := t.bytes[byte(b)] - share*t.length
			squares += t.w * off * off
		}
		if squares == 0 {
			continue
		}
		c.compareKnown("bytes", fmt.Sprintf("%s %q", c.t.facets.Params[i].Name, rune(b)), share,
			c.facets.Params[i].Bytes[b], math.Sqrt(squares/calls/c.n)*calls/total)
	}
}

// distinct compares the number of different values with that of as many calls of the trace, drawn
// by chance.
func (c *comparer) distinct(i int, x *values, captured int) {
	drawn := float64(captured) / float64(len(c.t.calls))
	mean, variance := 0.0, 0.0
	for _, n := range x.counts {
		seen := 1 - math.Pow(1-drawn, n)
		mean, variance = mean+seen, variance+seen*(1-seen)
	}
	if variance > 1 {
		c.compareKnown("cardinality", fmt.Sprintf("%s; all calls have %d", c.facets.Params[i].Name, len(x.counts)),
			mean,
			float64(c.facets.Params[i].Distinct), math.Sqrt(variance))
	}
}

// leastFrequent is the least share of a value that is compared.
const leastFrequent = 0.02

// frequent compares the shares of frequent values.
func (c *comparer) frequent(i int, theirs, ours *values) {
	for _, key := range inorder.Keys(theirs.counts) {
		if share := theirs.counts[key] / theirs.calls; share >= leastFrequent {
			v, err := rt.ParseValue([]byte(key))
			if err != nil {
				continue
			}
			c.share("frequent value", c.facets.Params[i].Name+" "+string(v.JSON()), share,
				ours.counts[key]/ours.calls, c.n)
		}
	}
}

// number compares the number of calls, which windows of the capture count.
func (c *comparer) number(seen float64) {
	counts := map[int64]float64{}
	for _, x := range c.t.calls {
		counts[(x.began-c.t.calls[0].began)/int64(window)]++
	}
	bins := math.Ceil(c.t.long.Seconds() / window.Seconds())
	mean, squares := float64(len(c.t.calls))/bins, 0.0
	for _, n := range counts {
		squares += (n - mean) * (n - mean)
	}
	squares += (bins - float64(len(counts))) * mean * mean
	c.compareKnown("number of calls", "", mean*bins, seen, bins*math.Sqrt(squares/bins/c.t.long.Seconds()))
}

// window is how long the probe counts all calls, each second.
const window = 20 * time.Millisecond

// order compares what depends on the order of calls: whether arguments come again, and whether
// calls meet.
func (c *comparer) order() {
	for _, a := range c.facets.Again {
		c.share("again", fmt.Sprintf("%.0f calls later", a.Calls), c.t.repeatShare(a.Calls), a.Share, float64(a.Pairs))
	}
	if f := c.facets.InFlight; f != nil && f.Beside != nil {
		b := c.t.overlapShares()
		for i, share := range []float64{f.Beside.None, f.Beside.One, f.Beside.Few, f.Beside.Many} {
			c.share("beside", []string{"none", "one", "2 or 3", "more"}[i], b[i], share, f.Beside.Calls)
		}
	}
	if f := c.facets.InFlight; f != nil {
		sum, squares := 0.0, 0.0
		for _, x := range c.t.calls {
			sum, squares = sum+float64(x.took), squares+float64(x.took)*float64(x.took)
		}
		n := float64(len(c.t.calls))
		rate := n / c.t.long.Seconds() / 1e9
		c.compareKnown("under way", "the mean", rate*sum/n, f.Mean, rate*math.Sqrt((squares/n-sum*sum/n/n)/f.Calls))
	}
}
