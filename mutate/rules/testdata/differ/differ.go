// Package differ compares two versions of a function on generated inputs. It
// is copied into the test program that the golden tests build.
package differ

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"time"
)

// A Case is a pair of functions (methods as method expressions) with the
// constants of their sources, near which inputs are most interesting.
type Case struct {
	Name          string
	Before, After any
	Class         string
	Strings       []string
	Ints          []int64
	Lo, Hi        int64 // bounds of integer arguments when Lo < Hi
	MaxLen        int
	Inputs        int
}

// Run compares all cases and prints the first difference of each.
func Run(cases []Case) {
	failed := false
	for _, c := range cases {
		if msg := c.run(); msg != "" {
			failed = true
			fmt.Printf("%s: %s\n", c.Name, msg)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func (c *Case) run() string {
	guard := time.AfterFunc(20*time.Second, func() {
		fmt.Printf("%s: does not return\n", c.Name)
		os.Exit(1)
	})
	defer guard.Stop()
	before, after := reflect.ValueOf(c.Before), reflect.ValueOf(c.After)
	for i := range c.Inputs {
		args, shown := c.args(before.Type(), uint64(i))
		want := call(before, args)
		args2, _ := c.args(after.Type(), uint64(i))
		got := call(after, args2)
		if msg := c.differ(want, got); msg != "" {
			return fmt.Sprintf("%s: %s", shown, msg)
		}
	}
	return ""
}

func (c *Case) args(t reflect.Type, seed uint64) ([]reflect.Value, string) {
	g := &gen{c: c, r: rand.New(rand.NewPCG(seed, 7))}
	g.alphabet()
	var args []reflect.Value
	var last reflect.Value
	for i := range t.NumIn() {
		v := g.value(t.In(i), 0)
		if last.IsValid() && last.Type() == v.Type() && g.r.IntN(4) == 0 {
			v = g.sibling(last)
		}
		last = v
		args = append(args, v)
	}
	shown := ""
	for i, a := range args {
		if i > 0 {
			shown += ", "
		}
		shown += fmt.Sprintf("%#v", a)
	}
	return args, shown
}

type outcome struct {
	results, args []reflect.Value
	panicked      bool
	panicText     string
}

func call(f reflect.Value, args []reflect.Value) (o outcome) {
	o.args = args
	defer func() {
		if e := recover(); e != nil {
			o.panicked, o.panicText = true, fmt.Sprint(e)
		}
	}()
	if f.Type().IsVariadic() {
		o.results = f.CallSlice(args)
	} else {
		o.results = f.Call(args)
	}
	return o
}

func (c *Case) differ(want, got outcome) string {
	exact := c.Class == "E0" || c.Class == "E3"
	if want.panicked != got.panicked || exact && want.panicText != got.panicText {
		return fmt.Sprintf("want panic %q, got %q", want.panicText, got.panicText)
	}
	loose := c.Class == "E2"
	if !want.panicked {
		for i := range want.results {
			if !same(want.results[i], got.results[i], loose) {
				return fmt.Sprintf("want %#v, got %#v", want.results[i], got.results[i])
			}
			for j := range want.args {
				if !loose && overlap(want.results[i], want.args[j]) != overlap(got.results[i], got.args[j]) {
					return fmt.Sprintf("result %d shares memory with argument %d in one version only", i, j)
				}
			}
		}
	}
	if want.panicked && !exact {
		return ""
	}
	for i := range want.args {
		if !same(want.args[i], got.args[i], loose) {
			return fmt.Sprintf("want final argument %d %#v, got %#v", i, want.args[i], got.args[i])
		}
	}
	return ""
}

func overlap(a, b reflect.Value) bool {
	if a.Kind() != reflect.Slice || b.Kind() != reflect.Slice || a.Cap() == 0 || b.Cap() == 0 {
		return false
	}
	aEnd := a.Pointer() + uintptr(a.Cap())*a.Type().Elem().Size()
	bEnd := b.Pointer() + uintptr(b.Cap())*b.Type().Elem().Size()
	return a.Pointer() < bEnd && b.Pointer() < aEnd
}

func same(a, b reflect.Value, loose bool) bool {
	if a.IsValid() != b.IsValid() || !a.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.Complex64, reflect.Complex128:
		return a.Complex() == b.Complex()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.String:
		return a.String() == b.String()
	case reflect.Slice:
		if !loose && a.IsNil() != b.IsNil() {
			return false
		}
		return sameList(a, b, loose)
	case reflect.Array:
		return sameList(a, b, loose)
	case reflect.Map:
		return sameMap(a, b, loose)
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i), loose) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem(), loose)
	case reflect.Interface:
		if ea, ok := a.Interface().(error); ok {
			eb, ok := b.Interface().(error)
			return ok && ea.Error() == eb.Error()
		}
		return same(a.Elem(), b.Elem(), loose)
	case reflect.Func, reflect.Chan:
		return a.IsNil() == b.IsNil()
	}
	if a.CanInt() {
		return a.Int() == b.Int()
	}
	return a.Uint() == b.Uint()
}

func sameList(a, b reflect.Value, loose bool) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !same(a.Index(i), b.Index(i), loose) {
			return false
		}
	}
	return true
}

func sameMap(a, b reflect.Value, loose bool) bool {
	if a.Len() != b.Len() || !loose && a.IsNil() != b.IsNil() {
		return false
	}
	for _, k := range a.MapKeys() {
		if !same(a.MapIndex(k), b.MapIndex(k.Convert(b.Type().Key())), loose) {
			return false
		}
	}
	return true
}

// gen draws arguments. Each input has its own small alphabet, so that long
// inputs of one class, and near misses of it, are common.
type gen struct {
	c     *Case
	r     *rand.Rand
	atoms []string
}

func (g *gen) alphabet() {
	pool := []string{"a", "z", "0", "A", "_", " ", "\x00", "\x7f", "\x80", "\xff", "é", "世", "ſ", "K", "😀"}
	for _, s := range g.c.Strings {
		pool = append(pool, s)
		for i := range len(s) {
			pool = append(pool, string([]byte{s[i] - 1}), s[i:i+1], string([]byte{s[i] + 1}))
		}
	}
	for _, n := range g.c.Ints {
		if n >= 0 && n < 256 {
			pool = append(pool, string([]byte{byte(n - 1)}), string([]byte{byte(n)}), string([]byte{byte(n + 1)}))
		}
	}
	for range 1 + g.r.IntN(5) {
		g.atoms = append(g.atoms, pool[g.r.IntN(len(pool))])
	}
	if g.r.IntN(4) == 0 {
		g.atoms = append(g.atoms, string([]byte{byte(g.r.IntN(256))}))
	}
}

func (g *gen) length() int {
	switch g.r.IntN(3) {
	case 0:
		return g.r.IntN(min(5, g.c.MaxLen+1))
	case 1:
		return g.r.IntN(g.c.MaxLen/2 + 1)
	}
	return g.r.IntN(g.c.MaxLen + 1)
}

func (g *gen) text() string {
	n := g.length()
	var b []byte
	favourite := g.atoms[g.r.IntN(len(g.atoms))]
	odd := g.r.IntN(3) // 0: all alike but one in eight
	for len(b) < n {
		a := g.atoms[g.r.IntN(len(g.atoms))]
		if odd == 0 && g.r.IntN(8) > 0 {
			a = favourite
		}
		b = append(b, a...)
	}
	return string(b)
}

func (g *gen) int(t reflect.Type) int64 {
	if g.c.Lo < g.c.Hi {
		return g.c.Lo + g.r.Int64N(g.c.Hi-g.c.Lo+1)
	}
	switch k := g.r.IntN(8); {
	case k < 3 && len(g.c.Ints) > 0:
		return g.c.Ints[g.r.IntN(len(g.c.Ints))] + int64(g.r.IntN(3)) - 1
	case k < 6:
		return int64(g.r.IntN(20)) - 4
	case k == 6:
		return int64(1)<<(g.r.IntN(t.Bits())) - int64(g.r.IntN(2))
	}
	return int64(g.r.Uint64())
}

func (g *gen) value(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(g.r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(g.int(t))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(uint64(g.int(t)))
		if t.Kind() == reflect.Uint8 && g.r.IntN(2) == 0 {
			v.SetUint(uint64(g.atoms[g.r.IntN(len(g.atoms))][0]))
		}
	case reflect.Float32, reflect.Float64:
		specials := []float64{0, math.Copysign(0, -1), 1, -1.5, math.NaN(), math.Inf(1), 1e300, g.r.NormFloat64(), float64(g.r.IntN(10))}
		v.SetFloat(specials[g.r.IntN(len(specials))])
	case reflect.String:
		v.SetString(g.text())
	case reflect.Slice:
		g.slice(v, depth)
	case reflect.Array:
		for i := range t.Len() {
			v.Index(i).Set(g.value(t.Elem(), depth+1))
		}
	case reflect.Map:
		g.mapping(v, depth)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(g.value(f.Type(), depth+1))
			}
		}
	case reflect.Pointer:
		if g.r.IntN(12) > 0 {
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(g.value(t.Elem(), depth+1))
		}
	case reflect.Interface:
		g.dynamic(v)
	case reflect.Func:
		v.Set(g.function(t))
	}
	return v
}

// function makes a pure function of its arguments.
func (g *gen) function(t reflect.Type) reflect.Value {
	seed := g.r.Uint64()
	return reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		h := seed
		for _, a := range in {
			for _, b := range []byte(fmt.Sprint(a)) {
				h = (h ^ uint64(b)) * 1099511628211
			}
		}
		inner := &gen{c: g.c, r: rand.New(rand.NewPCG(h, 1)), atoms: g.atoms}
		var out []reflect.Value
		for i := range t.NumOut() {
			out = append(out, inner.value(t.Out(i), 1))
		}
		return out
	})
}

func (g *gen) slice(v reflect.Value, depth int) {
	if g.r.IntN(12) == 0 {
		return // nil
	}
	n := g.length()
	if depth > 0 || v.Type().Elem().Kind() == reflect.String {
		n = min(n, 12)
	}
	s := reflect.MakeSlice(v.Type(), n, n+g.r.IntN(2)*g.r.IntN(4))
	if v.Type().Elem().Kind() == reflect.Uint8 && g.r.IntN(4) > 0 {
		reflect.Copy(s, reflect.ValueOf([]byte(g.text() + string(make([]byte, n)))[:n]).Convert(reflect.SliceOf(v.Type().Elem())))
	} else {
		for i := range n {
			s.Index(i).Set(g.value(v.Type().Elem(), depth+1))
		}
	}
	v.Set(g.order(s))
}

// order sorts a third of the slices, and makes a third strictly ascending.
func (g *gen) order(s reflect.Value) reflect.Value {
	mode := g.r.IntN(3)
	if mode == 0 || s.Len() < 2 || !ordered(s.Index(0)) {
		return s
	}
	elems := make([]reflect.Value, s.Len())
	for i := range elems {
		elems[i] = reflect.ValueOf(s.Index(i).Interface())
	}
	slices.SortFunc(elems, compare)
	if mode == 2 {
		elems = slices.CompactFunc(elems, func(a, b reflect.Value) bool { return compare(a, b) == 0 })
	}
	for i, e := range elems {
		s.Index(i).Set(e)
	}
	return s.Slice(0, len(elems))
}

func ordered(v reflect.Value) bool { return v.CanInt() || v.CanUint() || v.Kind() == reflect.String }

func compare(a, b reflect.Value) int {
	less := func(a, b reflect.Value) bool {
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		}
		return a.String() < b.String()
	}
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}

// sibling makes another argument of the same type share content with v: equal
// but for one element.
func (g *gen) sibling(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		b := []byte(v.String())
		if len(b) > 0 && g.r.IntN(2) == 0 {
			b[g.r.IntN(len(b))] ^= 1
		}
		if len(b) > 0 && g.r.IntN(3) == 0 {
			i := g.r.IntN(len(b))
			b = b[i : i+g.r.IntN(len(b)-i+1)]
		}
		return reflect.ValueOf(string(b)).Convert(v.Type())
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(s, v)
		if v.Len() > 0 && g.r.IntN(2) == 0 {
			s.Index(g.r.IntN(v.Len())).Set(g.value(v.Type().Elem(), 1))
		}
		return s
	}
	return v
}

func (g *gen) mapping(v reflect.Value, depth int) {
	if g.r.IntN(12) == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range g.r.IntN(8) {
		v.SetMapIndex(g.value(v.Type().Key(), depth+1), g.value(v.Type().Elem(), depth+1))
	}
}

func (g *gen) dynamic(v reflect.Value) {
	if v.Type().NumMethod() == 0 {
		choices := []any{nil, 1, "x", g.text(), 2.5, true, []byte("b")}
		if c := choices[g.r.IntN(len(choices))]; c != nil {
			v.Set(reflect.ValueOf(c))
		}
		return
	}
	err := reflect.ValueOf(errors.New(g.text()))
	if g.r.IntN(2) == 0 && err.Type().Implements(v.Type()) {
		v.Set(err)
	}
}
