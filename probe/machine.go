package probe

import (
	"reflect"
	"runtime/debug"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/beagle-go/beagle/probe/wire"
)

// A frame is the view of a question: one call, at its entry or at its end.
type frame struct {
	about         *description
	args, results unsafe.Pointer // nil when they are not there
	panicked      bool
}

// Kinds of values on the machine's stack.
const (
	isBool = iota + 1
	isInt
	isUint
	isFloat
	isText
	isMemory // a value of a type that the machine has no other form for
)

// A word is a value on the stack.
type word struct {
	kind byte
	n    int64 // also bool and the bits of a uint64
	f    float64
	s    string // refers to the service's memory while the question runs
	p    unsafe.Pointer
	c    *coder
}

// A machine runs one question for one call. At the first invalid operation it stops, and the call
// is undecided.
type machine struct {
	q     *question
	f     *frame
	stack [wire.MaxStack]word
	top   int
	steps int
	bad   bool
}

// run answers the question for a call. It never panics: memory that others write may mislead it
// into reading anywhere, and such a fault ends here.
func (q *question) run(f *frame) (yes, ok bool) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if recover() != nil {
			yes, ok = false, false
		}
	}()
	m := machine{q: q, f: f}
	for pc := 0; pc < len(q.code) && !m.bad; pc++ {
		m.step(1)
		o := q.code[pc]
		switch o.code {
		case wire.OpAnd, wire.OpOr:
			if m.top == 0 || m.stack[m.top-1].kind != isBool {
				return false, false
			}
			if (m.stack[m.top-1].n == 1) == (o.code == wire.OpOr) {
				if o.n < 0 || o.n > int64(len(q.code)) {
					return false, false
				}
				pc += int(o.n) // forwards only: a program ends
			} else {
				m.top--
			}
		default:
			m.do(o)
		}
	}
	if m.bad || m.top != 1 || m.stack[0].kind != isBool {
		return false, false
	}
	return m.stack[0].n == 1, true
}

// step counts work.
func (m *machine) step(n int) {
	if m.steps += n; m.steps > wire.MaxSteps {
		m.bad = true
	}
}

func (m *machine) push(w word) {
	if m.top == len(m.stack) {
		m.bad = true
		return
	}
	m.stack[m.top] = w
	m.top++
}

func (m *machine) pushBool(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	m.push(word{kind: isBool, n: n})
}

func (m *machine) pushInt(n int) { m.push(word{kind: isInt, n: int64(n)}) }

func (m *machine) pop() word {
	if m.top == 0 {
		m.bad = true
		return word{}
	}
	m.top--
	return m.stack[m.top]
}

// load pushes the variable at p.
func (m *machine) load(c *coder, p unsafe.Pointer) {
	w := word{kind: isMemory, c: c, p: p}
	switch c.kind {
	case reflect.Bool:
		w.kind, w.n = isBool, int64(*(*byte)(p)&1)
	case reflect.String:
		w.kind, w.s = isText, *(*string)(p)
	case reflect.Float32, reflect.Float64:
		w.kind, w.f = isFloat, floatOf(c.kind, p)
	case reflect.Struct, reflect.Array, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface,
		reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
	default:
		n, unsigned := integer(c.kind, p)
		w.kind, w.n = isInt, n
		if unsigned {
			w.kind = isUint
		}
	}
	m.push(w)
}

// field pushes field n of a struct, unless it is secret.
func (m *machine) field(c *coder, p unsafe.Pointer, n int64) {
	if p == nil || c.kind != reflect.Struct || n < 0 || n >= int64(len(c.fields)) {
		m.bad = true
		return
	}
	f := &c.fields[n]
	if m.q.o.redact.name(f.name) || m.q.o.redact.typ(f.c) {
		m.bad = true
		return
	}
	m.load(f.c, unsafe.Add(p, f.off))
}

// do carries out an instruction.
func (m *machine) do(o op) {
	switch o.code {
	case wire.OpArg:
		m.field(m.f.about.args, m.f.args, o.n)
	case wire.OpResult:
		m.field(m.f.about.results, m.f.results, o.n)
	case wire.OpInt:
		m.push(word{kind: isInt, n: o.n})
	case wire.OpBool:
		m.pushBool(o.n == 1)
	case wire.OpText:
		if o.n < 0 || o.n >= int64(len(m.q.prog.Texts)) {
			m.bad = true
			return
		}
		m.push(word{kind: isText, s: m.q.prog.Texts[o.n]})
	case wire.OpFloat:
		if o.n < 0 || o.n >= int64(len(m.q.prog.Floats)) {
			m.bad = true
			return
		}
		m.push(word{kind: isFloat, f: m.q.prog.Floats[o.n]})
	case wire.OpPanicked:
		m.pushBool(m.f.panicked)
	case wire.OpField:
		w := m.pop()
		if w.kind != isMemory {
			m.bad = true
			return
		}
		m.field(w.c, w.p, o.n)
	default:
		m.unary(o)
	}
}

// unary carries out an instruction with one operand, or passes it on.
func (m *machine) unary(o op) {
	switch o.code {
	case wire.OpDeref, wire.OpLen, wire.OpCap, wire.OpNot, wire.OpNeg, wire.OpIsNil:
	case wire.OpCall:
		m.call(o.n)
		return
	default:
		m.binary(o)
		return
	}
	w := m.pop()
	switch {
	case o.code == wire.OpNot && w.kind == isBool:
		m.pushBool(w.n == 0)
	case o.code == wire.OpNeg && w.kind == isInt:
		m.push(word{kind: isInt, n: -w.n})
	case o.code == wire.OpNeg && w.kind == isFloat:
		m.push(word{kind: isFloat, f: -w.f})
	case o.code == wire.OpLen && w.kind == isText:
		m.pushInt(len(w.s))
	case w.kind == isMemory:
		m.memory(o, w)
	default:
		m.bad = true
	}
}

// memory carries out an operation on a value of a composite type.
func (m *machine) memory(o op, w word) {
	switch k := w.c.kind; {
	case o.code == wire.OpLen && k == reflect.Slice:
		m.pushInt((*sliceHeader)(w.p).len)
	case o.code == wire.OpCap && k == reflect.Slice:
		m.pushInt((*sliceHeader)(w.p).cap)
	case o.code == wire.OpLen && k == reflect.Array:
		m.pushInt(w.c.n)
	case o.code == wire.OpLen && k == reflect.Map:
		m.pushInt(w.c.value(w.p).Len())
	case o.code == wire.OpIsNil && (k == reflect.Slice || k == reflect.Pointer || k == reflect.Map ||
		k == reflect.Interface || k == reflect.Func || k == reflect.Chan || k == reflect.UnsafePointer):
		m.pushBool(*(*unsafe.Pointer)(w.p) == nil) // the first word of each
	case o.code == wire.OpDeref && k == reflect.Pointer && m.q.o.follow:
		q := *(*unsafe.Pointer)(w.p)
		if q == nil {
			m.bad = true
			return
		}
		m.load(w.c.elem, q)
	default:
		m.bad = true
	}
}

// call carries out a function of wire.Functions.
func (m *machine) call(n int64) {
	if n < 0 || n >= int64(len(wire.Functions)) {
		m.bad = true
		return
	}
	f := wire.Functions[n]
	last := m.pop()
	first := last
	if f.Args == 2 {
		first = m.pop()
	}
	switch f.Name {
	case "utf8.ValidString", "utf8.Valid":
		m.onText(first, utf8.ValidString)
	case "ascii":
		m.onText(first, isASCII)
	case "sorted":
		m.sorted(first)
	case "unique":
		m.unique(first)
	case "strings.HasPrefix":
		m.onTexts(first, last, strings.HasPrefix)
	case "strings.HasSuffix":
		m.onTexts(first, last, strings.HasSuffix)
	case "strings.Contains":
		m.onTexts(first, last, strings.Contains)
	default:
		m.bad = true
	}
}

// textOf returns a string, or a slice of bytes as one.
func (m *machine) textOf(w word) string {
	switch {
	case w.kind == isText:
		return w.s
	case w.kind == isMemory && w.c.kind == reflect.Slice && w.c.elem.kind == reflect.Uint8:
		h := (*sliceHeader)(w.p)
		return unsafe.String((*byte)(h.data), h.len)
	}
	m.bad = true
	return ""
}

// bytesAStep is the number of bytes of a text that one step looks at.
const bytesAStep = 64

func (m *machine) onText(w word, f func(string) bool) {
	s := m.textOf(w)
	if m.step(len(s) / bytesAStep); !m.bad {
		m.pushBool(f(s))
	}
}

// onTexts compares what text holds, unless a pattern says that it is secret.
func (m *machine) onTexts(a, b word, f func(a, b string) bool) {
	s, t := m.textOf(a), m.textOf(b)
	m.step((len(s) + len(t)) / bytesAStep)
	if m.bad || m.q.o.redact.text(s) || m.q.o.redact.text(t) {
		m.bad = true
		return
	}
	m.pushBool(f(s, t))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
