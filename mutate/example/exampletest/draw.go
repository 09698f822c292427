package exampletest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// inputs are drawn arguments, and what functions among them were called with.
type inputs struct {
	args  []reflect.Value
	trace []string
	r     *rand.Rand
}

// String shows the arguments as they are.
func (d *inputs) String() string {
	var parts []string
	for _, a := range d.args {
		parts = append(parts, show(a, false))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// draw makes the arguments of a function. The same seed makes the same arguments, in new memory.
func draw(t reflect.Type, seed uint64) *inputs {
	d := &inputs{r: rand.New(rand.NewPCG(seed, 16))}
	for i := range t.NumIn() {
		d.args = append(d.args, d.argument(t.In(i)))
	}
	return d
}

// argument draws a value. One in four is a variant of an earlier argument of its type, so that
// code that compares two meets equal ones.
func (d *inputs) argument(t reflect.Type) reflect.Value {
	for _, old := range d.args {
		if old.Type() == t && t.Kind() != reflect.Func && t.Kind() != reflect.Pointer && d.r.IntN(4) == 0 {
			return d.variant(old)
		}
	}
	return d.value(t, 0)
}

// variant copies a value, and changes at most a little.
func (d *inputs) variant(old reflect.Value) reflect.Value {
	// A text is cut or put into capitals, and a list gets one other element: variants show what
	// equal values do not.
	switch old.Kind() {
	case reflect.String:
		s := old.String()
		switch {
		case len(s) > 0 && d.r.IntN(2) == 0:
			i := d.r.IntN(len(s))
			s = s[i : i+d.r.IntN(len(s)-i+1)]
		case d.r.IntN(2) == 0:
			s = strings.ToUpper(s)
		}
		return reflect.ValueOf(s).Convert(old.Type())
	case reflect.Slice:
		out := reflect.MakeSlice(old.Type(), old.Len(), old.Len())
		reflect.Copy(out, old)
		if n := out.Len(); n > 0 && d.r.IntN(3) == 0 {
			out.Index(d.r.IntN(n)).Set(d.value(old.Type().Elem(), 1))
		}
		return out
	case reflect.Map:
		return d.value(old.Type(), 0)
	}
	return old
}

var alphabet = []string{"a", "b", "A", "B", "c", ",", ",", ":", " ", "-", ".", "0", "1", "é", "ſ", "K", "\xff", "\x00"}

func (d *inputs) text() string {
	var b strings.Builder
	n := d.r.IntN(4)
	if d.r.IntN(2) == 0 {
		n = d.r.IntN(20)
	}
	letters := alphabet
	if d.r.IntN(2) == 0 {
		letters = alphabet[:9] // few, so that they repeat
	}
	for range n {
		b.WriteString(letters[d.r.IntN(len(letters))])
	}
	return b.String()
}

func (d *inputs) integer() int64 {
	switch d.r.IntN(8) {
	case 0:
		return []int64{math.MaxInt64, math.MinInt64, -1, 1 << 32, 127, 128, 255, 256}[d.r.IntN(8)]
	case 1:
		return int64(d.r.Uint64())
	case 2:
		return int64(d.r.IntN(300)) - 20
	}
	return int64(d.r.IntN(6))
}

// value draws a value of a type.
func (d *inputs) value(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	// Values are small, and taken from the edges of the types.
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(reflect.ValueOf(d.integer()).Convert(t).Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if t.Kind() == reflect.Uint8 && d.r.IntN(3) > 0 {
			v.SetUint(uint64(alphabet[d.r.IntN(13)][0]))
			break
		}
		v.SetUint(reflect.ValueOf(d.integer()).Convert(t).Uint())
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, -1, 0.5, math.Inf(1), math.NaN(), math.Copysign(0, -1)}[d.r.IntN(7)])
	case reflect.String:
		v.SetString(d.text())
	case reflect.Slice:
		d.slice(v, depth)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(d.value(t.Elem(), depth+1))
		}
	case reflect.Map:
		if d.r.IntN(8) > 0 {
			v.Set(reflect.MakeMap(t))
			for range d.r.IntN(6) {
				v.SetMapIndex(d.value(t.Key(), depth+1), d.value(t.Elem(), depth+1))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.fill(v.Elem(), depth)
	case reflect.Struct:
		d.fill(v, depth)
	case reflect.Func:
		// A function that takes a function is a sequence, which calls it for each element.
		if t.NumIn() == 1 && t.In(0).Kind() == reflect.Func {
			v.Set(d.sequence(t))
			break
		}
		v.Set(d.function(t))
	case reflect.Interface:
		if t.NumMethod() > 0 {
			panic(fmt.Sprintf("exampletest: cannot draw a %v", t))
		}
		v.Set(reflect.ValueOf(d.text()))
	default:
		panic(fmt.Sprintf("exampletest: cannot draw a %v", t))
	}
	return v
}

// slice draws a slice: nil, or a few elements with some room behind them. Bytes are texts.
func (d *inputs) slice(v reflect.Value, depth int) {
	if d.r.IntN(8) == 0 {
		return
	}
	n := d.r.IntN(12)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		text := d.text()
		v.Set(reflect.ValueOf(append(make([]byte, 0, len(text)+d.r.IntN(3)), text...)).Convert(v.Type()))
		return
	}
	if depth > 0 {
		n = d.r.IntN(4)
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n+d.r.IntN(3)))
	for i := range n {
		v.Index(i).Set(d.value(v.Type().Elem(), depth+1))
	}
}

// fill draws the exported fields of a struct.
func (d *inputs) fill(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(d.r.IntN(3)), 0).UTC()))
		return
	}
	if v.Kind() != reflect.Struct {
		v.Set(d.value(v.Type(), depth+1))
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			v.Field(i).Set(d.value(v.Type().Field(i).Type, depth+1))
		}
	}
}

// sequence makes an iter.Seq2.
func (d *inputs) sequence(t reflect.Type) reflect.Value {
	yield := t.In(0)
	var pairs [][]reflect.Value
	for range d.r.IntN(7) {
		pairs = append(pairs, []reflect.Value{d.value(yield.In(0), 1), d.value(yield.In(1), 1)})
	}
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		for _, p := range pairs {
			if !args[0].Call(p)[0].Bool() {
				break
			}
		}
		return nil
	}).Convert(t)
}

// function makes a function that stands for code. One without results stands for statements: it
// records its arguments, and changes what they point to. One with results stands for an
// expression: it has no effects, and the same arguments give the same results.
func (d *inputs) function(t reflect.Type) reflect.Value {
	// The salt makes two functions differ. The same arguments give the same hash, and so the same
	// results.
	salt := d.r.Uint64()
	calls := 0
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		var shown []string
		for _, a := range args {
			shown = append(shown, show(a, false))
		}
		h := fnv.New64a()
		h.Write([]byte(strings.Join(shown, ",")))
		// A function without results stands for statements: the trace records that they ran, and
		// with what. It changes what its arguments point to, since statements may.
		if t.NumOut() == 0 {
			calls++
			d.trace = append(d.trace, fmt.Sprintf("%x(%s)", salt&0xff, strings.Join(shown, ",")))
			for _, a := range args {
				if a.Kind() == reflect.Pointer {
					fresh := &inputs{r: rand.New(rand.NewPCG(salt^h.Sum64(), uint64(calls)))}
					a.Elem().Set(fresh.value(a.Type().Elem(), 1))
				}
			}
			return nil
		}
		var out []reflect.Value
		for i := range t.NumOut() {
			fresh := &inputs{r: rand.New(rand.NewPCG(salt^h.Sum64(), uint64(i)))}
			out = append(out, fresh.value(t.Out(i), 1))
		}
		return out
	})
}
