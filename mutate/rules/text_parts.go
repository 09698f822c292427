package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file holds what rules that put texts together share: the parts of a text, the sizes that one
// may have, and the places where it grows.

// joinedParts are the operands of a concatenation. Constants that follow each other stay one.
func joinedParts(p *mutate.Pass, e ast.Expr) []ast.Expr {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD && p.Info.Types[e].Value == nil {
		return append(joinedParts(p, b.X), joinedParts(p, b.Y)...)
	}
	return []ast.Expr{e}
}

// impureParts counts the parts with effects, and those that such a part might change: Go leaves
// open whether a variable is read before or after a call beside it.
func impureParts(p *mutate.Pass, parts []ast.Expr) int {
	impure, shared := 0, 0
	for _, e := range parts {
		// A variable that a call might change counts, too: it would be read at another time.
		if v := p.Var(e); !p.Pure(e) {
			impure++
		} else if p.Info.Types[e].Value == nil && (!facts.IsLocal(p, v) || facts.Captured.Of(p)[v] ||
			addressTaken(p, v, p.FuncOf(e))) {
			shared++
		}
	}
	if impure == 0 {
		return 0
	}
	return impure + shared
}

// An appender is the form of a library's function that appends its result. %s stands for the slice;
// the arguments follow.
type appender struct {
	pkg, name string
	form      string
	since     int // of Go 1
}

var appenders = []appender{
	{"strconv", "Itoa", "strconv.AppendInt(%s, int64(%s), 10)", 0},
	{"strconv", "FormatInt", "strconv.AppendInt(%s, %s)", 0},
	{"strconv", "FormatUint", "strconv.AppendUint(%s, %s)", 0},
	{"strconv", "FormatFloat", "strconv.AppendFloat(%s, %s)", 0},
	{"strconv", "Quote", "strconv.AppendQuote(%s, %s)", 0},
	{"strconv", "QuoteToASCII", "strconv.AppendQuoteToASCII(%s, %s)", 0},
	{"encoding/hex", "EncodeToString", "hex.AppendEncode(%s, %s)", 22},
	{"encoding/base64", "Encoding.EncodeToString", ".AppendEncode(%s, %s)", 22},
	{"encoding/base32", "Encoding.EncodeToString", ".AppendEncode(%s, %s)", 22},
	{"time", "Time.Format", ".AppendFormat(%s, %s)", 5},
	{"fmt", "Sprintf", "fmt.Appendf(%s, %s)", 19},
	{"fmt", "Sprint", "fmt.Append(%s, %s)", 19},
	{"fmt", "Sprintln", "fmt.Appendln(%s, %s)", 19},
}

// formatterOf returns how what a call formats can be appended, or nil.
func formatterOf(p *mutate.Pass, e ast.Expr) *appender {
	for i, a := range appenders {
		call, ok := p.IsCall(e, a.pkg, a.name)
		if !ok {
			continue
		}
		_, selected := call.Fun.(*ast.SelectorExpr)
		if selected && len(call.Args) > 0 && !severalValues(p, call.Args[0]) && p.GoAtLeast(a.since) {
			return &appenders[i]
		}
	}
	return nil
}

// severalValues reports whether an argument is a call that yields all arguments.
func severalValues(p *mutate.Pass, arg ast.Expr) bool {
	_, several := p.Info.TypeOf(arg).(*types.Tuple)
	return several
}

// textRooms are sizes that hold most texts: the inputs are parts of many.
func textRooms(p *mutate.Pass, _ mutate.Site) []mutate.Param {
	out := []mutate.Param{{Label: "64", Value: 64}}
	if percentile99(p) > 32 {
		out = append(out, mutate.Param{Label: "128", Value: 128})
	}
	return out
}

// maxNestedParts is how many parts one expression may append, for those who read it.
const maxNestedParts = 3

// A piece is a part of a formatted text: a constant, or an argument with its verb.
type piece struct {
	text  string   // the constant
	arg   ast.Expr // nil for a constant
	verb  byte
	width int    // digits to fill up with zeros; 0 means none
	prec  string // digits after the point, as written; empty means none
}

// A directive of a format: zeros to fill up with, a precision, and a verb.
var directive = regexp.MustCompile(`^(?:0([1-9]|1[0-9]))?(?:\.([0-9]))?([a-zA-Z])`)

// parseFormat takes a constant format apart. It returns nil if the format has other flags, widths
// or indexes, or does not match its arguments.
func parseFormat(p *mutate.Pass, args []ast.Expr) []piece {
	if len(args) == 0 {
		return nil
	}
	format, ok := constString(p, args[0])
	if !ok {
		return nil
	}
	var out []piece
	// Split the format at its directives. %% is a percent sign.
	args = args[1:]
	for {
		text, rest, found := strings.Cut(format, "%")
		if text != "" {
			out = append(out, piece{text: text})
		}
		if !found {
			break
		}
		if rest == "" {
			return nil
		}
		if rest[0] == '%' {
			out, format = append(out, piece{text: "%"}), rest[1:]
			continue
		}
		// A directive takes the next argument; a format with other flags is left to fmt.
		d := directive.FindStringSubmatch(rest)
		if d == nil || len(args) == 0 {
			return nil
		}
		format = rest[len(d[0]):]
		q := piece{arg: args[0], verb: d[3][0], prec: d[2]}
		q.width, _ = strconv.Atoi(d[1])
		// A constant string is text of the format.
		if s, ok := constString(p, q.arg); ok && isExactString(p, q.arg) && q.bare() &&
			(q.verb == 's' || q.verb == 'v') {
			q = piece{text: s}
		}
		out = append(out, q)
		args = args[1:]
	}
	// fmt adds a complaint about arguments that no directive takes.
	if len(args) > 0 {
		return nil
	}
	return joinTexts(out)
}

// bare reports whether a piece has neither a width nor a precision.
func (q piece) bare() bool { return q.width == 0 && q.prec == "" }

func joinTexts(in []piece) []piece {
	var out []piece
	for _, q := range in {
		if n := len(out); n > 0 && q.arg == nil && out[n-1].arg == nil {
			out[n-1].text += q.text
			continue
		}
		out = append(out, q)
	}
	return out
}

// writerText returns the expression on which to call methods of a strings.Builder or bytes.Buffer,
// or "".
func writerText(p *mutate.Pass, w ast.Expr) string {
	w = ast.Unparen(w)
	t := p.Info.TypeOf(w)
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	// Writing to these two never fails.
	if s := t.String(); s != "strings.Builder" && s != "bytes.Buffer" {
		return ""
	}
	if u, ok := w.(*ast.UnaryExpr); ok && u.Op == token.AND {
		w = u.X
	}
	// The expression is written again where the text goes.
	if p.Effects(w).Writes {
		return ""
	}
	return p.Text(w)
}

// emptyBuffer recognises the declaration of an empty buffer, or of a pointer to one. It returns the
// part to replace, and the same for a builder.
func emptyBuffer(p *mutate.Pass, d facts.Declaration) (node ast.Node, text string, ok bool) {
	// var b bytes.Buffer: the type alone is replaced. An explicit type beside a value would need a
	// second edit.
	if d.Value == nil {
		return d.Type, "strings.Builder", d.Type != nil && syntax.IsNamed(d.Var.Type(), "bytes", "Buffer")
	}
	if d.Type != nil {
		return nil, "", false
	}
	// A short declaration must start with an empty buffer, since a builder takes no first content.
	switch v := d.Value.(type) {
	case *ast.CompositeLit:
		return v.Type, "strings.Builder", len(v.Elts) == 0 && syntax.IsNamed(d.Var.Type(), "bytes", "Buffer")
	case *ast.UnaryExpr:
		lit, is := v.X.(*ast.CompositeLit)
		if v.Op != token.AND || !is || len(lit.Elts) > 0 {
			return nil, "", false
		}
		return lit.Type, "strings.Builder", syntax.IsNamed(p.Info.TypeOf(lit), "bytes", "Buffer")
	// NewBuffer(nil) and NewBufferString("") are empty as well.
	case *ast.CallExpr:
		if made, is := p.IsBuiltin(v, "new"); is {
			t := p.Info.TypeOf(made.Args[0])
			return v, "new(strings.Builder)", t != nil && syntax.IsNamed(t, "bytes", "Buffer")
		}
		if made, is := p.IsCall(v, "bytes", "NewBuffer"); is {
			return v, "new(strings.Builder)", p.Info.Types[made.Args[0]].IsNil()
		}
		if made, is := p.IsCall(v, "bytes", "NewBufferString"); is {
			s, constant := constString(p, made.Args[0])
			return v, "new(strings.Builder)", constant && s == ""
		}
	}
	return nil, "", false
}

// printsInto reports whether a variable is the writer of a call that only writes to it.
func printsInto(p *mutate.Pass, id *ast.Ident) bool {
	var arg ast.Expr = id
	if u, ok := p.Parent(id).(*ast.UnaryExpr); ok && u.Op == token.AND {
		arg = u
	}
	call, ok := p.Parent(arg).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[0] != arg {
		return false
	}
	_, prints := p.IsCall(call, "fmt", "Fprint", "Fprintf", "Fprintln")
	_, writes := p.IsCall(call, "io", "WriteString")
	return prints || writes
}

// sizeHints offers to give a builder room where no exact size is known: as much as a text or list
// that the function is given, or enough for a short text.
func sizeHints(p *mutate.Pass, d facts.Declaration) []string {
	var out []string
	for _, v := range parametersOf(p, p.FuncOf(d.Stmt)) {
		if v == nil || v.Name() == "_" || p.Assigned(v, p.FuncOf(d.Stmt)) || len(out) == 2 {
			continue
		}
		if t := v.Type().Underlying().String(); t == "string" || strings.HasPrefix(t, "[]") {
			out = append(out, "len("+v.Name()+")")
		}
	}
	return append(out, "64")
}

// manyWrites reports whether code writes to a builder more than once, so that it may grow.
func manyWrites(p *mutate.Pass, d facts.Declaration) bool {
	n := 0
	for _, id := range p.Uses(d.Var, p.File) {
		switch sel, _ := p.Parent(id).(*ast.SelectorExpr); {
		case printsInto(p, id), sel != nil && strings.HasPrefix(sel.Sel.Name, "Write"):
			// A write within a loop counts twice: it may run often.
			if n++; p.InLoop(id) && !p.InLoop(d.Stmt) {
				n++
			}
		case sel == nil || !isCalled(p, sel):
			return false // handed on to code that may ask for the capacity
		}
	}
	return n > 1
}

// inReturn reports whether n stands in a return statement: such a read happens once, even inside a
// loop.
func inReturn(p *mutate.Pass, n ast.Node) bool {
	_, ok := enclosing[*ast.ReturnStmt](p, n)
	return ok
}

// ownValue reports whether an expression reads nothing but variables that only the code around it
// can change.
func ownValue(p *mutate.Pass, e ast.Expr) bool {
	for id := range mutate.Nodes[*ast.Ident](p, e) {
		v := p.Var(id)
		if facts.IsLocal(p, v) && (facts.Captured.Of(p)[v] || facts.Pointed(p, v)) {
			return false
		}
	}
	return !p.Effects(e).Reads
}

// mentionsName reports whether an expression mentions a name other than that of a field or method.
func mentionsName(p *mutate.Pass, e ast.Expr, name string) bool {
	for id := range mutate.Nodes[*ast.Ident](p, e) {
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); id.Name == name && !(ok && sel.Sel == id) {
			return true
		}
	}
	return false
}

// outerLoop returns the outermost loop around n that starts after decl.
func outerLoop(p *mutate.Pass, n ast.Node, decl ast.Stmt) (loop ast.Stmt) {
	for _, up := range p.Path(n) {
		if up.Pos() <= decl.Pos() {
			break
		}
		if loopBody(up) != nil {
			loop = up.(ast.Stmt)
		}
	}
	return loop
}
