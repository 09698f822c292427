// Package exampletest runs the pairs of example rules: Before and After must behave alike on drawn
// inputs. A rule whose example is wrong fails its test before any candidate is made.
package exampletest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

// Pair compares all Afters of a pair with its Before on n drawn inputs. It returns the first
// difference, or an error if it could draw too few inputs that When admits.
func Pair(class beagle.Class, p example.Pair, n int) error {
	afters := []any{p.After}
	for _, way := range p.Also {
		afters = append(afters, way.After)
	}
	before := reflect.ValueOf(p.Before)
	for i, after := range afters {
		a := reflect.ValueOf(after)
		if before.Type() != a.Type() {
			return fmt.Errorf("way %d: Before is a %v, After a %v", i, before.Type(), a.Type())
		}
		// Draw inputs until enough of them meet When. Seeds make the same input three times, once
		// for each call that may change it.
		tried := 0
		for seed := uint64(0); tried < n; seed++ {
			if seed > uint64(50*n) {
				return fmt.Errorf("way %d: When admits %d of %d drawn inputs", i, tried, seed)
			}
			if !admitted(p, draw(before.Type(), seed)) {
				continue
			}
			tried++
			want, got := call(before, draw(before.Type(), seed)), call(a, draw(before.Type(), seed))
			if why := want.differ(got, class, p); why != "" {
				return fmt.Errorf("way %d: %s: %s", i, draw(before.Type(), seed), why)
			}
		}
	}
	return nil
}

// holds asks a condition for the arguments at some places.
func holds(condition any, places []int, d *inputs) bool {
	if condition == nil {
		return true
	}
	var args []reflect.Value
	for _, at := range places {
		args = append(args, d.args[at])
	}
	return reflect.ValueOf(condition).Call(args)[0].Bool()
}

// admitted reports whether the pair's conditions hold for drawn arguments.
func admitted(p example.Pair, d *inputs) bool {
	return holds(p.When, p.Places(), d) && holds(p.Given, p.GivenPlaces(), d)
}

// An outcome is the result of a call of one version.
type outcome struct {
	results  []reflect.Value
	inputs   *inputs
	panicked bool
	text     string // of the panic
}

func call(f reflect.Value, d *inputs) (o outcome) {
	o.inputs = d
	defer func() {
		if e := recover(); e != nil {
			o.panicked, o.text = true, fmt.Sprint(e)
		}
	}()
	o.results = f.Call(d.args)
	return o
}

// differ describes how two outcomes differ; "" if they agree.
func (o outcome) differ(got outcome, class beagle.Class, p example.Pair) string {
	// Under E1 any panic will do. E0 and E3 ask for its text as well.
	if o.panicked != got.panicked {
		return fmt.Sprintf("Before panics with %q, After with %q", o.text, got.text)
	}
	if o.panicked && class == beagle.E1 {
		return ""
	}
	if (class == beagle.E0 || class == beagle.E3) && o.text != got.text {
		return fmt.Sprintf("Before panics with %q, After with %q", o.text, got.text)
	}
	// Results must agree, and then arguments that the example does not give up.
	loose := class == beagle.E2
	for i := range o.results {
		if a, b := show(o.results[i], loose), show(got.results[i], loose); a != b {
			return fmt.Sprintf("result %d: Before %s, After %s", i, a, b)
		}
	}
	for i := range o.inputs.args {
		a, b := show(o.inputs.args[i], loose), show(got.inputs.args[i], loose)
		if a != b && !slices.Contains(p.SpentPlaces(), i) {
			return fmt.Sprintf("argument %d afterwards: Before %s, After %s", i, a, b)
		}
	}
	// Without an order of calls, the traces are compared as sets.
	if p.AnyOrder {
		slices.Sort(o.inputs.trace)
		slices.Sort(got.inputs.trace)
	}
	if a, b := strings.Join(o.inputs.trace, " "), strings.Join(got.inputs.trace, " "); a != b {
		return fmt.Sprintf("calls: Before %s, After %s", a, b)
	}
	return ""
}

// show writes a value with all that it holds. loose takes nil and empty for the same.
func show(v reflect.Value, loose bool) string {
	switch v.Kind() {
	// Functions cannot be compared, and an address says nothing: show what lies there.
	case reflect.Func:
		return "func"
	case reflect.Pointer:
		if s, ok := v.Interface().(fmt.Stringer); ok {
			return fmt.Sprintf("%q", s.String())
		}
		if v.IsNil() {
			return "nil"
		}
		return "&" + show(v.Elem(), loose)
	case reflect.Slice:
		if v.IsNil() && !loose {
			return "nil"
		}
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = show(v.Index(i), loose)
		}
		return "[" + strings.Join(parts, " ") + "]"
	// The order of a map's keys is random.
	case reflect.Map:
		if v.IsNil() && !loose {
			return "nil"
		}
		var parts []string
		for _, k := range v.MapKeys() {
			parts = append(parts, show(k, loose)+":"+show(v.MapIndex(k), loose))
		}
		slices.Sort(parts)
		return "map[" + strings.Join(parts, " ") + "]"
	// Two errors are equal if their types and texts are.
	case reflect.Interface:
		if err, ok := v.Interface().(error); ok {
			return fmt.Sprintf("%T(%q)", err, err)
		}
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("%x", v.Float())
	}
	return fmt.Sprintf("%#v", v)
}
