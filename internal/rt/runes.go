package rt

import (
	"reflect"
	"unicode/utf8"
)

// runeBlock is the distance at which runes are tried first: tables and masks
// seldom tell fewer neighbours apart.
const runeBlock = 16

// notable are the runes that code for ASCII meets by way of the library, each for a reason of its
// own: letters that fold, lower or upper into ASCII or change their length by it, spaces and line
// ends beyond ASCII, marks, and neighbours of values that are no runes. contexts.go puts them
// into texts.
var notable = []rune{'\u0130', '\u0131', '\u017f', '\u212a', '\u00df', '\u1e9e', '\u00b5', '\u0149', '\u01f0', '\ufb01',
	'\u00aa', '\u00b2', '\u2160',
	'\u0085', '\u00a0', '\u1680', '\u2003', '\u2028', '\u2029', '\u202f', '\u3000', '\u200b', '\u200d', '\u00ad',
	'\u0301', '\ufe0f', '\ufeff',
	'\u0660', '\uff10', '\uff21', '\uff41', '\ud7ff', '\ue000', '\ufffd', '\uffff', '\U00010000',
	'\U0001f600', '\U0010ffff'}

// common is the end of the scripts that most code was tried with.
const common = 0x3100

// runes puts every rune beyond ASCII into every text, alone, before, after and between letters,
// and into every number of the size of a rune: first the common ones in all contexts, then one of
// each block, then another of each.
func (x *exhauster) runes(yield func() bool) {
	// Numbers of 32 bits may be runes.
	is := func(t reflect.Type) bool { return isText(t) || t.Kind() == reflect.Int32 }
	for _, last := range []int{common / runeBlock, utf8.MaxRune/runeBlock + 1} {
		// Each pass takes another rune of every block, in another context, so that a search that
		// ends early has seen all blocks.
		for pass := range runeBlock * runeContexts {
			ok := true
			x.args.each(is, func(i int, t reflect.Type) bool {
				x.args.base(0)
				for block := utf8.RuneSelf / runeBlock; block < last && ok; block++ {
					r := rune(block*runeBlock + (block*7+pass)%runeBlock)
					// The second round has the common runes after it.
					if last > common/runeBlock && r < common {
						continue
					}
					if utf8.ValidRune(r) && x.setRune(i, r, contextOf(r, pass/runeBlock)) {
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
}

// runeContexts is the number of contexts in which a rune is tried.
const runeContexts = 4

// contextOf returns the context of a rune in a round. In no round it goes with a bit of the rune,
// so that neighbours and blocks differ in it.
func contextOf(r rune, round int) int {
	return int(uint32(r)*2654435769>>30+uint32(round)) % runeContexts
}

// setRune stores a rune, in a text with or without letters around it.
func (x *exhauster) setRune(i int, r rune, context int) bool {
	f := x.args.field(i)
	if f.Kind() == reflect.Int32 {
		if context == 0 && int64(r) > x.cap {
			x.pass(1)
			return false
		}
		return context == 0 && x.args.setInt(i, int64(r))
	}
	text := make([]byte, 0, 6)
	if context&1 == 1 {
		text = append(text, 'a')
	}
	if text = utf8.AppendRune(text, r); context&2 == 2 {
		text = append(text, 'a')
	}
	setText(f, text)
	return true
}
