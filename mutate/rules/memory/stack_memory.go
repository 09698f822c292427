package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"strconv"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file holds what rules share that give the memory of a slice, or of a set, a place on the
// stack.

// A scratchSite is a slice that starts empty, and whose elements an array on the stack may hold.
type scratchSite struct {
	decl   facts.Declaration
	elem   string   // the element type as written
	length ast.Expr // of make([]T, n); nil if it starts empty
	size   int64    // of an element

	returns []*ast.Ident // where it is a result
	fresh   string       // the start of a copy: nil or empty, as the slice starts
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
	return facts.Movable(p, s.decl) && (s.length == nil || facts.MeansSameAfter(p, s.decl.Stmt, s.length))
}

// empty recognises slices that the compiler cannot put on the stack: of unknown size, or growing.
func (s *scratchSite) empty(p *mutate.Pass) bool {
	slice, ok := s.decl.Var.Type().(*types.Slice)
	if !ok {
		return false
	}
	// Take the size of an element: the array on the stack must not get too large.
	s.size = facts.ElementSize(slice.Elem())
	// A literal or a declaration without make has no room at all. It matters only if appends grow
	// it.
	call, made := p.IsBuiltin(s.decl.Value, "make")
	if !made {
		kind, typ := facts.EmptyValue(p, s.decl)
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
		return p.Pure(s.length) && facts.IsPredeclared(p, s.length, types.Int)
	}
	// make(T, 0, n) with n the length of something grows to about n elements.
	if len(call.Args) == 3 && (!p.IsInt(call.Args[1], 0) || !p.Pure(call.Args[2]) || !facts.IsLength(p, call.Args[2])) {
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

// scratchSizes offers up to three sizes of the array, from the one that is enough for all but one
// in a hundred calls of the corpus.
func scratchSizes(p *mutate.Pass, s mutate.Site) []mutate.Param {
	site := s.Data.(scratchSite)
	var out []mutate.Param
	p99 := facts.Percentile99(p)
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

// cutsWithin reports whether no code cuts a slice behind its length, where an array has room that
// the slice may not have.
func cutsWithin(p *mutate.Pass, v *types.Var) bool {
	for _, id := range p.Uses(v, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.SliceExpr:
			_, again := p.Parent(up).(*ast.SliceExpr)
			if again || !p.IsInt(syntax.OrNil(up.High), 0) && !facts.WithinLength(p, v, up) {
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

// A setSite is a local map that serves as a set.
type setSite struct {
	decl   facts.Declaration
	key    types.Type
	fields []part // the fields of the key k; nil for a number
	edits  func(name string) []mutate.Edit
	asks   bool // some code asks without an addition
}

// localSets yields the sets that start empty in a function and stay in it, with the list that holds
// the declaration.
func localSets(p *mutate.Pass) iter.Seq2[[]ast.Stmt, *setSite] {
	return func(yield func([]ast.Stmt, *setSite) bool) {
		for list, i := range facts.Statements(p) {
			d, ok := facts.Declares(p, list[i])
			if !ok || facts.Captured.Of(p)[d.Var] || p.FuncOf(d.Stmt) == nil || !emptyMap(p, d) {
				continue
			}
			m, ok := d.Var.Type().(*types.Map)
			// An element says no more than that the key is there.
			if !ok || !isSetElem(m.Elem()) || p.Effects(d.Value).Writes ||
				facts.CallsFunction(p, d.Value) && !plainHint(p, d.Value) {
				continue
			}
			if !yield(list, &setSite{decl: d, key: m.Key()}) {
				return
			}
		}
	}
}

// emptyMap reports whether the map starts empty and its type is written out.
func emptyMap(p *mutate.Pass, d facts.Declaration) bool { return mapTypeOf(p, d) != nil }

// mapTypeOf returns the type of a map in the value that it starts with, where the rewrite changes
// the key's type. It returns nil if the type stands anywhere else.
func mapTypeOf(p *mutate.Pass, d facts.Declaration) *ast.MapType {
	var e ast.Expr
	switch v := d.Value.(type) {
	case *ast.CompositeLit:
		if len(v.Elts) == 0 {
			e = v.Type
		}
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(v, "make"); ok {
			e = v.Args[0]
		}
	}
	t, _ := e.(*ast.MapType)
	// A type that is declared would have to change with it.
	if d.Type != nil {
		return nil
	}
	return t
}

// plainHint reports whether make makes the map, without a hint or with a length.
func plainHint(p *mutate.Pass, e ast.Expr) bool {
	call, ok := p.IsBuiltin(e, "make")
	return ok && (len(call.Args) == 1 || facts.IsLength(p, call.Args[1]))
}

func isSetElem(t types.Type) bool {
	if syntax.IsPredeclared(t, types.Bool) {
		return true
	}
	s, ok := t.(*types.Struct)
	return ok && s.NumFields() == 0
}

// sizesFor offers the first two of the sizes that hold the longest usual argument. The last size is
// offered to all.
func sizesFor(sizes ...int) func(*mutate.Pass, mutate.Site) []mutate.Param {
	return func(p *mutate.Pass, _ mutate.Site) []mutate.Param {
		var out []mutate.Param
		for i, n := range sizes {
			if n >= facts.Percentile99(p) || i == len(sizes)-1 {
				out = append(out, mutate.Param{Label: strconv.Itoa(n), Value: n})
			}
		}
		return out[:min(2, len(out))]
	}
}
