package verify

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// maxSteps bounds how far the analysis follows a value back to its origin.
const maxSteps = 12

// An elementCheck checks whether the code compares elements on every path after a decision.
type elementCheck struct {
	d       *digestFlow
	home    *ssa.BasicBlock    // the block of the decision; a path that returns to it has not compared
	content map[ssa.Value]bool // the result of a look-up; it says whether there is anything to compare
	roots   []string           // the folded lists, as texts; empty if unknown
	state   map[*ssa.BasicBlock]bool
}

// settling prepares the check of a decision over the lists that some values were folded from.
func (d *digestFlow) settling(in ssa.Instruction, of ...ssa.Value) *elementCheck {
	s := &elementCheck{d: d, home: in.Block(), state: map[*ssa.BasicBlock]bool{}}
	seen := map[ssa.Value]bool{}
	for _, v := range of {
		s.roots = append(s.roots, d.rootsOf(v, seen, 0)...)
	}
	return s
}

// settlesComparison reports whether the code compares elements on every path after two digests
// agree.
func (d *digestFlow) settlesComparison(in *ssa.BinOp) bool {
	return d.settling(in, in.X, in.Y).branches(in, in.Op)
}

// sparesStore reports whether the unequal side of a comparison does nothing but store the one
// number where the other was read, as `if s.n != n { s.n = n }` does.
func sparesStore(in *ssa.BinOp) bool {
	// The comparison decides one branch, whose unequal side leads back to the equal one.
	uses := slices.DeleteFunc(slices.Clone(*in.Referrers()), func(use ssa.Instruction) bool {
		_, debug := use.(*ssa.DebugRef)
		return debug
	})
	if len(uses) != 1 {
		return false
	}
	branch, ok := uses[0].(*ssa.If)
	if !ok || in.Op != token.NEQ && in.Op != token.EQL {
		return false
	}
	store, rest := branch.Block().Succs[0], branch.Block().Succs[1]
	if in.Op == token.EQL {
		store, rest = rest, store
	}
	if len(store.Preds) != 1 || len(store.Succs) != 1 || store.Succs[0] != rest {
		return false
	}
	// Nothing else tells where control came from.
	for _, i := range rest.Instrs {
		if phi, ok := i.(*ssa.Phi); ok &&
			phi.Edges[slices.Index(rest.Preds, store)] != phi.Edges[slices.Index(rest.Preds, branch.Block())] {
			return false
		}
	}
	// There it only stores.
	x, y := withoutBits(in.X), withoutBits(in.Y)
	for _, i := range store.Instrs {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.FieldAddr, *ssa.Jump:
		case *ssa.Store:
			if !(i.Val == y && readFrom(x, i.Addr) || i.Val == x && readFrom(y, i.Addr)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// withoutBits returns the number whose bits a value holds, if it is one of math's functions for
// them, or else the value itself.
func withoutBits(v ssa.Value) ssa.Value {
	call, ok := v.(*ssa.Call)
	if !ok || call.Call.StaticCallee() == nil || packageOf(call.Call.StaticCallee()) != "math" {
		return v
	}
	if name := call.Call.StaticCallee().Name(); name != "Float64bits" && name != "Float32bits" {
		return v
	}
	number := call.Call.Args[0]
	if same, ok := number.(*ssa.ChangeType); ok { // of a type of its own
		number = same.X
	}
	return number
}

// readFrom reports whether a value was read from a place: from the same address, or from the same
// field of what one pointer leads to.
func readFrom(v ssa.Value, addr ssa.Value) bool {
	read, ok := v.(*ssa.UnOp)
	if !ok || read.Op != token.MUL {
		return false
	}
	a, fieldA := read.X.(*ssa.FieldAddr)
	b, fieldB := addr.(*ssa.FieldAddr)
	return read.X == addr || fieldA && fieldB && a.X == b.X && a.Field == b.Field
}

// branches follows a truth value to the branches that it decides.
func (s *elementCheck) branches(v ssa.Value, op token.Token) bool {
	// Each use of the truth value is a negation or a branch. The elements must be compared where
	// the digests are equal; for an order, on one side at least.
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			if !s.branches(use, opposite(op)) {
				return false
			}
		case *ssa.If:
			yes, no := use.Block().Succs[0], use.Block().Succs[1]
			switch op {
			case token.EQL:
				if !s.covered(yes, 0) {
					return false
				}
			case token.NEQ:
				if !s.covered(no, 0) {
					return false
				}
			default:
				if !s.covered(yes, 0) && !s.covered(no, 0) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// opposite returns the negation of == and !=.
func opposite(op token.Token) token.Token {
	switch op {
	case token.EQL:
		return token.NEQ
	case token.NEQ:
		return token.EQL
	}
	return op
}

// settlesLookup reports whether a look-up by a digest is harmless. It is if its result decides
// nothing, or if the code compares elements wherever the look-up found something.
func (d *digestFlow) settlesLookup(in ssa.Instruction, index ssa.Value) bool {
	if d.settlesAlone(in, index) {
		return true
	}
	// A second look-up at the same place reveals nothing new.
	for _, b := range in.Parent().Blocks {
		for _, other := range b.Instrs {
			if other != in && d.samePlace(other, in) && (b.Dominates(in.Block()) && b != in.Block()) &&
				d.settlesAlone(other, index) {
				return true
			}
		}
	}
	return false
}

// samePlace reports whether two instructions read the same place of a table.
func (d *digestFlow) samePlace(a, b ssa.Instruction) bool {
	switch a := a.(type) {
	case *ssa.IndexAddr:
		b, ok := b.(*ssa.IndexAddr)
		return ok && a.Index == b.Index && d.lies(a.X) == d.lies(b.X)
	case *ssa.Lookup:
		b, ok := b.(*ssa.Lookup)
		return ok && a.Index == b.Index && d.lies(a.X) == d.lies(b.X)
	}
	return false
}

func (d *digestFlow) settlesAlone(in ssa.Instruction, index ssa.Value) bool {
	s := d.settling(in, index)
	s.content = map[ssa.Value]bool{}
	consulted := s.follow(in.(ssa.Value), d.depthOf(index), true)
	return !consulted || s.rest(in) || s.placed(in)
}

// follow collects the values made from the result of a look-up. It reports whether any of them
// decides something.
func (s *elementCheck) follow(v ssa.Value, by depth, plain bool) (decides bool) {
	if s.content[v] || v.Referrers() == nil {
		return false
	}
	s.content[v] = true
	// A branch, a returned truth or a stored truth decides. Arithmetic and other values pass the
	// content on.
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.If:
			decides = true
		case *ssa.Return:
			_, element := v.(*ssa.UnOp)
			_, found := v.(*ssa.Extract)
			_, looked := v.(*ssa.Lookup)
			decides = decides || isTruth(v.Type()) || plain && (element || found || looked)
		case *ssa.Store:
			if use.Val == v && isTruth(v.Type()) {
				decides = true
			}
		case *ssa.BinOp:
			if s.d.level[use] == none || compares(use.Op) {
				decides = s.follow(use, by, false) || decides
			}
		case ssa.Value:
			_, call := use.(*ssa.Call)
			decides = s.follow(use, by, plain && !call) || decides
		}
	}
	return decides
}

// placed reports whether a look-up only searches for a free place: the code puts the element into
// the table on every path, before the next element comes.
func (s *elementCheck) placed(in ssa.Instruction) bool {
	table, ok := in.(*ssa.IndexAddr)
	if !ok {
		return false
	}
	// stores reports whether an instruction puts an element into the table.
	stores := func(in ssa.Instruction) bool {
		st, ok := in.(*ssa.Store)
		if !ok || !s.root(st.Val) {
			return false
		}
		at, ok := st.Addr.(*ssa.IndexAddr)
		return ok && s.d.lies(at.X) == s.d.lies(table.X)
	}
	// always reports whether every path from an instruction stores, before the next element comes.
	seen := map[*ssa.BasicBlock]bool{}
	var always func(b *ssa.BasicBlock, from int) bool
	always = func(b *ssa.BasicBlock, from int) bool {
		for _, in := range b.Instrs[from:] {
			if stores(in) {
				return true
			}
			if v, ok := in.(ssa.Value); ok && s.root(v) {
				return false // the next element
			}
		}
		for _, next := range b.Succs {
			if !seen[next] {
				seen[next] = true
				if next != s.home && !always(next, 0) {
					return false
				}
			}
		}
		return len(b.Succs) > 0
	}
	return always(s.home, slices.Index(s.home.Instrs, in)+1)
}

// rest reports whether the code compares elements after an instruction.
func (s *elementCheck) rest(in ssa.Instruction) bool {
	b := in.Block()
	return s.covered(b, slices.Index(b.Instrs, in)+1)
}

// covered reports whether every path from an instruction compares elements before the function ends
// or the decision comes again.
func (s *elementCheck) covered(b *ssa.BasicBlock, from int) bool {
	if from == 0 {
		if b == s.home {
			return false
		}
		if known, ok := s.state[b]; ok {
			return known
		}
		s.state[b] = false // a path that returns here has not compared
	}
	ok := s.coveredAnew(b, from)
	if from == 0 {
		s.state[b] = ok
	}
	return ok
}

// coveredAnew walks a block: a comparison of elements covers it, a return does not. At a branch
// both sides must be covered, or one where the condition itself compares.
func (s *elementCheck) coveredAnew(b *ssa.BasicBlock, from int) bool {
	for _, in := range b.Instrs[from:] {
		switch in := in.(type) {
		case *ssa.Return:
			return false
		case *ssa.Panic:
			return true
		case *ssa.If:
			yes, no := s.covered(b.Succs[0], 0), s.covered(b.Succs[1], 0)
			if s.content[in.Cond] || s.d.agree(in.Cond) || s.heads(b) {
				return yes || no
			}
			return yes && no
		default:
			if s.compares(in) {
				return true
			}
		}
	}
	return len(b.Succs) == 1 && s.covered(b.Succs[0], 0)
}

// agree reports whether a condition itself compares digests or lengths. Where these differ, nothing
// is left to compare.
func (d *digestFlow) agree(cond ssa.Value) bool {
	b, ok := cond.(*ssa.BinOp)
	if !ok || !compares(b.Op) {
		return false
	}
	return d.depthOf(b.X) != none && d.depthOf(b.Y) != none || isLen(b.X) && isLen(b.Y)
}

func isLen(v ssa.Value) bool {
	c, ok := v.(*ssa.Call)
	return ok && isBuiltin(&c.Call, "len")
}

// heads reports whether a block is where a loop continues or ends. A list without elements leaves
// nothing to compare.
func (s *elementCheck) heads(b *ssa.BasicBlock) bool {
	return s.reaches(b.Succs[0], b) != s.reaches(b.Succs[1], b)
}

// reaches reports whether some path between two blocks avoids the decision.
func (s *elementCheck) reaches(from, to *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{s.home: true}
	work := []*ssa.BasicBlock{from}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == to {
			return true
		}
		if !seen[b] {
			seen[b] = true
			work = append(work, b.Succs...)
		}
	}
	return false
}

// compares reports whether an instruction compares folded elements with others.
func (s *elementCheck) compares(in ssa.Instruction) bool {
	switch in := in.(type) {
	case *ssa.BinOp:
		if in.Op != token.EQL && in.Op != token.NEQ {
			return false
		}
		b := in.Block()
		loop := slices.ContainsFunc(b.Succs, func(to *ssa.BasicBlock) bool { return s.reaches(to, b) })
		return s.pair(in.X, in.Y, loop)
	case *ssa.Call:
		fn := in.Call.StaticCallee()
		if fn == nil || len(in.Call.Args) < 2 ||
			!s.d.ownFuncs[fn] && !comparing[fn.Name()] && (fn.Origin() == nil || !comparing[fn.Origin().Name()]) {
			return false
		}
		if s.d.ownFuncs[fn] && !s.comparesInside(fn) {
			return false
		}
		return s.someDiffer(in.Call.Args)
	}
	return false
}

// comparing lists library functions that compare whole values.
var comparing = set(`Equal EqualFold Compare HasPrefix HasSuffix EqualFunc Contains ContainsFunc Index IndexFunc`)

// comparesInside reports whether a function of the file compares its elements and returns the
// outcome as a bool.
func (s *elementCheck) comparesInside(fn *ssa.Function) bool {
	if fn.Signature.Results().Len() == 0 || len(fn.Blocks) == 0 {
		return false
	}
	inner := &elementCheck{d: s.d, home: fn.Blocks[0]}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if op, ok := in.(*ssa.BinOp); ok && inner.compares(op) {
				return true
			}
		}
	}
	return false
}

// pair reports whether two operands are elements: whole values or, in a loop, single elements.
func (s *elementCheck) pair(x, y ssa.Value, loop bool) bool {
	if isConstant(x) || isConstant(y) || s.d.depthOf(x) != none || s.d.depthOf(y) != none ||
		s.d.text(x, 0) == s.d.text(y, 0) {
		return false
	}
	if syntax.Is[*types.Basic](x.Type()) && !syntax.IsText(x.Type()) {
		if !isElement(x) || !isElement(y) {
			return false
		}
		if len(s.roots) == 0 {
			return true
		}
		return loop && (s.root(listOf(x)) || s.root(listOf(y)))
	}
	return len(s.roots) == 0 || s.root(x) || s.root(y)
}

func isConstant(v ssa.Value) bool {
	_, ok := v.(*ssa.Const)
	return ok
}

// someDiffer reports whether a call passes a folded list together with another list.
func (s *elementCheck) someDiffer(args []ssa.Value) bool {
	folded := len(s.roots) == 0
	texts := map[string]bool{}
	for _, a := range args {
		if s.d.depthOf(a) != none && !leadsToMemory(a.Type()) || isConstant(a) {
			continue
		}
		texts[s.d.text(withoutConversions(a), 0)] = true
		folded = folded || s.root(a)
	}
	return folded && len(texts) > 1
}

// root reports whether v is a list that was folded.
func (s *elementCheck) root(v ssa.Value) bool {
	return v != nil && slices.Contains(s.roots, s.d.text(withoutConversions(v), 0))
}

// withoutConversions returns a value without its conversions.
func withoutConversions(v ssa.Value) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		case *ssa.MakeInterface:
			v = x.X
		case *ssa.Slice:
			if x.Low != nil || x.High != nil {
				return v
			}
			v = x.X
		default:
			return v
		}
	}
}

// listOf returns the list that an element was read from, or nil.
func listOf(v ssa.Value) ssa.Value {
	switch x := withoutConversions(v).(type) {
	case *ssa.UnOp:
		if at, ok := x.X.(*ssa.IndexAddr); ok && !isConstant(at.Index) {
			return at.X
		}
	case *ssa.Lookup:
		if !isConstant(x.Index) {
			return x.X
		}
	case *ssa.Index:
		if !isConstant(x.Index) {
			return x.X
		}
	case *ssa.Extract:
		if n, ok := x.Tuple.(*ssa.Next); ok {
			return n.Iter.(*ssa.Range).X
		}
	}
	return nil
}

// isElement reports whether v was read from a list, a text or memory.
func isElement(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.UnOp:
		return v.Op == token.MUL
	case *ssa.Lookup, *ssa.Index, *ssa.Field, *ssa.Extract, *ssa.Parameter:
		return true
	case *ssa.Convert:
		return isElement(v.X)
	}
	return false
}

// rootsOf returns, as texts, the lists that a digest was folded from, as far as its function shows
// them.
func (d *digestFlow) rootsOf(v ssa.Value, seen map[ssa.Value]bool, steps int) (out []string) {
	if v == nil || seen[v] || steps > maxSteps {
		return nil
	}
	seen[v] = true
	// A value that was read from a list leads to that list. Calls lead to their lists, arithmetic
	// to its operands.
	if list := listOf(v); list != nil && d.level[v] == none {
		return []string{d.text(withoutConversions(list), 0)}
	}
	switch v := v.(type) {
	case *ssa.Call:
		for _, a := range v.Call.Args {
			if syntax.IsText(a.Type()) || leadsToMemory(a.Type()) {
				if !isConstant(a) {
					out = append(out, d.text(withoutConversions(a), 0))
				}
			} else {
				out = append(out, d.rootsOf(a, seen, steps+1)...)
			}
		}
	case *ssa.BinOp, *ssa.Convert, *ssa.Phi, *ssa.Extract, *ssa.ChangeType:
		for _, op := range v.(ssa.Instruction).Operands(nil) {
			out = append(out, d.rootsOf(*op, seen, steps+1)...)
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			out = d.rootsOf(v.X, seen, steps+1)
		}
	}
	return out
}

// text spells a value, so that two reads of the same place give the same text.
func (d *digestFlow) text(v ssa.Value, steps int) string {
	if steps > maxSteps {
		return fmt.Sprintf("%p", v)
	}
	switch v := v.(type) {
	case *ssa.UnOp:
		return v.Op.String() + d.text(v.X, steps+1)
	case *ssa.FieldAddr:
		return fmt.Sprintf("%s.%d", d.text(v.X, steps+1), v.Field)
	case *ssa.Field:
		return fmt.Sprintf("%s.%d", d.text(v.X, steps+1), v.Field)
	case *ssa.IndexAddr:
		return fmt.Sprintf("%s[%s]", d.text(v.X, steps+1), d.text(v.Index, steps+1))
	case *ssa.Index:
		return fmt.Sprintf("%s[%s]", d.text(v.X, steps+1), d.text(v.Index, steps+1))
	case *ssa.Const:
		return v.String()
	}
	return fmt.Sprintf("%p", v)
}
