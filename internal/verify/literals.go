package verify

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Known are the values that a candidate could have copied out of the corpus:
// what the target received, and what the original answered. Values that turn
// up in honest code by themselves (small numbers, powers of two, alphabets)
// are never in it.
type Known struct {
	values map[string]string // canonical constant -> where it was seen
}

// Add notes a constant as seen in "an argument" or "a result".
func (k *Known) add(key, where string) {
	if k.values == nil {
		k.values = make(map[string]string)
	}
	if _, dup := k.values[key]; !dup && key != "" {
		k.values[key] = where
	}
}

func (k *Known) addString(s, where string) { k.add(stringKey(s), where) }
func (k *Known) addInt(bits uint64, negative bool, where string) {
	k.add(intKey(bits, negative), where)
}
func (k *Known) addFloat(f float64, where string) { k.add(floatKey(f), where) }

// minString is the length from which a string is telling.
const minString = 4

func stringKey(s string) string {
	if len(s) < minString || isAlphabet(s) {
		return ""
	}
	return "s" + s
}

// isAlphabet reports whether s is made of at most three runs of neighbouring
// or equal bytes: "0123456789abcdef", "aaaa", "AZaz".
func isAlphabet(s string) bool {
	runs := 1
	for i := 1; i < len(s); i++ {
		if d := s[i] - s[i-1]; d > 1 {
			runs++
		}
	}
	return runs <= 3
}

// intKey is empty for the numbers that honest code is full of: below 65,536,
// next to a power of two or of ten, or one byte repeated.
func intKey(u uint64, negative bool) string {
	if negative {
		u = -u
	}
	sign := ""
	if negative {
		sign = "-"
	}
	if u < 1<<16 || plain(u-1) || plain(u) || plain(u+1) {
		return ""
	}
	return "i" + sign + strconv.FormatUint(u, 10)
}

func plain(u uint64) bool {
	if u == 0 || u&(u-1) == 0 {
		return true
	}
	for _, width := range []int{32, 64} {
		b := u & 0xff
		pattern := b * 0x0101010101010101 >> (64 - width)
		if u == pattern {
			return true
		}
	}
	if bits.TrailingZeros64(u) >= 48 || bits.TrailingZeros64(^u) >= 48 {
		return true
	}
	for u%10 == 0 {
		u /= 10
	}
	return u < 10
}

// floatKey is empty for numbers with up to five significant digits and for
// the mathematical constants.
func floatKey(f float64) string {
	f = math.Abs(f)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return ""
	}
	if s := strconv.FormatFloat(f, 'e', -1, 64); strings.IndexByte(s, 'e') <= 6 {
		return ""
	}
	for _, c := range []float64{math.Pi, math.E, math.Sqrt2, math.Ln2, math.Phi, math.Ln10, math.MaxFloat64, math.MaxFloat32,
		math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat32, math.Pi / 2, 2 * math.Pi, math.Pi / 180} {
		if f == c {
			return ""
		}
	}
	return "f" + strconv.FormatUint(math.Float64bits(f), 16)
}

// copied finds the constants of the candidate that are known and that the
// original does not have: as single constants, and byte or number sequences
// spelled out in a composite literal.
func copied(orig, cand *code, known *Known) []Violation {
	if known == nil || len(known.values) == 0 {
		return nil
	}
	own := make(map[string]bool)
	var text strings.Builder // all the original's strings, for parts of them
	constants(orig, func(_ ast.Node, key, shown string) {
		own[key] = true
		text.WriteString(strings.TrimPrefix(key, "s") + "\x00")
	})
	var out []Violation
	constants(cand, func(n ast.Node, key, shown string) {
		where, hit := known.values[key]
		if !hit || own[key] || key[0] == 's' && strings.Contains(text.String(), key[1:]) {
			return
		}
		out = append(out, Violation{Line: cand.fset.Position(n.Pos()).Line, Construct: "literal " + shown,
			Why: "it equals " + where + " of the corpus and is not in the original"})
	})
	return out
}

// constants calls f for every telling constant of a file. Constant expressions
// count as a whole, so that "ab"+"cd" hides nothing.
func constants(c *code, f func(n ast.Node, key, shown string)) {
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CompositeLit:
			if s, ok := sequence(c, n); ok && stringKey(s) != "" {
				f(n, stringKey(s), fmt.Sprintf("%.60q (spelled out)", s))
			}
		case ast.Expr:
			tv, ok := c.info.Types[n]
			if !ok || tv.Value == nil {
				return true
			}
			if key := constantKey(tv.Value, tv.Type); key != "" {
				shown := tv.Value.String()
				f(n, key, shown)
			}
			return tv.Value.Kind() == constant.String // parts of a string may be telling by themselves
		}
		return true
	})
}

func constantKey(v constant.Value, t types.Type) string {
	switch v.Kind() {
	case constant.String:
		return stringKey(constant.StringVal(v))
	case constant.Int:
		if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsFloat != 0 {
			f, _ := constant.Float64Val(v)
			return floatKey(f)
		}
		if i, exact := constant.Int64Val(v); exact {
			return intKey(uint64(i), i < 0)
		}
		if u, exact := constant.Uint64Val(v); exact {
			return intKey(u, false)
		}
	case constant.Float:
		f, _ := constant.Float64Val(v)
		return floatKey(f)
	}
	return ""
}

// sequence is the content of a literal of bytes or small numbers as a string.
func sequence(c *code, n *ast.CompositeLit) (string, bool) {
	b := make([]byte, 0, len(n.Elts))
	for _, el := range n.Elts {
		v := c.info.Types[el].Value
		if v == nil || v.Kind() != constant.Int {
			return "", false
		}
		u, exact := constant.Uint64Val(v)
		if !exact || u > 0xff {
			return "", false
		}
		b = append(b, byte(u))
	}
	return string(b), true
}
