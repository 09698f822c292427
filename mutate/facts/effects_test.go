package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"testing"
)

func TestDeclaredIn(t *testing.T) {
	block := &ast.BlockStmt{Lbrace: 10, Rbrace: 19} // it ends in front of position 20
	for pos, want := range map[token.Pos]bool{9: false, 10: true, 15: true, 19: true, 20: false} {
		if got := DeclaredIn(types.NewVar(pos, nil, "v", types.Typ[types.Int]), block); got != want {
			t.Errorf("position %d: %v, want %v", pos, got, want)
		}
	}
}
