package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// treeStack (catalogue R4) matches a function that adds up integers over a tree by two self-calls.
// It writes a loop with a stack of nodes in an array.
var treeStack = &mutate.Mutator{
	Name: "tree-stack",
	Doc: "Walk a tree with a stack in an array instead of a call for every node. Legal because the function only " +
		"adds up integers, in whatever order, and has no effects.",
	Before: `func sum(t *Node) int {
	if t == nil {
		return 0
	}
	return t.Value + sum(t.Left) + sum(t.Right)
}`,
	After: `func sum(t *Node) int {
	var array [64]*Node // deeper trees continue on the heap
	todo := append(array[:0], t)
	total := 0
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t == nil {
			continue
		}
		total += t.Value
		todo = append(todo, t.Left, t.Right)
	}
	return total
}`,
	Class: beagle.E0,
	Gain:  1.5,
	Find:  findTreeStack,
	Params: func(*mutate.Pass, mutate.Site) []mutate.Param {
		return []mutate.Param{{Label: "64", Value: 64}, {Label: "32", Value: 32}, {Label: "128", Value: 128}}
	},
	Rewrite: rewriteTreeStack,
}

type treeSite struct {
	fn       *ast.FuncDecl
	param    *types.Var
	base     ast.Expr // the result for nil; nil if it is 0
	own      []ast.Expr
	children []ast.Expr
}

func findTreeStack(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		if t, ok := treeSum(p, fn); ok {
			sites = append(sites, mutate.Site{Node: fn, Label: "recursion of " + fn.Name.Name, Data: t})
		}
	}
	return sites
}

// treeSum recognises `if t == nil { return c }; return E + f(t.L) + f(t.R)`.
func treeSum(p *mutate.Pass, fn *ast.FuncDecl) (*treeSite, bool) {
	if fn.Body == nil || len(fn.Body.List) != 2 || fn.Recv != nil || fn.Type.TypeParams != nil {
		return nil, false
	}
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if sig.Params().Len() != 1 || sig.Results().Len() != 1 || !isInteger(sig.Results().At(0).Type()) ||
		sig.Results().At(0).Name() != "" {
		return nil, false
	}
	if _, ok := sig.Params().At(0).Type().Underlying().(*types.Pointer); !ok {
		return nil, false
	}
	s := &treeSite{fn: fn, param: sig.Params().At(0)}
	ret, ok := fn.Body.List[1].(*ast.ReturnStmt)
	if !ok || !s.nilCase(p, fn.Body.List[0]) || len(ret.Results) != 1 {
		return nil, false
	}
	for _, term := range operandsOfSum(ret.Results[0]) {
		call, isCall := term.(*ast.CallExpr)
		if isCall && p.Callee(call) == p.Info.Defs[fn.Name] {
			s.children = append(s.children, call.Args[0])
			if !s.field(p, call.Args[0]) {
				return nil, false
			}
			continue
		}
		if !s.field(p, term) && !p.Pure(term) {
			return nil, false
		}
		s.own = append(s.own, term)
	}
	return s, len(s.children) >= 2 && len(selfCalls(p, fn)) == len(s.children)
}

// field recognises t.F in a place where t is not nil.
func (s *treeSite) field(p *mutate.Pass, e ast.Expr) bool {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok || p.Var(sel.X) != s.param {
		return false
	}
	info := p.Info.Selections[sel]
	return info != nil && info.Kind() == types.FieldVal && len(info.Index()) == 1
}

func (s *treeSite) nilCase(p *mutate.Pass, st ast.Stmt) bool {
	branch, ok := st.(*ast.IfStmt)
	if !ok || branch.Init != nil || branch.Else != nil || len(branch.Body.List) != 1 {
		return false
	}
	cond, ok := ast.Unparen(branch.Cond).(*ast.BinaryExpr)
	if !ok || cond.Op != token.EQL || p.Var(cond.X) != s.param || !p.Info.Types[cond.Y].IsNil() {
		return false
	}
	ret, ok := branch.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 || p.Info.Types[ret.Results[0]].Value == nil {
		return false
	}
	if !p.IsInt(ret.Results[0], 0) {
		s.base = ret.Results[0]
	}
	return true
}

func rewriteTreeStack(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*treeSite)
	array, todo, total, t := p.Fresh("array"), p.Fresh("todo", "stack"), p.Fresh("total", "sum"), s.param.Name()
	result := p.Text(s.fn.Type.Results.List[0].Type)
	start := total + " := 0"
	if result != "int" {
		start = "var " + total + " " + result
	}
	leaf := "continue"
	if s.base != nil {
		leaf = total + " += " + p.Text(s.base) + "\ncontinue"
	}
	own, children := "", ""
	for _, e := range s.own {
		own += total + " += " + p.Text(e) + "\n"
	}
	for _, c := range s.children {
		children += ", " + p.Text(c)
	}
	text := fmt.Sprintf("{\nvar %[1]s [%[2]d]%[3]s // deeper trees continue on the heap\n"+
		"%[4]s := append(%[1]s[:0], %[5]s)\n%[6]s\nfor len(%[4]s) > 0 {\n%[5]s := %[4]s[len(%[4]s)-1]\n"+
		"%[4]s = %[4]s[:len(%[4]s)-1]\nif %[5]s == nil {\n%[7]s\n}\n%[8]s%[4]s = append(%[4]s%[9]s)\n}\n"+
		"return %[10]s\n}",
		array, param.Value, p.Text(s.fn.Type.Params.List[0].Type), todo, t, start, leaf, own, children, total)
	return []mutate.Edit{p.Replace(s.fn.Body, text)}, nil
}
