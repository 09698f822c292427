package hashing

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// unorderedFold (catalogue H4) matches three steps on a list: sort it, drop duplicates, and fold
// the rest with an operation that ignores the order. It finds duplicates by a scan of earlier
// elements or with a small hash table on the stack. Longer lists take the original steps.
var unorderedFold = &mutate.Mutator{
	Name: "unordered-fold",
	Doc: "Do not sort a list only to drop duplicates before a fold that ignores the order: look for each value among " +
		"those before it, or in a small hash table on the stack. Longer lists are sorted as before.",
	Example: mutate.Shows(`sort.Strings(tags)
tags = slices.Compact(tags)
for _, t := range tags {
	key ^= hash(t)
}`,
		`if len(tags) <= 16 {
	for i, t := range tags {
		if slices.Contains(tags[:i], t) {
			continue
		}
		key ^= hash(t)
	}
} else {
	sort.Strings(tags)
	...
}`),
	Class:   beagle.E4,
	Gain:    2,
	Find:    edit.SitesOf(foldOf, foldLabel),
	Params:  foldParams,
	Rewrite: rewriteFold,
}

// A fold is sort, dedup and loop, neighbours in one list.
type fold struct {
	list       *types.Var
	sort, last ast.Stmt
	between    []ast.Stmt // declarations before the loop that do not concern the list
	clone      ast.Stmt   // the statement right before the sort that makes the list as a copy of source, or nil
	source     *types.Var
	loop       *ast.RangeStmt
	value      *types.Var
	adds       []ast.Stmt // what the loop does with each value
	term       ast.Expr   // the term of the only addition, if there is just one
}

func foldLabel(_ *mutate.Pass, f *fold) string { return "sort of " + f.list.Name() + " before a fold" }

// foldOf recognises a sort whose order only serves to find duplicates for a sum.
func foldOf(p *mutate.Pass, s *ast.ExprStmt) *fold {
	if p.FuncOf(s) == nil {
		return nil // within a package variable
	}
	// The statement sorts a list of integers or strings by value.
	call, ok := p.IsCall(s.X, "sort", "Strings", "Ints")
	if !ok {
		if call, ok = p.IsCall(s.X, "slices", "Sort"); !ok {
			return nil
		}
	}
	// The list must belong to the function, because the rewrite leaves it unsorted.
	f := &fold{list: p.Var(call.Args[0]), sort: s}
	list, at := p.Siblings(s)
	if f.list == nil || !exactlyComparable(f.list.Type()) || p.IsGlobal(f.list) || at < 0 ||
		!facts.Owns(p, f.list) {
		return nil // the list is visible from outside
	}
	// A Compact may follow, then statements that have nothing to do with the list, and then the
	// loop.
	rest := list[at+1:]
	compact := len(rest) > 0 && isCompact(p, rest[0], f.list)
	if compact {
		rest = rest[1:]
	}
	for len(rest) > 0 && declaresBeside(p, rest[0], f.list) {
		f.between, rest = append(f.between, rest[0]), rest[1:]
	}
	if len(rest) == 0 {
		return nil // no loop
	}
	if f.loop, ok = rest[0].(*ast.RangeStmt); !ok || p.Var(f.loop.X) != f.list || f.loop.Value == nil ||
		f.loop.Tok != token.DEFINE {
		return nil // no loop over the values
	}
	// The order that the sort made must not be visible after the loop.
	f.last, f.value = f.loop, p.Var(f.loop.Value)
	if f.usedLater(p) {
		return nil // the sorted list is used later
	}
	// A copy made only to be sorted is not needed either.
	if at > 0 {
		f.cloneOf(p, list[at-1])
	}
	if f.long(p) {
		return nil // short lists do not come here
	}
	if !f.readBody(p, compact) {
		return nil
	}
	return f
}

// usedLater reports whether code may use the list behind the loop, or when it comes here again.
func (f *fold) usedLater(p *mutate.Pass) bool {
	if facts.UsedAfter(p, f.list, p.FuncOf(f.sort), f.last.End()) {
		return true
	}
	for _, up := range p.Path(f.sort) {
		if syntax.LoopBody(up) != nil && !facts.Inside(facts.Declared.Of(p)[f.list].Stmt, up) {
			return true
		}
	}
	return false
}

// long reports whether the sort stands in the else of a test of the list's length, as this rule or
// an author would write it.
func (f *fold) long(p *mutate.Pass) bool {
	// The else of such a test is the way for long lists.
	for _, up := range p.Path(f.sort) {
		i, ok := up.(*ast.IfStmt)
		if !ok || i.Else == nil || !facts.Inside(f.sort, i.Else) {
			continue
		}
		cond, ok := ast.Unparen(i.Cond).(*ast.BinaryExpr)
		if !ok || cond.Op != token.LEQ && cond.Op != token.LSS {
			continue
		}
		v := p.LenOf(cond.X)
		if _, constant := p.Int(cond.Y); constant && v != nil && (v == f.list || v == f.source) {
			return true
		}
	}
	return false
}

// declaresBeside reports whether a statement declares a variable with a pure value that does not
// concern the list.
func declaresBeside(p *mutate.Pass, s ast.Stmt, list *types.Var) bool {
	d, ok := facts.Declares(p, s)
	return ok && len(p.Uses(list, s)) == 0 && (d.Value == nil || p.Pure(d.Value) && !p.Effects(d.Value).Reads)
}

// cloneOf notes that the list is a copy of a variable, made only for the sort.
func (f *fold) cloneOf(p *mutate.Pass, s ast.Stmt) {
	d, ok := facts.Declares(p, s)
	if !ok || d.Var != f.list || d.Type != nil {
		return
	}
	call, ok := ast.Unparen(d.Value).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	source := p.Var(call.Args[len(call.Args)-1])
	// Both ways to copy a list are known, if nothing is in front of it.
	_, cloned := p.IsCall(call, "slices", "Clone")
	appended, isAppend := p.IsBuiltin(call, "append")
	copies := isAppend && len(appended.Args) == 2 && appended.Ellipsis.IsValid() && isNothing(p, appended.Args[0])
	if source != nil && facts.IsLocal(p, source) && !facts.Captured.Of(p)[source] &&
		types.Identical(source.Type(), f.list.Type()) &&
		(cloned || copies) {
		f.clone, f.source = s, source
	}
}

// isNothing recognises []T(nil) and []T{}.
func isNothing(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.CallExpr:
		return p.Info.Types[e.Fun].IsType() && len(e.Args) == 1 && p.Info.Types[e.Args[0]].IsNil()
	}
	return false
}

// exactlyComparable reports whether equal elements are the same. Floats are not, since they have
// two zeros.
func exactlyComparable(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsString) != 0
}

// isCompact recognises list = slices.Compact(list).
func isCompact(p *mutate.Pass, s ast.Stmt, list *types.Var) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || p.Var(as.Lhs[0]) != list {
		return false
	}
	call, ok := p.IsCall(as.Rhs[0], "slices", "Compact")
	return ok && p.Var(call.Args[0]) == list
}

// readBody accepts only commutative additions of terms that depend on the value alone. Without a
// Compact, a test for the neighbour must stand in front.
func (f *fold) readBody(p *mutate.Pass, compact bool) bool {
	// Duplicates must count once: by a Compact, or by a test that skips an element like its
	// neighbour. Without the Compact the position may only be used in that test.
	list := f.loop.Body.List
	if !compact {
		if len(list) == 0 || !skipsNeighbour(p, f, list[0]) {
			return false // duplicates stay
		}
		list = list[1:]
	} else if f.loop.Key != nil && p.Text(f.loop.Key) != "_" {
		return false // the position is used
	}
	// Each statement adds to a sum by an operator for which the order does not matter, and one sum
	// uses one operator only.
	sums := map[*types.Var]token.Token{}
	for _, s := range list {
		as, ok := s.(*ast.AssignStmt)
		if !ok || len(as.Lhs) != 1 || edit.Associative[as.Tok] == token.ILLEGAL && as.Tok != token.AND_ASSIGN {
			return false // the loop does more than add
		}
		v := p.Var(as.Lhs[0])
		if v == nil || p.IsGlobal(v) || facts.Pointed(p, v) || !syntax.IsInteger(v.Type()) ||
			sums[v] != token.ILLEGAL && sums[v] != as.Tok ||
			p.Effects(as.Rhs[0]).Writes {
			return false // the addition depends on the order
		}
		sums[v] = as.Tok
		f.term = as.Rhs[0]
	}
	// The terms must depend on the value alone: a sum read in a term, or a position, depends on the
	// order.
	for _, s := range list {
		for _, id := range mutate.Nodes[*ast.Ident](p, s.(*ast.AssignStmt).Rhs[0]) {
			v, ok := p.Info.Uses[id].(*types.Var)
			if ok && (sums[v] != token.ILLEGAL || v == f.list || f.loop.Key != nil && v == p.Var(f.loop.Key)) {
				return false // the addition depends on the order
			}
		}
	}
	if f.adds = list; len(list) == 0 {
		return false // the loop adds nothing
	}
	return true
}

// skipsNeighbour recognises if i > 0 && v == list[i-1] { continue }.
func skipsNeighbour(p *mutate.Pass, f *fold, s ast.Stmt) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Init != nil || i.Else != nil || len(i.Body.List) != 1 || !facts.EndsIn(i.Body.List, token.CONTINUE) ||
		f.loop.Key == nil {
		return false
	}
	// Match i > 0 && v == list[i-1], where the equation may be the other way round.
	tests := syntax.Operands(i.Cond, token.LAND)
	if len(tests) != 2 {
		return false
	}
	first, ok1 := ast.Unparen(tests[0]).(*ast.BinaryExpr)
	equal, ok2 := ast.Unparen(tests[1]).(*ast.BinaryExpr)
	key := p.Var(f.loop.Key)
	if !ok1 || !ok2 || first.Op != token.GTR || p.Var(first.X) != key || !p.IsInt(first.Y, 0) || equal.Op != token.EQL {
		return false
	}
	x, y := equal.X, equal.Y
	if p.Var(x) != f.value {
		x, y = y, x
	}
	ix, ok := ast.Unparen(y).(*ast.IndexExpr)
	if !ok || p.Var(x) != f.value || p.Var(ix.X) != f.list {
		return false
	}
	before, ok := ix.Index.(*ast.BinaryExpr)
	return ok && before.Op == token.SUB && p.Var(before.X) == key && p.IsInt(before.Y, 1)
}

// A foldForm is a way to find duplicates in lists up to a length. The lists are so short that the
// table's positions fit into bytes.
type foldForm struct {
	set  bool
	upTo int
}

func foldParams(p *mutate.Pass, s mutate.Site) []mutate.Param {
	out := []mutate.Param{{Label: "scan 16", Value: foldForm{false, 16}}}
	f := s.Data.(*fold)
	// A bit for each value is for small numbers that are added once.
	if len(f.adds) != 1 || !isUnsignedWord(p.Info.TypeOf(f.term)) {
		return append(out, mutate.Param{Label: "scan 32", Value: foldForm{false, 32}})
	}
	for _, n := range []int{64, 128, 255} {
		out = append(out, mutate.Param{Label: "set " + strconv.Itoa(n), Value: foldForm{true, n}})
	}
	return out
}

func isUnsignedWord(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Uint64 || b.Kind() == types.Uint32 || b.Kind() == types.Uint)
}

// rewriteFold adds the values up without the sort if the list is short, and as before if it is
// long.
func rewriteFold(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	// The fold works on the list before it was sorted, or on what was copied to be sorted.
	f, form := s.Data.(*fold), param.Value.(foldForm)
	list, value := f.list.Name(), f.value.Name()
	if f.clone != nil {
		list = f.source.Name() // the fold needs no order
	}
	// The test for a duplicate needs the position.
	i := p.Fresh("i", "at")
	if f.loop.Key != nil && p.Text(f.loop.Key) != "_" {
		i = p.Text(f.loop.Key)
	}
	var adds []string
	for _, a := range f.adds {
		adds = append(adds, p.Text(a))
	}
	var edits []mutate.Edit
	var loop string
	// A set finds duplicates in one step for each element. A search among the earlier ones is
	// enough for short lists.
	if form.set {
		loop = f.setLoop(p, form.upTo, i, list)
	} else if !p.GoAtLeast(21) {
		return nil, errors.New("the module's Go has no package slices")
	} else {
		pkg, imports := p.Import("slices")
		edits = imports
		loop = fmt.Sprintf("for %s, %s := range %s {\nif !%s.Contains(%s[:%s], %s) {\n%s\n}\n}", i, value, list, pkg,
			list, i, value, strings.Join(adds, "\n"))
	}
	// For long lists the original follows as it was, with the sort and the copy.
	from := f.sort
	if f.clone != nil {
		from = f.clone
	}
	text := fmt.Sprintf("// The order does not matter here, so that short lists need no sorting to drop\n"+
		"// duplicates.\nif len(%s) <= %d {\n%s\n} else {\n%s\n}",
		list, form.upTo, loop, f.slowPath(p, from))
	// The statements between the sort and the loop run first in both cases.
	for _, s := range slices.Backward(f.between) {
		text = p.Text(s) + "\n" + text
	}
	return append(edits, p.Span(from.Pos(), f.last.End(), text)), nil
}

// slowPath returns the original without the declarations that moved up.
func (f *fold) slowPath(p *mutate.Pass, from ast.Stmt) string {
	if len(f.between) == 0 {
		return p.Between(from.Pos(), f.last.End())
	}
	last := f.between[len(f.between)-1]
	return p.Between(from.Pos(), f.between[0].Pos()) + strings.TrimLeft(p.Between(last.End(), f.last.End()), "\n")
}

// setLoop looks duplicates up by what each value adds, in an open-addressed table of positions that
// is at most half full. It compares the values too, so equal hashes do no harm.
func (f *fold) setLoop(p *mutate.Pass, upTo int, i, list string) string {
	// Each value adds a term that works as its hash, and the sum takes it only once.
	as := f.adds[0].(*ast.AssignStmt)
	names := strings.NewReplacer("<slots>", p.Fresh("slots"), "<h>", p.Fresh("h", "digest"), "<s>",
		p.Fresh("s", "slot"),
		"<i>", i, "<v>", f.value.Name(), "<list>", list, "<sum>", p.Text(as.Lhs[0]), "<op>", as.Tok.String(),
		"<term>", p.Text(as.Rhs[0]), "<size>", strconv.Itoa(2<<bits.Len(uint(upTo-1))), "<mask>",
		strconv.Itoa(2<<bits.Len(uint(upTo-1))-1))
	return names.Replace(`var <slots> [<size>]uint8 // positions in <list>, plus one
for <i>, <v> := range <list> {
	<h> := <term>
	<s> := <h> & <mask>
	for <slots>[<s>] != 0 && <list>[<slots>[<s>]-1] != <v> {
		<s> = (<s> + 1) & <mask>
	}
	if <slots>[<s>] == 0 {
		<slots>[<s>] = uint8(<i> + 1)
		<sum> <op> <h>
	}
}`)
}
