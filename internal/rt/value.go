package rt

import (
	"encoding/binary"
	"math"
	"slices"
)

// A Value is a record, or a part of one, without its Go types. The parent process can look at it,
// edit it and write it back. It is the binary form of Encode as a tree.
type Value struct {
	Kind  Kind
	Bits  uint64   // bool (0 or 1), integers, floats as IEEE bits; real part of a complex
	Imag  uint64   // imaginary part, as IEEE bits
	Str   string   // string and bytes; type name of an interface value, an error or an opaque value; name of a global
	Text  string   // text of an error or of an opaque value
	Names []string // fields of a struct, as Elems
	// elements; fields; keys and values in turn; the value behind a pointer or in an interface;
	// the error that an error wraps
	Elems []Value
	Spare int // capacity beyond the length of a slice

	Back *Back // memory that is defined here and referred to by this value and others
	Ref  *Ref  // set when Kind is KindRef or KindSliceRef
}

// A Back is memory that several references share. Elements after the last
// one are zero.
type Back struct {
	ID    int
	Len   int  // in all
	Map   bool // a map: Elems are its keys and values
	Elems []Value
}

// A Ref is a reference into shared memory: the first step is the index into
// the Back, further steps are field and element indexes.
type Ref struct {
	ID       int
	Steps    []int
	Len, Cap int // of a slice
}

// Int returns the number in an integer value.
func (v *Value) Int() int64 { return int64(v.Bits) }

// Float returns the number in a float value.
func (v *Value) Float() float64 {
	if v.Kind == KindFloat32 || v.Kind == KindComplex64 {
		return float64(math.Float32frombits(uint32(v.Bits)))
	}
	return math.Float64frombits(v.Bits)
}

// Field returns the field of a struct by name, or nil.
func (v *Value) Field(name string) *Value {
	if i := slices.Index(v.Names, name); i >= 0 {
		return &v.Elems[i]
	}
	return nil
}

// Clone copies the tree.
func (v Value) Clone() Value {
	v.Elems = cloneValues(v.Elems)
	if v.Back != nil {
		b := *v.Back
		b.Elems = cloneValues(b.Elems)
		v.Back = &b
	}
	return v
}

func cloneValues(list []Value) []Value {
	if list == nil {
		return nil
	}
	out := make([]Value, len(list))
	for i := range list {
		out[i] = list[i].Clone()
	}
	return out
}

// ParseValue reads a record or a snapshot. It accepts any bytes and allocates
// in proportion to their number.
func ParseValue(b []byte) (Value, error) {
	r := valueReader{decoder: decoder{b: b}}
	v := r.value()
	if r.err == nil && r.i < len(b) {
		r.fail("%d bytes follow the record", len(b)-r.i)
	}
	return v, r.err
}

// valueReader is the decoder without types.
type valueReader struct {
	decoder
	names [][]string
}

// value reads one value. Memory that it shares is described in front of it.
func (r *valueReader) value() (v Value) {
	if !r.enter() {
		return v
	}
	defer func() { r.depth-- }()
	tag := r.tag()
	if tag == tagBack || tag == tagBackMap {
		back := r.backing(tag)
		v = r.value()
		if v.Back != nil || v.Kind != KindRef && v.Kind != KindSliceRef {
			r.fail("shared memory is described without being referred to")
		}
		v.Back = back
		return v
	}
	v.Kind = Kind(tag)
	r.payload(tag, &v)
	return v
}

// payload reads what follows a tag. Composite values are read apart.
func (r *valueReader) payload(tag byte, v *Value) {
	switch tag {
	case tagNil:
	case tagFalse, tagTrue:
		v.Kind, v.Bits = KindBool, uint64(tag-tagFalse)
	case tagInt:
		v.Bits = uint64(r.varint())
	case tagUint:
		v.Bits = r.uint()
	case tagFloat32, tagFloat64, tagComplex64, tagComplex128:
		r.float(tag, v)
	case tagString:
		v.Str = r.string()
	case tagOpaque:
		v.Str, v.Text = r.string(), r.string()
	case tagRef, tagSlice:
		r.refer(tag, v)
	default:
		r.composite(tag, v)
	}
}

// composite reads the parts of a value whose tag says that it has some.
func (r *valueReader) composite(tag byte, v *Value) {
	// Each tag has in front of its parts what their number does not say: the free capacity of a
	// list, a name, the text of an error.
	switch tag {
	case tagBytes:
		n := r.count()
		v.Spare = r.readInt()
		v.Str = string(r.take(n))
	case tagList:
		n := r.count()
		v.Spare = r.readInt()
		v.Elems = r.values(n)
	case tagArray, tagTuple:
		v.Elems = r.values(r.count())
	case tagMap:
		v.Elems = r.values(2 * r.count())
	case tagPtr:
		v.Elems = r.values(1)
	case tagIface, tagGlobal:
		v.Str = r.string()
		v.Elems = r.values(1)
	case tagError:
		v.Str, v.Text = r.string(), r.string()
		v.Elems = r.values(r.count())
	case tagStruct, tagStructRef:
		v.Kind = KindStruct
		v.Names = r.fields(tag)
		v.Elems = r.values(len(v.Names))
	default:
		r.fail("a value cannot begin with %s", Kind(tag))
	}
}

func (r *valueReader) varint() int64 {
	if r.err != nil {
		return 0
	}
	n, w := binary.Varint(r.b[r.i:])
	if w <= 0 {
		r.err = errShort
		return 0
	}
	r.i += w
	return n
}

func (r *valueReader) float(tag byte, v *Value) {
	le := binary.LittleEndian
	switch tag {
	case tagFloat32:
		v.Bits = uint64(le.Uint32(r.take(4)))
	case tagFloat64:
		v.Bits = le.Uint64(r.take(8))
	case tagComplex64:
		v.Bits, v.Imag = uint64(le.Uint32(r.take(4))), uint64(le.Uint32(r.take(4)))
	default:
		v.Bits, v.Imag = le.Uint64(r.take(8)), le.Uint64(r.take(8))
	}
}

func (r *valueReader) values(n int) []Value {
	if r.err != nil {
		return nil
	}
	if n > len(r.b)-r.i {
		r.fail("a length of %d is more than the record holds", n)
		return nil
	}
	list := make([]Value, 0, min(n, 1024))
	for i := 0; i < n && r.err == nil; i++ {
		list = append(list, r.value())
	}
	return list
}

// fields reads the names of a struct's fields, or the number of a struct that has been described.
func (r *valueReader) fields(tag byte) []string {
	if tag == tagStructRef {
		i := r.uint()
		if i >= uint64(len(r.names)) {
			r.fail("struct %d is not described", i)
			return nil
		}
		return r.names[i]
	}
	n := r.count()
	names := make([]string, 0, min(n, 1024))
	for i := 0; i < n && r.err == nil; i++ {
		names = append(names, r.string())
	}
	r.names = append(r.names, names)
	return names
}

func (r *valueReader) backing(tag byte) *Back {
	b := &Back{ID: r.readInt()}
	if tag == tagBackMap {
		b.Map = true
		b.Elems = r.values(2 * r.count())
		return b
	}
	b.Len = r.readInt()
	b.Elems = r.values(r.count())
	if len(b.Elems) > b.Len {
		r.fail("shared memory %d is not well described", b.ID)
	}
	return b
}

func (r *valueReader) refer(tag byte, v *Value) {
	v.Ref = &Ref{ID: r.readInt()}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		v.Ref.Steps = append(v.Ref.Steps, r.readInt())
	}
	if tag == tagSlice {
		v.Ref.Len, v.Ref.Cap = r.readInt(), r.readInt()
	}
}

// Append writes the value in the binary form. A value that ParseValue read comes out byte for
// byte as Encode wrote it.
func (v *Value) Append(dst []byte) []byte {
	w := valueWriter{encoder: encoder{buf: dst}}
	w.value(v)
	return w.buf
}

type valueWriter struct {
	encoder
	names [][]string
}

// value writes a value as the recording program would have. Memory that it shares is described at
// its first use.
func (w *valueWriter) value(v *Value) {
	if v.Back != nil {
		w.backing(v.Back)
	}
	w.tag(byte(v.Kind))
	switch v.Kind {
	case KindBool:
		w.buf[len(w.buf)-1] = tagFalse + byte(v.Bits&1)
	case KindInt:
		w.buf = binary.AppendVarint(w.buf, int64(v.Bits))
	case KindUint:
		w.uint(v.Bits)
	case KindFloat32, KindFloat64, KindComplex64, KindComplex128:
		w.float(v)
	case KindString:
		w.text(v.Str)
	case KindOpaque:
		w.text(v.Str)
		w.text(v.Text)
	case KindRef, KindSliceRef:
		w.refer(v)
	default:
		w.composite(v)
	}
}

// composite writes the sizes and names of a value with parts, and then the parts.
func (w *valueWriter) composite(v *Value) {
	switch v.Kind {
	case KindBytes:
		w.uint(uint64(len(v.Str)))
		w.uint(uint64(v.Spare))
		w.buf = append(w.buf, v.Str...)
		return
	case KindList:
		w.uint(uint64(len(v.Elems)))
		w.uint(uint64(v.Spare))
	case KindArray, KindTuple:
		w.uint(uint64(len(v.Elems)))
	case KindMap:
		w.uint(uint64(len(v.Elems) / 2))
	case KindInterface, KindGlobal:
		w.text(v.Str)
	case KindError:
		w.text(v.Str)
		w.text(v.Text)
		w.uint(uint64(len(v.Elems)))
	case KindStruct:
		w.fields(v)
	}
	w.values(v.Elems)
}

func (w *valueWriter) values(list []Value) {
	for i := range list {
		w.value(&list[i])
	}
}

// fields describes a struct, or refers to the description if the same field
// names were described before, as Encode does.
func (w *valueWriter) fields(v *Value) {
	i := slices.IndexFunc(w.names, func(n []string) bool { return sameNames(n, v.Names) })
	if i >= 0 {
		w.buf[len(w.buf)-1] = tagStructRef
		w.uint(uint64(i))
		return
	}
	w.names = append(w.names, v.Names)
	w.uint(uint64(len(v.Names)))
	for _, n := range v.Names {
		w.text(n)
	}
}

func sameNames(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 || len(a) != len(b) {
		return len(a) == len(b)
	}
	return &a[0] == &b[0] || slices.Equal(a, b)
}

func (w *valueWriter) float(v *Value) {
	le := binary.LittleEndian
	switch v.Kind {
	case KindFloat32:
		w.buf = le.AppendUint32(w.buf, uint32(v.Bits))
	case KindFloat64:
		w.buf = le.AppendUint64(w.buf, v.Bits)
	case KindComplex64:
		w.buf = le.AppendUint32(le.AppendUint32(w.buf, uint32(v.Bits)), uint32(v.Imag))
	default:
		w.buf = le.AppendUint64(le.AppendUint64(w.buf, v.Bits), v.Imag)
	}
}

func (w *valueWriter) backing(b *Back) {
	if b.Map {
		w.tag(tagBackMap)
		w.uint(uint64(b.ID))
		w.uint(uint64(len(b.Elems) / 2))
	} else {
		w.tag(tagBack)
		w.uint(uint64(b.ID))
		w.uint(uint64(b.Len))
		w.uint(uint64(len(b.Elems)))
	}
	w.values(b.Elems)
}

func (w *valueWriter) refer(v *Value) {
	w.uint(uint64(v.Ref.ID))
	w.uint(uint64(len(v.Ref.Steps)))
	for _, s := range v.Ref.Steps {
		w.uint(uint64(s))
	}
	if v.Kind == KindSliceRef {
		w.uint(uint64(v.Ref.Len))
		w.uint(uint64(v.Ref.Cap))
	}
}
