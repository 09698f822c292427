package rt

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"unsafe"
)

// CheckSealed is the call on memory that cannot be written. A version that
// writes into an argument and puts everything back before it returns looks
// innocent to a single caller; to a second one that reads the same memory at
// the same time it does not.
const CheckSealed = "it writes into an argument, which others may be reading, and puts it back before it returns"

// sealedBytes bounds the memory of one argument that is sealed.
const sealedBytes = 1 << 18

// A sealer moves what arguments lead to into pages that can be made
// read-only. The memory is outside of Go's heap, so whatever its content leads
// to is kept alive by the copies that it was moved from.
type sealer struct {
	pages []byte
	used  uintptr
	full  bool
	moved map[memoryPlace]unsafe.Pointer
	keep  []reflect.Value
}

// sealed calls both versions with one argument after the other sealed. It leaves out arguments
// that the original itself writes to.
func (p *replayer[A, R]) sealed(i int) *Diff {
	c := p.check
	if c.flat || c.p[0] != nil || c.p[1] != nil || p.noPages {
		return nil
	}
	// The pages are made once, and reused for all calls.
	if p.pages == nil {
		var err error
		if p.pages, err = newPages(sealedBytes); err != nil {
			p.noPages = true // the system has no such pages; the race detector is another way to see it
			return nil
		}
	}
	t := reflect.TypeOf((*A)(nil)).Elem()
	// Seal one argument at a time. A write counts only if the original does not write there.
	for k := range t.NumField() {
		if !leadsToMemory(t.Field(k).Type) || p.writes(0, i, k) || !p.writes(1, i, k) {
			continue
		}
		c.run(0, i, &p.records[i])
		c.run(1, i, &p.records[i])
		d := c.diff(i, &p.records[i], "race", CheckSealed)
		d.Got = fmt.Sprintf("writes into argument %d during the call", k)
		return d
	}
	return nil
}

// writes reports whether a version writes into what argument k leads to.
func (p *replayer[A, R]) writes(side, i, k int) (wrote bool) {
	var a A
	var r R
	// Move the argument's memory into the pages, and take the right to write away.
	cloneTo(&a, &p.records[i])
	s := sealer{pages: p.pages, moved: map[memoryPlace]unsafe.Pointer{}}
	s.move(reachable(reflect.ValueOf(&a).Elem().Field(k)))
	if s.used == 0 || s.full || protect(p.pages, true) != nil {
		return false
	}
	// A write now is a fault, which becomes a panic. Everything is put back in any case.
	defer protect(p.pages, false)
	defer runtime.KeepAlive(s.keep)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	v := 0
	if side == 1 {
		v = p.check.v
	}
	g := p.check.guard
	Begin(v, i)
	g.calls.Add(1)
	defer func() {
		wrote = s.hit(recover())
		g.calls.Add(1)
		Idle()
	}()
	p.h.Variants[v].Eval(&a, &r)
	return false
}

// hit reports whether a panic is a write to the sealed pages.
func (s *sealer) hit(v any) bool {
	fault, ok := v.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(s.pages)))
	return lo <= fault.Addr() && fault.Addr() < lo+uintptr(len(s.pages))
}

// move moves the memory that an addressable value leads to. Maps stay where
// they are, and so does what an interface holds.
func (s *sealer) move(v reflect.Value) {
	if s.full || special(v.Type()) != nil {
		return
	}
	switch v.Kind() {
	// The value of a pointer becomes a copy in sealed memory.
	case reflect.Pointer:
		if !v.IsNil() && special(v.Type().Elem()) == nil {
			one := reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), 1)
			if q := s.memory(one); q != nil {
				v.Set(reflect.NewAt(v.Type().Elem(), q).Convert(v.Type()))
			}
		}
	case reflect.Slice:
		// Slices move with their capacity, so that appends in place are caught.
		if ignored.scratch && v.Cap() > v.Len() {
			return // pages are sealed whole, and this one's end may be written
		}
		if v.Cap() > 0 {
			if q := s.memory(v.Slice(0, v.Cap())); q != nil {
				whole := reflect.SliceAt(v.Type().Elem(), q, v.Cap())
				v.Set(whole.Slice3(0, v.Len(), v.Cap()).Convert(v.Type()))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			s.move(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			s.move(reachable(v.Field(i)))
		}
	}
}

// memory moves one piece, after what it leads to itself; nil when it has no
// room, or no size.
func (s *sealer) memory(live reflect.Value) unsafe.Pointer {
	elem := live.Type().Elem()
	size := uintptr(live.Len()) * elem.Size()
	place := memoryPlace{live.UnsafePointer(), live.Len(), live.Type()}
	// Memory that several references share moves once.
	if q, ok := s.moved[place]; ok || size == 0 {
		return q
	}
	s.moved[place] = nil // a cycle leads back to the original memory
	// The memory that the piece leads to moves first, so that the copy holds the new pointers.
	if leadsToMemory(elem) {
		for i := range live.Len() {
			s.move(live.Index(i))
		}
	}
	const align = 16
	if s.used+size+align > uintptr(len(s.pages)) {
		s.full = true
		return nil
	}
	q := unsafe.Pointer(&s.pages[s.used])
	s.used += (size + align - 1) &^ (align - 1)
	copy(unsafe.Slice((*byte)(q), size), unsafe.Slice((*byte)(live.UnsafePointer()), size))
	s.keep = append(s.keep, live)
	s.moved[place] = q
	return q
}
