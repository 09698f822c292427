package rt

import (
	"reflect"
	"slices"
)

// A spot is the place of a text in a case: a slot, or an element of a list of texts.
type spot struct {
	slot int
	elem int // whole for the slot itself, every for all elements of the list
}

const (
	whole = -1
	every = -2
)

// isTexts reports whether t is a list of texts.
func isTexts(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && !isText(t) && isText(t.Elem())
}

// spots lists the texts of a surrounding. A list has three: its first and its
// last element, and all of them.
func (a *arguments) spots(k int) (list []spot) {
	a.base(k)
	for i, s := range a.slots {
		// A list without a record after it is given two elements; those of records have as many as
		// they have.
		switch {
		case isText(s.t):
			list = append(list, spot{i, whole})
		case !isTexts(s.t):
		case k == 0:
			list = append(list, spot{i, 1})
		default:
			f, ok := a.peek(i)
			if !ok || f.Len() == 0 {
				continue
			}
			list = append(list, spot{i, 0})
			if last := f.Len() - 1; last > 0 {
				list = append(list, spot{i, last}, spot{i, every})
			}
		}
	}
	return list
}

// ground puts a surrounding in place for a spot and returns the text that
// stands there. The empty surrounding has a list of three elements.
func (a *arguments) ground(k int, s spot) []byte {
	a.base(k)
	f := a.field(s.slot)
	if s.elem == whole {
		return bytesOf(f)
	}
	if k == 0 {
		list := reflect.MakeSlice(f.Type(), 3, 3)
		setText(list.Index(0), []byte("a"))
		setText(list.Index(2), []byte("b"))
		f.Set(list)
	}
	return bytesOf(f.Index(max(s.elem, 0)))
}

// put writes a text to a spot whose ground is in place.
func (a *arguments) put(s spot, text []byte) {
	f := a.field(s.slot)
	switch s.elem {
	case whole:
		setText(f, text)
	case every:
		for e := range f.Len() {
			setText(f.Index(e), text)
		}
	default:
		setText(f.Index(s.elem), text)
	}
}

func bytesOf(f reflect.Value) []byte {
	if f.Kind() == reflect.String {
		return []byte(f.String())
	}
	return slices.Clone(f.Bytes())
}

// everySpot calls f with the texts of the surroundings from one on, each with
// its ground in place.
func (a *arguments) everySpot(from int, f func(s spot, text []byte) bool) bool {
	for k := from; k < a.bases; k++ {
		for _, s := range a.spots(k) {
			if !f(s, a.ground(k, s)) {
				return false
			}
		}
	}
	return true
}
