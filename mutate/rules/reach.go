package rules

import (
	"go/ast"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

func reachedFuncs(p *mutate.Pass) map[*ast.FuncDecl]bool { return facts.Reached.Of(p) }
