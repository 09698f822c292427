package formats

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// This file says how each verb and type is written without a format.

// Plain counts the arguments among pieces. ok is false if one of them has no plain form.
func Plain(p *mutate.Pass, pieces []Piece) (args int, ok bool) {
	for _, q := range pieces {
		if q.Arg == nil {
			continue
		}
		args++
		if StringForm(p, q) == "" {
			return 0, false
		}
	}
	return args, true
}

// StringForm returns an expression for the text of an argument, or "".
func StringForm(p *mutate.Pass, q Piece) string {
	// Floats have forms of their own, with a width or a precision or without. A width alone pads.
	// Everything below is for a bare verb.
	t := p.Info.TypeOf(q.Arg)
	text, info := p.Text(q.Arg), syntax.PlainKind(t)
	switch {
	case info&types.IsFloat != 0:
		return floatForm(p, q, t)
	case q.width > 0 && q.prec == "":
		return paddedForm(p, q, t, info)
	case !q.Bare():
		return ""
	// %x of bytes, arrays and strings is their hexadecimal form.
	case q.Verb == 'x' && facts.IsByteSlice(p, q.Arg):
		return "hex.EncodeToString(" + text + ")"
	case q.Verb == 'x' && isByteArray(p, q.Arg):
		return "hex.EncodeToString(" + text + "[:])"
	case q.Verb == 'x' && info&types.IsString != 0:
		return "hex.EncodeToString([]byte(" + text + "))"
	// %s, %v and %q of a string. A defined string type needs a conversion first: a method of it
	// would have been called by fmt, and is ruled out before.
	case q.Verb == 's' || q.Verb == 'v' || q.Verb == 'q':
		if info&types.IsString != 0 {
			if !facts.IsExactString(p, q.Arg) {
				text = "string(" + text + ")"
			}
			if q.Verb == 'q' {
				return "strconv.Quote(" + text + ")"
			}
			return edit.Operand(q.Arg, text, token.ADD)
		}
		if q.Verb == 's' && facts.IsByteSlice(p, q.Arg) {
			return "string(" + text + ")"
		}
	}
	// Numbers, bools and characters have functions of strconv, or a conversion.
	switch {
	case info&types.IsInteger != 0 && (q.Verb == 'd' || q.Verb == 'v' || q.Verb == 'x'):
		return integerForm(p, q, t, text)
	case info&types.IsBoolean != 0 && (q.Verb == 't' || q.Verb == 'v'):
		return "strconv.FormatBool(" + convertTo(p, q.Arg, "bool", types.Bool) + ")"
	case q.Verb == 'c' && (facts.IsPredeclared(p, q.Arg, types.Int32) ||
		facts.IsPredeclared(p, q.Arg, types.UntypedRune)):
		return "string(" + text + ")"
	}
	return ""
}

// isByteArray reports whether an expression is a variable that holds an array of bytes without
// methods: a checksum.
func isByteArray(p *mutate.Pass, e ast.Expr) bool {
	v := p.Var(e)
	a, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Array)
	return ok && v != nil && facts.IsLocal(p, v) && syntax.IsPredeclared(a.Elem(), types.Uint8)
}

// floatForm writes a number with a point. Constants have no type of their own here.
func floatForm(p *mutate.Pass, q Piece, t types.Type) string {
	verb, prec := q.Verb, q.prec
	// %v prints floats in the shortest form, which strconv calls 'g' with -1. The default precision
	// of the others is 6.
	switch {
	case q.width > 0 || p.Info.Types[q.Arg].Value != nil:
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
	size, value := "64", convertTo(p, q.Arg, "float64", types.Float64)
	if b := t.Underlying().(*types.Basic); b.Kind() == types.Float32 {
		size = "32"
	}
	return fmt.Sprintf("strconv.FormatFloat(%s, '%c', %s, %s)", value, verb, prec, size)
}

// paddedForm writes a whole number that is filled up with zeros, if it fits into 64 bits with a
// sign.
func paddedForm(p *mutate.Pass, q Piece, t types.Type, info types.BasicInfo) string {
	b, ok := t.Underlying().(*types.Basic)
	if !ok || info&types.IsInteger == 0 || info&types.IsUntyped != 0 || q.Verb != 'd' && q.Verb != 'x' {
		return ""
	}
	switch b.Kind() {
	// These do not fit into 64 bits with a sign.
	case types.Uint, types.Uint64, types.Uintptr:
		return ""
	}
	base := 10
	if q.Verb == 'x' {
		base = 16
	}
	return fmt.Sprintf("%s(%s, %d, %d)", ZeroPadded, convertTo(p, q.Arg, "int64", types.Int64), base, q.width)
}

// ZeroPadded stands for the helper, whose name the edits decide.
const ZeroPadded = "zeroPadded"

func convertTo(p *mutate.Pass, e ast.Expr, name string, kind types.BasicKind) string {
	if facts.IsPredeclared(p, e, kind) || kind == types.Bool && facts.IsPredeclared(p, e, types.UntypedBool) {
		return p.Text(e)
	}
	return name + "(" + p.Text(e) + ")"
}

// integerForm writes an integer, in decimal or hexadecimal. The type decides which of strconv's
// functions takes it without loss.
func integerForm(p *mutate.Pass, q Piece, t types.Type, text string) string {
	base := "10"
	if q.Verb == 'x' {
		base = "16"
	}
	// An untyped rune has another default type than fmt would print.
	if types.Identical(t, types.Typ[types.UntypedRune]) {
		return ""
	}
	if syntax.PlainKind(t)&types.IsUnsigned != 0 {
		return "strconv.FormatUint(" + convertTo(p, q.Arg, "uint64", types.Uint64) + ", " + base + ")"
	}
	if base == "10" && (facts.IsPredeclared(p, q.Arg, types.Int) || facts.IsPredeclared(p, q.Arg, types.UntypedInt)) {
		return "strconv.Itoa(" + text + ")"
	}
	return "strconv.FormatInt(" + convertTo(p, q.Arg, "int64", types.Int64) + ", " + base + ")"
}

// AppendForm returns a statement that appends the piece to the byte slice b.
func AppendForm(p *mutate.Pass, b string, q Piece) string {
	// Fixed text is appended as it is, a single character as a byte.
	if q.Arg == nil {
		if len(q.Text) == 1 && q.Text[0] < 0x80 {
			return fmt.Sprintf("append(%s, %q)", b, q.Text[0])
		}
		return fmt.Sprintf("append(%s, %s...)", b, strconv.Quote(q.Text))
	}
	// strconv has an Append for each Format, with the slice as the first argument.
	form := StringForm(p, q)
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
	if q.Verb == 'c' {
		return "utf8.AppendRune(" + b + ", " + p.Text(q.Arg) + ")"
	}
	if q.Verb == 's' && facts.IsByteSlice(p, q.Arg) || strings.HasPrefix(form, "string(") &&
		syntax.PlainKind(p.Info.TypeOf(q.Arg))&types.IsString != 0 {
		form = p.Text(q.Arg) // append takes any string or byte slice
	}
	return "append(" + b + ", " + form + "...)"
}
