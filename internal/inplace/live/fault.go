//go:build go1.21

package live

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
)

// Tests seldom let a writer fail, a reader end in the middle, or a callback panic. So a call that
// both versions answered alike is made again on copies, once for each of some faults: callbacks and
// interfaces answer as they did, except once. The original runs first, and its calls are
// written down. The other version must make the same calls and end the same. A fault breaks no
// promise of the interface: a writer that writes less gives an error.

// A faultKind says how an answer differs from the recorded one.
type faultKind string

const (
	fails     faultKind = "fails"                        // zero results and an error
	halfway   faultKind = "fails halfway"                // half the count and an error
	alongside faultKind = "fails beside its last bytes"  // of a reader: all bytes and an error
	ends      faultKind = "ends beside its last bytes"   // of a reader: all bytes and io.EOF
	pauses    faultKind = "gives no bytes at first"      // of a reader: none and no error, then as recorded
	splits    faultKind = "gives its bytes in two parts" // of a reader
	otherwise faultKind = "gives another error"          // in place of the recorded one
	flips     faultKind = "answers the opposite"         // of a callback whose only result is a truth value
	panics    faultKind = "panics"
	over      faultKind = "is over from the start" // of a context
	none      faultKind = "nothing fails"          // the functions among the results are called
)

// A fault is one answer that differs from the recorded ones.
type fault struct {
	tape int // index among the call's tapes; -1 for none
	at   int // entry of the tape
	kind faultKind
}

// Bounds on faults.
const (
	maxFaults = 24                     // of one call
	maxAlike  = 8                      // of one kind for one method, in a process
	faultTime = 100 * time.Millisecond // for all faults of one call
	maxBeyond = 64                     // calls that the original makes after its answers have ended
)

// tried counts the faults of a process by method and kind.
var tried = map[string]int{}

// Spare copies the arguments of a call that will be made again with faults; nil if none will.
func Spare[A any](c *Call, a *A, contexts ...context.Context) *A {
	for _, ctx := range contexts {
		c.contexts = c.contexts || ctx != nil && ctx.Err() == nil
	}
	// When each known kind was tried often enough, a new one may still come in a later call.
	if !plan.Faults || len(c.tapes) == 0 && !c.contexts && !c.functions || satisfied() && judge.sum.Calls%16 != 0 {
		return nil
	}
	c.again = true
	return rt.Clone(a)
}

// satisfied reports whether each kind of fault that was tried was tried often enough.
func satisfied() bool {
	for _, n := range tried {
		if n < maxAlike {
			return false
		}
	}
	return len(tried) > 0
}

// Fault is the call with its next fault; nil if there is none, or the versions did not agree.
func (c *Call) Fault() *Call {
	if !c.again || !c.same || time.Since(judge.since) > faultTime {
		return nil
	}
	if c.faults == nil {
		c.faults = c.plan()
	}
	if len(c.faults) == 0 {
		return nil
	}
	x := c.faults[0]
	c.faults = c.faults[1:]
	f := &Call{fault: c.describe(x), over: x.kind == over}
	for i, t := range c.tapes {
		t.made = &Tape{call: f, what: t.what, owner: t.owner, answering: true, script: t.entries}
		if i == x.tape {
			script := append(slices.Clone(t.entries[:x.at]), spoiled(t.entries[x.at], x.kind)...)
			t.made.script = append(script, t.entries[x.at+1:]...)
		}
		f.tapes = append(f.tapes, t.made)
	}
	return f
}

// plan lists the faults of a call: at the first answers of each tape, the last, and one between.
func (c *Call) plan() []fault {
	out := []fault{}
	add := func(x fault, name string) {
		if name += " " + string(x.kind); len(out) < maxFaults && tried[name] < maxAlike {
			tried[name]++
			out = append(out, x)
		}
	}
	if c.functions {
		add(fault{-1, 0, none}, "call")
	}
	if c.contexts {
		add(fault{-1, 0, over}, "context")
	}
	for i, t := range c.tapes {
		places := []int{0, len(t.entries) - 1, len(t.entries) / 2, 1}
		for k, at := range places {
			if at < 0 || at >= len(t.entries) || slices.Contains(places[:k], at) {
				continue
			}
			for _, kind := range faultsOf(t.entries[at]) {
				add(fault{i, at, kind}, t.name(t.entries[at].method))
			}
		}
	}
	return out
}

// describe names the made-up answer.
func (c *Call) describe(x fault) string {
	switch x.kind {
	case none:
		return "with calls of its result"
	case over:
		return "when its context " + string(x.kind)
	}
	t := c.tapes[x.tape]
	return fmt.Sprintf("when call %d of %s %s", x.at+1, t.name(t.entries[x.at].method), x.kind)
}

// faultsOf lists the faults that an answer can have.
func faultsOf(e *entry) (kinds []faultKind) {
	if e.ended.end != returned {
		return nil
	}
	r := reflect.ValueOf(e.result).Elem()
	last := errorField(r)
	counts := last == 1 && r.NumField() == 2 && r.Field(0).CanInt()
	switch {
	case last >= 0 && !r.Field(last).IsNil():
		kinds = []faultKind{otherwise}
	case counts && fills(e.method):
		kinds = []faultKind{fails, pauses, alongside, ends, splits}
		if r.Field(0).Int() < 2 {
			kinds = kinds[:2]
		}
	case counts && r.Field(0).Int() > 1:
		kinds = []faultKind{fails, halfway}
	case last >= 0:
		kinds = []faultKind{fails}
	case r.NumField() == 1 && r.Field(0).Kind() == reflect.Bool:
		kinds = []faultKind{flips}
	}
	return append(kinds, panics)
}

// fills reports whether a method is a reader's, which fills its first argument.
func fills(method string) bool { return method == "Read" || method == "ReadAt" }

// errorField is the index of the last result, if it is an error; else -1.
func errorField(r reflect.Value) int {
	last := r.NumField() - 1
	if last >= 0 && r.Field(last).Type() == reflect.TypeOf((*error)(nil)).Elem() {
		return last
	}
	return -1
}

// spoiled returns what stands in an answer's place.
func spoiled(e *entry, kind faultKind) []*entry {
	// Begin with an empty answer.
	bad := *e
	r := reflect.New(reflect.TypeOf(e.result).Elem()).Elem()
	bad.result = r.Addr().Interface()
	was := reflect.ValueOf(e.result).Elem()
	fail := func(err error) { r.Field(errorField(r)).Set(reflect.ValueOf(&err).Elem()) }
	// Fill it in by the kind. Two kinds take two answers in its place.
	switch kind {
	case fails:
		fail(rt.ErrMadeUp)
		bad.after = nil
	case halfway:
		r.Field(0).SetInt(was.Field(0).Int() / 2)
		fail(rt.ErrMadeUp)
	case alongside, otherwise:
		r.Set(was)
		fail(rt.ErrMadeUp)
	case ends:
		r.Set(was)
		fail(io.EOF)
	case pauses:
		bad.after = nil
		return []*entry{&bad, e}
	case splits:
		n := int(was.Field(0).Int())
		rest := *e
		rest.after = shifted(e.after, n/2, n)
		second := reflect.New(was.Type()).Elem()
		r.Field(0).SetInt(int64(n / 2))
		second.Field(0).SetInt(int64(n - n/2))
		rest.result = second.Addr().Interface()
		return []*entry{&bad, &rest}
	case flips:
		r.Field(0).SetBool(!was.Field(0).Bool())
	case panics:
		bad.after, bad.ended = nil, outcome{panicked, rt.ErrMadeUp}
	}
	return []*entry{&bad}
}

// shifted is a copy of a reader's arguments whose buffer begins with the bytes from i to n.
func shifted(after any, i, n int) any {
	if after == nil {
		return nil
	}
	a := reflect.New(reflect.TypeOf(after).Elem())
	a.Elem().Set(reflect.ValueOf(after).Elem())
	p := a.Elem().Field(0)
	q := reflect.MakeSlice(p.Type(), p.Len(), p.Len())
	reflect.Copy(q, p)
	if n <= p.Len() {
		reflect.Copy(q, p.Slice(i, n))
	}
	p.Set(q)
	return a.Interface()
}

// Made is the tape in a call with a fault; nil where the argument has no tape.
func (t *Tape) Made() *Tape {
	if t == nil {
		return nil
	}
	return t.made
}

// Context is an argument in a call with a fault, which may be that it is over.
func (c *Call) Context(ctx context.Context) context.Context {
	if !c.over || ctx == nil {
		return ctx
	}
	ctx, stop := context.WithCancel(ctx)
	stop()
	return ctx
}

// answer answers a call of the original from the script, and writes it down.
func answer[A, R any](t *Tape, method string, a *A, r *R) {
	if rt.GoroutineID() != t.owner {
		t.broken = "it is called by another goroutine"
		return
	}
	if len(t.entries) > len(t.script)+maxBeyond {
		t.broken = "the original calls it on and on"
		panic(unlike{})
	}
	// Write the call down.
	e := &entry{method: method, args: brief("%+v", *a)}
	var err error
	if e.before, err = formOf(method, a); err != nil {
		t.broken = err.Error()
	}
	t.entries = append(t.entries, e)
	e.ended.end = returned
	// Answer as the script does, or as one that is used up.
	if s := t.next(method); s != nil {
		e.ended = s.ended
		*r = *rt.Clone(s.result.(*R))
		shareInterfaces(r, s.result.(*R))
		if s.after != nil {
			apply(reflect.ValueOf(a).Elem(), reflect.ValueOf(rt.Clone(s.after.(*A))).Elem())
			e.after = rt.Clone(a)
		}
		fit(method, reflect.ValueOf(a).Elem(), reflect.ValueOf(r).Elem())
	} else {
		exhausted(method, reflect.ValueOf(r).Elem())
	}
	// Write the answer down.
	e.result = rt.Clone(r)
	shareInterfaces(e.result.(*R), r)
	t.endAs(e)
}

// next is the answer to a call: the script's, or when the original calls something else than it
// did, the last one that there was for this method. nil means that there is none.
func (t *Tape) next(method string) *entry {
	if t.at < len(t.script) && t.script[t.at].method == method {
		t.at++
		return t.script[t.at-1]
	}
	for i := len(t.script) - 1; i >= 0 && !fills(method); i-- {
		if t.script[i].method == method {
			return t.script[i]
		}
	}
	return nil
}

// fit keeps a reader from giving more bytes than there is room for: after a fault the original may
// read pieces of another size.
func fit(method string, a, r reflect.Value) {
	if fills(method) && r.NumField() > 0 && r.Field(0).CanInt() && a.Field(0).Kind() == reflect.Slice {
		r.Field(0).SetInt(min(r.Field(0).Int(), int64(a.Field(0).Len())))
	}
}

// exhausted is the answer where the script has none: a reader ends, all else fails.
func exhausted(method string, r reflect.Value) {
	if last := errorField(r); last >= 0 {
		err := rt.ErrMadeUp
		if fills(method) {
			err = io.EOF
		}
		r.Field(last).Set(reflect.ValueOf(&err).Elem())
	}
}
