package rt

import "reflect"

// spares returns the numbers of elements that fit beyond an argument's length, for a length of n.
func spares(n int) []int { return []int{8, 64, n + 64, 1 << 12} }

// spareLens are the lengths of the arguments with spare capacity.
var spareLens = []int{0, 1, 7, 32, 100, 300, 1000}

// spare gives slices much capacity beyond their length, which holds something:
// a caller who cut the slice off a longer one sees what a call writes there.
func (x *exhauster) spare(yield func() bool) {
	// Go through lengths, rooms and fillings, and give each slice of the input that much room in
	// turn.
	for _, n := range spareLens {
		for way, room := range spares(n) {
			for _, fill := range patterns[:3] {
				ok := true
				x.args.each(isSlice, func(i int, t reflect.Type) bool {
					if n > x.capLen || t.Elem().Size() == 0 || room > maxSpare/int(t.Elem().Size()) {
						x.pass(1)
						return true
					}
					x.args.base((n + way) % x.args.bases)
					x.args.pattern(i, t, n, fill)
					x.args.extend(x.args.field(i), room)
					ok = !x.small() || yield()
					return ok
				})
				if !ok {
					return
				}
			}
		}
	}
	for k := 1; k < x.args.bases; k++ { // and the records' own slices
		for _, room := range spares(64) {
			x.args.base(k)
			any := false
			x.args.each(isSlice, func(i int, t reflect.Type) bool {
				if f, ok := x.args.peek(i); ok && t.Elem().Size() > 0 && room <= maxSpare/int(t.Elem().Size()) {
					x.args.extend(f, room)
					any = true
				}
				return true
			})
			if any && !yield() {
				return
			}
		}
	}
}

func isSlice(t reflect.Type) bool { return t.Kind() == reflect.Slice }

// extend moves a slice to memory with room beyond it, which holds a pattern.
func (a *arguments) extend(f reflect.Value, room int) {
	t, n := f.Type(), f.Len()
	s := reflect.MakeSlice(t, n+room, n+room)
	reflect.Copy(s, f)
	if behind := s.Slice(n, n+room); coderOf(t.Elem()).flat { // others are not copied beyond the length
		from := a.palette(t.Elem())
		for k := range room {
			a.element(behind.Index(k), 0x5a5+k, from)
		}
	}
	f.Set(s.Slice3(0, n, n+room))
}
