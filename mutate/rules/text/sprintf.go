package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
	"github.com/beagle-go/beagle/mutate/rules/internal/formats"
)

// sprintfConcat (catalogue S2 and S3) matches a call of fmt with a constant format of plain verbs.
// It writes a concatenation, appends or direct writes. fmt interprets the format at run time by
// reflection, but the format and the types already decide the result.
var sprintfConcat = &mutate.Mutator{
	Name: "sprintf",
	Doc: "Replace a constant format by concatenation with strconv, appends to one buffer, or direct writes. fmt " +
		"boxes its arguments and interprets the format every time. Legal for verbs and plain basic types that format " +
		"alike, without flags; numbers may be filled up with zeros. An error without %w equals that of errors.New.",
	Example: mutate.Shows(`return fmt.Sprintf("%s:%d", host, port)`, `return host + ":" + strconv.Itoa(port)`),
	Class:   beagle.E0,
	Gain:    2.2,
	Find:    findSprintf,
	Params:  func(p *mutate.Pass, s mutate.Site) []mutate.Param { return s.Data.(*formatSite).params(p) },
	Rewrite: func(p *mutate.Pass, s mutate.Site, c mutate.Param) ([]mutate.Edit, error) {
		return s.Data.(*formatSite).rewrite(p, c)
	},
}

type formatSite struct {
	call   *ast.CallExpr
	pieces []formats.Piece
	node   ast.Node // the node to replace
	sink   string   // the text of the writer or slice that a write or append goes to
	kind   string   // "value", "write" (a statement on a builder or buffer), "append" (b = append(b, Sprintf...))
}

// findSprintf looks for calls of fmt with a format that is known, and offers those whose pieces all
// have a plain form.
func findSprintf(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		// The call may be a value, an error or a write to a writer. The kind decides what takes its
		// place.
		f := &formatSite{call: call, node: call, kind: "value"}
		args := call.Args
		_, printf := p.IsCall(call, "fmt", "Sprintf")
		_, print := p.IsCall(call, "fmt", "Sprint")
		_, println := p.IsCall(call, "fmt", "Sprintln")
		_, errorf := p.IsCall(call, "fmt", "Errorf")
		_, fprintf := p.IsCall(call, "fmt", "Fprintf")
		// The length of a spread list is unknown.
		if call.Ellipsis.IsValid() {
			continue
		}
		switch {
		case print, println:
			f.pieces = listedPieces(p, args, println)
		case printf:
			f.pieces = formats.Parse(p, args)
		case errorf:
			f.pieces, f.kind = formats.Parse(p, args), "error"
		// Nothing may read the count and the error of a write.
		case fprintf && len(args) > 1 && facts.WriterText(p, args[0]) != "":
			st := facts.Dropping(p, call)
			if !inList(p, st) {
				continue // the head of an if has no room for several writes
			}
			f.node, f.kind, f.sink = st, "write", facts.WriterText(p, args[0])
			f.pieces = formats.Parse(p, args[1:])
		}
		// A value may go straight into a text or a writer that takes it next.
		if len(f.pieces) > 0 && facts.TakesTime(p, call) && f.plain(p) {
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

// listedPieces are the pieces of Sprint, which puts a space between two operands neither of which
// is a string, or of Sprintln, which puts one between all of them and ends the line.
func listedPieces(p *mutate.Pass, args []ast.Expr, line bool) []formats.Piece {
	var out []formats.Piece
	isString := func(e ast.Expr) bool { return syntax.IsText(p.Info.TypeOf(e)) }
	for i, arg := range args {
		// Between two operands, Sprintln always puts a space.
		if i > 0 && (line || !isString(arg) && !isString(args[i-1])) {
			out = append(out, formats.Piece{Text: " "})
		}
		out = append(out, formats.Piece{Arg: arg, Verb: 'v'})
	}
	if line {
		out = append(out, formats.Piece{Text: "\n"})
	}
	return formats.Join(out)
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
		// The result of WriteString must not be used.
		if st := facts.Dropping(p, up); inList(p, st) && (sb || bb) && facts.WriterText(p, sel.X) != "" {
			f.node, f.kind, f.sink = st, "write", facts.WriterText(p, sel.X)
		}
		return
	}
	// The appended text must not read the list that it is appended to.
	if v, call, ok := facts.AppendsTo(p, p.Parent(up)); ok && call == up && up.Ellipsis.IsValid() &&
		len(up.Args) == 2 &&
		!f.mentions(p, v) {
		f.node, f.kind, f.sink = p.Parent(up), "append", v.Name()
	}
}

// pure reports whether arguments may be evaluated between two writes.
func (f *formatSite) pure(p *mutate.Pass) bool {
	for _, q := range f.pieces {
		if q.Arg != nil && !p.Pure(q.Arg) {
			return false
		}
	}
	return true
}

func (f *formatSite) mentions(p *mutate.Pass, v *types.Var) bool { return len(p.Uses(v, f.call)) > 0 }

// params offers a concatenation, or a buffer on the stack, for a value. The buffer should hold the
// longest of the corpus's texts but one in a hundred.
func (f *formatSite) params(p *mutate.Pass) []mutate.Param {
	switch f.kind {
	case "write":
		return []mutate.Param{{Label: "write", Value: 0}}
	case "append":
		return []mutate.Param{{Label: "append", Value: 0}}
	case "error":
		return []mutate.Param{{Label: "error", Value: 0}}
	}
	out := []mutate.Param{{Label: "concat", Value: 0}}
	// A buffer is declared in front of the statement, so the call must run there at once.
	if _, ok := facts.Hoistable(p, f.call); ok && f.pure(p) && len(f.pieces) > 1 {
		for _, n := range []int{64, 128} {
			if n >= facts.Percentile99(p) || n == 128 {
				out = append(out, mutate.Param{Label: "buffer " + strconv.Itoa(n), Value: n})
			}
		}
	}
	return out
}

// rewrite writes the pieces without a format, in the way that the kind of the call asks for.
func (f *formatSite) rewrite(p *mutate.Pass, c mutate.Param) ([]mutate.Edit, error) {
	// Between two writes of one call fmt evaluates nothing, but the statements that replace it
	// would.
	if f.kind == "write" && !f.pure(p) {
		return nil, fmt.Errorf("an argument of %s has effects or may panic between two writes", p.Text(f.call.Fun))
	}
	size := c.Value.(int)
	// A write becomes one write for each piece, and an error the text of it.
	switch {
	case f.kind == "write":
		var out []string
		for _, q := range f.pieces {
			out = append(out, writeForm(p, f.sink, q))
		}
		return f.edits(p, p.Replace(f.node, strings.Join(out, "\n"))), nil
	case f.kind == "error":
		return f.edits(p, p.Replace(f.call, "errors.New("+f.concat(p)+")")), nil
	// A text that goes into a text or a writer is appended there.
	case f.kind == "append":
		return f.edits(p, p.Replace(f.node, f.appendLines(p, f.sink))), nil
	// With a size, the value grows in an array on the stack, and is copied once.
	case size > 0:
		s, _ := facts.Hoistable(p, f.call)
		array, buf := p.Fresh("scratch"), p.Fresh("buf", "text")
		lines := fmt.Sprintf("var %s [%d]byte // holds most results without an allocation\n%s := %s\n", array, size,
			buf, formats.AppendForm(p, array+"[:0]", f.pieces[0]))
		rest := &formatSite{pieces: f.pieces[1:]}
		return f.edits(p, edit.InsertBefore(p, s, lines+rest.appendLines(p, buf)),
			p.Replace(f.call, "string("+buf+")")), nil
	}
	return f.edits(p, p.Replace(f.call, f.concat(p))), nil
}

func (f *formatSite) appendLines(p *mutate.Pass, b string) string {
	var out []string
	for _, q := range f.pieces {
		out = append(out, b+" = "+formats.AppendForm(p, b, q))
	}
	return strings.Join(out, "\n")
}

// concat writes the sum of the pieces, in parentheses where the place of the call needs them.
func (f *formatSite) concat(p *mutate.Pass) string {
	var out []string
	for _, q := range f.pieces {
		if q.Arg == nil {
			out = append(out, strconv.Quote(q.Text))
			continue
		}
		out = append(out, formats.StringForm(p, q))
	}
	text := strings.Join(out, " + ")
	// A sum beside another operator needs parentheses.
	_, sum := ast.Unparen(syntax.OrNil(f.pieces[0].Arg)).(*ast.BinaryExpr)
	if (len(out) > 1 || sum) && f.kind == "value" && f.bindsTighter(p) {
		return "(" + text + ")"
	}
	return text
}

// bindsTighter reports whether the code around the call would take only the last operand of a sum.
func (f *formatSite) bindsTighter(p *mutate.Pass) bool {
	switch up := p.Parent(f.call).(type) {
	case *ast.BinaryExpr:
		return up.Op != token.ADD
	case *ast.IndexExpr:
		return ast.Unparen(up.X) == ast.Expr(f.call)
	case *ast.SliceExpr:
		return ast.Unparen(up.X) == ast.Expr(f.call)
	}
	return false
}

// edits adds the helper and the imports that the new text needs.
func (f *formatSite) edits(p *mutate.Pass, edits ...mutate.Edit) []mutate.Edit {
	if slices.ContainsFunc(edits, func(e mutate.Edit) bool { return strings.Contains(e.New, formats.ZeroPadded+"(") }) {
		name, more := edit.Helper(p, p.FuncOf(f.call), zeroPaddedText, formats.ZeroPadded)
		for i := range edits {
			edits[i].New = strings.ReplaceAll(edits[i].New, formats.ZeroPadded+"(", name+"(")
		}
		edits = append(edits, more...)
	}
	return edit.WithImports(p, edits, "encoding/hex", "errors", "strconv", "unicode/utf8")
}

// inList reports whether a statement stands in a list, with room for others beside it.
func inList(p *mutate.Pass, s ast.Stmt) bool {
	if s == nil {
		return false
	}
	_, at := p.Siblings(s)
	return at >= 0
}

// plain reports whether every argument formats as strconv would.
func (f *formatSite) plain(p *mutate.Pass) bool {
	args, ok := formats.Plain(p, f.pieces)
	return ok && (args > 0 || f.kind != "value")
}

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

// writeForm returns a statement that writes the piece to w.
func writeForm(p *mutate.Pass, w string, q formats.Piece) string {
	switch {
	case q.Arg == nil && len(q.Text) == 1 && q.Text[0] < 0x80:
		return fmt.Sprintf("%s.WriteByte(%q)", w, q.Text[0])
	case q.Arg == nil:
		return w + ".WriteString(" + strconv.Quote(q.Text) + ")"
	case q.Verb == 'c':
		return w + ".WriteRune(" + p.Text(q.Arg) + ")"
	case q.Verb == 's' && facts.IsByteSlice(p, q.Arg):
		return w + ".Write(" + p.Text(q.Arg) + ")"
	}
	return w + ".WriteString(" + formats.StringForm(p, q) + ")"
}
