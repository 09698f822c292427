package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// asciiPath (catalogue C7) matches a function that goes over the runes of a string parameter, if
// the corpus is mostly ASCII. It writes a copy that works on bytes. A scan at the start of the
// function calls the copy if the string is all ASCII.
var asciiPath = &mutate.Mutator{
	Name: "ascii-fast-path",
	Doc: "Work on bytes where the input is all ASCII, as most text of machines is, and on runes otherwise. The copy " +
		"for ASCII is the original with each rune replaced by its byte; a scan decides which of the two runs.",
	Example: mutate.Shows(`func Clean(s string) string {
	var out strings.Builder
	for _, r := range s {
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}`,
		`func Clean(s string) string {
	if isASCII(s) {
		return cleanASCII(s)
	}
	...
}

func cleanASCII(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		r := rune(s[i])
		out.WriteByte(byte(unicode.ToLower(r)))
	}
	return out.String()
}`),
	Class:   beagle.E3,
	Gain:    1.5,
	Find:    findASCII,
	Rewrite: rewriteASCII,
}

type asciiSite struct {
	fn *ast.FuncDecl
	in *types.Var
}

// findASCII looks for a target or a helper with a loop over the runes of a string parameter. The
// corpus must be mostly ASCII.
func findASCII(p *mutate.Pass) []mutate.Site {
	// On other texts the test of the fast path only adds time.
	mostly := false
	for _, f := range p.Facets.Params {
		mostly = mostly || f.ASCII > 0.7
	}
	if !mostly {
		return nil
	}
	// Helpers count as well as the target: the loop over runes often stands in one of them. A
	// recursive function would test its text again at each level.
	var sites []mutate.Site
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || len(fn.Body.List) == 0 || !syntax.PlainSignature(fn) || facts.CallsItself(p, fn) ||
			hasASCIIPath(fn) || facts.RedefinesAny(p, fn, "len", "rune", "byte") {
			continue
		}
		for _, f := range fn.Type.Params.List {
			for _, id := range f.Names {
				v := p.Info.Defs[id].(*types.Var)
				// Only a string that the function never assigns is still the tested text when the
				// loop runs.
				if syntax.IsText(v.Type()) && !p.Assigned(v, fn.Body) && runeEdits(p, fn, v) > 0 {
					sites = append(sites,
						mutate.Site{
							Node:  fn.Body,
							Label: "runes of " + id.Name + " in " + fn.Name.Name,
							Data:  asciiSite{fn, v},
						})
				}
			}
		}
	}
	return sites
}

func hasASCIIPath(fn *ast.FuncDecl) bool {
	// By its name, or by its first test, such a function is already the copy, or has one.
	if strings.HasSuffix(fn.Name.Name, "ASCII") {
		return true
	}
	for _, s := range fn.Body.List[:min(2, len(fn.Body.List))] {
		if i, ok := s.(*ast.IfStmt); ok && strings.HasPrefix(nameOf(i.Cond), "isASCII") {
			return true
		}
	}
	return false
}

// runeEdits counts the loops and calls that the copy would replace.
func runeEdits(p *mutate.Pass, fn *ast.FuncDecl, in *types.Var) int {
	n := 0
	ast.Inspect(fn.Body, func(m ast.Node) bool {
		if m != nil {
			if _, ok := asByte(p, in, m); ok {
				n++
			}
		}
		return true
	})
	return n
}

// asByte returns the text of a node in the copy for ASCII, if it differs. Such nodes are the head
// of a range over runes, the decoding of a rune, and the counting of runes.
func asByte(p *mutate.Pass, in *types.Var, n ast.Node) (string, bool) {
	// All other nodes are copied as they are: for ASCII they mean the same.
	switch n := n.(type) {
	case *ast.RangeStmt:
		return rangeAsBytes(p, in, n)
	case *ast.CallExpr:
		if call, ok := p.IsCall(n, "unicode/utf8", "RuneCountInString"); ok && p.Var(call.Args[0]) == in {
			return "len(" + in.Name() + ")", true
		}
	case *ast.AssignStmt:
		if text, ok := decodeAsByte(p, in, n); ok {
			return text, true
		}
		return writeAsByte(p, in, n)
	case *ast.ExprStmt:
		return writeAsByte(p, in, n)
	}
	return "", false
}

// rangeAsBytes writes a range over the runes of in as a loop over its bytes. Both visit the same
// positions, because every rune has one byte.
func rangeAsBytes(p *mutate.Pass, in *types.Var, s *ast.RangeStmt) (string, bool) {
	if p.Var(s.X) != in || s.Tok != token.DEFINE {
		return "", false
	}
	// The index keeps its name, if the body does not change it: a change had no effect on the
	// range.
	if captured := facts.Captured.Of(p); !p.GoAtLeast(22) && (captured[p.Var(s.Key)] || captured[p.Var(s.Value)]) {
		return "", false // all iterations share the variables of the head
	}
	index := "i"
	if s.Key != nil && p.Text(s.Key) != "_" {
		if index = p.Text(s.Key); p.Assigned(p.Var(s.Key), s.Body) {
			return "", false
		}
	} else if p.Fresh("i") != "i" && facts.UsesName(p, p.FuncOf(s), "i") {
		index = p.Fresh("i", "at")
	}
	// Statements in the body that decode runes become reads of bytes as well.
	body := p.TextWith(s.Body, func(n ast.Node) (string, bool) {
		if n == s.Body {
			return "", false
		}
		return asByte(p, in, n)
	})
	head := fmt.Sprintf("for %s := 0; %s < len(%s); %s++ {", index, index, in.Name(), index)
	if s.Value != nil && p.Text(s.Value) != "_" {
		head += fmt.Sprintf("\n%s := rune(%s[%s])", p.Text(s.Value), in.Name(), index)
	}
	return head + strings.TrimPrefix(body, "{"), true
}

// decodeAsByte recognises r, size := utf8.DecodeRuneInString(s[i:]) in a loop with the condition i
// < len(s).
func decodeAsByte(p *mutate.Pass, in *types.Var, s *ast.AssignStmt) (string, bool) {
	if len(s.Rhs) != 1 || len(s.Lhs) != 2 {
		return "", false
	}
	call, ok := p.IsCall(s.Rhs[0], "unicode/utf8", "DecodeRuneInString")
	if !ok {
		return "", false
	}
	// The decoding must begin within the text: an element is read where DecodeRune would answer for
	// an empty rest.
	from, ok := call.Args[0].(*ast.SliceExpr)
	if !ok || from.High != nil || from.Low == nil || p.Var(from.X) != in || !inBounds(p, in, s, from.Low) {
		return "", false
	}
	// An ASCII rune is its byte, and has the size 1.
	return fmt.Sprintf("%s, %s %s rune(%s[%s]), 1", p.Text(s.Lhs[0]), p.Text(s.Lhs[1]), s.Tok, in.Name(),
		p.Text(from.Low)), true
}

// inBounds reports whether s is the first statement of a loop with the condition i < len(in).
func inBounds(p *mutate.Pass, in *types.Var, s ast.Stmt, index ast.Expr) bool {
	for _, up := range p.Path(s) {
		f, ok := up.(*ast.ForStmt)
		if !ok {
			continue
		}
		c, ok := f.Cond.(*ast.BinaryExpr)
		return ok && f.Body.List[0] == s && c.Op == token.LSS && p.Var(c.X) != nil && p.Var(c.X) == p.Var(index) &&
			p.LenOf(c.Y) == in
	}
	return false
}

// writeAsByte recognises out.WriteRune(r) for an ASCII r, whose results nothing reads.
func writeAsByte(p *mutate.Pass, in *types.Var, s ast.Stmt) (string, bool) {
	write := facts.Dropped(s)
	if write == nil {
		return "", false
	}
	// Both types have the same methods.
	for _, pkg := range []string{"strings.Builder", "bytes.Buffer"} {
		path, typ, _ := strings.Cut(pkg, ".")
		call, ok := p.IsCall(write, path, typ+".WriteRune")
		if !ok || !isASCIIRune(p, in, call.Args[0]) {
			continue
		}
		out := p.Text(call.Fun.(*ast.SelectorExpr).X)
		// A constant converts by itself.
		if _, constant := p.Int(call.Args[0]); constant {
			return fmt.Sprintf("%s.WriteByte(%s)", out, p.Text(call.Args[0])), true
		}
		return fmt.Sprintf("%s.WriteByte(byte(%s))", out, p.Text(call.Args[0])), true
	}
	return "", false
}

// isASCIIRune reports whether a rune is ASCII if in is: it comes from in, is a constant, or is one
// of these with its case changed.
func isASCIIRune(p *mutate.Pass, in *types.Var, e ast.Expr) bool {
	if n, ok := p.Int(e); ok {
		return n >= 0 && n < 0x80
	}
	if call, ok := p.IsCall(e, "unicode", "ToLower", "ToUpper", "ToTitle"); ok {
		return isASCIIRune(p, in, call.Args[0])
	}
	v := p.Var(e)
	if !facts.IsLocal(p, v) {
		return false
	}
	// A rune comes from in if every loop that sets it ranges over in.
	from := false
	for _, id := range mutate.Nodes[*ast.Ident](p, p.FuncOf(e)) {
		if p.Info.ObjectOf(id) != v || p.Info.Defs[id] == nil && !p.Changes(id) {
			continue
		}
		of, ok := givesASCII(p, in, id, v)
		if !ok {
			return false
		}
		from = from || of
	}
	return from
}

// givesASCII reports whether the code around a name gives the variable only ASCII if in is, and
// whether the value comes from in.
func givesASCII(p *mutate.Pass, in *types.Var, id *ast.Ident, v *types.Var) (from, ok bool) {
	switch up := p.Parent(id).(type) {
	case *ast.RangeStmt:
		return true, up.Value == ast.Expr(id) && p.Var(up.X) == in
	case *ast.ValueSpec:
		return false, len(up.Values) == 0
	case *ast.AssignStmt:
		i := slices.Index(up.Lhs, ast.Expr(id))
		if _, decoded := decodeAsByte(p, in, up); decoded && i == 0 {
			return true, true
		}
		if i < 0 || len(up.Lhs) != len(up.Rhs) || up.Tok != token.ASSIGN && up.Tok != token.DEFINE {
			return false, false
		}
		constant := p.Info.Types[up.Rhs[i]].Value != nil && isASCIIRune(p, in, up.Rhs[i])
		return false, constant || up.Tok == token.ASSIGN && caseOf(p, up.Rhs[i], v)
	}
	return false, false
}

// caseOf recognises unicode.ToLower(v) and the like.
func caseOf(p *mutate.Pass, e ast.Expr, v *types.Var) bool {
	call, ok := p.IsCall(e, "unicode", "ToLower", "ToUpper", "ToTitle")
	return ok && p.Var(call.Args[0]) == v
}

// rewriteASCII copies the function for inputs that are all ASCII, with loops over bytes, and has
// the original test its input and call the copy. The copy needs the parameters as they arrive, so
// the test comes first.
func rewriteASCII(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(asciiSite)
	fn, in := site.fn, site.in.Name()
	ascii := p.Fresh(edit.LowerFirst(fn.Name.Name) + "ASCII")
	// The test passes the parameters on, as many as there are.
	var args []string
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			args = append(args, id.Name)
		}
		if _, variadic := f.Type.(*ast.Ellipsis); variadic {
			args[len(args)-1] += "..."
		}
	}
	// The copy has the same body, where runes are taken for bytes.
	body := p.TextWith(fn.Body, func(n ast.Node) (string, bool) { return asByte(p, site.in, n) })
	decls := fmt.Sprintf("// %s is %s for strings that are all ASCII.\nfunc %s%s %s",
		ascii, fn.Name.Name, ascii, p.Between(fn.Type.Params.Pos(), fn.Type.End()), body)
	utf8, edits := p.Import("unicode/utf8")
	test, declared := edit.Helper(p, fn, func(name string) string {
		return fmt.Sprintf(`// %[1]s reports whether s holds no byte of a longer rune.
func %[1]s(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= %[2]s.RuneSelf {
			return false
		}
	}
	return true
}`, name, utf8)
	}, "isASCII", "isASCIIText")
	if declared == nil {
		edits = nil
	}
	edits = append(edits, p.Declare(fn, decls))
	return append(append(edits, declared...),
		p.Insert(fn.Body.List[0].Pos(),
			fmt.Sprintf("// Nearly all inputs are ASCII.\nif %s(%s) {\nreturn %s(%s)\n}\n", test, in, ascii,
				strings.Join(args, ", ")))), nil
}

// nameOf returns the name of a variable or of the function that is called, or "".
func nameOf(e ast.Expr) string {
	if c, ok := e.(*ast.CallExpr); ok {
		e = c.Fun
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
