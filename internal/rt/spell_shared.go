package rt

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// sharedMemory finds arguments that are slices of the same memory, which exprs
// shows as memory of their own. It returns statements that declare that memory,
// and has the expressions refer to it.
func sharedMemory[A any](a *A, exprs []string) (setup, imports []string) {
	v := reflect.ValueOf(a).Elem()
	w := speller{home: v.Type().PkgPath(), imports: map[string]bool{}, brief: true}
	// Take each group of arguments that overlap once, and declare a variable for its memory.
	done := make([]bool, v.NumField())
	for i := range done {
		group := overlapping(v, i)
		if done[i] || len(group) < 2 {
			continue
		}
		name := fmt.Sprintf("shared%d", len(setup))
		setup = append(setup, name+" := "+w.sharedBy(v, group, name, exprs))
		for _, k := range group {
			done[k] = true
		}
	}
	for path := range w.imports {
		imports = append(imports, path)
	}
	return setup, imports
}

// overlapping returns the fields that are slices of one memory with field i, directly or through
// others.
func overlapping(v reflect.Value, i int) []int {
	group := []int{i}
	for at := 0; at < len(group); at++ {
		for k := range v.NumField() {
			if overlap(reachable(v.Field(group[at])), reachable(v.Field(k))) && !slices.Contains(group, k) {
				group = append(group, k)
			}
		}
	}
	return group
}

// overlap reports whether two slices with elements of one type share some of
// them, capacity included.
func overlap(x, y reflect.Value) bool {
	if x.Kind() != reflect.Slice || y.Kind() != reflect.Slice || x.Type().Elem() != y.Type().Elem() ||
		x.Type().Elem().Size() == 0 || x.Cap() == 0 || y.Cap() == 0 {
		return false
	}
	from, to := extentOf(x)
	start, end := extentOf(y)
	return from < end && start < to
}

// extentOf returns the ends of a slice's memory.
func extentOf(s reflect.Value) (from, to uintptr) {
	from = uintptr(unsafe.Pointer(s.UnsafePointer()))
	return from, from + uintptr(s.Cap())*s.Type().Elem().Size()
}

// sharedBy spells the memory of a group of fields, and each field as a slice of
// it.
func (w *speller) sharedBy(v reflect.Value, group []int, name string, exprs []string) string {
	from, to := extentOf(reachable(v.Field(group[0])))
	for _, k := range group[1:] {
		start, end := extentOf(reachable(v.Field(k)))
		from, to = min(from, start), max(to, end)
	}
	t := reflect.SliceOf(v.Type().Field(group[0]).Type.Elem())
	size := t.Elem().Size()
	all := reflect.MakeSlice(t, int((to-from)/size), int((to-from)/size))
	for _, k := range group {
		s := reachable(v.Field(k))
		start, _ := extentOf(s)
		at := int((start - from) / size)
		reflect.Copy(all.Slice(at, all.Len()), s.Slice(0, s.Cap()))
		exprs[k] = w.convert(s.Type(), t, fmt.Sprintf("%s[%d:%d:%d]", name, at, at+s.Len(), at+s.Cap()))
	}
	return w.expr(all, 0)
}
