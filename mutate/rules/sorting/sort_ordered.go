package sorting

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// sortOrdered (catalogue O1) matches sort.Sort of a list of numbers or strings in their own order,
// or against it. It calls slices.Sort.
var sortOrdered = &mutate.Mutator{
	Name: "sort-ordered",
	Doc: "Sort numbers and strings with slices.Sort instead of through sort.Interface, which calls Less and Swap for " +
		"each step. Legal because the list's methods only compare, swap and count: equal elements are identical, so " +
		"every sort gives the same list. Among floats, 0 equals -0 and there are several NaNs: the rule takes only " +
		"sort.Sort of sort.Float64Slice, which takes the steps of slices.Sort.",
	Example: mutate.Shows(`sort.Sort(sort.Reverse(byID(ids)))`, `slices.Sort(ids)
slices.Reverse(ids)`),
	Class: beagle.E0,
	Gain:  2,
	Find:  findSortOrdered,
	Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
		return s.Data.(*orderedSort).rewrite(p)
	},
}

// An orderedSort is a statement that sorts a list of ordered elements.
type orderedSort struct {
	stmt *ast.ExprStmt
	list ast.Expr
	down bool // the greatest first
}

// findSortOrdered looks for sorts of lists in the order of the language, upwards or downwards.
func findSortOrdered(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, stmt := range mutate.Nodes[*ast.ExprStmt](p, nil) {
		call, ok := p.IsCall(stmt.X, "sort", "Sort", "Stable")
		if _, at := p.Siblings(stmt); !ok || at < 0 || len(call.Args) != 1 || facts.IsLabelled(p, stmt) ||
			!p.GoAtLeast(21) {
			continue
		}
		s := &orderedSort{stmt: stmt}
		// The list may be reversed by sort.Reverse, and its type may reverse once more.
		list, reversed := withoutReverse(p, call.Args[0])
		down, ok := ownOrder(p, p.Info.TypeOf(list))
		s.down = down != reversed
		// Descending order needs a second statement, and NaN makes floats special in both a stable
		// and a reversed sort.
		_, stable := p.IsCall(call, "sort", "Stable")
		if !ok || s.down && !facts.CanDeclare(p, stmt) || (s.down || stable) && sortsFloats(p.Info.TypeOf(list)) {
			continue
		}
		s.list = list
		// A conversion to a type with the methods is not needed any more.
		if conv, ok := list.(*ast.CallExpr); ok && p.Info.Types[conv.Fun].IsType() {
			if from := conv.Args[0]; facts.IsSlice(p.Info.TypeOf(from)) {
				s.list = ast.Unparen(from)
			}
		}
		sites = append(sites, mutate.Site{Node: stmt, Label: "sort of " + p.Text(s.list), Data: s})
	}
	return sites
}

// sortsFloats reports whether a list holds floats: 0 and -0 are equal, and can be told apart.
func sortsFloats(list types.Type) bool {
	elem, ok := list.Underlying().(*types.Slice).Elem().Underlying().(*types.Basic)
	return ok && elem.Info()&types.IsFloat != 0
}

// ownOrder reports whether the methods of a list of numbers or strings sort it by the order of the
// language, and whether the greatest comes first.
func ownOrder(p *mutate.Pass, t types.Type) (down, ok bool) {
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed || !facts.IsSlice(t) || named.TypeArgs().Len() > 0 || named.TypeParams().Len() > 0 {
		return false, false
	}
	elem, basic := t.Underlying().(*types.Slice).Elem().Underlying().(*types.Basic)
	if !basic {
		return false, false
	}
	// The types of package sort sort upwards by definition.
	if obj := named.Obj(); obj.Pkg() != nil && obj.Pkg().Path() == "sort" {
		return false, elem.Info()&types.IsOrdered != 0
	}
	if elem.Info()&(types.IsInteger|types.IsString) == 0 {
		return false, false // of floats, NaN is less than nothing, and slices.Sort puts it first
	}
	// Any other type must have the three methods in their usual form. Less then tells the
	// direction.
	var list [3]*listMethod
	for i, name := range []string{"Len", "Less", "Swap"} {
		if list[i] = listMethodOf(p, named, name); list[i] == nil {
			return false, false
		}
	}
	if !list[0].length() || !list[2].exchanges() {
		return false, false
	}
	return list[1].compares()
}

// A listMethod is a method of a slice type that has one statement.
type listMethod struct {
	p    *mutate.Pass // of its file
	recv *types.Var
	i, j *types.Var
	stmt ast.Stmt
}

// listMethodOf returns a method of a list with its single statement, or nil if it has another form.
func listMethodOf(p *mutate.Pass, t *types.Named, name string) *listMethod {
	// The method must belong to the type itself and not to a pointer or an embedded type.
	obj, index, _ := types.LookupFieldOrMethod(t, true, t.Obj().Pkg(), name)
	fn, ok := obj.(*types.Func)
	if !ok || len(index) != 1 || syntax.Is[*types.Pointer](fn.Signature().Recv().Type()) {
		return nil
	}
	// Its body must be a single statement, in source that can be read.
	q, decl := p.Body(fn)
	if decl == nil || decl.Body == nil || len(decl.Body.List) != 1 || len(decl.Recv.List[0].Names) != 1 ||
		facts.IsRedefined(q, decl, "len") {
		return nil
	}
	// Receiver and parameters are kept by what they stand for.
	m := &listMethod{p: q, stmt: decl.Body.List[0]}
	m.recv, _ = q.Info.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	var params []*types.Var
	for _, f := range decl.Type.Params.List {
		for _, id := range f.Names {
			v, _ := q.Info.Defs[id].(*types.Var)
			params = append(params, v)
		}
	}
	if len(params) == 2 {
		m.i, m.j = params[0], params[1]
	}
	return m
}

// returned is the value that the method returns.
func (m *listMethod) returned() ast.Expr {
	if ret, ok := m.stmt.(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
		return ast.Unparen(ret.Results[0])
	}
	return nil
}

func (m *listMethod) length() bool {
	e := m.returned()
	return e != nil && m.recv != nil && m.p.LenOf(e) == m.recv
}

// exchanges reports whether the method is `l[i], l[j] = l[j], l[i]`.
func (m *listMethod) exchanges() bool {
	s, ok := m.stmt.(*ast.AssignStmt)
	if !ok || s.Tok != token.ASSIGN || len(s.Lhs) != 2 || len(s.Rhs) != 2 {
		return false
	}
	a, b := m.element(s.Lhs[0]), m.element(s.Lhs[1])
	return a != nil && b != nil && a != b && m.element(s.Rhs[0]) == b && m.element(s.Rhs[1]) == a
}

// compares reports whether the method is `return l[i] < l[j]`, or down, the same with >.
func (m *listMethod) compares() (down, ok bool) {
	e, ok := m.returned().(*ast.BinaryExpr)
	if !ok || e.Op != token.LSS && e.Op != token.GTR {
		return false, false
	}
	a, b := m.element(e.X), m.element(e.Y)
	return (e.Op == token.GTR) == (a == m.i), a != nil && b != nil && a != b
}

// element returns the parameter with which an expression takes an element of the list, or nil.
func (m *listMethod) element(e ast.Expr) *types.Var {
	ix, ok := ast.Unparen(e).(*ast.IndexExpr)
	if !ok || m.recv == nil || m.p.Var(ix.X) != m.recv {
		return nil
	}
	if v := m.p.Var(ix.Index); v != nil && (v == m.i || v == m.j) {
		return v
	}
	return nil
}

func (s *orderedSort) rewrite(p *mutate.Pass) ([]mutate.Edit, error) {
	list, before := p.Text(s.list), ""
	// Descending, the list is named twice, so it must be the same both times.
	if s.down && !keepsValueInSort(p, s.list, nil) {
		name := p.Fresh("list", "sorted")
		list, before = name, name+" := "+list+"\n"
	}
	text := fmt.Sprintf("%sslices.Sort(%s)", before, list)
	if s.down {
		text += fmt.Sprintf("\nslices.Reverse(%s)", list)
	}
	return edit.WithImports(p, []mutate.Edit{p.Replace(s.stmt, text)}, "slices"), nil
}
