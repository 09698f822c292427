package rt

import (
	"reflect"
	"strconv"
	"strings"
)

// Long texts and lists that repeat themselves are written with Repeat, which is
// Go like any other expression: strings.Repeat("a", 4096) + "b".

const (
	longestUnit = 16 // bytes or elements that repeat
	leastTimes  = 8  // repeats that are worth a call of Repeat
	leastBytes  = 32 // of a text, and of what is repeated in it
	leastElems  = 16 // of a list
	maxPieces   = 6  // of a text or a list; more of them are no easier to read
)

// A stretch is a part of a sequence: a unit of elements that is repeated.
type stretch struct{ from, unit, times int }

func (s stretch) size() int { return s.unit * s.times }

// stretches takes a sequence of n elements apart into parts that repeat and
// parts that do not. least is how many elements a repetition must have.
func stretches(n, least int, same func(i, j int) bool) []stretch {
	var out []stretch
	for i := 0; i < n; {
		// Look for the repetition that covers most from here on, by the length of its unit.
		best := stretch{from: i, unit: 1, times: 1}
		for unit := 1; unit <= longestUnit && i+unit*leastTimes <= n; unit++ {
			end := i + unit
			for end < n && same(end, end-unit) {
				end++
			}
			s := stretch{from: i, unit: unit, times: (end - i) / unit}
			if s.times >= leastTimes && s.size() >= least && s.size() > best.size() {
				best = s
			}
		}
		// A part that does not repeat joins the part before, if that does not repeat either.
		if last := len(out) - 1; best.times == 1 && last >= 0 && out[last].times == 1 {
			out[last].unit++
		} else {
			out = append(out, best)
		}
		i += best.size()
		// A text of many pieces is no shorter than the original.
		if len(out) > maxPieces {
			return nil
		}
	}
	return out
}

// repeats reports whether a part of a sequence is written with Repeat.
func repeats(parts []stretch) bool {
	for _, s := range parts {
		if s.times > 1 {
			return true
		}
	}
	return false
}

// quote writes a text as a Go expression.
func (w *speller) quote(s string) string {
	if !w.brief || len(s) < leastBytes {
		return strconv.Quote(s)
	}
	// The text is cut into stretches, each a unit and how often it comes.
	parts := stretches(len(s), leastBytes, func(i, j int) bool { return s[i] == s[j] })
	if !repeats(parts) {
		return strconv.Quote(s)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = strconv.Quote(s[p.from : p.from+p.unit])
		if p.times > 1 {
			texts[i] = w.call("strings", "Repeat", texts[i], p.times)
		}
	}
	return strings.Join(texts, " + ")
}

// call writes a call of a package's function with a count as the last argument.
func (w *speller) call(path, name, arg string, n int) string {
	if path == w.home {
		return name + "(" + arg + ", " + strconv.Itoa(n) + ")"
	}
	w.imports[path] = true
	return path + "." + name + "(" + arg + ", " + strconv.Itoa(n) + ")"
}

// list writes a long list that repeats itself; ok is false when it does not, or
// when its elements may share memory, which copies of one would.
func (w *speller) list(v reflect.Value, depth int) (text string, ok bool) {
	if !w.brief || v.Kind() != reflect.Slice || v.Len() < leastElems || refersTo(v.Type().Elem()) {
		return "", false
	}
	// Elements are compared by their text, which is all that the reader will see.
	elems := w.elems(v, depth)
	parts := stretches(len(elems), leastElems, func(i, j int) bool { return elems[i] == elems[j] })
	if !repeats(parts) {
		return "", false
	}
	typ := w.typ(v.Type())
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = typ + "{" + strings.Join(elems[p.from:p.from+p.unit], ", ") + "}"
		if p.times > 1 {
			texts[i] = w.call("slices", "Repeat", texts[i], p.times)
		}
	}
	// A list that is one stretch needs no joining.
	if len(texts) == 1 {
		return texts[0], true
	}
	concat := "Concat"
	if w.home != "slices" {
		w.imports["slices"], concat = true, "slices.Concat"
	}
	return concat + "(" + strings.Join(texts, ", ") + ")", true
}

// refersTo reports whether a value of a type can lead to memory that another may
// lead to as well. Texts cannot be written to.
func refersTo(t reflect.Type) bool {
	// A copy of such a value would share what the original does not, or the other way around.
	switch t.Kind() {
	case reflect.Array:
		return refersTo(t.Elem())
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if refersTo(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan,
		reflect.UnsafePointer:
		return true
	}
	return false
}
