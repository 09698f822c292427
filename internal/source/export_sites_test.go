package source

import (
	"context"
	"go/ast"
	"testing"

	"golang.org/x/tools/go/packages"
)

// loadSites loads the package that calls, once for all cases.
func loadSites(t *testing.T, u *Unit) *packages.Package {
	t.Helper()
	pkgs, err := u.Callers.loadCallers(context.Background(), "./b")
	if err != nil || len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		t.Fatalf("loading the callers: %v %v", err, pkgs)
	}
	return pkgs[0]
}

func (cl *Callers) sitesOfFunction(p *packages.Package, name string) []*callSite {
	var out []*callSite
	for _, f := range p.Syntax {
		for _, s := range cl.sitesIn(f, p.TypesInfo) {
			for _, n := range s.path {
				if d, ok := n.(*ast.FuncDecl); ok && d.Name.Name == name {
					out = append(out, s)
				}
			}
		}
	}
	return out
}
