//go:build go1.21

package live

import (
	"bytes"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/beagle-go/beagle/internal/rt"
)

// A Tape holds the original's calls of a callback, or of the methods of an interface. It answers
// the other version's calls, so that their effects in the user's test happen once.
type Tape struct {
	call    *Call
	what    string // the parameter
	entries []*entry
	at      int // of the next answer
	broken  string
	closed  atomic.Bool // the call of the target is over
	owner   uint64

	// While a fault is tried.
	made      *Tape    // stands for this one
	answering bool     // the original is called: see answer
	script    []*entry // the answers for it
}

type entry struct {
	method string
	before []byte // the arguments
	args   string // the same for people
	after  any    // *A: the arguments as the callee left them; nil when it changed nothing
	result any    // *R
	ended  outcome
}

// Tape makes the tape of a parameter.
func (c *Call) Tape(what string) *Tape {
	t := &Tape{call: c, what: what, owner: rt.GoroutineID()}
	c.tapes = append(c.tapes, t)
	return t
}

// Recorded calls the callee and writes the call down.
func Recorded[A, R any](t *Tape, method string, a *A, r *R, callee func()) {
	if t.closed.Load() || rt.GoroutineID() != t.owner {
		if !t.closed.Load() {
			t.broken = "it is called by another goroutine"
		}
		callee()
		return
	}
	e := &entry{method: method, args: brief("%+v", *a)}
	var err error
	if e.before, err = formOf(method, a); err != nil {
		t.broken = err.Error()
	}
	t.entries = append(t.entries, e)
	defer func() { // also when the callee panics
		if after, err := rt.Snapshot(nil, a); err != nil || !bytes.Equal(after, e.before) {
			e.after = rt.Clone(a)
		}
		e.result = rt.Clone(r)
		shareInterfaces(e.result.(*R), r)
		if e.ended.end == panicked {
			panic(e.ended.value)
		}
	}()
	e.ended.run(callee)
}

// formOf returns the form of the arguments. A buffer that a reader fills may hold anything.
func formOf[A any](method string, a *A) ([]byte, error) {
	if method == "Read" || method == "ReadAt" {
		if v := reflect.ValueOf(a).Elem(); v.NumField() > 0 && v.Field(0).Type() == reflect.TypeOf([]byte(nil)) {
			text := fmt.Appendf(nil, "%d bytes", v.Field(0).Len())
			for i := 1; i < v.NumField(); i++ {
				text = fmt.Appendf(text, " %v", v.Field(i))
			}
			return text, nil
		}
	}
	return rt.Snapshot(nil, a)
}

// shareInterfaces makes a copy hold the interfaces of the original: an error is known
// by its address.
func shareInterfaces[R any](dst, src *R) {
	d, s := reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem()
	for i := 0; i < d.NumField(); i++ {
		if d.Field(i).Kind() == reflect.Interface {
			d.Field(i).Set(s.Field(i))
		}
	}
}

// unlike is the panic that ends a version whose calls differ.
type unlike struct{}

// Replayed answers a call of the other version from the tape.
func Replayed[A, R any](t *Tape, method string, a *A, r *R) {
	if t.closed.Load() {
		return // the comparison has ended
	}
	if t.answering {
		answer(t, method, a, r)
		return
	}
	got := brief(t.name(method)+"%+v", *a)
	if t.at == len(t.entries) {
		t.differ("no further call", got)
	}
	e := t.entries[t.at]
	want := t.name(e.method) + e.args
	is, err := formOf(method, a)
	if e.method != method || err == nil && !bytes.Equal(is, e.before) {
		t.differ(want, got)
	}
	t.at++
	if e.after != nil {
		apply(reflect.ValueOf(a).Elem(), reflect.ValueOf(rt.Clone(e.after.(*A))).Elem())
	}
	t.endAs(e)
	*r = *rt.Clone(e.result.(*R))
	shareInterfaces(r, e.result.(*R))
}

// endAs ends a call as it was recorded, where it did not return.
func (t *Tape) endAs(e *entry) {
	switch e.ended.end {
	case panicked:
		panic(e.ended.value)
	case left:
		t.broken = "a callback ends its goroutine"
		panic(unlike{})
	}
}

// differ notes the first difference and ends the version.
func (t *Tape) differ(want, got string) {
	if t.call.unlike == nil {
		t.call.unlike = &Difference{Kind: "trace", Want: want, Got: got}
	}
	panic(unlike{})
}

func (t *Tape) name(method string) string {
	if method == "" {
		return t.what
	}
	return t.what + "." + method
}

// rest returns the original's calls that the other version did not make.
func (t *Tape) rest() string {
	if t.at == len(t.entries) {
		return ""
	}
	return t.name(t.entries[t.at].method) + t.entries[t.at].args
}

// Broken reports whether a call with this tape cannot be compared.
func (c *Call) Broken() bool {
	for _, t := range c.tapes {
		if t.broken != "" {
			if c.fault == "" {
				skip(t.what + ": " + t.broken)
			}
			return true
		}
	}
	return false
}

// apply changes memory that arguments refer to, as a callee did.
func apply(dst, src reflect.Value) {
	for i := 0; i < dst.NumField(); i++ {
		d, s := dst.Field(i), src.Field(i)
		switch d.Kind() {
		case reflect.Slice:
			reflect.Copy(d, s)
		case reflect.Pointer:
			if !d.IsNil() && !s.IsNil() {
				d.Elem().Set(s.Elem())
			}
		case reflect.Map:
			d.Clear()
			for it := s.MapRange(); it.Next(); {
				d.SetMapIndex(it.Key(), it.Value())
			}
		}
	}
}
