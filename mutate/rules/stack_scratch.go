package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// stackScratch (catalogue A3) matches a slice that stays in the function and that the compiler
// would put on the heap. It starts the slice in an array on the stack; longer contents still move
// to the heap.
var stackScratch = &mutate.Mutator{
	Name: "stack-scratch",
	Doc: "Start a scratch slice in an array on the stack; longer contents still move to the heap by themselves. It " +
		"saves the allocation and the garbage collector's work. Legal because the slice stays in the function and " +
		"its capacity and nil-ness are not looked at; a negative size panics with another text.",
	Example: mutate.Shows(`buf := make([]byte, 0, len(s))
for i := range len(s) {
	buf = append(buf, lower(s[i]))
}
return table[string(buf)]`,
		`var scratch [64]byte // holds most contents without an allocation
buf := scratch[:0]
for i := range len(s) {
	buf = append(buf, lower(s[i]))
}
return table[string(buf)]`),
	Class:   beagle.E1,
	Gain:    1.7,
	Find:    findStackScratch,
	Params:  scratchSizes,
	Rewrite: rewriteStackScratch,
}

type scratchSite struct {
	decl   facts.Declaration
	elem   string   // the element type as written
	length ast.Expr // of make([]T, n); nil if it starts empty
	size   int64    // of an element

	returns []*ast.Ident // where it is a result
	fresh   string       // the start of a copy: nil or empty, as the slice starts
}

func findStackScratch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		for _, s := range emptySlices(p, list[i]) {
			if d := s.decl; staysHere(p, d.Var) && (s.length != nil || cutsWithin(p, d.Var)) {
				sites = append(sites, mutate.Site{Node: d.Stmt, Label: "scratch slice " + d.Var.Name(), Data: s})
			}
		}
	}
	return sites
}

// emptySlices are the slices that a statement declares and that empty recognises.
func emptySlices(p *mutate.Pass, s ast.Stmt) (out []scratchSite) {
	for _, d := range facts.Declarations(p, s) {
		if site := (scratchSite{decl: d}); site.empty(p) && site.standsAlone(p) {
			out = append(out, site)
		}
	}
	return out
}

// standsAlone reports whether the declaration may move, and its length, which is read again where
// the slice has its name, means the same there.
func (s *scratchSite) standsAlone(p *mutate.Pass) bool {
	return movable(p, s.decl) && (s.length == nil || meansSameAfter(p, s.decl.Stmt, s.length))
}

// empty recognises slices that the compiler cannot put on the stack: of unknown size, or growing.
func (s *scratchSite) empty(p *mutate.Pass) bool {
	slice, ok := s.decl.Var.Type().(*types.Slice)
	if !ok {
		return false
	}
	// Take the size of an element: the array on the stack must not get too large.
	s.size = elementSize(slice.Elem())
	// A literal or a declaration without make has no room at all. It matters only if appends grow
	// it.
	call, made := p.IsBuiltin(s.decl.Value, "make")
	if !made {
		kind, typ := emptyValue(p, s.decl)
		s.elem = typ
		return s.setElem() && kind != "" && isAppendedTo(p, s.decl.Var)
	}
	s.elem = p.Text(call.Args[0])
	if !s.setElem() {
		return false
	}
	// A slice of constant size is on the stack already. An empty one with little room is there too,
	// but not any more once it has grown.
	for i, n := range call.Args[1:] {
		room, constant := p.Int(n)
		if i == 1 && constant && room < smallRoom && p.IsInt(call.Args[1], 0) && isAppendedTo(p, s.decl.Var) {
			continue // it is on the stack, and leaves it when the few elements are used up
		}
		if constant && !p.IsInt(n, 0) {
			return false // the compiler knows the size
		}
	}
	// make(T, n) needs its length as a value without effects, which the code tests against the
	// array's size.
	if len(call.Args) == 2 && !p.IsInt(call.Args[1], 0) {
		s.length = call.Args[1]
		return p.Pure(s.length) && isBasic(p, s.length, types.Int)
	}
	// make(T, 0, n) with n the length of something grows to about n elements.
	if len(call.Args) == 3 && (!p.IsInt(call.Args[1], 0) || !p.Pure(call.Args[2]) || !isLength(p, call.Args[2])) {
		return false
	}
	return true
}

// smallRoom is the capacity below which a slice on the stack is likely to grow.
const smallRoom = 32

func (s *scratchSite) setElem() bool {
	if len(s.elem) < 3 || s.elem[:2] != "[]" {
		return false
	}
	s.elem = s.elem[2:]
	return s.size > 0 && s.size <= 64
}

// isAppendedTo reports whether code may make a slice longer.
func isAppendedTo(p *mutate.Pass, v *types.Var) bool {
	o := facts.Owned.Of(p)[v]
	return o != nil && o.All&facts.Grows != 0
}

// staysHere reports whether no code keeps the slice, compares it with nil or asks for its capacity,
// so that it may have other memory.
func staysHere(p *mutate.Pass, v *types.Var) bool {
	o := facts.Owned.Of(p)[v]
	return o != nil && !slices.ContainsFunc(p.Uses(v, p.File), func(id *ast.Ident) bool { return !mayMove(p, o, id) })
}

// cutsWithin reports whether no code cuts a slice behind its length, where an array has room that
// the slice may not have.
func cutsWithin(p *mutate.Pass, v *types.Var) bool {
	for _, id := range p.Uses(v, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.SliceExpr:
			_, again := p.Parent(up).(*ast.SliceExpr)
			if again || !p.IsInt(orNil(up.High), 0) && !withinLength(p, v, up) {
				return false
			}
		case *ast.AssignStmt:
			to := p.Var(up.Lhs[0])
			if up.Tok == token.ASSIGN && up.Rhs[0] == ast.Expr(id) && to != v && !cutsWithin(p, to) {
				return false // it takes the slice over
			}
		}
	}
	return true
}

// mayMove reports whether a slice may have other memory, as far as one of its uses is concerned: it
// neither hands the memory on nor shows its size. Another variable may take the slice over, if it
// stays here as well.
func mayMove(p *mutate.Pass, o *facts.Owner, id *ast.Ident) bool {
	if o.Uses[id]&(facts.Hands|facts.Borrows|facts.Sizes) == 0 {
		return true
	}
	as, ok := p.Parent(id).(*ast.AssignStmt)
	return ok && takesOver(p, o, as)
}

// takesOver reports whether a statement hands the slice to a variable that has no other value, as
// the statements of a helper do that stand in place of its call, and whether that one stays here,
// too.
func takesOver(p *mutate.Pass, from *facts.Owner, as *ast.AssignStmt) bool {
	lhs, rhs, ok := splitAssign(as, token.ASSIGN)
	if !ok || p.Var(rhs) != from.Decl.Var {
		return false
	}
	to := facts.Owned.Of(p)[p.Var(lhs)]
	if to == nil || to == from || to.Decl.Value != nil || !types.Identical(to.Decl.Var.Type(), from.Decl.Var.Type()) {
		return false
	}
	// The other variable starts here and the first one ends here, so that only one is in use at a
	// time.
	list, at := p.Siblings(as)
	if at < 0 || !slices.Contains(list[:at], from.Decl.Stmt) ||
		facts.UsedAfter(p, from.Decl.Var, p.FuncOf(as), as.End()) {
		return false
	}
	// Then all uses of the other one must only read.
	for id, use := range to.Uses {
		if p.Parent(id) != ast.Node(as) &&
			(p.Changes(id) || use&(facts.Hands|facts.Borrows|facts.Sizes) != 0) {
			return false
		}
	}
	return true
}

// scratchSizes offers up to three sizes of the array, from the one that is enough for all but one
// in a hundred calls of the corpus.
func scratchSizes(p *mutate.Pass, s mutate.Site) []mutate.Param {
	site := s.Data.(scratchSite)
	var out []mutate.Param
	p99 := percentile99(p)
	for _, n := range []int64{32, 64, 128, 256, 1024} {
		// A large array would make the frame large for every call.
		if n*site.size > 4096 || len(out) >= 3 {
			break
		}
		if n >= int64(p99) || n == 256 && len(out) == 0 {
			out = append(out, mutate.Param{Label: fmt.Sprint(n), Value: n})
		}
	}
	if len(out) == 0 {
		out = []mutate.Param{{Label: "32", Value: int64(32)}}
	}
	return out
}

func rewriteStackScratch(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(scratchSite)
	array, name := p.Fresh("scratch"), site.decl.Var.Name()
	text := fmt.Sprintf("var %s [%d]%s // holds most contents without an allocation\n", array, param.Value, site.elem)
	if site.length == nil {
		text += fmt.Sprintf("%s := %s[:0]", name, array)
	} else {
		// With a length, the array serves if it is long enough.
		n := p.Text(site.length)
		text += fmt.Sprintf("%s := %s[:]\nif %s <= len(%s) {\n%s = %s[:%s:%s]\n} else {\n%s = make([]%s, %s)\n}",
			name, array, n, array, name, name, n, n, name, site.elem, n)
	}
	return redeclare(p, site.decl, text), nil
}
