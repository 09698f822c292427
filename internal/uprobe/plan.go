//go:build linux

package uprobe

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// The program in the kernel knows no Go types. It copies the image of a call, and then whatever
// memory the tables below say that copied memory refers to.

// A layout says which references values of one type hold.
type layout struct {
	size  uint32
	refs  uint32 // how many
	first uint32 // index of the first
	_     uint32
}

// A reference is a pointer, perhaps with a length after it.
type reference struct {
	off    uint32 // within the value
	list   uint32 // 1 when a length follows the pointer
	layout uint32 // of what it points to
	size   uint32 // of an element
	most   uint32 // elements that are copied
	_      uint32
}

const (
	layoutBytes    = 16
	referenceBytes = 24
	maxLayouts     = 1024
	maxReferences  = 8192
	maxChunk       = 8 << 10 // bytes that one reference copies
	lookBeyond     = 256     // bytes of text beyond the cut, where a secret may end
	lookAtClass    = 4096    // bytes of an argument's own text that its class is of, as in the probe
	maxText        = maxChunk - lookBeyond
)

// textLook bounds the copied part of a text. Texts within lists are many, so they get less.
func textLook(o *wire.Start, own bool) int {
	if own {
		return max(o.Text+lookBeyond, lookAtClass)
	}
	return o.Text + lookBeyond
}

// A planner builds the tables for the functions of one session.
type planner struct {
	o       wire.Start
	secrets *probe.Secrets
	layouts []layout
	refs    []reference
	made    map[planned]uint32
	err     error
}

// planned identifies a layout: it follows less the deeper it lies.
type planned struct {
	t       *Type
	depth   int
	foreign bool
}

func newPlanner(o wire.Start, secrets *probe.Secrets) *planner {
	p := &planner{o: o, secrets: secrets, made: map[planned]uint32{}}
	p.layouts = append(p.layouts, layout{}) // number 0: memory without references
	return p
}

// image plans a call: its layout's number, and the bytes of stack that are copied.
func (p *planner) image(values []Value, stack int) (uint32, error) {
	var refs []reference
	for _, v := range values {
		if p.secrets.Name(v.Name) {
			continue
		}
		var within []reference
		p.value(&within, v.Type, 0, p.o.Depth, false)
		for _, r := range within {
			for _, piece := range v.pieces {
				if at := int(r.off) - piece.off; piece.at != unseen && at >= 0 && at < piece.size {
					r.off = uint32(piece.at + at)
					refs = append(refs, r)
					break
				}
			}
		}
	}
	n := p.add(uint32(imageRegisters+stack), refs)
	return n, p.err
}

func (p *planner) add(size uint32, refs []reference) uint32 {
	n := uint32(len(p.layouts))
	p.layouts = append(p.layouts, layout{size: size, refs: uint32(len(refs)), first: uint32(len(p.refs))})
	p.refs = append(p.refs, refs...)
	p.check()
	return n
}

func (p *planner) check() {
	if len(p.layouts) > maxLayouts || len(p.refs) > maxReferences {
		p.err = fmt.Errorf("the arguments refer to too many kinds of memory: lower --depth")
	}
}

// layoutNumber returns the number of a type's layout.
func (p *planner) layoutNumber(t *Type, depth int, foreign bool) uint32 {
	key := planned{t, depth, foreign}
	if n, ok := p.made[key]; ok || p.err != nil {
		return n
	}
	var refs []reference
	p.value(&refs, t, 0, depth, foreign)
	if len(refs) == 0 {
		p.made[key] = 0
		return 0
	}
	n := p.add(uint32(t.Size), refs)
	p.made[key] = n
	return n
}

// value appends the references that a value holds at an offset.
func (p *planner) value(refs *[]reference, t *Type, off, depth int, foreign bool) {
	if p.err != nil || p.secrets.Type(t.Name) || probe.Bound(t.Name) {
		return
	}
	if len(*refs) > maxReferences {
		p.err = fmt.Errorf("type %s holds too many references: lower --elements", t.Name)
		return
	}
	add := func(r reference) {
		r.off = uint32(off)
		if r.size > 0 && r.size <= maxChunk {
			r.most = min(r.most, maxChunk/r.size)
			*refs = append(*refs, r)
		}
	}
	switch t.Kind {
	case reflect.String:
		add(reference{list: 1, size: 1, most: uint32(textLook(&p.o, depth == p.o.Depth))})
	case reflect.Slice:
		switch {
		case t.Elem.Kind == reflect.Uint8:
			add(reference{list: 1, size: 1, most: uint32(textLook(&p.o, depth == p.o.Depth))})
		case depth > 0 && (!foreign || t.Elem.raw() || p.o.Follow):
			add(reference{list: 1, layout: p.layoutNumber(t.Elem, depth-1, true), size: uint32(t.Elem.Size),
				most: uint32(p.o.Elements)})
		}
	case reflect.Pointer:
		if p.o.Follow && depth > 0 && t.Elem != nil {
			add(reference{layout: p.layoutNumber(t.Elem, depth-1, true), size: uint32(t.Elem.Size), most: 1})
		}
	case reflect.Map:
		add(reference{size: word, most: 1}) // the runtime's maps begin with the number of entries
	case reflect.Struct:
		for _, f := range t.recordedFields() {
			if !p.secrets.Name(f.Name) {
				p.value(refs, f.Type, off+f.Off, depth, foreign)
			}
		}
	case reflect.Array:
		for i := range min(t.Len, p.o.Elements) {
			p.value(refs, t.Elem, off+i*t.Elem.Size, depth, foreign)
		}
	}
}

// bytes returns the two tables as the kernel's maps hold them.
func (p *planner) bytes() (layouts, refs [][]byte) {
	le := binary.LittleEndian
	for _, l := range p.layouts {
		b := le.AppendUint32(nil, l.size)
		b = le.AppendUint32(b, l.refs)
		b = le.AppendUint32(b, l.first)
		layouts = append(layouts, le.AppendUint32(b, 0))
	}
	for _, r := range p.refs {
		b := le.AppendUint32(nil, r.off)
		b = le.AppendUint32(b, r.list)
		b = le.AppendUint32(b, r.layout)
		b = le.AppendUint32(b, r.size)
		b = le.AppendUint32(b, r.most)
		refs = append(refs, le.AppendUint32(b, 0))
	}
	return layouts, refs
}
