package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// A Use says what code does with memory where it names a variable: 0 if it only reads and writes
// elements, or asks for the length.
type Use uint8

const (
	Sizes   Use = 1 << iota // shows the capacity, or whether there is memory at all
	Grows                   // appends to the slice
	Cuts                    // names a part of the memory
	Renews                  // gives the variable new memory
	Hands                   // hands the memory on, so that other code may see it
	Borrows                 // gives the variable memory that other code may see
)

// An Owner is a local slice, array or map that begins with memory of its own. Uses has all that
// code does with it, and All is their union.
type Owner struct {
	Decl Declaration
	Uses map[*ast.Ident]Use
	All  Use
}

// Owned holds the owners of a version. An owner without a use that Hands or Borrows has its memory
// for itself as long as it lives.
//
// This is sound because memory has no way to other code but by a value that leads to it, and such a
// value begins at a use of the variable: its name, a cut, a longer slice, an element's address, a
// method, a literal that captures the variable. The fact knows the uses from which no such value
// comes, or from which it goes back to the variable. All others hand the memory on: an assignment
// to another variable, a return, a field, a call that may keep its argument, a goroutine, a
// deferred call.
var Owned = &Fact[map[*types.Var]*Owner]{
	Name:     "owned",
	Requires: []Named{Captured},
	Find: func(p *mutate.Pass) map[*types.Var]*Owner {
		out := map[*types.Var]*Owner{}
		for _, list := range p.Lists() {
			for _, s := range list {
				for _, d := range Declarations(p, s) {
					if o := ownerOf(p, d); o != nil {
						out[d.Var] = o
					}
				}
			}
		}
		return out
	},
}

// Owns reports whether only the function that declares a variable ever knows the variable's memory.
func Owns(p *mutate.Pass, v *types.Var) bool {
	o := Owned.Of(p)[v]
	return o != nil && o.All&(Hands|Borrows) == 0
}

// OwnsUpTo reports whether only the function that declares a variable knows the variable's memory
// until a later statement of the same list begins. Code may hand it on afterwards.
func OwnsUpTo(p *mutate.Pass, v *types.Var, s ast.Stmt) bool {
	o := Owned.Of(p)[v]
	list, at := p.Siblings(s)
	// A goto could lead back to the declaration's end with memory that was handed on.
	if o == nil || at < 0 || !slices.Contains(list[:at], o.Decl.Stmt) || HasGoto(p, p.FuncOf(s)) {
		return false
	}
	for id, use := range o.Uses {
		if id.Pos() < s.Pos() && use&(Hands|Borrows) != 0 {
			return false
		}
	}
	return true
}

// Fresh reports whether a local slice only ever gets new memory, or more of its own. Code may hand
// the memory on, but nothing that was there before shares it.
func Fresh(p *mutate.Pass, v *types.Var) bool {
	o := Owned.Of(p)[v]
	return o != nil && IsSlice(v.Type()) && o.All&Borrows == 0
}

// Apart reports whether a slice shares no memory with another variable, so that code may write to
// it and leave the other one as it is. Only its function knows the memory of one of them, or the
// slice only gets new memory, of which the other variable can be no part: that one only gets new
// memory itself, keeps a value from before the slice was declared, or has other elements.
func Apart(p *mutate.Pass, slice, other *types.Var) bool {
	if slice == nil || other == nil || slice == other {
		return false
	}
	if Owns(p, slice) || Owns(p, other) {
		return true
	}
	if !Fresh(p, slice) {
		return false
	}
	older := IsLocal(p, other) && other.Pos() < slice.Pos() && !p.Reassigned(other, p.File)
	generic := IsGeneric(p, Owned.Of(p)[slice].Decl.Stmt)
	return Fresh(p, other) || older || !generic && otherElements(other.Type(), slice.Type())
}

// otherElements reports whether a value of a type can be no part of the memory of a slice, since
// the slice has no such elements. Conversions between types of slices ignore tags of fields.
func otherElements(part, slice types.Type) bool {
	whole, ok := slice.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	switch part := part.Underlying().(type) {
	case *types.Slice:
		return !types.IdenticalIgnoreTags(part.Elem(), whole.Elem()) && !HoldsArray(whole.Elem())
	case *types.Array, *types.Basic: // memory of its own
		return true
	}
	return false
}

// AddressTaking returns the expression that takes the address of what an expression names, or of a
// part of it, or nil: by &, by a pointer method, or by slicing an array.
func AddressTaking(p *mutate.Pass, e ast.Expr) ast.Expr {
	for {
		up := p.Parent(e)
		switch n := up.(type) {
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				return n
			}
		case *ast.SelectorExpr:
			if p.PointerMethod(n) {
				return n
			}
			if s := p.Info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				e = n
				continue
			}
		case *ast.IndexExpr:
			if ast.Unparen(n.X) == e {
				e = n
				continue
			}
		case *ast.SliceExpr:
			if syntax.Is[*types.Array](p.Info.TypeOf(n.X)) && ast.Unparen(n.X) == e {
				return n
			}
		}
		return nil
	}
}

// ownerOf returns the owner that a declaration makes, or nil.
func ownerOf(p *mutate.Pass, d Declaration) *Owner {
	switch d.Var.Type().Underlying().(type) {
	case *types.Array: // has a copy of its first value
	case *types.Slice, *types.Map:
		if d.Value != nil && gains(p, d.Var, d.Value)&Borrows != 0 {
			return nil
		}
	default:
		return nil
	}
	o := &Owner{Decl: d, Uses: map[*ast.Ident]Use{}}
	for _, id := range p.Uses(d.Var, p.File) {
		o.Uses[id] = useOf(p, d.Var, id)
		o.All |= o.Uses[id]
	}
	return o
}

// gains returns what a value gives to a variable: new memory, or what begins with v's own.
func gains(p *mutate.Pass, v *types.Var, e ast.Expr) Use {
	e = ast.Unparen(e)
	switch {
	case p.Var(e) == v:
		return 0
	case p.OwnMemory(nil, e):
		return Renews
	}
	switch e := e.(type) {
	case *ast.SliceExpr:
		if IsSlice(p.Info.TypeOf(e.X)) {
			return gains(p, v, e.X) | Cuts
		}
	case *ast.CallExpr:
		if way := carries(p, e); way != 0 {
			return gains(p, v, e.Args[0]) | way
		}
	}
	return Borrows
}

// useOf returns what the code around a name of v does with v's memory.
func useOf(p *mutate.Pass, v *types.Var, id *ast.Ident) Use {
	if Captured.Of(p)[v] && withinLiteral(p, id, v) {
		return Hands | Borrows // at an unknown time
	}
	var e ast.Expr = id
	var use Use
	// An array is copied, except where code makes a slice of it or takes an address.
	if syntax.Is[*types.Array](v.Type()) {
		addr := AddressTaking(p, id)
		if addr == nil {
			return 0
		}
		cut, ok := addr.(*ast.SliceExpr)
		if !ok || ast.Unparen(cut.X) != ast.Expr(id) {
			return Hands
		}
		e, use = cut, Cuts
	}
	// Climb along the expressions that name the same memory, up to the code that takes it. The
	// result of a call must go back to v: the rest of the code may not depend on where it lies.
	for called := false; ; {
		switch up := p.Parent(e).(type) {
		case *ast.SliceExpr:
			use |= Cuts
			if up.Slice3 || called {
				use |= Sizes // it may end behind the length
			}
			e = up
			continue
		case *ast.CallExpr:
			if way := carries(p, up); way != 0 && ast.Unparen(up.Args[0]) == e {
				use |= way
				e, called = up, true
				continue
			}
			if called {
				return use | Hands
			}
			return use | passed(p, up, e)
		case *ast.AssignStmt:
			return use | assigned(p, v, up, e)
		case *ast.IndexExpr:
			if ast.Unparen(up.X) == e && !called && AddressTaking(p, e) == nil {
				return use
			}
		case *ast.RangeStmt:
			if ast.Unparen(up.X) != e {
				return Borrows
			}
			if !called {
				return use
			}
		case *ast.BinaryExpr: // a comparison with nil
			return use | Sizes
		case *ast.UnaryExpr, *ast.SelectorExpr: // the address of v, through which v may get other memory
			return Hands | Borrows
		}
		return use | Hands
	}
}

// withinLiteral reports whether a name of v stands in a function literal that does not declare v.
func withinLiteral(p *mutate.Pass, id *ast.Ident, v *types.Var) bool {
	return slices.ContainsFunc(p.Path(id), func(up ast.Node) bool {
		lit, ok := up.(*ast.FuncLit)
		return ok && !(lit.Pos() <= v.Pos() && v.Pos() < lit.End())
	})
}

// assigned returns what an assignment does with v's memory, which e names on one of its sides.
func assigned(p *mutate.Pass, v *types.Var, as *ast.AssignStmt, e ast.Expr) Use {
	single := len(as.Lhs) == 1 && len(as.Rhs) == 1
	to, _ := as.Lhs[0].(*ast.Ident)
	switch {
	case single && p.Var(as.Lhs[0]) == v:
		return gains(p, v, as.Rhs[0])
	case slices.ContainsFunc(as.Lhs, func(l ast.Expr) bool { return ast.Unparen(l) == e }):
		return Borrows
	case single && to != nil && to.Name == "_" && e == ast.Unparen(as.Rhs[0]) && p.Var(e) == v:
		return 0
	}
	return Hands
}

// carries returns whether the result of a call is its first argument's memory, or new memory in its
// place: Grows for one that appends, Cuts for one that takes elements away, or else 0.
func carries(p *mutate.Pass, call *ast.CallExpr) Use {
	if len(call.Args) == 0 {
		return 0
	}
	if _, more := p.IsBuiltin(call, "append"); more {
		return Grows
	}
	if _, less := p.IsCall(call, "slices", cutters...); less {
		return Cuts
	}
	f, ok := p.Callee(call).(*types.Func)
	if ok && f.Pkg() != nil && slices.Contains(appenders, f.Pkg().Path()) && strings.HasPrefix(f.Name(), "Append") {
		return Grows
	}
	return 0
}

// cutters are functions of package slices whose result is a part of their first argument.
var cutters = []string{"Clip", "Compact", "CompactFunc", "Delete", "DeleteFunc"}

// appenders are packages whose functions that begin with Append do as append does.
var appenders = []string{"strconv", "unicode/utf8", "fmt"}

// readers are functions that keep nothing of a slice, although they change it, or although their
// results may have memory.
var readers = map[string][]string{
	"slices": {"Sort", "SortFunc", "SortStableFunc", "BinarySearch", "Contains", "Index", "IndexFunc", "Equal", "Min",
		"Max", "Reverse", "IsSorted"},
	"sort":    {"Ints", "Strings", "Float64s", "Slice", "SliceStable", "SearchInts", "SearchStrings"},
	"strings": {"Join"},
}

// passed returns what a call does with the memory of an argument.
func passed(p *mutate.Pass, call *ast.CallExpr, arg ast.Expr) Use {
	if p.Info.Types[call.Fun].IsType() {
		if p.Basic(call) == types.String { // a copy of the bytes
			return 0
		}
		return Hands
	}
	switch p.Parent(call).(type) {
	case *ast.GoStmt, *ast.DeferStmt: // later than the code around it
		return Hands
	}
	switch f := p.Callee(call).(type) {
	case *types.Builtin:
		switch f.Name() {
		case "len", "copy", "clear", "delete":
			return 0
		case "cap":
			return Sizes
		case "append": // copies elements
			if call.Ellipsis.IsValid() {
				return 0
			}
		}
	case *types.Func:
		for pkg, names := range readers {
			if _, ok := p.IsCall(call, pkg, names...); ok {
				return 0
			}
		}
		// Code that changes nothing keeps nothing, but in its results. A function of the candidate
		// may ask whether its argument is nil, and may make a text of its bytes without a copy.
		if f.Pkg() != nil && !p.Effects(call).Writes && SharesNoMemory(f.Signature().Results()) {
			switch {
			case p.Decl(f) == nil:
				return 0
			case !importsUnsafe(p):
				return Sizes
			}
		}
	}
	return Hands
}

// importsUnsafe reports whether the file of the candidate imports package unsafe, by which a string
// or a number may lead to the memory of a slice.
func importsUnsafe(p *mutate.Pass) bool {
	return slices.ContainsFunc(p.File.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"unsafe"` })
}
