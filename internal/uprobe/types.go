//go:build linux

package uprobe

import (
	"debug/dwarf"
	"fmt"
	"reflect"
	"strings"

	"github.com/beagle-go/beagle/probe/wire"
)

// A Type is the memory layout of a Go type's values, as DWARF tells it.
type Type struct {
	Name   string // with its import path, as the probe names types
	Kind   reflect.Kind
	Size   int
	Elem   *Type // of an array, a slice or a pointer
	Len    int   // of an array
	Fields []Field
}

// A Field is a field of a struct.
type Field struct {
	Name string
	Off  int
	Type *Type
}

// Attributes that Go adds to DWARF.
const (
	attrKind = dwarf.Attr(0x2900)
	attrElem = dwarf.Attr(0x2902)
)

// types reads types of one program, each once.
type types struct {
	data *dwarf.Data
	seen map[dwarf.Offset]*Type
}

// maxTypes bounds the types that a foreign file makes us read.
const maxTypes = 200_000

// typeAt reads the type at an offset. A type may refer to itself.
func (ts *types) typeAt(off dwarf.Offset) (*Type, error) {
	if t, ok := ts.seen[off]; ok {
		return t, nil
	}
	if len(ts.seen) > maxTypes {
		return nil, fmt.Errorf("the program has more than %d types", maxTypes)
	}
	r := ts.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		return nil, fmt.Errorf("no type at %#x of the DWARF: %w", off, err)
	}
	t := &Type{}
	ts.seen[off] = t
	return t, ts.fill(t, e, r)
}

// fill completes a type from its entry in DWARF.
func (ts *types) fill(t *Type, e *dwarf.Entry, r *dwarf.Reader) error {
	t.Name = plainSymbol(nameOf(e))
	kind, _ := e.Val(attrKind).(int64)
	t.Kind = reflect.Kind(kind)
	size, _ := e.Val(dwarf.AttrByteSize).(int64)
	t.Size = int(size)
	if t.Kind == reflect.Invalid && e.Tag == dwarf.TagPointerType { // unsafe.Pointer
		t.Kind = reflect.UnsafePointer
	}
	switch {
	case t.Kind == reflect.Map || t.Kind == reflect.Chan || t.Kind == reflect.Func || t.Kind == reflect.Pointer ||
		t.Kind == reflect.UnsafePointer:
		t.Size = 8
	case t.Kind == reflect.Interface:
		t.Size = 16
	case e.Tag == dwarf.TagTypedef:
		return ts.typedef(t, e)
	}
	var err error
	switch t.Kind {
	case reflect.Pointer:
		if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			t.Elem, err = ts.typeAt(off)
		}
	case reflect.Slice:
		off, ok := e.Val(attrElem).(dwarf.Offset)
		if !ok {
			return fmt.Errorf("the DWARF of type %s names no element", t.Name)
		}
		t.Elem, err = ts.typeAt(off)
	case reflect.Array:
		err = ts.array(t, e, r)
	case reflect.Struct:
		err = ts.fields(t, r)
	case reflect.Invalid:
		err = fmt.Errorf("the DWARF of type %q has no Go kind: was it compiled by another compiler?", t.Name)
	}
	return err
}

// typedef takes the layout of the type that a name stands for.
func (ts *types) typedef(t *Type, e *dwarf.Entry) error {
	off, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return fmt.Errorf("the DWARF of type %s names no other", t.Name)
	}
	under, err := ts.typeAt(off)
	if err != nil {
		return err
	}
	name := t.Name
	*t = *under
	t.Name = name
	return nil
}

func (ts *types) array(t *Type, e *dwarf.Entry, r *dwarf.Reader) error {
	off, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return fmt.Errorf("the DWARF of array %s names no element", t.Name)
	}
	for e.Children {
		child, err := r.Next()
		if err != nil || child == nil || child.Tag == 0 {
			break
		}
		if n, ok := child.Val(dwarf.AttrCount).(int64); ok {
			t.Len = int(n)
		}
	}
	elem, err := ts.typeAt(off)
	t.Elem = elem
	if err == nil && (t.Len < 0 || elem.Size > 0 && t.Len > t.Size/elem.Size) {
		return fmt.Errorf("the DWARF of array %s says %d elements in %d bytes", t.Name, t.Len, t.Size)
	}
	return err
}

func (ts *types) fields(t *Type, r *dwarf.Reader) error {
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return err
		}
		if e.Children {
			r.SkipChildren()
		}
		off, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if e.Tag != dwarf.TagMember || !ok {
			continue
		}
		at, _ := e.Val(dwarf.AttrDataMemberLoc).(int64)
		f := Field{Name: nameOf(e), Off: int(at)}
		if f.Type, err = ts.typeAt(off); err != nil {
			return err
		}
		t.Fields = append(t.Fields, f)
	}
}

func nameOf(e *dwarf.Entry) string {
	name, _ := e.Val(dwarf.AttrName).(string)
	return name
}

// escapes are those that the linker makes of import paths.
var escapes = strings.NewReplacer("%2e", ".", "%22", `"`, "%25", "%")

// plainSymbol undoes the linker's escapes.
func plainSymbol(name string) string { return escapes.Replace(name) }

// recordedFields returns the fields that a record has: all but those named _, and none of a lock.
func (t *Type) recordedFields() (all []Field) {
	if t.isLock() {
		return nil
	}
	for _, f := range t.Fields {
		if f.Name != "_" {
			all = append(all, f)
		}
	}
	return all
}

// isLock reports whether a type is a lock, which is recorded without its fields.
func (t *Type) isLock() bool { return t.Name == "sync.Mutex" || t.Name == "sync.RWMutex" }

// raw reports whether values hold no pointers.
func (t *Type) raw() bool {
	switch t.Kind {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func,
		reflect.Chan, reflect.UnsafePointer:
		return false
	case reflect.Array:
		return t.Len == 0 || t.Elem.raw()
	case reflect.Struct:
		for _, f := range t.Fields {
			if !f.Type.raw() {
				return false
			}
		}
	}
	return true
}

// align returns the alignment of values on the stack.
func (t *Type) align() int {
	switch t.Kind {
	case reflect.Array:
		return t.Elem.align()
	case reflect.Struct:
		most := 1
		for _, f := range t.Fields {
			most = max(most, f.Type.align())
		}
		return most
	case reflect.Complex64:
		return 4
	}
	return max(1, min(t.Size, 8))
}

// describe returns the type for the controller, at most depth levels of it.
func (t *Type) describe(name string, depth int) wire.Type {
	w := wire.Type{Name: name, Type: t.Name, Kind: t.Kind.String()}
	if depth == 0 {
		return w
	}
	if t.Kind == reflect.Struct {
		for _, f := range t.recordedFields() {
			w.Fields = append(w.Fields, f.Type.describe(f.Name, depth-1))
		}
	}
	if t.Elem != nil {
		e := t.Elem.describe("", depth-1)
		w.Elem = &e
	}
	return w
}
