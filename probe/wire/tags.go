package wire

import "reflect"

// Tags of the record encoding that a probe writes. Their numbers and payloads are those of Beagle's
// own encoder; a test of Beagle holds the two together. Lengths are uvarints.
const (
	TagNil        = 0
	TagFalse      = 1
	TagTrue       = 2
	TagInt        = 3  // zigzag varint
	TagUint       = 4  // uvarint
	TagFloat32    = 5  // 4 bytes, little endian
	TagFloat64    = 6  // 8 bytes
	TagComplex64  = 7  // 8 bytes
	TagComplex128 = 8  // 16 bytes
	TagString     = 9  // length, bytes
	TagBytes      = 10 // length, spare capacity, bytes
	TagList       = 11 // length, spare capacity, elements
	TagArray      = 12 // length, elements
	TagStruct     = 13 // number of fields, their names, the values
	TagStructRef  = 14 // index of an earlier TagStruct of this value, the values
	TagMap        = 15 // number of entries, keys and values in the order of the keys
	TagPtr        = 16 // the value pointed to
	TagIface      = 17 // type name, the dynamic value

	// TagHole stands where the probe left a value out. Records have no such tag.
	TagHole = 64 // reason, kind, class, length, spare capacity, hash, 0 or 1, with 1 a first part of the value
)

// Reasons of a hole.
const (
	Cut      = iota + 1 // longer than the limits; its first part follows
	Redacted            // a name, a type or a pattern says that it is secret
	Shape               // values are not recorded, shapes are
	Pointer             // memory behind a pointer is not followed
	Map                 // the contents of maps are not read
	Deep                // nested deeper than the limit
	Bound               // a value that means nothing outside its process
	Seen                // memory that this call holds already: a cycle, or shared memory
	Unseen              // held where this way of capturing cannot look
	reasons
)

var reasonNames = [reasons]string{"", "cut at the limits", "redacted", "recorded as a shape", "behind a pointer",
	"the contents of a map", "nested too deep", "bound to its process", "memory shared within the call",
	"where a uprobe cannot look (a float in a register)"}

// ReasonName returns the words for a reason.
func ReasonName(reason byte) string {
	if int(reason) < len(reasonNames) && reason > 0 {
		return reasonNames[reason]
	}
	return "an unknown reason"
}

// Classes of text: which characters occur. They add up.
const (
	Lower   = 1 << iota // a to z
	Upper               // A to Z
	Digit               // 0 to 9
	Space               // blanks and control characters
	Punct               // other ASCII
	Wide                // valid UTF-8 beyond ASCII
	Invalid             // bytes that are not UTF-8
	Unread              // the text is longer than what was looked at
)

// A Hole describes a value that the probe left out.
type Hole struct {
	Reason byte
	Kind   byte   // the tag that would have begun the value
	Class  byte   // of text
	Len    uint64 // true length of text, lists and maps
	Spare  uint64 // capacity beyond the length
	Hash   uint64 // of text recorded as a shape: equal within one process for equal text; else 0
}

// TagOf returns the tag that a value of a kind begins with, unless it is nil. bytes says that a
// slice is one of bytes.
func TagOf(k reflect.Kind, bytes bool) byte {
	switch k {
	case reflect.Bool:
		return TagFalse
	case reflect.String:
		return TagString
	case reflect.Float32:
		return TagFloat32
	case reflect.Float64:
		return TagFloat64
	case reflect.Complex64:
		return TagComplex64
	case reflect.Complex128:
		return TagComplex128
	case reflect.Struct:
		return TagStruct
	case reflect.Array:
		return TagArray
	case reflect.Slice:
		if bytes {
			return TagBytes
		}
		return TagList
	case reflect.Map:
		return TagMap
	case reflect.Pointer:
		return TagPtr
	case reflect.Interface:
		return TagIface
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return TagNil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return TagInt
	}
	return TagUint
}
