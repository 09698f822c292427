package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// textBytes (part of catalogue S3) matches a variable that holds a formatted number, which code
// trims and adds to before it becomes part of a text. It holds bytes on the stack until then.
var textBytes = &mutate.Mutator{
	Name: "text-bytes",
	Doc: "Hold a formatted number as bytes on the stack while code trims it and adds to it, and make a string of it " +
		"in the end. The string that the library would return is an allocation that only the next text reads. Exact: " +
		"the library appends the text that it would return, and nothing else sees the bytes.",
	Example: mutate.Shows(`text := strconv.FormatFloat(v, 'f', 1, 64)
text = strings.TrimSuffix(text, ".0")
return text + unit`,
		`text := strconv.AppendFloat(make([]byte, 0, 64), v, 'f', 1, 64)
if n := len(text) - 2; n >= 0 && string(text[n:]) == ".0" {
	text = text[:n]
}
return string(append(text, unit...))`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findTextBytes,
	Rewrite: edit.Precomputed,
}

// A bytesSite is a variable that can hold bytes.
type bytesSite struct {
	v     *types.Var
	name  string
	edits []mutate.Edit
	gains int // uses that need no string
	costs int // uses that make one
	done  map[ast.Node]bool
}

// findTextBytes looks for texts that a function of the library formats, and code then only cuts or
// adds to. Bytes of their own can be cut and added to in place.
func findTextBytes(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || d.Type != nil || !syntax.IsPredeclared(d.Var.Type(), types.String) ||
			!facts.TakesTime(p, list[i]) ||
			formatterOf(p, d.Value) == nil || facts.Captured.Of(p)[d.Var] ||
			facts.RedefinesAny(p, list[i], "append", "byte",
				"int64", "len", "make", "string") {
			continue
		}
		s := &bytesSite{v: d.Var, name: d.Var.Name(), done: map[ast.Node]bool{}}
		if s.collect(p, d) && s.gains > 0 && s.costs <= 1 {
			first := p.Replace(d.Value, appendCall(p, "make([]byte, 0, 64)", d.Value))
			edits := edit.WithImports(p, append([]mutate.Edit{first}, s.edits...), "strconv", "encoding/hex", "fmt")
			sites = append(sites, edit.Site(d.Stmt, "bytes of "+s.name, edits...))
		}
	}
	return sites
}

// collect rewrites all uses of the variable.
func (s *bytesSite) collect(p *mutate.Pass, d facts.Declaration) bool {
	for _, id := range p.Uses(s.v, p.File) {
		if id == d.Name || s.inside(id) {
			continue
		}
		if !s.use(p, d, id) {
			return false
		}
	}
	return true
}

// inside reports whether an identifier stands in code that is replaced already.
func (s *bytesSite) inside(id *ast.Ident) bool {
	for n := range s.done {
		if facts.Inside(id, n) {
			return true
		}
	}
	return false
}

// use rewrites one use.
func (s *bytesSite) use(p *mutate.Pass, d facts.Declaration, id *ast.Ident) bool {
	// An assignment to the variable is rewritten as a whole.
	if as, ok := facts.Enclosing[*ast.AssignStmt](p, id); ok && len(as.Lhs) == 1 && p.Var(as.Lhs[0]) == s.v {
		s.done[as] = true
		return s.assign(p, as)
	}
	if p.Changes(id) {
		return false // one of several targets
	}
	var e ast.Expr = id
	// Its length, its elements and cuts of it are the same for bytes. An address, a sign or a range
	// over runes is not.
	switch up := p.Parent(id).(type) {
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(up, "len"); ok {
			return true
		}
	case *ast.IndexExpr:
		if up.X == ast.Expr(id) {
			return !facts.AssignedTo(p, up)
		}
	case *ast.SliceExpr:
		if up.X != ast.Expr(id) || !facts.WithinLength(p, s.v, up) {
			return false
		}
		s.done[up], e = true, up
	case *ast.UnaryExpr, *ast.RangeStmt:
		return false
	}
	return s.value(p, d, e)
}

// value makes a string where one is needed.
func (s *bytesSite) value(p *mutate.Pass, d facts.Declaration, e ast.Expr) bool {
	text := "string(" + p.Text(e) + ")"
	if up, ok := p.Parent(e).(*ast.BinaryExpr); ok {
		switch up.Op {
		case token.EQL, token.NEQ:
			s.edits = append(s.edits, p.Replace(e, text))
			return true
		case token.ADD:
			return s.join(p, e, up)
		}
	}
	if outerLoop(p, e, d.Stmt) != nil && !facts.InReturn(p, e) {
		return false
	}
	s.costs++
	s.edits = append(s.edits, p.Replace(e, text))
	return true
}

// join rewrites a concatenation that a value is a part of. The compiler makes no string of bytes
// beside a constant text. A text that is returned may be appended, since the bytes are not needed
// any more.
func (s *bytesSite) join(p *mutate.Pass, e ast.Expr, sum *ast.BinaryExpr) bool {
	// Take the whole sum.
	for {
		up, ok := p.Parent(sum).(*ast.BinaryExpr)
		if !ok || up.Op != token.ADD {
			break
		}
		sum = up
	}
	parts := joinedParts(p, sum)
	// Beside a constant text the compiler converts bytes without a copy.
	for _, part := range parts {
		if text, ok := facts.ConstString(p, part); ok && text != "" {
			s.gains++
			s.edits = append(s.edits, p.Replace(e, "string("+p.Text(e)+")"))
			return true
		}
	}
	// Without one, the other parts are appended to the bytes, if these come first and the function
	// returns the sum.
	ret, returned := p.Parent(sum).(*ast.ReturnStmt)
	if !returned || len(parts) > maxNestedParts || parts[0] != e || len(p.Uses(s.v, ret)) != len(p.Uses(s.v, e)) {
		return false
	}
	text := p.Text(e)
	for _, part := range parts[1:] {
		text = appendCall(p, text, part)
	}
	s.gains++
	s.done[sum] = true
	s.edits = append(s.edits, p.Replace(sum, "string("+text+")"))
	return true
}

// assign rewrites an assignment to the variable: a cut of it, or an addition to it.
func (s *bytesSite) assign(p *mutate.Pass, as *ast.AssignStmt) bool {
	if _, at := p.Siblings(as); at < 0 {
		return false
	}
	rhs := ast.Unparen(as.Rhs[0])
	// An addition to the text appends to the bytes; so does a sum that begins with the text.
	if as.Tok == token.ADD_ASSIGN {
		return s.add(p, as, joinedParts(p, rhs))
	}
	if as.Tok != token.ASSIGN {
		return false
	}
	switch rhs := rhs.(type) {
	case *ast.SliceExpr:
		id, ok := rhs.X.(*ast.Ident)
		return ok && p.Var(id) == s.v && facts.WithinLength(p, s.v, rhs)
	case *ast.BinaryExpr:
		parts := joinedParts(p, rhs)
		return p.Var(parts[0]) == s.v && s.add(p, as, parts[1:])
	// A call may only trim.
	case *ast.CallExpr:
		return s.trim(p, as, rhs)
	}
	return false
}

// add appends parts.
func (s *bytesSite) add(p *mutate.Pass, as *ast.AssignStmt, parts []ast.Expr) bool {
	var lines []string
	for _, part := range parts {
		if len(p.Uses(s.v, part)) > 0 || len(parts) > 1 && !p.Pure(part) {
			return false
		}
		lines = append(lines, s.name+" = "+appendCall(p, s.name, part))
	}
	s.gains++
	s.edits = append(s.edits, p.Replace(as, strings.Join(lines, "\n")))
	return true
}

// trim cuts off what package strings would.
func (s *bytesSite) trim(p *mutate.Pass, as *ast.AssignStmt, call *ast.CallExpr) bool {
	// The text must be the first argument and occur nowhere else.
	if len(call.Args) == 0 || p.Var(call.Args[0]) != s.v || len(p.Uses(s.v, call)) > 1 {
		return false
	}
	// Package bytes has the same functions, and cuts in place. The set of characters stays a string
	// in both.
	if _, ok := p.IsCall(call, "strings", "Trim", "TrimLeft", "TrimRight", "TrimSpace"); ok {
		if facts.IsRedefined(p, as, "bytes") {
			return false
		}
		fun := call.Fun.(*ast.SelectorExpr)
		imports := edit.WithImports(p, []mutate.Edit{p.Replace(fun, "bytes."+fun.Sel.Name)}, "bytes")
		s.edits = append(s.edits, imports...)
		return true
	}
	// TrimPrefix and TrimSuffix take bytes in package bytes, so a constant is compared and cut off
	// here. The conversion to string in a comparison makes no copy.
	if _, ok := p.IsCall(call, "strings", "TrimSuffix", "TrimPrefix"); !ok {
		return false
	}
	affix, ok := facts.ConstString(p, call.Args[1])
	if !ok || affix == "" {
		return false
	}
	n, size := p.Fresh("n", "end"), len(affix)
	text := fmt.Sprintf("if %[1]s := len(%[2]s) - %[3]d; %[1]s >= 0 && string(%[2]s[%[1]s:]) == %[4]s {\n"+
		"%[2]s = %[2]s[:%[1]s]\n}", n, s.name, size, p.Text(call.Args[1]))
	if _, prefix := p.IsCall(call, "strings", "TrimPrefix"); prefix {
		text = fmt.Sprintf("if len(%[1]s) >= %[2]d && string(%[1]s[:%[2]d]) == %[3]s {\n"+
			"%[1]s = %[1]s[%[2]d:]\n}", s.name, size, p.Text(call.Args[1]))
	}
	s.edits = append(s.edits, p.Replace(as, text))
	return true
}
