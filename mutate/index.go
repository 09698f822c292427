package mutate

import (
	"go/ast"
	"go/types"
)

// An index answers in constant time what rules ask all the time.
type index struct {
	parents map[ast.Node]ast.Node
	uses    map[types.Object][]*ast.Ident // in source order
	names   map[string]bool               // all identifiers of the file
}

func (p *Pass) indexed() *index {
	p.once.Do(func() {
		x := &index{parents: map[ast.Node]ast.Node{}, uses: map[types.Object][]*ast.Ident{}, names: map[string]bool{}}
		var stack []ast.Node
		ast.Inspect(p.File, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			x.parents[n] = nil
			if len(stack) > 0 {
				x.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			if id, ok := n.(*ast.Ident); ok {
				x.names[id.Name] = true
				if obj := p.Info.Uses[id]; obj != nil {
					x.uses[obj] = append(x.uses[obj], id)
				}
			}
			return true
		})
		p.index = x
	})
	return p.index
}
