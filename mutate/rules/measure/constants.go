package main

import (
	"go/ast"
	"go/token"
	"strconv"

	"github.com/beagle-go/beagle/mutate"
)

// constants collects the literals of a version; its inputs lie near them.
func (s *side) constants() (strs []string, ints []int64) {
	seen := map[string]bool{}
	for _, lit := range mutate.Nodes[*ast.BasicLit](s.pass, nil) {
		if seen[lit.Value] || len(seen) > 40 {
			continue
		}
		seen[lit.Value] = true
		switch lit.Kind {
		case token.STRING:
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" && len(text) < 20 {
				strs = append(strs, text)
			}
		case token.CHAR:
			if r, _, _, err := strconv.UnquoteChar(lit.Value[1:], '\''); err == nil {
				strs = append(strs, string(r))
			}
		case token.INT:
			if n, err := strconv.ParseInt(lit.Value, 0, 64); err == nil {
				ints = append(ints, n)
			}
		}
	}
	return strs, ints
}
