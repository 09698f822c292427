package corpus

import (
	"cmp"
	"math"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

const (
	maxTop     = 8
	maxLiteral = 80 // a longer value is no constant to specialise on
)

// paramFacets describes what each parameter receives.
func paramFacets(records []beagle.Record, args *rt.Shape, types func(string) *rt.Shape) ([]beagle.ParamFacet, error) {
	facets := make([]facet, len(args.Fields))
	for i, f := range args.Fields {
		facets[i] = facet{
			ParamFacet: beagle.ParamFacet{Name: f.Name},
			shape:      f.Shape,
			types:      types,
			seen:       map[string]float64{},
		}
	}
	for _, r := range records {
		v, err := rt.ParseValue(r.Args)
		if err != nil {
			return nil, err
		}
		backs := map[int]*rt.Back{}
		collectBacks(&v, backs)
		for i := range facets {
			if i < len(v.Elems) {
				facets[i].add(&v.Elems[i], r.Weight, backs)
			}
		}
	}
	out := make([]beagle.ParamFacet, len(facets))
	for i := range facets {
		out[i] = facets[i].finish()
	}
	return out, nil
}

// collectBacks finds the memory that references lead to.
func collectBacks(v *rt.Value, to map[int]*rt.Back) {
	if v.Back != nil {
		to[v.Back.ID] = v.Back
		for i := range v.Back.Elems {
			collectBacks(&v.Back.Elems[i], to)
		}
	}
	for i := range v.Elems {
		collectBacks(&v.Elems[i], to)
	}
}

type facet struct {
	beagle.ParamFacet
	shape *rt.Shape
	types func(string) *rt.Shape

	total  float64
	seen   map[string]float64 // encoded value -> weight
	lens   []weighted
	texts  float64 // weight of texts
	letter [256]float64
	lists  float64 // weight of slices
	number bool
}

type weighted struct {
	n int
	w float64
}

// add counts a value that stands for w calls.
func (f *facet) add(v *rt.Value, w float64, backs map[int]*rt.Back) {
	f.total += w
	f.seen[string(v.Append(nil))] += w
	v = target(v, backs)
	if v == nil {
		f.Nil += w
		return
	}
	switch v.Kind {
	case rt.KindInt:
		f.see(float64(v.Int()))
	case rt.KindUint:
		f.see(float64(v.Bits))
	case rt.KindFloat32, rt.KindFloat64:
		f.see(v.Float())
	case rt.KindString, rt.KindBytes:
		f.length(len(v.Str), w)
		f.text(v.Str, w)
	case rt.KindMap:
		f.length(len(v.Elems)/2, w)
	case rt.KindList, rt.KindArray, rt.KindSliceRef:
		f.list(elements(v, backs), w)
	}
}

// target follows pointers and interfaces; nil if they lead nowhere.
func target(v *rt.Value, backs map[int]*rt.Back) *rt.Value {
	for {
		switch {
		case v.Kind == rt.KindNil:
			return nil
		case v.Kind == rt.KindPointer || v.Kind == rt.KindInterface || v.Kind == rt.KindGlobal:
			v = &v.Elems[0]
			if v.Kind == rt.KindNil {
				return v
			}
		case v.Kind == rt.KindRef && backs[v.Ref.ID] != nil && len(v.Ref.Steps) == 1 &&
			v.Ref.Steps[0] < len(backs[v.Ref.ID].Elems):
			next := &backs[v.Ref.ID].Elems[v.Ref.Steps[0]]
			if next.Kind == rt.KindRef {
				return v
			}
			v = next
		default:
			return v
		}
	}
}

// elements returns the elements of a list, or of the part of shared memory that a slice refers to.
func elements(v *rt.Value, backs map[int]*rt.Back) []rt.Value {
	if v.Kind != rt.KindSliceRef {
		return v.Elems
	}
	b := backs[v.Ref.ID]
	if b == nil || len(v.Ref.Steps) != 1 {
		return nil
	}
	from := min(v.Ref.Steps[0], len(b.Elems))
	return b.Elems[from:min(from+v.Ref.Len, len(b.Elems))]
}

func (f *facet) see(x float64) {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0): // neither has a JSON form
	case !f.number:
		f.number, f.Min, f.Max = true, x, x
	default:
		f.Min, f.Max = min(f.Min, x), max(f.Max, x)
	}
}

func (f *facet) length(n int, w float64) {
	f.lens = append(f.lens, weighted{n, w})
	if n == 0 {
		f.Empty += w
	}
}

func (f *facet) text(s string, w float64) {
	f.texts += w
	ascii := true
	for i := range len(s) {
		f.letter[s[i]] += w
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		f.ASCII += w
	} else if !utf8.ValidString(s) {
		f.Invalid += w
	}
}

// list looks at the order of the elements, and at the texts among them.
func (f *facet) list(elems []rt.Value, w float64) {
	f.length(len(elems), w)
	f.lists += w
	sorted := true
	distinct := make(map[string]bool, len(elems))
	for i := range elems {
		e := &elems[i]
		if i > 0 && !(compare(&elems[i-1], e) <= 0) {
			sorted = false
		}
		distinct[string(e.Append(nil))] = true
		if e.Kind == rt.KindString || e.Kind == rt.KindBytes {
			f.text(e.Str, w/float64(len(elems)))
		}
	}
	if sorted {
		f.Sorted += w
	}
	if len(distinct) == len(elems) {
		f.Unique += w
	}
}

// compare orders values as < does; 2 means that they have no order.
func compare(a, b *rt.Value) int {
	if a.Kind != b.Kind {
		return 2
	}
	switch a.Kind {
	case rt.KindInt:
		return cmp.Compare(a.Int(), b.Int())
	case rt.KindUint:
		return cmp.Compare(a.Bits, b.Bits)
	case rt.KindFloat32, rt.KindFloat64:
		return cmp.Compare(a.Float(), b.Float())
	case rt.KindString, rt.KindBytes:
		return cmp.Compare(a.Str, b.Str)
	}
	return 2
}

func (f *facet) finish() beagle.ParamFacet {
	out := f.ParamFacet
	out.Distinct = len(f.seen)
	for _, share := range []*float64{&out.Nil, &out.Empty} {
		*share = ratio(*share, f.total)
	}
	out.ASCII, out.Invalid = ratio(out.ASCII, f.texts), ratio(out.Invalid, f.texts)
	out.Sorted, out.Unique = ratio(out.Sorted, f.lists), ratio(out.Unique, f.lists)
	out.Len = quantiles(f.lens)
	var bytes float64
	for _, n := range f.letter {
		bytes += n
	}
	if f.texts > 0 {
		out.Bytes = make([]float64, 256)
		for i, n := range f.letter {
			out.Bytes[i] = ratio(n, bytes)
		}
	}
	out.Top = f.topValues()
	return out
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// quantiles returns the minimum, median, 95th and 99th percentile, and maximum.
func quantiles(list []weighted) (q [5]int) {
	if len(list) == 0 {
		return q
	}
	inorder.By(list, func(a, b weighted) int { return cmp.Compare(a.n, b.n) })
	total := 0.0
	for _, x := range list {
		total += x.w
	}
	for i, p := range []float64{0, 0.5, 0.95, 0.99, 1} {
		sum := 0.0
		for _, x := range list {
			if sum += x.w; sum >= p*total || x == list[len(list)-1] {
				q[i] = x.n
				break
			}
		}
	}
	q[4] = list[len(list)-1].n
	return q
}

// topValues lists the most frequent values that can be written as constants.
func (f *facet) topValues() []beagle.TopValue {
	keys := inorder.Keys(f.seen)
	inorder.By(keys, func(a, b string) int { return cmp.Compare(f.seen[b], f.seen[a]) })
	var out []beagle.TopValue
	for _, k := range keys[:min(len(keys), 4*maxTop)] {
		v, err := rt.ParseValue([]byte(k))
		if err != nil {
			continue
		}
		lit, err := v.Go(f.shape, f.types)
		if err == nil && len(lit.Setup) == 0 && len(lit.Exprs[0]) <= maxLiteral && len(out) < maxTop {
			out = append(out, beagle.TopValue{Value: lit.Exprs[0], Share: ratio(f.seen[k], f.total)})
		}
	}
	return out
}
