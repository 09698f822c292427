package text

import (
	"go/ast"
	"go/token"
	"go/types"

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
			facts.AddressTaken(p, v, p.FuncOf(e))) {
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
	if facts.Percentile99(p) > 32 {
		out = append(out, mutate.Param{Label: "128", Value: 128})
	}
	return out
}

// maxNestedParts is how many parts one expression may append, for those who read it.
const maxNestedParts = 3

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

// outerLoop returns the outermost loop around n that starts after decl.
func outerLoop(p *mutate.Pass, n ast.Node, decl ast.Stmt) (loop ast.Stmt) {
	for _, up := range p.Path(n) {
		if up.Pos() <= decl.Pos() {
			break
		}
		if syntax.LoopBody(up) != nil {
			loop = up.(ast.Stmt)
		}
	}
	return loop
}
