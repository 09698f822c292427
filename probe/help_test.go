package probe

import (
	"reflect"
	"unsafe"
)

func typeOf(v any) reflect.Type { return reflect.TypeOf(v) }

func ptr[T any](v *T) unsafe.Pointer { return unsafe.Pointer(v) }
