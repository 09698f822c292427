package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
)

// suffixWord improves on partialWord when the bytes before the tail are readable too. It matches a
// text of which code reads whole words and then the rest with partialWord's helper. It writes one
// load of the text's last word, and shifts out the bytes that were read already.
var suffixWord = &mutate.Mutator{
	Name: "suffix-word",
	Doc: "Read the last bytes of a text as the end of its last word, shifting out what lies in front, instead of " +
		"choosing loads by how many bytes there are: their number is random, and the choice is mispredicted. Exact: " +
		"what remains of the text is its end, cut off the front only, and texts of less than a word go the old way.",
	Example: mutate.Shows(`rest := data
for len(rest) >= 8 {
	...
	rest = rest[8:]
}
h ^= firstBytes(rest)`,
		`rest := data
for len(rest) >= 8 {
	...
	rest = rest[8:]
}
var last uint64
if n := uint(len(rest)); n < 8 && len(data) >= 8 {
	last = binary.LittleEndian.Uint64(data[len(data)-8:]) >> (64 - 8*n)
} else {
	last = firstBytes(rest)
}
h ^= last`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findSuffixWords,
	Params:  suffixForms,
	Rewrite: rewriteSuffixWords,
}

// A suffix is a variable that holds the end of another one's value.
type suffix struct {
	fn          *ast.FuncDecl
	whole, rest *types.Var
	calls       []*ast.CallExpr // calls of the function that reads the first bytes
	text        wordText
}

func findSuffixWords(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		d, ok := facts.Declares(p, list[i])
		// A declared type could be another one than the text's.
		if !ok || d.Type != nil || !canDeclare(p, list[i]) {
			continue
		}
		s := &suffix{fn: p.FuncOf(d.Stmt), rest: d.Var}
		if s.ends(p, d.Value) && s.read(p) {
			sites = append(sites, mutate.Site{Node: s.calls[0], Label: "last bytes of " + s.whole.Name(), Data: s})
		}
	}
	return sites
}

// ends recognises whole and whole[i:] of a variable that keeps its value.
func (s *suffix) ends(p *mutate.Pass, e ast.Expr) bool {
	if e == nil || s.fn == nil {
		return false
	}
	e = ast.Unparen(e)
	if cut, ok := e.(*ast.SliceExpr); ok && cut.High == nil && !cut.Slice3 {
		e = ast.Unparen(cut.X)
	}
	s.whole = p.Var(e)
	// The text as a whole must be there unchanged where the tail is read.
	if s.whole == nil || !facts.IsLocal(p, s.whole) || facts.Captured.Of(p)[s.whole] || facts.Captured.Of(p)[s.rest] ||
		p.Assigned(s.whole, s.fn) {
		return false
	}
	s.text = wordTextOf(s.whole.Type())
	return s.text != "" && !hasName(s.whole.Type()) && types.Identical(s.whole.Type(), s.rest.Type())
}

// read checks that code only cuts the variable off at the front, up to a last cut that leaves at
// least a word. Then the variable is the end of the text, or code does not read it as less than a
// word. read collects the calls that read it.
func (s *suffix) read(p *mutate.Pass) bool {
	// Look at each assignment to the variable. It may cut off bytes at the front, and at last cut
	// it to a tail with at least a word.
	end := token.Pos(0) // up to here, the variable is the end of the text
	for _, id := range p.Uses(s.rest, s.fn) {
		if p.Var(id) == nil || !p.Assigned(s.rest, id) && !s.isTarget(p, id) {
			continue
		}
		// Other forms of assignment could set it to another text.
		as, ok := p.Parent(id).(*ast.AssignStmt)
		if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || as.Lhs[0] != ast.Expr(id) {
			return false // also a := that declares others beside it
		}
		// The last cut may happen once only: a second one would cut off what the first one left.
		front, ok := s.cut(p, as.Rhs[0])
		if !ok || end != 0 || !front && (p.InLoop(as) || inFuncLit(p, as)) {
			return false // no cut may follow the last one
		}
		if !front {
			end = as.Pos()
		}
	}
	// Through a pointer the variable could change unseen.
	if s.addressed(p) {
		return false
	}
	// Collect the calls that read the tail as less than a word. Behind the last cut only the
	// variable itself is the end of the text.
	for call := range mutate.Nodes[*ast.CallExpr](p, s.fn) {
		if s.told(p, call) {
			continue
		}
		if arg, ok := s.reads(p, call); ok && (end == 0 || call.Pos() < end || p.Var(arg) == s.rest) {
			s.calls = append(s.calls, call)
		}
	}
	return len(s.calls) > 0 && s.named(p) && s.text.helps(p)
}

// isTarget reports whether an identifier stands on the left of an assignment.
func (s *suffix) isTarget(p *mutate.Pass, id *ast.Ident) bool {
	as, ok := p.Parent(id).(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, l := range as.Lhs {
		if ast.Unparen(l) == ast.Expr(id) {
			return true
		}
	}
	return false
}

// cut recognises rest[i:], which leaves an end of the text, and rest[:c], which leaves at least a
// word.
func (s *suffix) cut(p *mutate.Pass, e ast.Expr) (front, ok bool) {
	cut, ok := ast.Unparen(e).(*ast.SliceExpr)
	if !ok || cut.Slice3 || p.Var(cut.X) != s.rest {
		return false, false
	}
	if cut.High == nil {
		return true, true
	}
	n, constant := p.Int(cut.High)
	return false, cut.Low == nil && constant && n >= 8
}

// addressed reports whether other code may change the variable.
func (s *suffix) addressed(p *mutate.Pass) bool {
	for u := range mutate.Nodes[*ast.UnaryExpr](p, s.fn) {
		if v := p.Var(u.X); u.Op == token.AND && (v == s.rest || v == s.whole) {
			return true
		}
	}
	for r := range mutate.Nodes[*ast.RangeStmt](p, s.fn) {
		if r.Tok == token.ASSIGN && (p.Var(r.Key) == s.rest || r.Value != nil && p.Var(r.Value) == s.rest) {
			return true
		}
	}
	return false
}

// named reports whether the text's name means the text at all calls.
func (s *suffix) named(p *mutate.Pass) bool {
	for _, call := range s.calls {
		if !facts.Means(p, call.Pos(), s.whole.Name(), s.whole) {
			return false
		}
	}
	return true
}

func inFuncLit(p *mutate.Pass, n ast.Node) bool {
	_, in := enclosing[*ast.FuncLit](p, n)
	return in
}

// reads recognises firstBytes(rest) and firstBytes(rest[i:]), also through a function that only
// calls it.
func (s *suffix) reads(p *mutate.Pass, call *ast.CallExpr) (arg ast.Expr, ok bool) {
	if len(call.Args) != 1 || !s.reader(p, call) {
		return nil, false
	}
	arg = ast.Unparen(call.Args[0])
	if cut, ok := arg.(*ast.SliceExpr); ok {
		return arg, cut.High == nil && !cut.Slice3 && p.Var(cut.X) == s.rest
	}
	return arg, p.Var(arg) == s.rest
}

// reader reports whether a call is of the function that reads the first bytes, or of a function
// that only calls that one.
func (s *suffix) reader(p *mutate.Pass, call *ast.CallExpr) bool {
	fn := p.Decl(p.Callee(call))
	if fn == nil || fn.Recv != nil || fn.Body == nil {
		return false
	}
	// The function has the code that the rule for the front writes, under whatever name.
	first := s.text.name("FirstBytes")
	if example.IsCopy(p, fn, first) {
		return true
	}
	// A wrapper may only pass its parameter on.
	if len(fn.Body.List) != 1 || fn == s.fn {
		return false
	}
	// It returns what the reader says of its own parameter, and nothing else.
	r, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return false
	}
	inner, ok := ast.Unparen(r.Results[0]).(*ast.CallExpr)
	if !ok || len(inner.Args) != 1 {
		return false
	}
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if sig.Params().Len() != 1 || p.Var(inner.Args[0]) != sig.Params().At(0) ||
		!example.IsCopy(p, p.Decl(p.Callee(inner)), first) {
		return false
	}
	out := sig.Results()
	return out.Len() == 1 && isBasicType(out.At(0).Type(), types.Uint64)
}

// told reports whether a call is left over from an earlier rewrite, which reads the text's last
// word in place.
func (s *suffix) told(p *mutate.Pass, call *ast.CallExpr) bool {
	// The first branch of that rewrite reads in place, and its else makes the call.
	for _, up := range p.Path(call) {
		i, ok := up.(*ast.IfStmt)
		if !ok || i.Else == nil || !facts.Inside(call, i.Else) {
			continue
		}
		for _, e := range operands(i.Cond, token.LAND) {
			b, ok := ast.Unparen(e).(*ast.BinaryExpr)
			if ok && b.Op == token.GEQ && p.LenOf(b.X) == s.whole && p.IsInt(b.Y, 8) {
				return true
			}
		}
	}
	return false
}

// suffixForms offers two places for the load: where code uses the word, or in a function, which is
// too large to be inlined. Without that call, hashes of tags are 5 % faster.
func suffixForms(p *mutate.Pass, site mutate.Site) []mutate.Param {
	s := site.Data.(*suffix)
	for _, call := range s.calls {
		if _, ok := inPlace(p, call); !ok || redefined(p, call, "len") || redefined(p, call, "uint") ||
			redefined(p, call, "uint64") {
			return []mutate.Param{{Label: "function", Value: false}}
		}
	}
	return []mutate.Param{{Label: "in place", Value: true}}
}

// inPlace returns the assignment or the return that holds a call, if code may as well evaluate the
// call in front of it. Nothing else in the statement may have effects or panic.
func inPlace(p *mutate.Pass, call *ast.CallExpr) (ast.Stmt, bool) {
	// Climb from the call to its statement. Everything on the way is evaluated before or after the
	// call, so it must not be able to tell the difference.
	var child ast.Node = call
	for _, up := range p.Path(call)[1:] {
		switch up := up.(type) {
		case *ast.ParenExpr:
		// The other operand must be pure, and the operator must neither panic nor leave out the
		// call.
		case *ast.BinaryExpr:
			other := up.X
			if other == child {
				other = up.Y
			}
			if up.Op == token.QUO || up.Op == token.REM || up.Op == token.SHL || up.Op == token.SHR ||
				up.Op == token.LAND || up.Op == token.LOR || !p.Pure(other) {
				return nil, false
			}
		// A pure function around the call may run later as well.
		case *ast.CallExpr:
			fn := p.Decl(p.Callee(up))
			if fn == nil || fn.Body == nil || len(up.Args) != 1 || !p.Pure(fn.Body) {
				return nil, false
			}
		// The target of an assignment must be a plain variable, since an index or a pointer would
		// be evaluated first.
		case *ast.AssignStmt:
			if len(up.Lhs) != 1 || len(up.Rhs) != 1 || up.Tok == token.SHL_ASSIGN || up.Tok == token.SHR_ASSIGN ||
				up.Rhs[0] != child {
				return nil, false
			}
			list, at := p.Siblings(up)
			return up, at >= 0 && list[at] == ast.Stmt(up) && facts.PlainLocal(p, up.Lhs[0])
		case *ast.ReturnStmt:
			list, at := p.Siblings(up)
			return up, len(up.Results) == 1 && at >= 0 && list[at] == ast.Stmt(up)
		default:
			return nil, false
		}
		child = up
	}
	return nil, false
}

// rewriteSuffixWords has the calls read the last eight bytes of the whole text and shift them,
// where the tail alone has fewer.
func rewriteSuffixWords(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*suffix)
	if param.Value == true {
		return s.inPlace(p)
	}
	name, edits, err := example.Helper(p, s.calls[0], s.text.name("LastBytes"))
	for _, call := range s.calls {
		edits = append(edits, p.Span(call.Pos(), call.Args[0].Pos(), name+"("+s.whole.Name()+", "))
	}
	return edits, err
}

// inPlace reads the text's last word in front of the statement that uses it.
func (s *suffix) inPlace(p *mutate.Pass) ([]mutate.Edit, error) {
	whole := s.whole.Name()
	load, edits, err := s.text.load(p, s.calls[0])
	end := load + "(" + whole + "[len(" + whole + ")-8:])"
	n := p.Fresh("n", "size")
	// Several tails need several names.
	for i, call := range s.calls {
		wish := "last"
		if i > 0 {
			wish += strconv.Itoa(i + 1)
		}
		st, _ := inPlace(p, call)
		text := strings.NewReplacer("<last>", p.Fresh(wish, s.rest.Name()+upperFirst(wish)), "<n>", n, "<tail>",
			p.Text(call.Args[0]), "<whole>", whole, "<end>", end, "<call>", p.Text(call))
		edits = append(edits, before(p, st, text.Replace(`var <last> uint64
if <n> := uint(len(<tail>)); <n> < 8 && len(<whole>) >= 8 {
	<last> = <end> >> (64 - 8*<n>) // what is in front of the tail is shifted out
} else {
	<last> = <call>
}`)), p.Replace(call, text.Replace("<last>")))
	}
	return edits, err
}
