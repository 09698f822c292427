package lift

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A drawer draws inputs: shaped after the code's own constants, correlated with earlier draws for
// the same example, and at the edges of classes.
type drawer struct {
	*rand.Rand
	words constants
	prior []any // of this example
	mode  int   // of the strings of this example
}

// edges are characters that tell functions apart which agree on common text:
// edges of the ASCII classes, spaces of several kinds, letters whose case folds
// oddly, a digit and a mark outside of ASCII, and bytes that are no text.
var edges = []string{
	"\t", "\n", "\v", "\f", "\r", " ", "\x00", "\x1f", "!", "/", "0", "9", ":", "@", "A", "Z", "[", "_", "`", "a",
	"z", "{", "~",
	"<", ">", "&", "'", "\"", "%", "+", "?", "#", ";", "=", ".", "\\", "$", "-",
	"\x7f", "\u0085", "\u00a0", "\u2028", "\u017f", "\u212a", "\u0131", "\u0130", "ß", "é", "É", "\u0661",
	"\u0301", "\uff21",
	"世", "😀", "\x80", "\xc3", "\xff", "\xed\xa0\x80", "\ufffd",
}

// next begins another example.
func (g *drawer) next() {
	g.prior = g.prior[:0]
	g.mode = g.IntN(8)
}

// value draws a value of a type.
func (g *drawer) value(t *Type) any {
	v := g.element(t)
	if v == nil {
		v = t.draw(g)
	}
	g.prior = append(g.prior, v)
	return v
}

// element takes an element of a slice that was drawn before, or a neighbour of it.
func (g *drawer) element(t *Type) any {
	if v := g.character(t); v != nil {
		return v
	}
	for _, p := range g.prior {
		v := reflect.ValueOf(p)
		if v.Kind() != reflect.Slice && v.Kind() != reflect.String || v.Len() == 0 || g.IntN(2) == 0 {
			continue
		}
		if v.Kind() == reflect.String {
			if t == types["byte"] {
				return v.String()[g.IntN(v.Len())]
			}
			if t == types["rune"] {
				rs := []rune(v.String())
				return rs[g.IntN(len(rs))]
			}
			continue
		}
		if byGo[v.Type().Elem()] == t {
			return v.Index(g.IntN(v.Len())).Interface()
		}
	}
	return nil
}

// character returns a rune or a byte that texts hold, or one that folds to another that was drawn
// before.
func (g *drawer) character(t *Type) any {
	if t != types["rune"] && t != types["byte"] || g.IntN(5) < 2 {
		return nil
	}
	for _, p := range g.prior {
		switch p := p.(type) {
		case rune:
			if t == types["rune"] && g.IntN(2) == 0 {
				return unicode.SimpleFold(p)
			}
		case byte:
			if t == types["byte"] && g.IntN(2) == 0 {
				return p ^ ' '
			}
		case string, []byte, []rune:
			return nil // one of its own is likelier
		}
	}
	s := g.piece()
	switch {
	case s == "": // the code spells it
		return nil
	case t == types["byte"]:
		return s[0]
	}
	return []rune(s)[0]
}

func (g *drawer) bool() bool { return g.IntN(2) == 0 }

// text returns a string or a byte slice that was drawn before.
func (g *drawer) text() (string, bool) {
	var texts []string
	for _, p := range g.prior {
		switch p := p.(type) {
		case string:
			texts = append(texts, p)
		case []byte:
			texts = append(texts, string(p))
		case []string:
			texts = append(texts, p...)
		}
	}
	if len(texts) == 0 {
		return "", false
	}
	return texts[g.IntN(len(texts))], true
}

func (g *drawer) string() string {
	if s, ok := g.text(); ok && g.IntN(10) < 7 {
		return g.related(s)
	}
	return g.shaped()
}

// related returns a string that has much in common with another.
func (g *drawer) related(s string) string {
	from := g.IntN(len(s) + 1)
	to := from + g.IntN(len(s)-from+1)
	switch g.IntN(10) {
	case 0:
		return s
	case 1:
		return s[:from]
	case 2:
		return s[from:]
	case 3:
		return flipCase(s)
	case 4:
		return folded(s)
	case 5:
		return s + g.shaped()
	case 6:
		return g.shaped() + s
	case 7: // a single piece
		if from < len(s) {
			return s[from : from+1]
		}
		return s
	}
	return s[from:min(to, from+3)]
}

func flipCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// folded replaces letters by others that fold to the same.
func folded(s string) string {
	return strings.Map(unicode.SimpleFold, s)
}

// shaped returns a string of one of several kinds.
func (g *drawer) shaped() string {
	n := g.IntN(25)
	if g.IntN(12) == 0 {
		n = 0
	}
	var b strings.Builder
	switch mode := g.mode; {
	case mode == 0: // a long number, or nearly
		b.WriteString([]string{"", "", "-", "+"}[g.IntN(4)])
		for range g.number() {
			b.WriteByte(byte('0' + g.IntN(10)))
		}
		if g.IntN(4) == 0 {
			b.WriteString(g.piece())
		}
		return b.String()
	case mode == 1: // one piece again and again
		return strings.Repeat(g.piece(), n)
	case mode == 2: // two pieces
		x, y := g.piece(), g.piece()
		for range n {
			b.WriteString([]string{x, y}[g.IntN(2)])
		}
		return b.String()
	case mode == 3 && len(g.words.strings) > 0: // of the code's own words
		for range n / 4 {
			b.WriteString(g.words.strings[g.IntN(len(g.words.strings))])
			b.WriteString(g.piece())
		}
		return b.String()
	case mode == 4: // plain words
		for i := range n {
			if i%5 == 4 {
				b.WriteString(g.separator())
			} else {
				b.WriteByte("abcdeABCDE01"[g.IntN(12)])
			}
		}
		return b.String()
	}
	for range n {
		b.WriteString(g.piece())
	}
	return b.String()
}

// number returns how many digits to write: often as many as overflow.
func (g *drawer) number() int {
	if g.IntN(3) == 0 {
		return 18 + g.IntN(5)
	}
	return g.IntN(7)
}

func (g *drawer) separator() string {
	if len(g.words.bytes) > 0 && g.IntN(2) == 0 {
		return string([]byte{g.words.bytes[g.IntN(len(g.words.bytes))]})
	}
	return []string{" ", ",", "  ", "\n", "/", "."}[g.IntN(6)]
}

// piece returns a character or a word.
func (g *drawer) piece() string {
	switch k := g.IntN(10); {
	case k == 0 && len(g.words.ints)+len(g.words.bytes) > 0:
		return g.neighbour()
	case k < 4 && len(g.words.bytes) > 0:
		return string([]byte{g.words.bytes[g.IntN(len(g.words.bytes))]})
	case k == 4 && len(g.words.strings) > 0:
		return g.words.strings[g.IntN(len(g.words.strings))]
	case k < 7:
		return edges[g.IntN(len(edges))]
	}
	return "abcABC019 "[g.IntN(10):][:1]
}

// neighbour returns a byte or a rune beside one of the code's numbers: where a comparison with that
// number changes its answer.
func (g *drawer) neighbour() string {
	at := g.IntN(len(g.words.ints) + len(g.words.bytes))
	v := int64(0)
	if at < len(g.words.ints) {
		v = g.words.ints[at]
	} else {
		v = int64(g.words.bytes[at-len(g.words.ints)])
	}
	v += int64(g.IntN(3)) - 1
	if v >= 0 && v < 256 && (v < 0x80 || g.IntN(2) == 0) {
		return string([]byte{byte(v)})
	}
	if v >= 0 && v <= unicode.MaxRune {
		return string(rune(v))
	}
	return "\xff"
}

// integer draws a number of the given width in bits.
func (g *drawer) integer(width int) int64 {
	switch k := g.IntN(12); {
	case k < 4:
		return int64(g.IntN(17)) - 2
	case k == 4 && len(g.words.ints) > 0:
		return g.words.ints[g.IntN(len(g.words.ints))] + int64(g.IntN(3)) - 1
	case k < 7:
		return g.nearNumber()
	case k < 9:
		return int64(1)<<g.IntN(width) + int64(g.IntN(3)) - 1
	case k == 9:
		return -(int64(1)<<g.IntN(width) + int64(g.IntN(3)) - 1)
	}
	return int64(g.Uint64() >> g.IntN(64))
}

// nearNumber returns a number close to a length or a number that was drawn before.
func (g *drawer) nearNumber() int64 {
	if len(g.prior) == 0 {
		return int64(g.IntN(100))
	}
	step := int64(g.IntN(3)) - 1
	switch v := reflect.ValueOf(g.prior[g.IntN(len(g.prior))]); v.Kind() {
	case reflect.String, reflect.Slice:
		if v.Len() > 0 && g.IntN(2) == 0 {
			return int64(g.IntN(v.Len()))
		}
		return int64(v.Len()) + step
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int() + step
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return int64(v.Uint()) + step
	}
	return int64(g.IntN(100))
}

func (g *drawer) float() float64 {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, math.NaN(),
		math.Inf(1), math.Inf(-1),
		math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1<<53 + 2}
	for _, p := range g.prior {
		if v, ok := p.(float64); ok && g.IntN(4) == 0 {
			return []float64{v, -v, math.Nextafter(v, 0)}[g.IntN(3)]
		}
	}
	switch g.IntN(3) {
	case 0:
		return special[g.IntN(len(special))]
	case 1:
		return float64(g.IntN(200)-100) / 4
	}
	return g.NormFloat64() * 1000
}

// drawSlice draws a slice: with few values, with all equal, or with any; in
// order one time in three where there is an order.
func drawSlice[T any](g *drawer, draw func() T) []T {
	n := g.IntN(13)
	few := make([]T, 1+g.IntN(3))
	for i := range few {
		few[i] = draw()
	}
	mode := g.IntN(3)
	out := make([]T, n)
	for i := range out {
		if out[i] = few[g.IntN(len(few))]; mode == 0 {
			out[i] = draw()
		}
	}
	if g.IntN(3) == 0 {
		arrange(out)
	}
	return out
}

// arrange sorts a slice whose elements have an order.
func arrange(list any) {
	switch list := list.(type) {
	case []int:
		inorder.Sort(list)
	case []int64:
		inorder.Sort(list)
	case []uint16:
		inorder.Sort(list)
	case []uint32:
		inorder.Sort(list)
	case []uint64:
		inorder.Sort(list)
	case []float64:
		inorder.Sort(list)
	case []string:
		inorder.Sort(list)
	}
}

// draw fills n more examples into the inputs' columns.
func draw(seed uint64, words constants, inputs []*Type, n int) []any {
	g := &drawer{Rand: rand.New(rand.NewPCG(seed, 16)), words: words}
	cols := make([]any, len(inputs))
	for i, t := range inputs {
		cols[i] = t.make(n)
	}
	for k := range n {
		g.next()
		for i, t := range inputs {
			t.set(cols[i], k, g.value(t))
		}
	}
	return cols
}

// everyRune adds all code points, or those of a small type: what is asked of one
// rune or byte alone can be tried on each.
func everyRune(inputs []*Type) any {
	if len(inputs) != 1 {
		return nil
	}
	switch inputs[0] {
	case types["byte"]:
		return numbersTo[byte](1 << 8)
	case types["int8"]:
		return numbersTo[int8](1 << 8)
	case types["uint16"]:
		return numbersTo[uint16](1 << 16)
	case types["int16"]:
		return numbersTo[int16](1 << 16)
	case types["rune"]:
		return numbersTo[rune](unicode.MaxRune + 2)
	}
	return nil
}

func numbersTo[T integer](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(i)
	}
	return out
}
