package corpus

import (
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// scratchValues makes n inputs from the types alone: ordinary ones, rather than the corner cases
// that verification tries. They serve the measurement if nothing was recorded.
func scratchValues(args *rt.Shape, types func(string) *rt.Shape, n int, seed uint64) []beagle.Record {
	s := &scratcher{rng: rand.New(rand.NewPCG(seed, 0x5c7a7c4)), types: types}
	names := recordNames("A", len(args.Fields))
	var out []beagle.Record
	for range n {
		v := rt.Value{Kind: rt.KindStruct, Names: names}
		s.scale = math.Exp2(1 + s.rng.Float64()*4.5) // lengths of one input go together, 2 to 45
		for _, f := range args.Fields {
			v.Elems = append(v.Elems, s.value(f.Shape, 0))
		}
		out = append(out, beagle.Record{Args: v.Append(nil), Weight: 1, Source: "generated"})
	}
	return Merge(out)
}

type scratcher struct {
	rng   *rand.Rand
	types func(string) *rt.Shape
	scale float64
}

const maxDepth = 5

// value returns a random value of a shape.
func (s *scratcher) value(t *rt.Shape, depth int) rt.Value {
	zero := t.Zero()
	if t.Form != "" || t.Type == "time.Time" {
		return zero
	}
	// Numbers and texts come from the generator, composite values from their parts.
	switch zero.Kind {
	case rt.KindBool:
		zero.Bits = s.rng.Uint64N(2)
	case rt.KindInt:
		zero.Bits = uint64(s.int(t.Bits))
	case rt.KindUint:
		zero.Bits = uint64(max(s.int(t.Bits), -s.int(t.Bits))) & (1<<t.Bits - 1)
	case rt.KindFloat32:
		zero.Bits = uint64(math.Float32bits(float32(s.rng.NormFloat64() * 100)))
	case rt.KindFloat64:
		zero.Bits = math.Float64bits(s.rng.NormFloat64() * 100)
	case rt.KindComplex64:
		zero.Bits, zero.Imag = uint64(math.Float32bits(float32(s.rng.NormFloat64()))),
			uint64(math.Float32bits(float32(s.rng.NormFloat64())))
	case rt.KindComplex128:
		zero.Bits, zero.Imag = math.Float64bits(s.rng.NormFloat64()), math.Float64bits(s.rng.NormFloat64())
	case rt.KindString:
		zero.Str = s.text()
	case rt.KindArray:
		for i := range zero.Elems {
			zero.Elems[i] = s.value(t.Elem, depth+1)
		}
	case rt.KindStruct:
		for i, f := range t.Fields {
			if !f.Hidden && depth <= maxDepth {
				zero.Elems[i] = s.value(f.Shape, depth+1)
			}
		}
	default:
		return s.reference(t, depth)
	}
	return zero
}

func (s *scratcher) reference(t *rt.Shape, depth int) rt.Value {
	if depth > maxDepth {
		return rt.Value{}
	}
	switch t.Kind {
	case reflect.Slice:
		if t.Elem.Kind == reflect.Uint8 {
			return rt.Value{Kind: rt.KindBytes, Str: s.text()}
		}
		return s.list(t, depth)
	case reflect.Pointer:
		return rt.Value{Kind: rt.KindPointer, Elems: []rt.Value{s.value(t.Elem, depth+1)}}
	case reflect.Map:
		return s.mapping(t, depth)
	case reflect.Interface:
		return s.dynamic(t)
	}
	return rt.Value{}
}

// int is small most of the time; its size is even on a logarithmic scale
// otherwise.
func (s *scratcher) int(bits int) int64 {
	var n int64
	switch s.rng.IntN(4) {
	case 0, 1:
		n = int64(float64(s.rng.IntN(4)+1) * s.scale * s.rng.Float64())
	case 2:
		n = s.rng.Int64N(1 << s.rng.IntN(min(bits-1, 31)))
	default:
		n = -s.rng.Int64N(1 << s.rng.IntN(min(bits-1, 16)))
	}
	return n % (1 << (min(bits, 63) - 1))
}

func (s *scratcher) length() int { return int(s.scale * (0.5 + s.rng.Float64()/2)) }

const ordinary = "eeeetttaaaooiinnssrrhhlddcumfpgwybvk"

// text is words with separators, some capitals and digits, and now and then a
// rune beyond ASCII.
func (s *scratcher) text() string {
	n := s.length()
	b := make([]byte, 0, n+4)
	for len(b) < n {
		switch x := s.rng.IntN(100); {
		case x < 80:
			b = append(b, ordinary[s.rng.IntN(len(ordinary))])
		case x < 88:
			b = append(b, byte('0'+s.rng.IntN(10)))
		case x < 93:
			b = append(b, " _-.:/"[s.rng.IntN(6)])
		case x < 99:
			b = append(b, byte('A'+s.rng.IntN(26)))
		case s.rng.IntN(8) == 0:
			b = append(b, string([]rune("éßñ中ж€")[s.rng.IntN(6)])...)
		}
	}
	return string(b)
}

func (s *scratcher) list(t *rt.Shape, depth int) rt.Value {
	v := rt.Value{Kind: rt.KindList, Elems: []rt.Value{}}
	for range s.length() {
		v.Elems = append(v.Elems, s.value(t.Elem, depth+1))
	}
	if s.rng.IntN(2) == 0 && sortable(v.Elems) {
		inorder.By(v.Elems, func(a, b rt.Value) int { return compare(&a, &b) })
	}
	return v
}

func sortable(elems []rt.Value) bool {
	return len(elems) > 0 && compare(&elems[0], &elems[0]) == 0
}

func (s *scratcher) mapping(t *rt.Shape, depth int) rt.Value {
	v := rt.Value{Kind: rt.KindMap}
	seen := map[string]bool{}
	for range s.length() {
		k := s.value(t.Key, depth+1)
		if id := string(k.Append(nil)); !seen[id] {
			seen[id] = true
			v.Elems = append(v.Elems, k, s.value(t.Elem, depth+1))
		}
	}
	return v
}

// dynamic fills the interfaces that everybody implements; others stay nil.
func (s *scratcher) dynamic(t *rt.Shape) rt.Value {
	box := func(name string, v rt.Value) rt.Value {
		return rt.Value{Kind: rt.KindInterface, Str: name, Elems: []rt.Value{v}}
	}
	field := func(text string) rt.Value { return rt.Value{Kind: rt.KindString, Str: text} }
	switch t.Type {
	case "error":
		if s.rng.IntN(2) == 0 {
			return rt.Value{}
		}
		str := rt.Value{Kind: rt.KindStruct, Names: []string{"s"}, Elems: []rt.Value{field(s.text())}}
		return box("*errors.errorString", rt.Value{Kind: rt.KindPointer, Elems: []rt.Value{str}})
	case "io.Reader", "io.ReaderAt", "io.ByteReader", "io.RuneReader", "io.ReadSeeker":
		str := rt.Value{Kind: rt.KindStruct, Names: []string{"s", "i", "prevRune"},
			Elems: []rt.Value{field(s.text()), {Kind: rt.KindInt}, {Kind: rt.KindInt, Bits: math.MaxUint64}}}
		return box("*strings.Reader", rt.Value{Kind: rt.KindPointer, Elems: []rt.Value{str}})
	case "interface {}", "any":
		switch s.rng.IntN(4) {
		case 0:
			return box("int", rt.Value{Kind: rt.KindInt, Bits: uint64(s.int(64))})
		case 1:
			return box("float64", rt.Value{Kind: rt.KindFloat64, Bits: math.Float64bits(s.rng.NormFloat64())})
		}
		return box("string", field(s.text()))
	}
	return rt.Value{}
}
