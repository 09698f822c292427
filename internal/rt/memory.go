package rt

import (
	"bytes"
	"reflect"
	"runtime/debug"
)

// A caller may write to memory that it was given, and a variant may not use memory that it gave
// away:
//
//   - results stay as they are while later calls run (a shared buffer does not);
//   - writing into results does not change the answers of later calls;
//   - writing into the arguments after the call does not change the results,
//     unless it does so with the original too.

// The values of Diff.Check.
const (
	CheckKept   = "the result was kept and read again after later calls"
	CheckResult = "the caller wrote into the first result, then made the same call again"
	CheckArgs   = "the caller wrote into the arguments after the call; the result changed with them"
	CheckAgain  = "the same call again, directly after the first"
	CheckOrder  = "the same call after others, in another order"
	CheckFirst  = "the second of two equal calls agrees, the first did not"
)

// A keptCall is a call whose arguments and results are read again later.
type keptCall[A, R any] struct {
	id   int
	src  *A
	a    A
	r    R
	snap []byte
}

// keepCalls is the number of calls between a call and its second reading.
const keepCalls = 32

// memory makes the checks on the candidate's last call.
func (p *replayer[A, R]) memory(i int) *Diff {
	// Only a call that both versions agree on, with memory in its outcome, can be checked.
	c := p.check
	if c.flat || c.p[1] != nil || c.p[0] != nil {
		return nil
	}
	c.run(0, i, &p.records[i])
	c.run(1, i, &p.records[i])
	if c.differ() != "" {
		return nil // the original is unstable here
	}
	// Keep the outcome, to see later whether another call has changed it.
	p.kept = append(p.kept, keptCall[A, R]{i, &p.records[i], c.a[1], c.r[1], bytes.Clone(c.snap[1])})
	if d := p.afterResults(i); d != nil {
		return d
	}
	if d := p.afterArgs(i); d != nil {
		return d
	}
	// A bounded number of calls is kept: look at the oldest again, and let it go.
	if len(p.kept) > keepCalls {
		return p.reread(1)
	}
	return nil
}

// reread looks at the oldest n kept calls again.
func (p *replayer[A, R]) reread(n int) *Diff {
	for _, k := range p.kept[:n] {
		// If a kept outcome is no longer what it was, a later call has written to it. Show it
		// beside a fresh outcome of the original.
		now, err := SnapshotCall(nil, &k.a, &k.r)
		if err == nil && bytes.Equal(now, k.snap) {
			continue
		}
		c := p.check
		c.run(0, k.id, k.src)
		c.a[1], c.r[1], c.p[1] = k.a, k.r, nil
		d := c.diff(k.id, k.src, "alias", CheckKept)
		if last := p.kept[len(p.kept)-1]; last.src != k.src {
			var more []string
			d.Other, more = spellBriefly(last.src)
			d.Imports = append(d.Imports, more...)
		}
		return d
	}
	p.kept = p.kept[n:]
	return nil
}

// afterResults writes into the results and calls again. It happens twice: a candidate whose answers
// change by themselves is another matter. One may, where the original's do.
func (p *replayer[A, R]) afterResults(i int) *Diff {
	c := p.check
	first, again := p.writtenResults(1, i), p.writtenResults(1, i)
	// The original may do the same, or give another answer each time: then it is no fault.
	if !first || !again || p.writtenResults(0, i) || c.selfDiffers(i, &p.records[i]) {
		return nil
	}
	// Run once more to report the difference, and put the memory back at the end.
	c.run(0, i, &p.records[i])
	s := scribbler{}
	c.run(1, i, &p.records[i])
	s.walkFrom(reflect.ValueOf(&c.r[1]).Elem())
	c.run(1, i, &p.records[i])
	d := c.diff(i, &p.records[i], "alias", CheckResult)
	s.undo()
	return d
}

// writtenResults reports whether writing into a side's results changes what
// the next equal call answers. Everything is put back.
func (p *replayer[A, R]) writtenResults(side, i int) bool {
	c := p.check
	c.run(side, i, &p.records[i])
	before, err := SnapshotCall(nil, &c.a[side], &c.r[side])
	if err != nil || c.p[side] != nil {
		return false
	}
	s := scribbler{}
	s.walkFrom(reflect.ValueOf(&c.r[side]).Elem())
	// The call below is the only one that may see what was written.
	defer s.undo()
	c.run(side, i, &p.records[i])
	after, err := SnapshotCall(nil, &c.a[side], &c.r[side])
	return err != nil || c.p[side] != nil || !bytes.Equal(before, after)
}

// afterArgs writes into the arguments after the call and looks at the results.
func (p *replayer[A, R]) afterArgs(i int) *Diff {
	c := p.check
	first, again := p.writtenArgs(1, i), p.writtenArgs(1, i)
	if !first || !again || p.writtenArgs(0, i) {
		return nil
	}
	c.run(0, i, &p.records[i])
	c.run(1, i, &p.records[i])
	s := scribbler{}
	s.walkFrom(reflect.ValueOf(&c.a[1]).Elem())
	d := c.diff(i, &p.records[i], "alias", CheckArgs)
	s.undo()
	return d
}

func (p *replayer[A, R]) writtenArgs(side, i int) bool {
	c := p.check
	c.run(side, i, &p.records[i])
	before, err := Snapshot(nil, &c.r[side])
	if err != nil || c.p[side] != nil {
		return false
	}
	before = bytes.Clone(before)
	s := scribbler{}
	s.walkFrom(reflect.ValueOf(&c.a[side]).Elem())
	defer s.undo()
	after, err := Snapshot(nil, &c.r[side])
	return err != nil || !bytes.Equal(before, after)
}

// A scribbler writes over the memory that a value leads to, and puts it back.
type scribbler struct {
	back []func()
	seen map[uintptr]bool
}

// maxScribbles bounds the work on one value.
const maxScribbles = 4096

func (s *scribbler) undo() {
	for i := len(s.back) - 1; i >= 0; i-- {
		s.back[i]()
	}
}

// walkFrom walks from a value whose own memory is left alone.
func (s *scribbler) walkFrom(v reflect.Value) {
	if s.seen == nil {
		s.seen = make(map[uintptr]bool)
	}
	defer func(was bool) {
		recover() // memory that cannot be written, such as the bytes of a constant string
		debug.SetPanicOnFault(was)
	}(debug.SetPanicOnFault(true))
	s.walk(v, false)
}

// walk writes over the memory that a value leads to. write says that v itself lies in such memory,
// and not only in the result that was returned by value.
func (s *scribbler) walk(v reflect.Value, write bool) {
	if len(s.back) > maxScribbles {
		return
	}
	v = reachable(v)
	switch v.Kind() {
	// Pointers are followed once: values may form a ring.
	case reflect.Pointer:
		if !v.IsNil() && !s.been(v.Pointer()) && special(v.Type().Elem()) == nil {
			s.walk(v.Elem(), true)
		}
	// An error is likely to be a package's own variable.
	case reflect.Interface:
		if !v.IsNil() && !implementsError(v) {
			s.walk(v.Elem(), false)
		}
	// Up to the length only: no value uses the room behind.
	case reflect.Slice:
		for i := 0; i < v.Len(); i++ {
			s.walk(v.Index(i), true)
		}
	case reflect.Array:
		for i := 0; i < v.Len(); i++ {
			s.walk(v.Index(i), write)
		}
	case reflect.Struct:
		if special(v.Type()) != nil {
			return
		}
		for i := 0; i < v.NumField(); i++ {
			s.walk(v.Field(i), write)
		}
	case reflect.Map:
		s.mapping(v)
	default:
		if write && v.CanSet() {
			s.scalar(v)
		}
	}
}

func (s *scribbler) been(p uintptr) bool {
	was := s.seen[p]
	s.seen[p] = true
	return was
}

// implementsError: the content of an error is its own affair.
func implementsError(v reflect.Value) bool {
	_, ok := textOfError(v.Elem())
	return ok
}

// scalar changes one number or string.
func (s *scribbler) scalar(v reflect.Value) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	switch {
	case v.CanInt():
		v.SetInt(^v.Int())
	case v.CanUint():
		v.SetUint(^v.Uint())
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "~")
	default:
		return
	}
	s.back = append(s.back, func() { v.Set(old) })
}

// mapping takes one entry out of a map.
func (s *scribbler) mapping(m reflect.Value) {
	if m.Len() == 0 || !m.CanInterface() || s.been(m.Pointer()) {
		return
	}
	it := m.MapRange()
	it.Next()
	k, v := it.Key(), it.Value()
	m.SetMapIndex(k, reflect.Value{})
	s.back = append(s.back, func() { m.SetMapIndex(k, v) })
}
