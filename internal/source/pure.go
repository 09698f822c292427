package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A purity walks an expression or the body of a function, and the functions of the target's package
// that it calls. It looks for effects that other code could see.
type purity struct {
	pkg  *Package
	info *types.Info
	decl *ast.FuncDecl // whose body it is; nil for the expression
	seen map[*types.Func]bool
	at   token.Pos
	why  string
}

// impure returns the place and the kind of an expression's first effect; "" if the expression only
// computes.
func (pkg *Package) impure(expr ast.Expr, info *types.Info) (token.Pos, string) {
	p := &purity{pkg: pkg, info: info, seen: map[*types.Func]bool{}}
	ast.Inspect(expr, p.visit)
	return p.at, p.why
}

func (p *purity) refuse(at token.Pos, format string, args ...any) bool {
	if p.why == "" {
		p.at, p.why = at, fmt.Sprintf(format, args...)
	}
	return false
}

// visit refuses a node that does more than compute a result.
func (p *purity) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return p.refuse(n.Pos(), "a function literal")
	case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt, *ast.DeferStmt:
		return p.refuse(n.Pos(), "it does more than compute")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW || n.Op == token.AND {
			return p.refuse(n.Pos(), "the operator %s", n.Op)
		}
	// Assignments may only change the function's own variables.
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			p.assigned(e)
		}
	case *ast.IncDecStmt:
		p.assigned(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			p.assigned(n.Key)
			p.assigned(n.Value)
		}
	case *ast.CallExpr:
		p.call(n)
	case *ast.Ident:
		if fn, ok := p.info.Uses[n].(*types.Func); ok {
			p.function(n, fn)
		}
	}
	return p.why == ""
}

// assigned refuses a write that leaves the function: only its own variables,
// and what lies in them, may change.
func (p *purity) assigned(e ast.Expr) {
	// Go down to the variable at the root, along parts that lie in it.
	for e != nil {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			obj := objectOf(p.info, x)
			if x.Name != "_" && (obj == nil || p.decl == nil || obj.Pos() < p.decl.Pos() || obj.Pos() > p.decl.End()) {
				p.refuse(x.Pos(), "it writes to %s", x.Name)
			}
			return
		case *ast.IndexExpr:
			if !syntax.Is[*types.Array](p.info.TypeOf(x.X)) {
				p.refuse(x.Pos(), "it writes to memory that others may see")
				return
			}
			e = x.X
		case *ast.SelectorExpr:
			if s := p.info.Selections[x]; s == nil || s.Indirect() {
				p.refuse(x.Pos(), "it writes to memory that others may see")
				return
			}
			e = x.X
		default:
			p.refuse(x.Pos(), "it writes to memory that others may see")
			return
		}
	}
}

// pureBuiltins change nothing; a panic makes a contract false.
var pureBuiltins = []string{"len", "cap", "min", "max", "real", "imag", "complex", "make", "new", "panic"}

// call refuses a call of what is not known: a function value, or a builtin with effects.
func (p *purity) call(c *ast.CallExpr) {
	if p.info.Types[ast.Unparen(c.Fun)].IsType() {
		return // a conversion
	}
	_, id := syntax.Called(c)
	if id == nil {
		p.refuse(c.Pos(), "a call of a function value")
		return
	}
	switch obj := p.info.Uses[id].(type) {
	case *types.Builtin:
		if !slices.Contains(pureBuiltins, obj.Name()) {
			p.refuse(c.Pos(), "a call of %s", obj.Name())
		}
	case *types.Func:
		// A fresh argument may be changed.
		if obj.Pkg() != nil && obj.Pkg().Path() == "slices" && obj.Name() == "Compact" && !p.isFresh(c) {
			p.refuse(c.Pos(), "slices.Compact changes its argument; give it slices.Clone of it")
		}
	default:
		p.refuse(c.Pos(), "a call of %s, which is not a known function", id.Name)
	}
}

// isFresh reports whether the first argument of a call is made by another call.
func (p *purity) isFresh(c *ast.CallExpr) bool {
	inner, ok := ast.Unparen(c.Args[0]).(*ast.CallExpr)
	if !ok {
		return false
	}
	s, ok := ast.Unparen(inner.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := p.info.Uses[s.Sel].(*types.Func)
	return ok && fn.Pkg() != nil && fn.Pkg().Path() == "slices" &&
		slices.Contains([]string{"Clone", "Sorted", "Collect"}, fn.Name())
}

// pureStd are packages of the standard library whose functions, and methods of
// values, only compute; or those of their functions that do.
var pureStd = map[string][]string{
	"cmp": nil, "math": nil, "math/bits": nil, "math/cmplx": nil, "unicode": nil, "net/netip": nil, "path": nil,
	"time": {"IsZero", "Before", "After", "Equal", "Compare",
		"Unix", "UnixNano", "UnixMilli", "UnixMicro", "Year", "Month", "Day", "YearDay", "Hour", "Minute", "Second",
		"Nanosecond", "Weekday", "Sub", "Hours", "Minutes", "Seconds",
		"Milliseconds", "Microseconds", "Nanoseconds", "Abs"},
	"unicode/utf8": {"Valid", "ValidString", "ValidRune", "RuneCount", "RuneCountInString", "RuneLen", "RuneStart",
		"FullRune", "FullRuneInString",
		"DecodeRune", "DecodeRuneInString", "DecodeLastRune", "DecodeLastRuneInString"},
	"unicode/utf16": {"IsSurrogate"},
	"slices": {"IsSorted", "IsSortedFunc", "Contains", "ContainsFunc", "Index", "IndexFunc", "Equal", "EqualFunc",
		"Compare", "Max", "Min", "BinarySearch",
		"Sorted", "Values", "All", "Collect", "Clone", "Compact", "Concat", "Repeat"},
	"maps":    {"Keys", "Values", "Equal"},
	"strings": textFunctions,
	"bytes":   append([]string{"Runes"}, textFunctions...),
}

var textFunctions = []string{"Compare", "Contains", "ContainsAny", "ContainsFunc", "ContainsRune", "Count", "Equal",
	"EqualFold", "HasPrefix", "HasSuffix",
	"Index", "IndexAny", "IndexByte", "IndexFunc", "Join", "IndexRune", "LastIndex", "LastIndexAny", "LastIndexByte",
	"LastIndexFunc", "Fields", "Split", "Repeat",
	"ToLower", "ToUpper", "TrimSpace", "Trim", "TrimLeft", "TrimRight", "TrimPrefix", "TrimSuffix",
	"ToValidUTF8", "Clone"}

// function refuses a function, called or handed over, that may do more than
// compute.
func (p *purity) function(id *ast.Ident, fn *types.Func) {
	fn = fn.Origin()
	if fn.Pkg() == nil { // error.Error
		p.refuse(id.Pos(), "%s is a method of an interface, whose effects are unknown", fn.Name())
		return
	}
	path := fn.Pkg().Path()
	// Functions of the library are known by a list: all of a package, or some of it.
	if path != p.pkg.Path {
		names, known := pureStd[path]
		if !known || names != nil && !slices.Contains(names, fn.Name()) || names == nil && pointed(fn) {
			p.refuse(id.Pos(), "%s.%s is not known to only compute", fn.Pkg().Name(), fn.Name())
		}
		return
	}
	// Look into a function of the package once, and name the place with its reason.
	if p.seen[fn] {
		return
	}
	p.seen[fn] = true
	decl := p.pkg.declaration(fn)
	if decl == nil || decl.Body == nil {
		p.refuse(id.Pos(), "%s has no body to look into", fn.Name())
		return
	}
	inner := &purity{pkg: p.pkg, info: p.pkg.info, decl: decl, seen: p.seen}
	ast.Inspect(decl.Body, inner.visit)
	if inner.why != "" {
		at := p.pkg.fset.Position(inner.at)
		p.refuse(id.Pos(), "%s may do more than compute (%s:%d: %s)", fn.Name(),
			at.Filename[strings.LastIndexByte(at.Filename, '/')+1:], at.Line, inner.why)
	}
}

// pointed reports whether a function is a method of a pointer.
func pointed(fn *types.Func) bool {
	r := fn.Signature().Recv()
	if r == nil {
		return false
	}
	_, is := r.Type().(*types.Pointer)
	return is
}

// declaration returns the package's declaration of a function, or nil.
func (pkg *Package) declaration(fn *types.Func) *ast.FuncDecl {
	for _, p := range pkg.graph.all {
		if d, ok := p.decl.(*ast.FuncDecl); ok && pkg.info.Defs[d.Name] == types.Object(fn) {
			return d
		}
	}
	return nil
}
