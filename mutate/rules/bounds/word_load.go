package bounds

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// wordLoad (catalogue B13 and the second half of H2) matches an expression that puts a word
// together from consecutive bytes by shifts. It calls encoding/binary. The compiler already
// recognises that x<<13 | x>>19 is a rotation.
var wordLoad = &mutate.Mutator{
	Name: "word-load",
	Doc: "Read a word with encoding/binary instead of putting it together from bytes: one load and one check " +
		"instead of up to eight. Differs only in the message of the panic when the slice is too short.",
	Example: mutate.Shows(`k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24`,
		`k := binary.LittleEndian.Uint32(b)`),
	Class:   beagle.E1,
	Gain:    1.2,
	Find:    findWordLoads,
	Rewrite: rewriteWordLoad,
}

// A word is bytes seq[base+at] .. seq[base+at+size-1] put together.
type word struct {
	seq  ast.Expr
	base ast.Expr // nil if the indices are constants
	at   int64
	size int
	big  bool
	typ  types.Type
}

// findWordLoads looks for the largest sums of shifted bytes that make up a word.
func findWordLoads(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	covered := token.NoPos
	for _, e := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		if up, ok := p.Parent(e).(*ast.BinaryExpr); e.Pos() < covered || ok && up.Op == e.Op {
			continue
		}
		if w := wordOf(p, e); w != nil {
			covered = e.End()
			sites = append(sites, mutate.Site{
				Node:  e,
				Label: fmt.Sprintf("word of %d bytes from %s", w.size, p.Text(w.seq)),
				Data:  w,
			})
		}
	}
	return sites
}

// wordOf recognises a sum of the bytes of a word, or returns nil.
func wordOf(p *mutate.Pass, e *ast.BinaryExpr) *word {
	if e.Op != token.OR && e.Op != token.ADD && e.Op != token.XOR {
		return nil
	}
	// The terms must be as many as a word has bytes, and the result at least as wide.
	terms := syntax.Operands(e, e.Op)
	w := &word{size: len(terms), typ: p.Info.TypeOf(e)}
	if w.size != 2 && w.size != 4 && w.size != 8 || !syntax.IsInteger(w.typ) || int64(w.size) > sizeOf(w.typ) {
		return nil
	}
	at := map[int64]int64{} // from shift to offset
	// Each term is a byte at an offset from one base, shifted by whole bytes. No shift occurs
	// twice.
	for _, t := range terms {
		shift, ix := shiftedByte(p, t)
		if ix == nil || !w.sameBase(p, ix) {
			return nil
		}
		off := offsetIn(p, ix.Index)
		if _, twice := at[shift]; twice {
			return nil
		}
		at[shift] = off
	}
	return w.ordered(at)
}

// ordered checks that the offsets are consecutive, upwards or downwards.
func (w *word) ordered(at map[int64]int64) *word {
	// In little-endian order the offsets grow with the shifts, in big-endian order they fall.
	little, big := true, true
	low, ok := at[0]
	for i := range int64(w.size) {
		off, there := at[8*i]
		ok = ok && there
		little = little && off == low+i
		big = big && off == low-i
	}
	if !ok || !little && !big {
		return nil
	}
	// The load starts at the lowest offset.
	w.big, w.at = big, low
	if big {
		w.at = low - int64(w.size) + 1
	}
	if w.at < 0 {
		return nil
	}
	return w
}

// sizeOf returns the size of an integer type in bytes: int as on 32-bit machines, and 0 for untyped
// constants.
func sizeOf(t types.Type) int64 {
	switch t.Underlying().(*types.Basic).Kind() {
	case types.Int64, types.Uint64:
		return 8
	case types.Int32, types.Uint32, types.Int, types.Uint, types.Uintptr:
		return 4
	case types.Int16, types.Uint16:
		return 2
	}
	return 0
}

// shiftedByte recognises T(s[i])<<k.
func shiftedByte(p *mutate.Pass, e ast.Expr) (int64, *ast.IndexExpr) {
	shift := int64(0)
	// The shift may be missing, for the lowest byte.
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.SHL {
		k, ok := p.Int(b.Y)
		if !ok || k%8 != 0 {
			return 0, nil
		}
		shift, e = k, ast.Unparen(b.X)
	}
	// The byte must be converted before it is shifted: a byte has no room.
	conv, ok := e.(*ast.CallExpr)
	if !ok || len(conv.Args) != 1 || !p.Info.Types[conv.Fun].IsType() {
		return 0, nil
	}
	ix, ok := ast.Unparen(conv.Args[0]).(*ast.IndexExpr)
	if !ok || p.Basic(ix) != types.Uint8 {
		return 0, nil
	}
	return shift, ix
}

// sameBase checks that all bytes come from one slice, by indices that differ in constants.
func (w *word) sameBase(p *mutate.Pass, ix *ast.IndexExpr) bool {
	s, ok := p.Info.TypeOf(ix.X).Underlying().(*types.Slice)
	if !ok || !types.Identical(s.Elem(), types.Typ[types.Uint8]) || p.Var(ix.X) == nil {
		return false
	}
	base := baseOf(p, ix.Index)
	if base != nil && !facts.IsWideInteger(p, ix.Index) {
		return false // a sum may be a place in front
	}
	if w.seq == nil {
		w.seq, w.base = ix.X, base
		return base == nil || p.Pure(base)
	}
	return p.Same(w.seq, ix.X) && (base == nil) == (w.base == nil) && (base == nil || p.Same(base, w.base))
}

// baseOf returns i for i+3, and nil for 3.
func baseOf(p *mutate.Pass, e ast.Expr) ast.Expr {
	if _, ok := p.Int(e); ok {
		return nil
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD {
		if _, ok := p.Int(b.Y); ok {
			return b.X
		}
	}
	return e
}

func offsetIn(p *mutate.Pass, e ast.Expr) int64 {
	if n, ok := p.Int(e); ok {
		return n
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD {
		n, _ := p.Int(b.Y)
		return n
	}
	return 0
}

// rewriteWordLoad reads the word in one load, and converts it if the sum had another type.
func rewriteWordLoad(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	w := s.Data.(*word)
	pkg, edits := p.Import("encoding/binary")
	order := "LittleEndian"
	if w.big {
		order = "BigEndian"
	}
	from := ""
	// The load begins at the base, plus the offset if there is one.
	switch {
	case w.base != nil && w.at > 0:
		from = fmt.Sprintf("[%s+%d:]", p.Text(w.base), w.at)
	case w.base != nil:
		from = fmt.Sprintf("[%s:]", p.Text(w.base))
	case w.at > 0:
		from = fmt.Sprintf("[%d:]", w.at)
	}
	text := fmt.Sprintf("%s.%s.Uint%d(%s%s)", pkg, order, 8*w.size, p.Text(w.seq), from)
	if want := types.TypeString(w.typ, types.RelativeTo(p.Pkg)); want != fmt.Sprintf("uint%d", 8*w.size) {
		text = want + "(" + text + ")"
	}
	return append(edits, p.Replace(s.Node, text)), nil
}
