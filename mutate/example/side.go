package example

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A side is one function of a pair.
type side struct {
	rule    *compiled
	choice  string
	params  map[types.Object]*types.Var // each parameter as itself
	list    []ast.Stmt                  // what is matched or written, without a last return that is not
	expr    ast.Expr                    // the expression of a last return
	outputs []ast.Expr                  // the variables, or for After the values, of a last return
	sig     *types.Signature
	up      map[ast.Node]ast.Node
	body    *ast.BlockStmt
	assigns map[*types.Var]bool // parameters that the function assigns
	used    map[string]use
}

// side reads a function of a pair.
func (c *compiled) side(fn *ast.FuncDecl) (*side, error) {
	obj, ok := c.info.Defs[fn.Name].(*types.Func)
	if !ok {
		return nil, errors.New("no function")
	}
	s := &side{rule: c, sig: obj.Signature(), body: fn.Body,
		params: map[types.Object]*types.Var{}, assigns: map[*types.Var]bool{}, up: map[ast.Node]ast.Node{}}
	// A copy is assigned when its variable is, so note which parameters the function changes.
	for v := range s.sig.Params().Variables() {
		s.params[v] = v
	}
	s.findAssigned()
	// Note the parent of each node: the tree itself leads downwards only.
	var stack []ast.Node
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			s.up[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
	return s, nil
}

// findAssigned finds the parameters that the function assigns as a whole.
func (s *side) findAssigned() {
	for e := range syntax.Stores(s.body, true) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if v, ok := s.rule.info.Uses[id].(*types.Var); ok && s.params[v] != nil {
				s.assigns[v] = true
			}
		}
	}
}

// split separates a last return from the statements. It names what lives on, or it is one
// expression in a statement after them. The split of an After follows that of its Before. If one
// of the two has other returns, the pair is whole: the last return is matched too.
func (s *side) split(before *side, whole bool) {
	// A function with an empty body matches nothing.
	s.list = s.body.List
	if len(s.list) == 0 {
		return
	}
	front := s.list[:len(s.list)-1]
	last, ok := s.list[len(s.list)-1].(*ast.ReturnStmt)
	// The cases come in this order: returns that must be matched as they are; outputs or an
	// expression as Before has them; for Before itself, variables that live on, or one expression.
	switch {
	case whole || !ok || s.returns() != 1 || len(last.Results) == 0:
	case before != nil && before.outputs != nil:
		s.list, s.outputs = front, last.Results
	case before != nil && before.expr == nil:
	case before == nil && len(front) > 0 && s.variables(last.Results):
		s.list, s.outputs = front, last.Results
	case len(last.Results) == 1:
		s.list, s.expr = front, ast.Unparen(last.Results[0])
	}
}

// returns counts the returns of the function itself.
func (s *side) returns() int {
	n := 0
	ast.Inspect(s.body, func(m ast.Node) bool {
		switch m.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			n++
		}
		return true
	})
	return n
}

// variables reports whether all expressions name variables of the function.
func (s *side) variables(list []ast.Expr) bool {
	for _, e := range list {
		id, ok := e.(*ast.Ident)
		if !ok {
			return false
		}
		if _, ok := s.rule.obj(id).(*types.Var); !ok {
			return false
		}
	}
	return true
}

// text returns the source between two positions of the rule's file.
func (s *side) text(from, to token.Pos) string {
	return s.rule.rule.Source[s.rule.fset.Position(from).Offset:s.rule.fset.Position(to).Offset]
}

// readableText returns the example for readers: the expression, or the statements.
func (s *side) readableText() string {
	if len(s.list) == 0 && s.expr != nil {
		return s.text(s.expr.Pos(), s.expr.End())
	}
	// A last return belongs to the function around the example and not to what is replaced.
	text := s.text(s.body.Lbrace+1, s.body.Rbrace)
	if s.outputs != nil {
		text = s.text(s.list[0].Pos(), s.list[len(s.list)-1].End())
	}
	// As in the file, without its indentation.
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	last := lines[len(lines)-1]
	indent := last[:len(last)-len(strings.TrimLeft(last, "\t"))]
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
