package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// mergeWrites (catalogue S13) matches statements in a row that write to the same bytes.Buffer,
// strings.Builder or bufio.Writer. It appends their texts in the writer's own free room, or in an
// array on the stack, and writes once.
var mergeWrites = &mutate.Mutator{
	Name: "merge-writes",
	Doc: "Join the texts of several writes in a row, and write them to the buffer once. Each write is a call that " +
		"asks for room and moves the buffer's end; append is not. Exact: no text depends on a write, and nothing " +
		"panics between the first and the last; a bufio.Writer may pass the same bytes on in other pieces. The " +
		"parameter chooses the place of the joined text: the free room of the buffer, or the stack.",
	Example: mutate.Shows(`b.WriteByte('"')
b.WriteString(key)
b.WriteString("\": ")`,
		`text := b.AvailableBuffer()
text = append(text, '"')
text = append(text, key...)
text = append(text, "\": "...)
b.Write(text)`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findMergeWrites,
	Params:  writeRooms,
	Rewrite: rewriteMergeWrites,
}

// leastPieces is how many texts are worth a write of their own.
const leastPieces = 3

// A writeRun is a list of statements that write to one buffer.
type writeRun struct {
	buffer ast.Expr
	kind   string // "bytes.Buffer", "strings.Builder" or "bufio.Writer"
	writes []writeCall
}

// A writeCall is a statement that calls a method of a buffer and uses no result.
type writeCall struct {
	stmt   ast.Stmt
	buffer ast.Expr
	kind   string
	method string
	arg    ast.Expr
}

func findMergeWrites(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, list := range p.Lists() {
		for i := 0; i < len(list); i++ {
			r := runOfWrites(p, list[i:])
			// With few pieces, joining them first costs as much as it saves.
			if len(r.writes) > 1 && r.pieces(p) >= leastPieces && facts.TakesTime(p, list[i]) {
				sites = append(sites, mutate.Site{Node: list[i], Label: "writes to " + p.Text(r.buffer), Data: r})
			}
			i += max(0, len(r.writes)-1)
		}
	}
	return sites
}

// runOfWrites returns the writes that a list begins with. The first may panic: nothing is written
// by then. A later one panics on nothing that the first has not looked at.
func runOfWrites(p *mutate.Pass, list []ast.Stmt) *writeRun {
	r := &writeRun{}
	looked := map[*types.Var]bool{} // pointers that are not nil
	for _, s := range list {
		w, ok := writeOf(p, s)
		// Another buffer ends the run, and so does text whose evaluation could be seen.
		if !ok || len(r.writes) > 0 && (w.kind != r.kind || p.Text(w.buffer) != p.Text(r.buffer)) || !plainText(p, w) {
			break
		}
		if len(r.writes) == 0 {
			r.buffer, r.kind = w.buffer, w.kind
			noteFields(p, w.buffer, looked)
			noteFields(p, w.arg, looked)
		} else if noteEarlier(p, w.arg, list[0], looked); !seenFields(p, w.arg, looked) {
			break
		}
		// A later argument is evaluated before the earlier writes now, without a panic of its own.
		r.writes = append(r.writes, w)
	}
	return r
}

// pieces counts the texts that a run writes.
func (r *writeRun) pieces(p *mutate.Pass) (n int) {
	for _, w := range r.writes {
		n++
		if w.method == "WriteString" {
			n += len(joinedParts(p, w.arg)) - 1
		}
	}
	return n
}

// writeOf recognises a write whose results nothing uses.
func writeOf(p *mutate.Pass, s ast.Stmt) (w writeCall, ok bool) {
	// The writer must be named by variables and fields, so that it is the same for all writes of a
	// run.
	call := facts.Dropped(s)
	if call == nil || len(call.Args) != 1 {
		return w, false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || p.Info.Selections[sel] == nil || !facts.FieldChain(p, sel.X) {
		return w, false
	}
	w = writeCall{stmt: s, buffer: sel.X, method: sel.Sel.Name, arg: call.Args[0]}
	// Only these writers take all that they get, or tell of it later.
	t := syntax.Pointee(p.Info.TypeOf(sel.X))
	for _, kind := range []string{"bytes.Buffer", "strings.Builder", "bufio.Writer"} {
		if pkg, name, _ := strings.Cut(kind, "."); syntax.IsNamed(t, pkg, name) {
			w.kind = kind
		}
	}
	return w, w.kind != "" && slices.Contains([]string{"WriteString", "WriteByte", "WriteRune"}, w.method)
}

// plainText reports whether what is written depends on no buffer: it is made of variables, fields,
// elements and constants that no write changes, by functions of the library on plain values.
func plainText(p *mutate.Pass, w writeCall) bool {
	// The text is computed before any write of the run, so it must depend on none of them.
	ok := !p.Effects(w.arg).Writes && !readsRoom(p, w.arg) &&
		(w.kind != "bufio.Writer" || !readsOfWriter(p, w.arg))
	// Conversions, len and pure functions of plain values depend on their operands alone.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, w.arg) {
		if p.Info.Types[call.Fun].IsType() {
			ok = ok && facts.IsBasic(p.Info.TypeOf(call.Args[0]))
			continue
		}
		switch fn := p.Callee(call).(type) {
		case *types.Builtin:
			ok = ok && fn.Name() == "len"
		case *types.Func:
			ok = ok && (textFunction(fn) || !p.Effects(call).Reads)
			for _, arg := range call.Args {
				ok = ok && facts.IsBasic(p.Info.TypeOf(arg))
			}
		default:
			return false
		}
	}
	// Names are variables or fields here; a function's name would be a value that may be called.
	for _, id := range mutate.Nodes[*ast.Ident](p, w.arg) {
		v, isVar := p.Info.Uses[id].(*types.Var)
		ok = ok && (!isVar || v.IsField() || facts.IsLocal(p, v) || p.IsGlobal(v))
	}
	return ok
}

// readsRoom reports whether an expression reads a byte of memory that may be a buffer's. The maker
// of a buffer may have given it an array of its own.
func readsRoom(p *mutate.Pass, e ast.Expr) bool {
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		// Only bytes can be part of a buffer's memory.
		if !p.Info.Types[n].IsValue() || !facts.IsPredeclared(p, n, types.Uint8) {
			continue
		}
		// An element of a text cannot be written, and one of a map is no memory of a slice.
		switch n := n.(type) {
		case *ast.StarExpr:
			return true
		case *ast.IndexExpr:
			of := p.Info.TypeOf(n.X).Underlying()
			if _, isMap := of.(*types.Map); !isMap && !facts.IsBasic(of) {
				return true
			}
		}
	}
	return false
}

// readsOfWriter reports whether an expression reads what the writer behind a bufio.Writer may
// change. That runs when the room is full, and often counts what it gets: in a field of its own, in
// a variable that a function literal or a pointer shares, or in one of a package.
func readsOfWriter(p *mutate.Pass, e ast.Expr) bool {
	// A field of a type with a Write method may count what was written. bufio's own writers are
	// known.
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, e) {
		if s := p.Info.Selections[sel]; s != nil && s.Kind() == types.FieldVal {
			write, _, _ := types.LookupFieldOrMethod(s.Recv(), true, p.Pkg, "Write")
			if fn, ok := write.(*types.Func); ok && fn.Pkg().Path() != "bufio" {
				return true
			}
		}
	}
	// Variables must be steady, or at least out of reach of the writer behind.
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		v, ok := p.Info.Uses[id].(*types.Var)
		switch {
		case !ok || v.IsField():
		case !facts.IsLocal(p, v):
			if !p.NeverChanges(v) {
				return true
			}
		case facts.Pointed(p, v), facts.Captured.Of(p)[v] && p.Assigned(v, p.File):
			return true
		}
	}
	return false
}

// textPackages have functions that make texts of texts and numbers, and look at no buffer.
var textPackages = []string{"encoding/base64", "encoding/hex", "html", "net/url", "path", "regexp", "strconv",
	"strings", "time", "unicode", "unicode/utf8"}

// textFunction reports whether a function or method of the library makes a text of what it gets.
func textFunction(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return fn.Pkg() != nil && slices.Contains(textPackages, fn.Pkg().Path()) &&
		(recv == nil || !syntax.IsNamed(syntax.Pointee(recv.Type()), "strings", "Builder"))
}

// noteFields notes the pointers of whose fields an expression takes one in any case. A method may
// be called on a pointer that is nil.
func noteFields(p *mutate.Pass, e ast.Expr, looked map[*types.Var]bool) {
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, e) {
		if v := p.Var(sel.X); v != nil && facts.Dereferences(p, v, e) {
			looked[v] = true
		}
	}
}

// noteEarlier notes the pointers in an expression that a statement in front of the first write
// looked at, if code never sets them anew.
func noteEarlier(p *mutate.Pass, e ast.Expr, first ast.Stmt, looked map[*types.Var]bool) {
	fn := p.FuncOf(first)
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, e) {
		v := p.Var(sel.X)
		if fn != nil && v != nil && !looked[v] && facts.IsLocal(p, v) && !p.Assigned(v, fn) &&
			!facts.Captured.Of(p)[v] && facts.DereferencedBefore(p, v, first) {
			looked[v] = true
		}
	}
}

// seenFields reports whether an expression panics on nothing but fields of pointers that were
// looked at before: it joins and formats these.
func seenFields(p *mutate.Pass, e ast.Expr, looked map[*types.Var]bool) bool {
	if !p.Effects(e).Panics {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		s, v := p.Info.Selections[e], p.Var(e.X)
		return s != nil && s.Kind() == types.FieldVal && len(s.Index()) == 1 && v != nil && looked[v]
	// Texts are joined, converted and formatted without a panic of their own.
	case *ast.BinaryExpr:
		return e.Op == token.ADD && seenFields(p, e.X, looked) && seenFields(p, e.Y, looked)
	case *ast.CallExpr:
		return len(e.Args) == 1 && (p.Info.Types[e.Fun].IsType() || formatterOf(p, e) != nil) &&
			seenFields(p, e.Args[0], looked)
	}
	return false
}

// writeRooms are the places where a text can be put together. A bufio.Writer hands large texts on,
// so an array for it would not stay on the stack; a strings.Builder shows no free room.
func writeRooms(p *mutate.Pass, s mutate.Site) (out []mutate.Param) {
	kind := s.Data.(*writeRun).kind
	if kind != "strings.Builder" && p.GoAtLeast(21) {
		out = append(out, mutate.Param{Label: "in its free room", Value: "available"})
	}
	if kind != "bufio.Writer" {
		out = append(out, mutate.Param{Label: "on the stack", Value: "64"})
	}
	return out
}

// rewriteMergeWrites appends all texts of the run to one slice, and writes that once. The slice is
// the free room of the buffer or an array on the stack.
func rewriteMergeWrites(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	r := s.Data.(*writeRun)
	text, buffer := p.Fresh("text", "piece"), p.Text(r.buffer)
	start := fmt.Sprintf("%s := %s.AvailableBuffer()\n", text, buffer)
	// The text starts in the room that the writer has left, or in an array on the stack.
	if param.Value != "available" {
		room := p.Fresh("room", "space")
		start = fmt.Sprintf("var %s [%s]byte // holds most texts without an allocation\n%s := %s[:0]\n", room,
			param.Value, text, room)
	}
	var edits []mutate.Edit
	// The first statement begins the text, and the last one writes it.
	for i, w := range r.writes {
		line := w.appends(p, text)
		if i == 0 {
			line = start + line
		}
		if i == len(r.writes)-1 {
			line += fmt.Sprintf("\n%s.Write(%s)", buffer, text)
		}
		edits = append(edits, p.Replace(w.stmt, line))
	}
	return edit.WithImports(p, edits, "unicode/utf8", "strconv"), nil
}

// appends are the statements that append what a write writes.
func (w writeCall) appends(p *mutate.Pass, text string) string {
	switch w.method {
	case "WriteString":
		var out []string
		for _, part := range joinedParts(p, w.arg) {
			out = append(out, text+" = "+appendCall(p, text, part))
		}
		return strings.Join(out, "\n")
	// A letter of ASCII is one byte; others are encoded.
	case "WriteRune":
		if !isASCIILiteral(w.arg) {
			return fmt.Sprintf("%s = utf8.AppendRune(%[1]s, %s)", text, p.Text(w.arg))
		}
	}
	return fmt.Sprintf("%s = append(%[1]s, %s)", text, p.Text(w.arg))
}

// isASCIILiteral reports whether an expression is a character that is one byte.
func isASCIILiteral(e ast.Expr) bool {
	lit, ok := ast.Unparen(e).(*ast.BasicLit)
	if !ok || lit.Kind != token.CHAR {
		return false
	}
	r, _, _, err := strconv.UnquoteChar(lit.Value[1:], '\'')
	return err == nil && r < utf8.RuneSelf
}
