package rt

import "fmt"

// Tags of the binary form. Each value is a tag and its payload; lengths and
// indexes are uvarints. The form describes itself: ParseValue reads it without
// knowing the types.
const (
	tagNil        = iota
	tagFalse      //
	tagTrue       //
	tagInt        // zigzag varint
	tagUint       // uvarint
	tagFloat32    // 4 bytes, little endian
	tagFloat64    // 8 bytes
	tagComplex64  // 8 bytes
	tagComplex128 // 16 bytes
	tagString     // length, bytes
	tagBytes      // length, spare capacity, bytes: a slice of uint8
	tagList       // length, spare capacity, elements: any other slice
	tagArray      // length, elements
	tagStruct     // number of fields, their names (length, bytes), the values
	tagStructRef  // index of an earlier tagStruct of this record, the values
	tagMap        // number of entries, keys and values in the order of the keys
	tagPtr        // the value pointed to
	tagIface      // type name (length, bytes), the dynamic value
	tagBack       // id, length, how many elements follow, elements; then the reference that stands here
	tagBackMap    // id, number of entries, entries; then tagRef id 0
	tagRef        // id, number of steps, steps: a pointer to a part of a tagBack
	tagSlice      // id, number of steps, steps, length, capacity: a slice of a part of a tagBack
	tagGlobal     // name, then the value in case that the reader does not know the name
	tagOpaque     // type name, text: a type with a text form of its own
	// snapshots only: type name, text, number of wrapped errors, those; then may come a struct of
	// the fields that it shows
	tagError
	tagTuple // number of parts, parts
	tagEnd
)

// Kind says what a Value holds. Its numbers are the tags of the binary form.
type Kind uint8

// The kinds.
const (
	KindNil        Kind = tagNil
	KindBool       Kind = tagTrue
	KindInt        Kind = tagInt
	KindUint       Kind = tagUint
	KindFloat32    Kind = tagFloat32
	KindFloat64    Kind = tagFloat64
	KindComplex64  Kind = tagComplex64
	KindComplex128 Kind = tagComplex128
	KindString     Kind = tagString
	KindBytes      Kind = tagBytes
	KindList       Kind = tagList
	KindArray      Kind = tagArray
	KindStruct     Kind = tagStruct
	KindMap        Kind = tagMap
	KindPointer    Kind = tagPtr
	KindInterface  Kind = tagIface
	KindRef        Kind = tagRef
	KindSliceRef   Kind = tagSlice
	KindGlobal     Kind = tagGlobal
	KindOpaque     Kind = tagOpaque
	KindError      Kind = tagError
	KindTuple      Kind = tagTuple
)

var kindNames = [...]string{
	tagNil: "nil", tagFalse: "bool", tagTrue: "bool", tagInt: "int", tagUint: "uint", tagFloat32: "float32",
	tagFloat64:   "float64",
	tagComplex64: "complex64", tagComplex128: "complex128", tagString: "string", tagBytes: "byte slice",
	tagList: "slice", tagArray: "array",
	tagStruct: "struct", tagStructRef: "struct", tagMap: "map", tagPtr: "pointer", tagIface: "interface",
	tagBack: "shared memory", tagBackMap: "shared map",
	tagRef: "reference", tagSlice: "slice of shared memory", tagGlobal: "global", tagOpaque: "text", tagError: "error",
	tagTuple: "tuple",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("tag %d", uint8(k))
}
