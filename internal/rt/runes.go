package rt

import (
	"reflect"
	"unicode/utf8"
)

// runeBlock is the distance at which runes are tried first: tables and masks
// seldom tell fewer neighbours apart.
const runeBlock = 16

// notable are the runes that code for ASCII meets by way of the library, each
// for a reason of its own: letters that fold, lower or upper into ASCII or
// change their length by it, spaces and line ends beyond ASCII, marks, and
// neighbours of what is no rune. They are tried alone and between letters.
var notable = []rune{'\u0130', '\u0131', '\u017f', '\u212a', '\u00df', '\u1e9e', '\u00b5', '\u0149', '\u01f0', '\ufb01', '\u00aa', '\u00b2', '\u2160',
	'\u0085', '\u00a0', '\u1680', '\u2003', '\u2028', '\u2029', '\u202f', '\u3000', '\u200b', '\u200d', '\u00ad', '\u0301', '\ufe0f', '\ufeff',
	'\u0660', '\uff10', '\uff21', '\uff41', '\ud7ff', '\ue000', '\ufffd', '\uffff', '\U00010000', '\U0001f600', '\U0010ffff'}

// runes puts the notable runes and then every rune beyond ASCII into every text and every number of the
// size of a rune: one of each block, then another of each.
func (x *exhauster[A, R]) runes(yield func() bool) {
	is := func(t reflect.Type) bool { return isText(t) || t.Kind() == reflect.Int32 }
	ok := true
	x.each(is, func(i int, t reflect.Type) bool {
		x.base(0)
		for _, r := range notable {
			ok = ok && (!x.setRune(i, r, false) || yield())
			ok = ok && (!isText(t) || !x.setRune(i, r, true) || yield())
		}
		return ok
	})
	if !ok {
		return
	}
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
