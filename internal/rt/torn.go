package rt

import (
	"reflect"
	"slices"
)

// Code that joins a list of texts before it looks at them is right unless something lies across a
// border: a rune of two halves, a mark that is doubled, a separator that belongs to neither. And a
// single text of a list needs two rare things at once as much as a text outside of a list.

// tornTexts makes lists of texts that were one text, and lists of texts with pairs
// of letters.
func (x *exhauster) tornTexts(yield func() bool) {
	for i, s := range x.args.slots {
		if isTexts(s.t) && !(x.torn(i, yield) && x.paired(i, yield)) {
			return
		}
	}
}

// torn tears telling texts apart at every place: in two, and with an empty text
// or a whole one between.
func (x *exhauster) torn(i int, yield func() bool) bool {
	marks := x.marks()
	texts := []string{"é", "€", "\U0001f600", "ab", "a\x00b", "a b", "aé€b", "\xed\xa0\x80", "\xf4\x90\x80\x80"}
	for _, m := range marks[:min(len(marks), firstMarks)] {
		texts = append(texts, m+m, "a"+m+"b", m+"é")
	}
	for k, text := range texts {
		for at := 1; at < len(text); at++ {
			for _, list := range [][]string{{text[:at], text[at:]}, {text[:at], "", text[at:]},
				{"x", text[:at], text[at:], "y"}, {text[at:], text[:at]}, {text, text[:at]}} {
				if !x.list(i, k, list, yield) {
					return false
				}
			}
		}
	}
	return true
}

// paired puts each pair of letters into one text of a list.
func (x *exhauster) paired(i int, yield func() bool) bool {
	letters := x.args.letters[:min(len(x.args.letters), 40)]
	for k, a := range letters {
		for _, b := range letters {
			for _, list := range [][]string{{a + b}, {"a", a + b}, {"x" + a + "y" + b, "z"}} {
				if !x.list(i, k, list, yield) {
					return false
				}
			}
		}
	}
	return true
}

// list puts a list of texts into place, in the surroundings of a record.
func (x *exhauster) list(i, base int, texts []string, yield func() bool) bool {
	x.args.base(base % x.args.bases)
	v := reflect.MakeSlice(x.args.slots[i].t, len(texts), len(texts))
	for k, s := range texts {
		setText(v.Index(k), slices.Clone([]byte(s)))
	}
	x.args.field(i).Set(v)
	return !x.small() || yield()
}
