package bounds

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// blockConsume (catalogue B4) matches a loop that already steps by blocks and computes where each
// begins. It cuts each block off the front of the slice, so that constant indexes need no check.
var blockConsume = &mutate.Mutator{
	Name: "block-consume",
	Doc: "Cut each block off the front of the slice instead of computing where it starts. The compiler cannot " +
		"relate i*4+3 to the length and checks every access; a block of a slice of known length needs none. Legal " +
		"where the index serves only to find the block.",
	Example: mutate.Shows(`for i := 0; i+4 <= len(data); i += 4 {
	sum += uint32(data[i]) | uint32(data[i+1])<<8 | uint32(data[i+2])<<16 | uint32(data[i+3])<<24
}`,
		`for rest := data; len(rest) >= 4; rest = rest[4:] {
	sum += uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16 | uint32(rest[3])<<24
}`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findBlocks,
	Rewrite: rewriteBlocks,
}

// A blockLoop visits blocks of size elements; block b starts at index*scale.
type blockLoop struct {
	stmt  *ast.ForStmt
	seq   *types.Var
	index *types.Var
	size  int64
	text  string // the size as written
	scale int64  // 1 if the index counts elements, size if it counts blocks
}

// findBlocks looks for loops that go through a list in blocks of constant size. All uses of the
// index must have a form that the rewrite knows, so it tries the rewrite here.
func findBlocks(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, f := range mutate.Nodes[*ast.ForStmt](p, nil) {
		b := blockLoopOf(p, f)
		// The list and the index must be what the head says, in every iteration.
		if b == nil || p.Assigned(b.seq, f) || p.Assigned(b.index, f.Body) || !keepsSeq(p, b.seq, f) {
			continue
		}
		// The names are not final yet; only whether all uses have a known form is asked.
		if _, err := b.edits(p, "rest"); err == nil {
			sites = append(sites, mutate.Site{
				Node:  f,
				Label: fmt.Sprintf("loop over blocks of %d of %s", b.size, b.seq.Name()),
				Data:  b,
			})
		}
	}
	return sites
}

// keepsSeq reports whether no code of a loop can give its sequence another value, such as a
// function that a variable of the package or a literal's own one is known to.
func keepsSeq(p *mutate.Pass, v *types.Var, loop ast.Stmt) bool {
	for _, id := range p.Uses(v, loop) {
		return facts.SameValue(p, id, loop)
	}
	return true
}

func blockLoopOf(p *mutate.Pass, f *ast.ForStmt) *blockLoop {
	init, ok := f.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || !p.IsInt(init.Rhs[0], 0) {
		return nil
	}
	b := &blockLoop{stmt: f, index: p.Var(init.Lhs[0]), scale: 1}
	if b.byElements(p) || b.byBlocks(p) {
		// An array cannot be cut from its front, and very large blocks gain nothing.
		if _, array := b.seq.Type().Underlying().(*types.Array); !array && b.size > 1 && b.size <= 64 {
			return b
		}
	}
	return nil
}

// byElements recognises i+k <= len(s) and i <= len(s)-k with i += k.
func (b *blockLoop) byElements(p *mutate.Pass) bool {
	// The step is constant, and is the size of a block.
	post, ok := b.stmt.Post.(*ast.AssignStmt)
	if !ok || post.Tok != token.ADD_ASSIGN || p.Var(post.Lhs[0]) != b.index {
		return false
	}
	if b.size, ok = p.Int(post.Rhs[0]); !ok {
		return false
	}
	b.text = p.Text(post.Rhs[0])
	c, ok := b.stmt.Cond.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	// The condition must leave a whole block: i+k <= len(s), or the same with <, with the sum on
	// the one side or the difference on the other. In unsigned arithmetic the two would differ.
	size := b.size
	if c.Op == token.LSS {
		size-- // i+3 < len(s)
	} else if c.Op != token.LEQ {
		return false
	}
	if sum, ok := c.X.(*ast.BinaryExpr); ok && sum.Op == token.ADD && p.Var(sum.X) == b.index && p.IsInt(sum.Y, size) {
		b.seq = p.LenOf(c.Y)
	} else if diff, ok := c.Y.(*ast.BinaryExpr); ok && diff.Op == token.SUB && p.Var(c.X) == b.index &&
		p.IsInt(diff.Y, size) {
		b.seq = p.LenOf(diff.X)
	}
	return b.seq != nil && p.Basic(c.X) == types.Int
}

// byBlocks recognises i < len(s)/k with i++, also with n := len(s)/k before the loop.
func (b *blockLoop) byBlocks(p *mutate.Pass) bool {
	// Match the header: i < limit with i++.
	post, ok := b.stmt.Post.(*ast.IncDecStmt)
	c, ok2 := b.stmt.Cond.(*ast.BinaryExpr)
	if !ok || !ok2 || post.Tok != token.INC || p.Var(post.X) != b.index || c.Op != token.LSS || p.Var(c.X) != b.index {
		return false
	}
	// A limit in a variable must be assigned once and before the loop, and then its definition
	// counts.
	count := c.Y
	if n := p.Var(c.Y); n != nil {
		fn := p.FuncOf(b.stmt)
		def, start := definitionOf(p, n, fn)
		if def == nil || p.Assigned(n, b.stmt) || facts.AssignedAgain(p, n, def) {
			return false
		}
		count = start
	}
	// The limit divides the length of the sequence, by / or by a shift.
	q, ok := ast.Unparen(count).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	b.seq = p.LenOf(q.X)
	k, isConst := p.Int(q.Y)
	switch {
	case !isConst || b.seq == nil:
		return false
	case q.Op == token.QUO:
		b.size = k
	case q.Op == token.SHR && k < 6:
		b.size = 1 << k
	default:
		return false
	}
	// The index counts blocks, so position i*size of the sequence is the start of the rest. The
	// sequence must still have the length that the limit was derived from.
	b.scale, b.text = b.size, strconv.FormatInt(b.size, 10)
	return !reassignedBefore(p, b.seq, b.stmt) && (!p.IsGlobal(b.seq) || p.NeverChanges(b.seq))
}

// reassignedBefore reports whether anything but its declaration gives the sequence a value. The
// loop took its count from the sequence earlier.
func reassignedBefore(p *mutate.Pass, v *types.Var, s ast.Stmt) bool {
	return p.Assigned(v, p.FuncOf(s).Body)
}

func rewriteBlocks(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	return s.Data.(*blockLoop).edits(p, p.Fresh("rest", "block"))
}

// edits replaces the head of the loop and every s[i*scale+c], or returns why it cannot.
func (b *blockLoop) edits(p *mutate.Pass, rest string) ([]mutate.Edit, error) {
	f := b.stmt
	edits := []mutate.Edit{p.Span(f.Init.Pos(), f.Post.End(),
		fmt.Sprintf("%s := %s; len(%s) >= %s; %s = %s[%s:]", rest, b.seq.Name(), rest, b.text, rest, rest, b.text))}
	for _, id := range p.Uses(b.index, f.Body) {
		e, err := b.use(p, id, rest)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	// Without a use there is no bounds check to be saved.
	if len(edits) == 1 {
		return nil, errors.New("the body does not use the index")
	}
	return edits, nil
}

// use rewrites one access; the index is its innermost part.
func (b *blockLoop) use(p *mutate.Pass, id *ast.Ident, rest string) (mutate.Edit, error) {
	// Start at the index, and climb as long as the parent is part of the same address.
	var node ast.Expr = id
	offset := int64(0)
	up := p.Parent(node)
	// A loop over blocks has to multiply the index by the block's size, as a product or as a shift.
	// If it counts bytes, the index itself is the start of the block.
	if b.scale > 1 {
		mul, ok := up.(*ast.BinaryExpr)
		switch {
		case ok && mul.Op == token.MUL && (p.IsInt(mul.Y, b.scale) || p.IsInt(mul.X, b.scale)):
		case ok && mul.Op == token.SHL && isShiftBy(p, mul.Y, b.scale):
		default:
			return mutate.Edit{}, errors.New("the index is used for something else")
		}
		node, up = mul, p.Parent(mul)
	}
	// An added constant is the offset within the block.
	if sum, ok := up.(*ast.BinaryExpr); ok && sum.Op == token.ADD && ast.Unparen(sum.X) == node {
		c, ok := p.Int(sum.Y)
		if !ok {
			return mutate.Edit{}, errors.New("the index is used for something else")
		}
		offset, node, up = c, sum, p.Parent(sum)
	}
	// The address must be used in the sequence, and inside the block: the rest is only known to
	// hold one block. The start of the block is then the start of the rest.
	switch up := up.(type) {
	case *ast.IndexExpr:
		if ast.Unparen(up.Index) == node && p.Var(up.X) == b.seq && offset >= 0 && offset < b.size {
			return p.Replace(up, fmt.Sprintf("%s[%d]", rest, offset)), nil
		}
	// A slice may begin at the block's end, which the rest still has.
	case *ast.SliceExpr:
		if up.Low != nil && ast.Unparen(up.Low) == node && up.High == nil && p.Var(up.X) == b.seq && offset >= 0 &&
			offset <= b.size {
			if offset == 0 {
				return p.Replace(up, rest), nil
			}
			return p.Replace(up, fmt.Sprintf("%s[%d:]", rest, offset)), nil
		}
	}
	return mutate.Edit{}, errors.New("the index is used for something else")
}

// isShiftBy reports whether shifting by e multiplies by n.
func isShiftBy(p *mutate.Pass, e ast.Expr, n int64) bool {
	k, ok := p.Int(e)
	return ok && k >= 0 && k < 62 && int64(1)<<k == n
}
