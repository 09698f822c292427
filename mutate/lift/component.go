package lift

import (
	"math/bits"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Component is a pure function over columns, with the Go code that calls it.
type Component struct {
	Name    string // of the function, or the template with $1, $2, ... for the arguments
	Args    []*Type
	Result  *Type
	Imports []string

	library   bool // a function of the library: a term without any is the old code again
	module    bool // a function of a [Module], not of the standard library
	commutes  bool
	operator  bool     // its text needs parentheses inside another operator
	price     int      // estimated cost of a run, to rank terms
	place     int      // which result is taken, of a function with several; from 1
	results   int      // that the function has
	names     []string // of these results; see also resultNames
	check     bool     // the taken result is an error, compared with nil
	setup     []string // statements before the call, in which $0 is a fresh variable
	statement string   // a statement that does it in place, with $1

	// rows fills dst for the remaining examples and notes those that have a value.
	rows func(r *remaining, dst any, args []any)
}

// A trait changes a component when it is made.
type trait func(*Component)

func commutes(c *Component) { c.commutes = true }
func glue(c *Component)     { c.library, c.price = false, 1 }
func slow(c *Component)     { c.price = absurd }
func scalar(c *Component)   { c.price = 2 }

// absurd is the price of a function that is allowed as the whole term only: as a
// part of others such functions make terms that are right and of no use.
const absurd = 60

// inPlace returns how the component is spelled where its argument may be changed.
func inPlace(statement string) trait {
	return func(c *Component) { c.statement = statement }
}

// result says that the component is one of the results of a function.
func result(place, of int) trait {
	return func(c *Component) { c.place, c.results = place, of }
}

// isNil says that the result taken is an error and the value whether it is nil.
func isNil(c *Component) { c.check = true }

// named gives names to the results of a function.
func named(names ...string) trait {
	return func(c *Component) { c.names = names }
}

// paths are the packages whose names templates use. Those of a [Module] join them.
var paths = map[string]string{
	"strings": "strings", "bytes": "bytes", "slices": "slices", "maps": "maps", "bits": "math/bits", "math": "math",
	"utf8": "unicode/utf8", "unicode": "unicode", "utf16": "unicode/utf16", "strconv": "strconv", "hex": "encoding/hex",
	"base64": "encoding/base64", "base32": "encoding/base32", "binary": "encoding/binary", "crc32": "hash/crc32",
	"crc64": "hash/crc64", "adler32": "hash/adler32", "html": "html", "path": "path", "url": "net/url",
	"netip": "net/netip", "cmp": "cmp", "sort": "sort",
}

var qualifier = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)

func importsOf(text string) (out []string) {
	for _, m := range qualifier.FindAllStringSubmatch(text, -1) {
		if p := paths[m[1]]; p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// all are the components, in the order in which they were registered.
var all []*Component

// register adds f as a component. The component's types are those of f, and rows calls f.
func register(name string, f any, traits []trait, rows func(r *remaining, dst any, args []any)) {
	of := reflect.TypeOf(f)
	c := &Component{Name: name, Result: byGo[of.Out(0)], library: true, price: 4, rows: rows}
	// Types come from the function itself, so that a component cannot be declared with others than
	// it has.
	for i := range of.NumIn() {
		c.Args = append(c.Args, byGo[of.In(i)])
	}
	// This is a mistake in the library, seen at the first start.
	if c.Result == nil || slices.Contains(c.Args, nil) {
		panic("lift: component " + name + " has a type outside of the grammar")
	}
	c.Imports = importsOf(name)
	// A pattern that ends as a call or an index needs no parentheses around it; another one may.
	c.operator = strings.Contains(name, "$") && !strings.HasSuffix(name, ")") && !strings.HasSuffix(name, "]")
	for _, t := range traits {
		t(c)
	}
	all = append(all, c)
}

func f1[A, R any](name string, f func(A) R, traits ...trait) { p1(name, nil, f, traits...) }

func f2[A, B, R any](name string, f func(A, B) R, traits ...trait) { p2(name, nil, f, traits...) }

func f3[A, B, C, R any](name string, f func(A, B, C) R, traits ...trait) { p3(name, nil, f, traits...) }

// p1 registers a function that has a value where ok says so. Panics are slow: ok names the cases
// that are common. The loops over examples are written out for each number of arguments, since a
// search spends its time there. They are compiled for each of a hundred combinations of types. So
// they hold nothing else, ask for the next example at one place, and are not inlined into all that
// register.
//
//go:noinline
func p1[A, R any](name string, ok func(A) bool, f func(A) R, traits ...trait) {
	register(name, f, traits, func(r *remaining, dst any, args []any) {
		d, a := dst.([]R), args[0].([]A)
		for {
			i := r.next()
			if i >= len(d) {
				return
			}
			if ok == nil || ok(a[i]) {
				d[i] = f(a[i])
				r.defined |= 1 << i
			}
		}
	})
}

//go:noinline
func p2[A, B, R any](name string, ok func(A, B) bool, f func(A, B) R, traits ...trait) {
	register(name, f, traits, func(r *remaining, dst any, args []any) {
		d, a, b := dst.([]R), args[0].([]A), args[1].([]B)
		for {
			i := r.next()
			if i >= len(d) {
				return
			}
			if ok == nil || ok(a[i], b[i]) {
				d[i] = f(a[i], b[i])
				r.defined |= 1 << i
			}
		}
	})
}

//go:noinline
func p3[A, B, C, R any](name string, ok func(A, B, C) bool, f func(A, B, C) R, traits ...trait) {
	register(name, f, traits, func(r *remaining, dst any, args []any) {
		d, x, y, z := dst.([]R), args[0].([]A), args[1].([]B), args[2].([]C)
		for {
			i := r.next()
			if i >= len(d) {
				return
			}
			if ok == nil || ok(x[i], y[i], z[i]) {
				d[i] = f(x[i], y[i], z[i])
				r.defined |= 1 << i
			}
		}
	})
}

// byReflection registers a function of the type of f, by an operation that has a value where it
// says so. It is for operations that a search evaluates seldom.
func byReflection(name string, f any, op func(args []reflect.Value) (reflect.Value, bool), traits ...trait) {
	register(name, f, traits, func(r *remaining, dst any, args []any) {
		d, row := reflect.ValueOf(dst), make([]reflect.Value, len(args))
		for i := r.next(); i < d.Len(); i = r.next() {
			for k, col := range args {
				row[k] = reflect.ValueOf(col).Index(i)
			}
			if v, ok := op(row); ok {
				d.Index(i).Set(v)
				r.defined |= 1 << i
			}
		}
	})
}

// remaining are the examples that a component was not evaluated on yet.
type remaining struct{ mask, defined uint64 }

// next takes the next example, or returns 64.
func (r *remaining) next() int {
	i := bits.TrailingZeros64(r.mask)
	r.mask &= r.mask - 1
	return i
}

// eval fills dst where mask says and returns where there is a value. An example on which the
// component panics has none.
func (c *Component) eval(dst any, args []any, mask uint64) (defined uint64) {
	r := remaining{mask: mask}
	for left := mask; c.panics(&r, dst, args); left = r.mask {
		if r.mask == left { // it would panic for ever
			panic("lift: component " + c.Name + " got columns of other types than its own")
		}
	}
	return r.defined
}

// panics reports whether the component panicked before the end of the examples.
func (c *Component) panics(r *remaining, dst any, args []any) (yes bool) {
	defer func() { yes = recover() != nil }()
	c.rows(r, dst, args)
	return false
}

// text writes the call with the texts of its arguments.
func (c *Component) text(template string, args []string) string {
	if !strings.Contains(template, "$") {
		return template + "(" + strings.Join(args, ", ") + ")"
	}
	for i, a := range args {
		template = strings.ReplaceAll(template, "$"+strconv.Itoa(i+1), a)
	}
	return template
}
