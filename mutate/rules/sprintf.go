package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// sprintfConcat (catalogue S2 and S3) matches a call of fmt with a constant format of plain verbs.
// It writes a concatenation, appends or direct writes. fmt interprets the format at run time by
// reflection, but the format and the types already decide the result.
var sprintfConcat = &mutate.Mutator{
	Name: "sprintf",
	Doc: "Write out what a constant format says: concatenation with strconv, appends to one buffer, or direct " +
		"writes. fmt boxes its arguments and interprets the format every time. Legal for verbs and plain basic " +
		"types that format alike, without widths or flags.",
	Before: `return fmt.Sprintf("%s:%d", host, port)`,
	After:  `return host + ":" + strconv.Itoa(port)`,
	Class:  beagle.E0,
	Gain:   2.2,
	Find:   findSprintf,
	Params: func(p *mutate.Pass, s mutate.Site) []mutate.Param { return s.Data.(*formatSite).params(p) },
	Rewrite: func(p *mutate.Pass, s mutate.Site, c mutate.Param) ([]mutate.Edit, error) {
		return s.Data.(*formatSite).rewrite(p, c)
	},
}

// A piece is a part of a formatted text: a constant, or an argument with its verb.
type piece struct {
	text string   // the constant
	arg  ast.Expr // nil for a constant
	verb byte
}

type formatSite struct {
	call   *ast.CallExpr
	pieces []piece
	node   ast.Node // the node to replace
	sink   string   // the text of the writer or slice that a write or append goes to
	kind   string   // "value", "write" (a statement on a builder or buffer), "append" (b = append(b, Sprintf...))
}

func findSprintf(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		f := &formatSite{call: call, node: call, kind: "value"}
		args := call.Args
		_, printf := p.IsCall(call, "fmt", "Sprintf")
		_, print := p.IsCall(call, "fmt", "Sprint")
		_, fprintf := p.IsCall(call, "fmt", "Fprintf")
		if call.Ellipsis.IsValid() {
			continue
		}
		switch {
		case print && len(args) == 1:
			f.pieces = []piece{{arg: args[0], verb: 'v'}}
		case printf:
			f.pieces = parseFormat(p, args)
		case fprintf && len(args) > 1 && writerText(p, args[0]) != "":
			st, ok := p.Parent(call).(*ast.ExprStmt)
			if !ok {
				continue
			}
			f.node, f.kind, f.sink = st, "write", writerText(p, args[0])
			f.pieces = parseFormat(p, args[1:])
		}
		if len(f.pieces) > 0 && f.plain(p) {
			if f.kind == "value" {
				f.findSink(p)
			}
			sites = append(sites, mutate.Site{
				Node:  call,
				Label: p.Text(call.Fun) + " of " + p.Text(call.Args[0]),
				Data:  f,
			})
		}
	}
	return sites
}

// parseFormat takes a constant format apart. It returns nil if the format has flags, widths or
// indexes, or does not match its arguments.
func parseFormat(p *mutate.Pass, args []ast.Expr) []piece {
	if len(args) == 0 {
		return nil
	}
	format, ok := constString(p, args[0])
	if !ok {
		return nil
	}
	var out []piece
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
		format = rest[1:]
		if rest[0] == '%' {
			out = append(out, piece{text: "%"})
			continue
		}
		if len(args) == 0 {
			return nil
		}
		q := piece{arg: args[0], verb: rest[0]}
		if s, ok := constString(p, q.arg); ok && isExactString(p, q.arg) && (q.verb == 's' || q.verb == 'v') {
			q = piece{text: s}
		}
		out = append(out, q)
		args = args[1:]
	}
	if len(args) > 0 {
		return nil
	}
	return joinTexts(out)
}

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

// plain reports whether every argument formats as strconv would.
func (f *formatSite) plain(p *mutate.Pass) bool {
	args := 0
	for _, q := range f.pieces {
		if q.arg == nil {
			continue
		}
		args++
		if stringForm(p, q) == "" {
			return false
		}
	}
	return args > 0 || f.kind != "value"
}

// stringForm returns an expression for the text of an argument, or "".
func stringForm(p *mutate.Pass, q piece) string {
	t := p.Info.TypeOf(q.arg)
	text, info := p.Text(q.arg), plainKind(t)
	switch {
	case q.verb == 's' || q.verb == 'v' || q.verb == 'q':
		if info&types.IsString != 0 {
			if !isExactString(p, q.arg) {
				text = "string(" + text + ")"
			}
			if q.verb == 'q' {
				return "strconv.Quote(" + text + ")"
			}
			return operandText(p, q.arg, text)
		}
		if q.verb == 's' && isByteSlice(p, q.arg) {
			return "string(" + text + ")"
		}
	}
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

// operandText returns text that may stand beside a +.
func operandText(p *mutate.Pass, e ast.Expr, text string) string {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op.Precedence() < token.ADD.Precedence() {
		return "(" + text + ")"
	}
	return text
}

func convertTo(p *mutate.Pass, e ast.Expr, name string, kind types.BasicKind) string {
	if isBasic(p, e, kind) || kind == types.Bool && isBasic(p, e, types.UntypedBool) {
		return p.Text(e)
	}
	return name + "(" + p.Text(e) + ")"
}

func integerForm(p *mutate.Pass, q piece, t types.Type, text string) string {
	base := "10"
	if q.verb == 'x' {
		base = "16"
	}
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
	if q.arg == nil {
		if len(q.text) == 1 && q.text[0] < 0x80 {
			return fmt.Sprintf("append(%s, %q)", b, q.text[0])
		}
		return fmt.Sprintf("append(%s, %s...)", b, strconv.Quote(q.text))
	}
	form := stringForm(p, q)
	for _, number := range []string{"strconv.FormatInt(", "strconv.FormatUint(", "strconv.FormatBool(",
		"strconv.Quote("} {
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
	if isByteSlice(p, q.arg) || strings.HasPrefix(form, "string(") &&
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
	case isByteSlice(p, q.arg):
		return w + ".Write(" + p.Text(q.arg) + ")"
	}
	return w + ".WriteString(" + stringForm(p, q) + ")"
}

// writerText returns the expression on which to call methods of a strings.Builder or bytes.Buffer,
// or "".
func writerText(p *mutate.Pass, w ast.Expr) string {
	w = ast.Unparen(w)
	t := p.Info.TypeOf(w)
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	if s := t.String(); s != "strings.Builder" && s != "bytes.Buffer" {
		return ""
	}
	if u, ok := w.(*ast.UnaryExpr); ok && u.Op == token.AND {
		w = u.X
	}
	if p.Effects(w).Writes {
		return ""
	}
	return p.Text(w)
}

// findSink finds out where the value goes: into an append or a writer.
func (f *formatSite) findSink(p *mutate.Pass) {
	up, ok := p.Parent(f.call).(*ast.CallExpr)
	if !ok || !f.pure(p) {
		return
	}
	if sel, ok := up.Fun.(*ast.SelectorExpr); ok {
		_, sb := p.IsCall(up, "strings", "Builder.WriteString")
		_, bb := p.IsCall(up, "bytes", "Buffer.WriteString")
		if st, stmt := p.Parent(up).(*ast.ExprStmt); stmt && (sb || bb) && writerText(p, sel.X) != "" {
			f.node, f.kind, f.sink = st, "write", writerText(p, sel.X)
		}
		return
	}
	if v, call, ok := appends(p, p.Parent(up)); ok && call == up && up.Ellipsis.IsValid() && len(up.Args) == 2 &&
		!f.mentions(p, v) {
		f.node, f.kind, f.sink = p.Parent(up), "append", v.Name()
	}
}

// pure reports whether arguments may be evaluated between two writes.
func (f *formatSite) pure(p *mutate.Pass) bool {
	for _, q := range f.pieces {
		if q.arg != nil && !p.Pure(q.arg) {
			return false
		}
	}
	return true
}

func (f *formatSite) mentions(p *mutate.Pass, v *types.Var) bool { return len(p.Uses(v, f.call)) > 0 }

func (f *formatSite) params(p *mutate.Pass) []mutate.Param {
	switch f.kind {
	case "write":
		return []mutate.Param{{Label: "write", Value: 0}}
	case "append":
		return []mutate.Param{{Label: "append", Value: 0}}
	}
	out := []mutate.Param{{Label: "concat", Value: 0}}
	if _, ok := hoistable(p, f.call); ok && f.pure(p) && len(f.pieces) > 1 {
		for _, n := range []int{64, 128} {
			if n >= percentile99(p) || n == 128 {
				out = append(out, mutate.Param{Label: "buffer " + strconv.Itoa(n), Value: n})
			}
		}
	}
	return out
}

func (f *formatSite) rewrite(p *mutate.Pass, c mutate.Param) ([]mutate.Edit, error) {
	if f.kind == "write" && !f.pure(p) {
		return nil, fmt.Errorf("an argument of %s has effects or may panic between two writes", p.Text(f.call.Fun))
	}
	size := c.Value.(int)
	switch {
	case f.kind == "write":
		var out []string
		for _, q := range f.pieces {
			out = append(out, writeForm(p, f.sink, q))
		}
		return f.edits(p, p.Replace(f.node, strings.Join(out, "\n"))), nil
	case f.kind == "append":
		return f.edits(p, p.Replace(f.node, f.appendLines(p, f.sink))), nil
	case size > 0:
		s, _ := hoistable(p, f.call)
		array, buf := p.Fresh("scratch"), p.Fresh("buf", "text")
		lines := fmt.Sprintf("var %s [%d]byte // holds most results without an allocation\n%s := %s\n", array, size,
			buf, appendForm(p, array+"[:0]", f.pieces[0]))
		rest := &formatSite{pieces: f.pieces[1:]}
		return f.edits(p, before(p, s, lines+rest.appendLines(p, buf)), p.Replace(f.call, "string("+buf+")")), nil
	}
	return f.edits(p, p.Replace(f.call, f.concat(p))), nil
}

func (f *formatSite) appendLines(p *mutate.Pass, b string) string {
	var out []string
	for _, q := range f.pieces {
		out = append(out, b+" = "+appendForm(p, b, q))
	}
	return strings.Join(out, "\n")
}

func (f *formatSite) concat(p *mutate.Pass) string {
	var out []string
	for _, q := range f.pieces {
		if q.arg == nil {
			out = append(out, strconv.Quote(q.text))
			continue
		}
		out = append(out, stringForm(p, q))
	}
	text := strings.Join(out, " + ")
	if up, ok := p.Parent(f.call).(*ast.BinaryExpr); ok && len(out) > 1 && up.Op != token.ADD {
		return "(" + text + ")"
	}
	return text
}

// edits adds the imports that the new text needs.
func (f *formatSite) edits(p *mutate.Pass, edits ...mutate.Edit) []mutate.Edit {
	return withImports(p, edits, "strconv", "unicode/utf8")
}
