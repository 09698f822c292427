package rt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// Words are all small inputs over an alphabet, by number: the small ones of
// each parameter first, combined with those of all other parameters.
type Words[A any] struct {
	s space
}

// NewWords plans at most limit inputs. Parameters share the number evenly. If there are more
// inputs, it samples them evenly rather than cutting them off.
func NewWords[A any](alpha Alphabet, limit int, types map[string]reflect.Type) *Words[A] {
	t := reflect.TypeOf((*A)(nil)).Elem()
	g := newMaker(t.PkgPath(), types)
	g.alpha = alpha
	return &Words[A]{g.space(t, limit, 0)}
}

// Len returns the number of inputs.
func (w *Words[A]) Len() int { return w.s.n }

// At makes input i in a. All its memory is new.
func (w *Words[A]) At(i int, a *A) {
	*a = *new(A)
	w.s.set(i, unsafe.Pointer(a))
}

// A space is a numbered set of values; set makes one in zeroed memory.
type space struct {
	n   int
	set func(i int, p unsafe.Pointer)
}

// A maker makes values of any type.
type maker struct {
	own   string // package whose structs are filled field by field
	types []reflect.Type
	alpha Alphabet
}

func newMaker(own string, types map[string]reflect.Type) *maker {
	g := &maker{own: own}
	names := []string{"bool", "int", "string", "float64", "[]string", "*errors.errorString", "*strings.Reader",
		"*bytes.Reader", "*bytes.Buffer"}
	for name := range types {
		names = append(names, name)
	}
	sortTexts(names[9:])
	for _, n := range unique(names) {
		g.types = append(g.types, lookupType(n, types))
	}
	return g
}

// dynamic lists the types that an interface value may have.
func (g *maker) dynamic(t reflect.Type) (list []reflect.Type) {
	for _, c := range g.types {
		if c.AssignableTo(t) && c.Kind() != reflect.Interface {
			list = append(list, c)
		}
	}
	return list
}

// texted makes values of types with hidden fields from text.
var texted = map[reflect.Type]func(text string) any{
	reflect.TypeOf(errors.New("")):     func(s string) any { return errors.New(s) },
	reflect.TypeOf(&strings.Reader{}):  func(s string) any { return strings.NewReader(s) },
	reflect.TypeOf(&bytes.Reader{}):    func(s string) any { return bytes.NewReader([]byte(s)) },
	reflect.TypeOf(&bytes.Buffer{}):    func(s string) any { return bytes.NewBufferString(s) },
	reflect.TypeOf(&strings.Builder{}): func(s string) any { b := new(strings.Builder); b.WriteString(s); return b },
	reflect.TypeOf(time.Time{}):        func(s string) any { return timeOf(s) },
	reflect.TypeOf(netip.Addr{}):       func(s string) any { return addrOf(s) },
}

func timeOf(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	var b [8]byte
	copy(b[:], s)
	return time.Unix(int64(binary.LittleEndian.Uint64(b[:]))%(1<<33), int64(b[0])).UTC()
}

func addrOf(s string) netip.Addr {
	b := []byte(s)
	if a, ok := netip.AddrFromSlice(b); ok {
		return a
	}
	if s == "" {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(append(b, 0, 0, 0)[:4]))
}

// maxNesting bounds recursive types.
const maxNesting = 4

// space returns the values of a type, the plainest first. budget says how many may be needed, so
// that a space does not spend it all on one part.
func (g *maker) space(t reflect.Type, budget, depth int) space {
	budget = max(budget, 1)
	// Types that are written as texts are made from texts, and closed ones only have their zero
	// value.
	if f := texted[t]; f != nil {
		return mapped(g.texts(min(budget, 40)), func(s string, p unsafe.Pointer) {
			reflect.NewAt(t, p).Elem().Set(reflect.ValueOf(f(s)))
		})
	}
	if closed(g.own, t) {
		return space{1, func(int, unsafe.Pointer) {}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return space{min(2, budget), func(i int, p unsafe.Pointer) { *(*bool)(p) = i == 1 }}
	case reflect.String:
		return mapped(g.texts(budget), func(s string, p unsafe.Pointer) { *(*string)(p) = s })
	case reflect.Struct:
		return g.structs(t, budget, depth)
	case reflect.Slice:
		return g.slices(t, budget, depth)
	case reflect.Array:
		return g.arrays(t, budget, depth)
	case reflect.Pointer:
		return g.pointers(t, budget, depth)
	case reflect.Map:
		return g.maps(t, budget, depth)
	case reflect.Interface:
		return g.interfaces(t, budget, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return space{1, func(int, unsafe.Pointer) {}}
	}
	return g.numbers(t, budget)
}

// numbers lists the alphabet and its neighbourhood, then all numbers if they
// are few.
func (g *maker) numbers(t reflect.Type, budget int) space {
	// Small integers are listed completely if the budget allows it.
	c := coderOf(t)
	if c.size <= 2 && t.Kind() != reflect.Float32 {
		all := 1 << (8 * c.size)
		if budget >= all {
			return space{all, func(i int, p unsafe.Pointer) { setBits(p, c.size, uint64(i)) }}
		}
	}
	// Floats come from the alphabet alone: all bit patterns would mostly be strange numbers.
	if k := t.Kind(); k >= reflect.Float32 && k <= reflect.Complex128 {
		return mapped(sampled(listed(g.alpha.Floats), budget), func(bits uint64, p unsafe.Pointer) {
			v, f := reflect.NewAt(t, p).Elem(), math.Float64frombits(bits)
			if v.CanFloat() {
				v.SetFloat(f)
			} else {
				v.SetComplex(complex(f, -f))
			}
		})
	}
	// Integers start with the constants of the code, and go on with the neighbourhood of 0.
	var list []int64
	for _, n := range g.alpha.Ints {
		if fits(n, t) {
			list = append(list, n)
		}
	}
	known := len(list)
	low := int64(-64)
	if t.Kind() >= reflect.Uint {
		low = 0
	}
	dense := sequence[int64]{1 << 12, func(i int) int64 { return low + int64(i) }}
	s := chain(budget, listed(list[:min(known, budget)]), dense)
	return mapped(s, func(n int64, p unsafe.Pointer) { setBits(p, c.size, uint64(n)) })
}

func fits(n int64, t reflect.Type) bool {
	v := reflect.Zero(t)
	if v.CanInt() {
		return !v.OverflowInt(n)
	}
	return (n >= 0 || n == -1 && t.Size() == 8) && !v.OverflowUint(uint64(n))
}

// structs combines the values of the fields. The budget of each field grows step by step, as long
// as the product stays within the whole.
func (g *maker) structs(t reflect.Type, budget, depth int) space {
	c := coderOf(t)
	spaces := make([]space, len(c.fields))
	budgets := make([]int, len(c.fields))
	size := 1
	// grow gives a field a larger budget, unless that makes too many combinations.
	grow := func(i, b int) {
		s := g.space(c.fields[i].c.typ, b, depth+1)
		if n := size / max(spaces[i].n, 1) * s.n; n <= budget || spaces[i].n == 0 {
			spaces[i], size = s, n
		}
		budgets[i] = b
	}
	for i := range spaces {
		grow(i, 1)
	}
	// Go round the fields and double their budgets, but leave out those that did not use what they
	// had.
	for b := 2; b > 0 && b <= budget; b *= 2 {
		for i := range spaces {
			if b/2 <= 2*spaces[i].n { // it used what it got the last time
				grow(i, b)
			}
		}
	}
	// The number of a combination has one digit for each field.
	return space{size, func(i int, p unsafe.Pointer) {
		for k, s := range spaces {
			s.set(i%s.n, unsafe.Add(p, c.fields[k].off))
			i /= s.n
		}
	}}
}

func (g *maker) pointers(t reflect.Type, budget, depth int) space {
	if depth >= maxNesting || budget < 2 {
		if budget < 2 && depth == 1 {
			// With no budget left, the first level is a receiver or an argument of its own, and is
			// not left at nil.
			return g.pointing(t, g.space(t.Elem(), 1, depth+1)) // a receiver: nil alone says little
		}
		return space{1, func(int, unsafe.Pointer) {}}
	}
	s := g.pointing(t, g.space(t.Elem(), budget-1, depth+1))
	// nil is the first value, and the others follow.
	return space{s.n + 1, func(i int, p unsafe.Pointer) {
		if i > 0 {
			s.set(i-1, p)
		}
	}}
}

func (g *maker) pointing(t reflect.Type, s space) space {
	elem := coderOf(t.Elem())
	return space{s.n, func(i int, p unsafe.Pointer) {
		q := elem.alloc(1)
		s.set(i, q)
		*(*unsafe.Pointer)(p) = q
	}}
}

// slices returns a space of slices: nil, empty, empty with room, and words over the first elements.
func (g *maker) slices(t reflect.Type, budget, depth int) space {
	// Bytes have lists of their own, and deep lists are not worth their number.
	if t.Elem().Kind() == reflect.Uint8 {
		return g.byteSlices(budget)
	}
	if depth >= maxNesting || budget < 2 {
		return space{1, func(int, unsafe.Pointer) {}}
	}
	elem := coderOf(t.Elem())
	// Elements come from a small alphabet, whose size leaves room for words of several letters.
	letters := g.space(elem.typ, min(max(budget/16, 3), 32), depth+1)
	k := letters.n
	share := max(budget/6, 8)
	// Long lists of one element with a single other one show what depends on a position.
	long := capped(g.bends(min(2, k), min(k, 8)), share)
	bent := sequence[[]int]{long.n, func(i int) []int {
		b := long.at(i)
		w := make([]int, b.len)
		for j := range w {
			w[j] = b.base
		}
		w[b.at] = b.other
		return w
	}}
	// Chain the kinds: all words of one letter, those of two and four over fewer letters, long
	// ones, ramps, and then larger alphabets. The caps keep one kind from using up the budget.
	all := chain(budget-1, sequence[[]int]{1, func(int) []int { return []int{} }}, words(k, 1), words(min(k, 6), 2),
		capped(words(min(k, 4), 4), share), bent,
		capped(ramps(g.alpha.Lens, k), share), capped(words(k, 2), share),
		capped(words(min(k, 3), 7), share), words(k, 4))
	return space{all.n + 1, func(i int, p unsafe.Pointer) {
		if i == 0 {
			return
		}
		g.word(elem, letters, all.at(i-1), (i%4)*2, (*sliceHeader)(p)) // every fourth has no room to append
	}}
}

// ramps returns ascending and descending words, with and without repeats.
func ramps(lens []int, k int) sequence[[]int] {
	return sequence[[]int]{4 * len(lens), func(i int) []int {
		w := make([]int, lens[i/4])
		for j := range w {
			step := j
			// The two lowest bits of the index choose among the four kinds.
			if i&1 == 1 {
				step = j / 2
			}
			if i&2 == 2 {
				step = k*len(w) - 1 - step
			}
			w[j] = step % k
		}
		return w
	}}
}

func (g *maker) word(elem *coder, letters space, w []int, spare int, h *sliceHeader) {
	h.len, h.cap = len(w), len(w)+spare
	h.data = reflect.MakeSlice(elem.slice, h.cap, h.cap).UnsafePointer()
	for j, k := range w {
		letters.set(k, elem.at(h.data, j))
	}
}

func (g *maker) byteSlices(budget int) space {
	if budget < 2 {
		return space{1, func(int, unsafe.Pointer) {}}
	}
	s := g.texts(budget - 1)
	return space{s.n + 1, func(i int, p unsafe.Pointer) {
		if i > 0 {
			b := s.at(i - 1)
			*(*[]byte)(p) = append(make([]byte, 0, len(b)+(i%4)*2), b...)
		}
	}}
}

// arrays takes all combinations of a few element values, if the budget allows it.
func (g *maker) arrays(t reflect.Type, budget, depth int) space {
	n, elem := t.Len(), coderOf(t.Elem())
	if n == 0 || depth >= maxNesting {
		return space{1, func(int, unsafe.Pointer) {}}
	}
	letters := g.space(elem.typ, min(max(budget/n, 2), 64), depth+1)
	k := letters.n
	all := math.Pow(float64(k), float64(n))
	// Not all combinations fit: take lists of one letter in which one place has another.
	if all > float64(budget) { // one element out of line, at every place
		m := min(k*k*n, budget)
		bent := sampled(sequence[bend]{k * k * n, func(i int) bend { return bend{n, i % n, i / n % k, i / n / k} }}, m)
		return space{m, func(i int, p unsafe.Pointer) {
			b := bent.at(i)
			for j := 0; j < n; j++ {
				letter := b.base
				if j == b.at {
					letter = b.other
				}
				letters.set(letter, elem.at(p, j))
			}
		}}
	}
	return space{int(all), func(i int, p unsafe.Pointer) {
		for j := 0; j < n; j++ {
			letters.set(i%k, elem.at(p, j))
			i /= k
		}
	}}
}

// maps returns a space of maps: nil and words of up to three keys with values that vary.
func (g *maker) maps(t reflect.Type, budget, depth int) space {
	if depth >= maxNesting || budget < 2 {
		return space{1, func(int, unsafe.Pointer) {}}
	}
	key, elem := coderOf(t.Key()), coderOf(t.Elem())
	keys := g.space(key.typ, min(max(budget/8, 2), 12), depth+1)
	vals := g.space(elem.typ, min(max(budget/8, 2), 6), depth+1)
	w := sampled(words(keys.n*vals.n, 3), budget-1)
	return space{w.n + 1, func(i int, p unsafe.Pointer) {
		if i == 0 {
			return
		}
		m := reflect.MakeMap(t)
		for _, x := range w.at(i - 1) {
			k, v := key.alloc(1), elem.alloc(1)
			keys.set(x%keys.n, k)
			vals.set(x/keys.n, v)
			// A key in an interface may be of a type that no map takes.
			if hashable(key.value(k)) {
				m.SetMapIndex(key.value(k), elem.value(v))
			}
		}
		reflect.NewAt(t, p).Elem().Set(m)
	}}
}

// interfaces lists nil and the values of the types that may be in the interface, with an equal
// share for each type.
func (g *maker) interfaces(t reflect.Type, budget, depth int) space {
	types := g.dynamic(t)
	if depth >= maxNesting || budget < 2 || len(types) == 0 {
		return space{1, func(int, unsafe.Pointer) {}}
	}
	n := 1
	var spaces []space
	var coders []*coder
	for _, c := range types {
		if n >= budget {
			break
		}
		s := g.space(c, max((budget-1)/len(types), 1), depth+1)
		spaces, coders = append(spaces, s), append(coders, coderOf(c))
		n += s.n
	}
	// Case 0 is nil; the others count through the types' spaces.
	return space{n, func(i int, p unsafe.Pointer) {
		i--
		for k, s := range spaces {
			if i >= 0 && i < s.n {
				box := coders[k].alloc(1)
				s.set(i, box)
				reflect.NewAt(t, p).Elem().Set(coders[k].value(box))
				return
			}
			i -= s.n
		}
	}}
}
