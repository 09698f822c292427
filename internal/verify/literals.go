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

	"github.com/beagle-go/beagle/internal/syntax"
)

// KnownValues holds the values that a candidate could have copied from the corpus: the target's
// arguments and the original's results. It leaves out values that honest code contains anyway, such
// as small numbers, powers of two and alphabets.
type KnownValues struct {
	values map[string]string // canonical constant -> where Beagle saw it
}

// add records a constant as seen in "an argument" or "a result".
func (k *KnownValues) add(key, where string) {
	if k.values == nil {
		k.values = make(map[string]string)
	}
	if _, dup := k.values[key]; !dup && key != "" {
		k.values[key] = where
	}
}

func (k *KnownValues) addString(s, where string) { k.add(stringKey(s), where) }
func (k *KnownValues) addInt(bits uint64, negative bool, where string) {
	k.add(intKey(bits, negative), where)
}
func (k *KnownValues) addFloat(f float64, where string) { k.add(floatKey(f), where) }

// minString is the length from which a string is telling.
const minString = 4

func stringKey(s string) string {
	if len(s) < minString || isAlphabet(s) {
		return ""
	}
	return "s" + s
}

// isAlphabet reports whether s consists of at most three runs of neighbouring or equal bytes:
// "0123456789abcdef", "aaaa", "AZaz".
func isAlphabet(s string) bool {
	runs := 1
	for i := 1; i < len(s); i++ {
		if d := s[i] - s[i-1]; d > 1 {
			runs++
		}
	}
	return runs <= 3
}

// intKey returns the canonical form of an integer. It returns "" for numbers that honest code is
// full of: below 65,536, next to a power of two or to a product of small factors, or one byte
// repeated.
func intKey(u uint64, negative bool) string {
	if negative {
		u = -u
	}
	sign := ""
	if negative {
		sign = "-"
	}
	if u < 1<<16 || isPlainNumber(u-1) || isPlainNumber(u) || isPlainNumber(u+1) {
		return ""
	}
	return "i" + sign + strconv.FormatUint(u, 10)
}

// isPlainNumber reports whether honest code is full of a number: a power of two, a repeated byte, a
// mask, or a product of small factors.
func isPlainNumber(u uint64) bool {
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
	return hasSmallFactors(u)
}

// hasSmallFactors reports whether u has small factors only, as units do: 86,400 seconds, 604,800
// seconds, 3,600,000,000,000 nanoseconds.
func hasSmallFactors(u uint64) bool {
	for _, f := range []uint64{2, 3, 5, 7} {
		for u%f == 0 {
			u /= f
		}
	}
	return u == 1
}

// floatKey returns the canonical form of a number. It returns "" for numbers with up to five
// significant digits and for the mathematical constants.
func floatKey(f float64) string {
	f = math.Abs(f)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return ""
	}
	if s := strconv.FormatFloat(f, 'e', -1, 64); strings.IndexByte(s, 'e') <= 6 {
		return ""
	}
	for _, c := range []float64{math.Pi, math.E, math.Sqrt2, math.Ln2, math.Phi, math.Ln10, math.MaxFloat64,
		math.MaxFloat32,
		math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat32, math.Pi / 2, 2 * math.Pi, math.Pi / 180} {
		if f == c {
			return ""
		}
	}
	return "f" + strconv.FormatUint(math.Float64bits(f), 16)
}

// longString is the length beyond which a string cannot be a word of a vocabulary. maxWords is how
// many words a vocabulary may have.
const (
	longString = 12
	maxWords   = 32
)

// copied finds the constants of the candidate that answer inputs of the corpus and that the
// original's package does not contain. These are numbers and long strings that equal a value, and
// words that the code compares with a whole input. Words that equal results count too, if there are
// more of them than a vocabulary has. A constant may stand alone or be spelled out in a composite
// literal.
func copied(orig, cand *code, known *KnownValues) []Violation {
	if known == nil || len(known.values) == 0 {
		return nil
	}
	// Collect the constants that the original's package contains.
	own := make(map[string]bool)
	var text strings.Builder // all strings of the original and its package, to find parts in
	spelled := func(key string) {
		own[key] = true
		text.WriteString(strings.TrimPrefix(key, "s") + "\x00")
	}
	constants(orig, func(_ ast.Node, key, shown string) { spelled(key) })
	for _, v := range orig.literals {
		if key := constantKey(v, types.Typ[types.Invalid]); key != "" {
			spelled(key)
		}
	}
	// Look for constants of the corpus in the candidate.
	var out, words []Violation
	distinct := make(map[string]bool)
	parts := cand.partly()
	constants(cand, func(n ast.Node, key, shown string) {
		where, hit := known.values[key]
		if !hit || own[key] || key[0] == 's' && strings.Contains(text.String(), key[1:]) {
			return
		}
		v := Violation{Line: cand.fset.Position(n.Pos()).Line, Construct: "literal " + shown,
			Why: "it equals " + where + " of the corpus and is not in the original; work it out from the input instead"}
		// Constants made of other packages' constants are fine. Short words are fine unless there
		// are too many of them.
		switch {
		case key[0] != 's' && cand.isNamedConstant(n):
		case key[0] != 's' || len(key)-1 > longString || where == "an argument" && !parts[n]:
			out = append(out, v)
		default:
			distinct[key] = true
			words = append(words, v)
		}
	})
	if len(distinct) > maxWords {
		out = append(out, words...)
	}
	return out
}

// isNamedConstant reports whether a number consists of constants of other packages, like time.Hour.
func (c *code) isNamedConstant(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			obj, isConst := c.info.Uses[id].(*types.Const)
			found = found || isConst && obj.Pkg() != nil && obj.Pkg() != c.pkg
		}
		return true
	})
	return found
}

// partly finds the strings that the code compares with a part of an input only: with a piece of it,
// or inside a function of another package.
func (c *code) partly() map[ast.Node]bool {
	out := make(map[ast.Node]bool)
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fn := c.callee(n); fn != nil && fn.Pkg() != c.pkg && fn.Name() != "EqualFold" && fn.Name() != "Equal" &&
				fn.Name() != "Compare" {
				for _, arg := range n.Args {
					out[arg] = true
				}
			}
		case *ast.BinaryExpr:
			for _, pair := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
				x := ast.Unparen(pair[0])
				if conv, ok := x.(*ast.CallExpr); ok && len(conv.Args) == 1 && c.info.Types[conv.Fun].IsType() {
					x = ast.Unparen(conv.Args[0])
				}
				if _, ok := x.(*ast.SliceExpr); ok {
					out[pair[1]] = true
				}
			}
		}
		return true
	})
	return out
}

// constants calls f for every telling constant of a file. A constant expression counts as a whole,
// so "ab"+"cd" hides nothing.
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
			return tv.Value.Kind() == constant.String // parts of a string may be telling too
		}
		return true
	})
}

// constantKey returns the canonical form of a constant, or "" for one that tells nothing.
func constantKey(v constant.Value, t types.Type) string {
	switch v.Kind() {
	case constant.String:
		return stringKey(constant.StringVal(v))
	case constant.Int:
		if syntax.Has(t, types.IsFloat) {
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

// sequence returns, as a string, the content of a literal of bytes or small numbers.
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
