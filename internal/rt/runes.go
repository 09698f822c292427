package rt

import (
	"reflect"
	"unicode/utf8"
)

// runeBlock is the distance at which runes are tried first: tables and masks
// seldom tell fewer neighbours apart.
const runeBlock = 16

// runes puts every rune beyond ASCII into every text and every number of the
// size of a rune: one of each block, then another of each.
func (x *exhauster[A, R]) runes(yield func() bool) {
	is := func(t reflect.Type) bool { return isText(t) || t.Kind() == reflect.Int32 }
	for pass := range runeBlock {
		ok := true
		x.each(is, func(i int, t reflect.Type) bool {
			x.base(0)
			for block := utf8.RuneSelf / runeBlock; block <= utf8.MaxRune/runeBlock && ok; block++ {
				r := rune(block*runeBlock + (block*7+pass)%runeBlock)
				if utf8.ValidRune(r) && x.setRune(i, r, (block+pass)%2 == 1) {
					ok = yield()
				}
			}
			return ok
		})
		if !ok {
			return
		}
	}
}

// setRune stores a rune, in a text alone or between letters.
func (x *exhauster[A, R]) setRune(i int, r rune, between bool) bool {
	f := x.field(i)
	switch {
	case f.Kind() == reflect.Int32:
		return int64(r) <= x.cap && x.setInt(i, int64(r))
	case between:
		setText(f, append(utf8.AppendRune([]byte("a"), r), 'a'))
	default:
		setText(f, utf8.AppendRune(nil, r))
	}
	return true
}
