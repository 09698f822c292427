package memory

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// structLiteral recognises &T{...} of a struct that is neither empty nor large.
func structLiteral(p *mutate.Pass, e ast.Expr) *ast.CompositeLit {
	u, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return nil
	}
	lit, ok := u.X.(*ast.CompositeLit)
	if !ok || lit.Type == nil {
		return nil
	}
	t := p.Info.TypeOf(lit)
	if _, isStruct := t.Underlying().(*types.Struct); !isStruct {
		return nil
	}
	// Large structs are rarely made in large numbers, and one that lives on would keep all others.
	if n := facts.ElementSize(t); n <= 0 || n > maxStruct {
		return nil
	}
	return lit
}

// maxStruct is the size in bytes above which a struct's own allocation hardly counts.
const maxStruct = 256
