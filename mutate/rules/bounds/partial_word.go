package bounds

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// partialWord (the rest of catalogue H2) matches a loop that puts the last bytes of a text into a
// word, byte by byte. It calls a helper that reads up to eight bytes with one to three loads.
var partialWord = &mutate.Mutator{
	Name: "partial-word",
	Doc: "Assemble the last bytes of a text into a word with one or two loads that overlap, chosen by how many there " +
		"are, instead of byte after byte. Exact: bits that the loads read twice are the same, and the loop too loses " +
		"bits that are shifted out of 64.",
	Example: mutate.Shows(`for i := len(tail) - 1; i >= 0; i-- {
	k ^= uint64(tail[i]) << (8 * i)
}`,
		`k ^= firstBytes(tail)

func firstBytes(b []byte) uint64 {
	switch n := uint(len(b)); {
	case n >= 8:
		return binary.LittleEndian.Uint64(b)
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}`),
	Class: beagle.E0,
	Gain:  1.2,
	Find: edit.SitesOf(wordTailOf, func(_ *mutate.Pass, t *wordTail) string {
		return "last bytes of " +
			t.seq.Name()
	}),
	Rewrite: rewritePartialWord,
}

// A wordTail is a loop from the last byte of seq down to the one at from.
type wordTail struct {
	loop  *ast.ForStmt
	index *types.Var
	seq   *types.Var
	text  characters.WordText // of seq
	from  int64
	limit int64 // at most this many bytes from the start; 0 means all
	body  *ast.AssignStmt
	clear bool // the form k = k<<8 | byte, with k zero in front
}

func wordTailOf(p *mutate.Pass, loop *ast.ForStmt) *wordTail {
	t := &wordTail{loop: loop}
	if t.head(p) && t.add(p) && !facts.IsLabelled(p, loop) {
		return t
	}
	return nil
}

// head recognises `for i := len(s) - 1; i >= c; i--`, also with min(len(s), m) for len(s).
func (t *wordTail) head(p *mutate.Pass) bool {
	// Match init: i := len(s) - 1.
	init, ok := t.loop.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return false
	}
	t.index = p.Var(init.Lhs[0])
	last, ok := ast.Unparen(init.Rhs[0]).(*ast.BinaryExpr)
	if !ok || last.Op != token.SUB || !p.IsInt(last.Y, 1) || !t.end(p, last.X) {
		return false
	}
	// Match cond: i >= c, or i > c-1 in the same meaning.
	cond, ok := t.loop.Cond.(*ast.BinaryExpr)
	if !ok || p.Var(cond.X) != t.index || !facts.IsPredeclared(p, cond.X, types.Int) {
		return false
	}
	from, ok := p.Int(cond.Y)
	if t.from = from; cond.Op == token.GTR {
		t.from++
	}
	// Match post: i--. With an upper limit at most eight bytes are read.
	post, isDec := t.loop.Post.(*ast.IncDecStmt)
	return ok && (cond.Op == token.GEQ || cond.Op == token.GTR) && t.from >= 0 && isDec && post.Tok == token.DEC &&
		p.Var(post.X) == t.index &&
		(t.limit == 0 || t.limit-t.from <= 8 && t.limit > t.from)
}

// end reads len(s) and min(len(s), m).
func (t *wordTail) end(p *mutate.Pass, e ast.Expr) bool {
	if call, ok := p.IsBuiltin(e, "min"); ok && len(call.Args) == 2 {
		n, constant := p.Int(call.Args[1])
		t.limit, t.seq = n, p.LenOf(call.Args[0])
		return constant && n > 0 && t.usable(p)
	}
	t.seq = p.LenOf(e)
	return t.usable(p)
}

func (t *wordTail) usable(p *mutate.Pass) bool {
	if t.seq == nil || p.Assigned(t.seq, t.loop) || hasName(t.seq.Type()) {
		return false
	}
	t.text = wordTextOf(t.seq.Type())
	return t.text != "" && t.text.Helps(p)
}

func hasName(t types.Type) bool {
	_, named := t.(*types.Named)
	return named
}

// add recognises the one statement of the body.
func (t *wordTail) add(p *mutate.Pass) bool {
	if len(t.loop.Body.List) != 1 {
		return false
	}
	// The sum must be a local word of 64 bits, which collects up to eight bytes.
	as, ok := t.loop.Body.List[0].(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return false
	}
	t.body = as
	k := p.Var(as.Lhs[0])
	if k == nil || !facts.IsLocal(p, k) || !syntax.IsPredeclared(k.Type(), types.Uint64) || k == t.index {
		return false
	}
	// k |= b << (8*i) puts each byte into its place: the first byte is the lowest.
	switch as.Tok {
	case token.XOR_ASSIGN, token.OR_ASSIGN:
		b, ok := ast.Unparen(as.Rhs[0]).(*ast.BinaryExpr)
		return ok && b.Op == token.SHL && t.isByte(p, b.X) && t.isShift(p, b.Y)
	// k = k<<8 | b moves the earlier bytes up, so that the first byte is the highest. There the sum
	// must start from zero, because the shift drops what it held.
	case token.ASSIGN:
		b, ok := ast.Unparen(as.Rhs[0]).(*ast.BinaryExpr)
		if !ok || b.Op != token.OR && b.Op != token.ADD && b.Op != token.XOR {
			return false
		}
		// The two operands may come in either order.
		shift, other := ast.Unparen(b.X), b.Y
		if t.isByte(p, b.X) {
			shift, other = ast.Unparen(b.Y), b.X
		}
		s, ok := shift.(*ast.BinaryExpr)
		t.clear = true
		return ok && s.Op == token.SHL && p.Var(s.X) == k && p.IsInt(s.Y, 8) && t.isByte(p, other) && t.zeroBefore(p, k)
	}
	return false
}

// isByte recognises uint64(s[i]).
func (t *wordTail) isByte(p *mutate.Pass, e ast.Expr) bool {
	conv, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(conv.Args) != 1 || !p.Info.Types[conv.Fun].IsType() || !facts.IsPredeclared(p, conv, types.Uint64) {
		return false
	}
	ix, ok := ast.Unparen(conv.Args[0]).(*ast.IndexExpr)
	return ok && p.Var(ix.X) == t.seq && p.Var(ix.Index) == t.index
}

// isShift recognises 8*i and 8*(i-c), in either order and under a conversion.
func (t *wordTail) isShift(p *mutate.Pass, e ast.Expr) bool {
	e = t.converted(p, e)
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.MUL {
		// One factor must be 8, and the other one the index, less where the word starts.
		return false
	}
	x, y := b.X, ast.Unparen(b.Y)
	if !p.IsInt(x, 8) {
		x, y = y, ast.Unparen(b.X)
	}
	y = t.converted(p, y)
	if !p.IsInt(x, 8) {
		return false
	}
	if p.Var(y) == t.index {
		return t.from == 0
	}
	sub, ok := y.(*ast.BinaryExpr)
	return ok && sub.Op == token.SUB && p.Var(sub.X) == t.index && p.IsInt(sub.Y, t.from)
}

// converted returns the operand of a conversion that keeps the shift of every byte. In a small
// type, the shift of the 33rd byte would start at 0 again.
func (t *wordTail) converted(p *mutate.Pass, e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	conv, ok := e.(*ast.CallExpr)
	if !ok || len(conv.Args) != 1 || !p.Info.Types[conv.Fun].IsType() {
		return e
	}
	if to := p.Info.TypeOf(conv); t.limit == 0 && (!syntax.IsInteger(to) || facts.Sizes64.Sizeof(to) < 8) {
		return e
	}
	return ast.Unparen(conv.Args[0])
}

// zeroBefore reports whether k is declared as 0 right in front of the loop, or is a result of the
// function that the loop begins.
func (t *wordTail) zeroBefore(p *mutate.Pass, k *types.Var) bool {
	list, at := p.Siblings(t.loop)
	if at < 1 {
		// A named result is zero when the function begins.
		return at == 0 && t.begins(p) && isResult(p, t.loop, k)
	}
	d, ok := facts.Declares(p, list[at-1])
	if !ok || d.Var != k {
		return false
	}
	if d.Value == nil {
		return true
	}
	n, constant := p.Int(d.Value)
	return constant && n == 0
}

// begins reports whether the loop is the first statement of its function.
func (t *wordTail) begins(p *mutate.Pass) bool {
	fn := p.FuncOf(t.loop)
	return fn != nil && p.Parent(t.loop) == ast.Node(fn.Body)
}

// isResult reports whether a variable is a named result of the function around a node.
func isResult(p *mutate.Pass, n ast.Node, v *types.Var) bool {
	fn := p.FuncOf(n)
	if fn == nil || fn.Type.Results == nil {
		return false
	}
	for _, f := range fn.Type.Results.List {
		for _, id := range f.Names {
			if p.Info.Defs[id] == types.Object(v) {
				return true
			}
		}
	}
	return false
}

// rewritePartialWord reads the bytes in one or two loads by a helper, in place of the loop. Limits
// of the loop become the bounds of the slice that the helper gets.
func rewritePartialWord(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	t := s.Data.(*wordTail)
	// Without the first bytes of the text, a word that shifts would hold others in their place.
	if t.clear && t.limit == 0 && t.from > 0 {
		return nil, fmt.Errorf("the bytes in front of the %dth would be shifted in", t.from)
	}
	name, edits, err := example.Helper(p, t.loop, t.text.Name("FirstBytes"))
	if err != nil {
		return nil, err
	}
	seq := t.seq.Name()
	arg, guard := seq, ""
	// Choose the bytes that the helper reads: from the first one that counts, up to the limit. A
	// guard keeps the cut within the text.
	switch {
	case t.from > 0 && t.limit > 0:
		arg, guard = fmt.Sprintf("%s[%d:min(len(%s), %d)]", seq, t.from, seq, t.limit),
			fmt.Sprintf("len(%s) > %d", seq, t.from)
	case t.from > 0:
		arg, guard = fmt.Sprintf("%s[%d:]", seq, t.from), fmt.Sprintf("len(%s) > %d", seq, t.from)
	case t.limit > 0 && t.limit < 8:
		arg = fmt.Sprintf("%s[:min(len(%s), %d)]", seq, seq, t.limit)
	}
	// Where the sum is only returned, the variable goes as well.
	if t.clear && guard == "" {
		if from, to := t.whole(p); from != nil {
			return append(edits, p.Span(from.Pos(), to.End(), fmt.Sprintf("return %s(%s)", name, arg))), nil
		}
	}
	tok := t.body.Tok.String()
	text := fmt.Sprintf("%s %s %s(%s)", p.Text(t.body.Lhs[0]), tok, name, arg)
	if guard != "" {
		text = fmt.Sprintf("if %s {\n%s\n}", guard, text)
	}
	return append(edits, p.Replace(t.loop, text)), nil
}

// whole returns the ends of a list of statements that declares the word, unless it is a result,
// fills it by the loop and returns it.
func (t *wordTail) whole(p *mutate.Pass) (from, to ast.Stmt) {
	list, at := p.Siblings(t.loop)
	if at < 0 || at > 1 || len(list) != at+2 {
		return nil, nil
	}
	r, ok := list[at+1].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 || p.Var(r.Results[0]) == nil || p.Var(r.Results[0]) != p.Var(t.body.Lhs[0]) {
		return nil, nil
	}
	return list[0], r
}

// wordTextOf returns how a helper takes a value of a type. A named type counts only among strings.
func wordTextOf(t types.Type) characters.WordText {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return eitherOf(t)
	case *types.Named, *types.Basic:
		if syntax.IsText(t) {
			return characters.StringText
		}
	case *types.Slice:
		if types.Identical(t.Elem(), types.Typ[types.Uint8]) {
			return characters.BytesText
		}
	}
	return ""
}

// eitherOf is characters.EitherText if all types of a parameter's constraint are strings or slices
// of bytes.
func eitherOf(t *types.TypeParam) characters.WordText {
	limits, ok := t.Constraint().Underlying().(*types.Interface)
	if !ok || limits.NumEmbeddeds() != 1 || limits.NumMethods() > 0 {
		return ""
	}
	terms, ok := limits.EmbeddedType(0).(*types.Union)
	if !ok {
		return ""
	}
	for term := range terms.Terms() {
		if wordTextOf(term.Type().Underlying()) == "" {
			return ""
		}
	}
	return characters.EitherText
}
