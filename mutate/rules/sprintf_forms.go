package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file says how each verb and type is written without a format.

// plain reports whether every argument formats as strconv would.
func (f *formatSite) plain(p *mutate.Pass) bool {
	args, ok := plainPieces(p, f.pieces)
	return ok && (args > 0 || f.kind != "value")
}

// plainPieces counts the arguments among pieces. ok is false if one of them has no plain form.
func plainPieces(p *mutate.Pass, pieces []piece) (args int, ok bool) {
	for _, q := range pieces {
		if q.arg == nil {
			continue
		}
		args++
		if stringForm(p, q) == "" {
			return 0, false
		}
	}
	return args, true
}

// stringForm returns an expression for the text of an argument, or "".
func stringForm(p *mutate.Pass, q piece) string {
	// Floats have forms of their own, with a width or a precision or without. A width alone pads.
	// Everything below is for a bare verb.
	t := p.Info.TypeOf(q.arg)
	text, info := p.Text(q.arg), plainKind(t)
	switch {
	case info&types.IsFloat != 0:
		return floatForm(p, q, t)
	case q.width > 0 && q.prec == "":
		return paddedForm(p, q, t, info)
	case !q.bare():
		return ""
	// %x of bytes, arrays and strings is their hexadecimal form.
	case q.verb == 'x' && isByteSlice(p, q.arg):
		return "hex.EncodeToString(" + text + ")"
	case q.verb == 'x' && isByteArray(p, q.arg):
		return "hex.EncodeToString(" + text + "[:])"
	case q.verb == 'x' && info&types.IsString != 0:
		return "hex.EncodeToString([]byte(" + text + "))"
	// %s, %v and %q of a string. A defined string type needs a conversion first: a method of it
	// would have been called by fmt, and is ruled out before.
	case q.verb == 's' || q.verb == 'v' || q.verb == 'q':
		if info&types.IsString != 0 {
			if !isExactString(p, q.arg) {
				text = "string(" + text + ")"
			}
			if q.verb == 'q' {
				return "strconv.Quote(" + text + ")"
			}
			return operandText(q.arg, text, token.ADD)
		}
		if q.verb == 's' && isByteSlice(p, q.arg) {
			return "string(" + text + ")"
		}
	}
	// Numbers, bools and characters have functions of strconv, or a conversion.
	switch {
	case info&types.IsInteger != 0 && (q.verb == 'd' || q.verb == 'v' || q.verb == 'x'):
		return integerForm(p, q, t, text)
	case info&types.IsBoolean != 0 && (q.verb == 't' || q.verb == 'v'):
		return "strconv.FormatBool(" + convertTo(p, q.arg, "bool", types.Bool) + ")"
	case q.verb == 'c' && (isBasic(p, q.arg, types.Int32) || isBasic(p, q.arg, types.UntypedRune)):
		return "string(" + text + ")"
	}
	return ""
}

// isByteArray reports whether an expression is a variable that holds an array of bytes without
// methods: a checksum.
func isByteArray(p *mutate.Pass, e ast.Expr) bool {
	v := p.Var(e)
	a, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Array)
	return ok && v != nil && facts.IsLocal(p, v) && isBasicType(a.Elem(), types.Uint8)
}

// floatForm writes a number with a point. Constants have no type of their own here.
func floatForm(p *mutate.Pass, q piece, t types.Type) string {
	verb, prec := q.verb, q.prec
	// %v prints floats in the shortest form, which strconv calls 'g' with -1. The default precision
	// of the others is 6.
	switch {
	case q.width > 0 || p.Info.Types[q.arg].Value != nil:
		return ""
	case verb == 'v' && prec != "":
		return ""
	case verb == 'v' || verb == 'g' && prec == "":
		verb, prec = 'g', "-1"
	case verb != 'f' && verb != 'e' && verb != 'g':
		return ""
	case prec == "":
		prec = "6"
	}
	// The size decides how many digits the shortest form needs.
	size, value := "64", convertTo(p, q.arg, "float64", types.Float64)
	if b := t.Underlying().(*types.Basic); b.Kind() == types.Float32 {
		size = "32"
	}
	return fmt.Sprintf("strconv.FormatFloat(%s, '%c', %s, %s)", value, verb, prec, size)
}

// paddedForm writes a whole number that is filled up with zeros, if it fits into 64 bits with a
// sign.
func paddedForm(p *mutate.Pass, q piece, t types.Type, info types.BasicInfo) string {
	b, ok := t.Underlying().(*types.Basic)
	if !ok || info&types.IsInteger == 0 || info&types.IsUntyped != 0 || q.verb != 'd' && q.verb != 'x' {
		return ""
	}
	switch b.Kind() {
	// These do not fit into 64 bits with a sign.
	case types.Uint, types.Uint64, types.Uintptr:
		return ""
	}
	base := 10
	if q.verb == 'x' {
		base = 16
	}
	return fmt.Sprintf("%s(%s, %d, %d)", zeroPadded, convertTo(p, q.arg, "int64", types.Int64), base, q.width)
}

// zeroPadded stands for the helper, whose name the edits decide.
const zeroPadded = "zeroPadded"

// zeroPaddedText writes a helper for %0Nd: as in fmt, the sign comes first and counts as a digit.
func zeroPaddedText(name string) string {
	return fmt.Sprintf(`// %[1]s writes a number with at least width digits, of which its sign is one.
func %[1]s(n int64, base, width int) string {
	var room [64 + 1]byte
	digits := strconv.AppendInt(room[:0], n, base)
	if len(digits) >= width {
		return string(digits)
	}
	const zeros = "00000000000000000000"
	if n < 0 {
		return "-" + zeros[:width-len(digits)] + string(digits[1:])
	}
	return zeros[:width-len(digits)] + string(digits)
}`, name)
}

func convertTo(p *mutate.Pass, e ast.Expr, name string, kind types.BasicKind) string {
	if isBasic(p, e, kind) || kind == types.Bool && isBasic(p, e, types.UntypedBool) {
		return p.Text(e)
	}
	return name + "(" + p.Text(e) + ")"
}

// integerForm writes an integer, in decimal or hexadecimal. The type decides which of strconv's
// functions takes it without loss.
func integerForm(p *mutate.Pass, q piece, t types.Type, text string) string {
	base := "10"
	if q.verb == 'x' {
		base = "16"
	}
	// An untyped rune has another default type than fmt would print.
	if types.Identical(t, types.Typ[types.UntypedRune]) {
		return ""
	}
	if plainKind(t)&types.IsUnsigned != 0 {
		return "strconv.FormatUint(" + convertTo(p, q.arg, "uint64", types.Uint64) + ", " + base + ")"
	}
	if base == "10" && (isBasic(p, q.arg, types.Int) || isBasic(p, q.arg, types.UntypedInt)) {
		return "strconv.Itoa(" + text + ")"
	}
	return "strconv.FormatInt(" + convertTo(p, q.arg, "int64", types.Int64) + ", " + base + ")"
}

// appendForm returns a statement that appends the piece to the byte slice b.
func appendForm(p *mutate.Pass, b string, q piece) string {
	// Fixed text is appended as it is, a single character as a byte.
	if q.arg == nil {
		if len(q.text) == 1 && q.text[0] < 0x80 {
			return fmt.Sprintf("append(%s, %q)", b, q.text[0])
		}
		return fmt.Sprintf("append(%s, %s...)", b, strconv.Quote(q.text))
	}
	// strconv has an Append for each Format, with the slice as the first argument.
	form := stringForm(p, q)
	for _, number := range []string{"strconv.FormatInt(", "strconv.FormatUint(", "strconv.FormatBool(",
		"strconv.FormatFloat(", "strconv.Quote("} {
		if rest, ok := strings.CutPrefix(form, number); ok {
			name := strings.Replace(strings.TrimSuffix(number, "("), "Format", "Append", 1)
			return strings.Replace(name, "Quote", "AppendQuote", 1) + "(" + b + ", " + rest
		}
	}
	if rest, ok := strings.CutPrefix(form, "strconv.Itoa("); ok {
		return "strconv.AppendInt(" + b + ", int64(" + strings.TrimSuffix(rest, ")") + "), 10)"
	}
	if q.verb == 'c' {
		return "utf8.AppendRune(" + b + ", " + p.Text(q.arg) + ")"
	}
	if q.verb == 's' && isByteSlice(p, q.arg) || strings.HasPrefix(form, "string(") &&
		plainKind(p.Info.TypeOf(q.arg))&types.IsString != 0 {
		form = p.Text(q.arg) // append takes any string or byte slice
	}
	return "append(" + b + ", " + form + "...)"
}

// writeForm returns a statement that writes the piece to w.
func writeForm(p *mutate.Pass, w string, q piece) string {
	switch {
	case q.arg == nil && len(q.text) == 1 && q.text[0] < 0x80:
		return fmt.Sprintf("%s.WriteByte(%q)", w, q.text[0])
	case q.arg == nil:
		return w + ".WriteString(" + strconv.Quote(q.text) + ")"
	case q.verb == 'c':
		return w + ".WriteRune(" + p.Text(q.arg) + ")"
	case q.verb == 's' && isByteSlice(p, q.arg):
		return w + ".Write(" + p.Text(q.arg) + ")"
	}
	return w + ".WriteString(" + stringForm(p, q) + ")"
}
