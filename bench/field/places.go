package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// only keeps the rules that -rule names.
func (r *recall) only() ([]*mutate.Mutator, error) {
	if r.names == "" {
		return ownRules(), nil
	}
	var out []*mutate.Mutator
	for name := range strings.SplitSeq(r.names, ",") {
		m := rules.Named(name)
		if m == nil || !slices.Contains(ownRules(), m) {
			return nil, fmt.Errorf("-rule names %q, which is not a rule of this repository", name)
		}
		out = append(out, m)
	}
	return out, nil
}

// show prints the places that a rule finds in a function, if -rule asks for them and the function
// is of the development half.
func (r *recall) show(p *mutate.Pass, m *mutate.Mutator, found []mutate.Choice) {
	if r.names == "" || halfOf(r.looking.path, r.spec(p)) != development {
		return
	}
	for _, c := range found {
		text, _, err := mutate.Take(p, m, c.Site, c.Param)
		if err == nil && r.compile {
			err = r.checker.check(p.Fset.Position(p.File.FileStart).Filename, string(p.Src), text)
		}
		label, _, _ := strings.Cut(c.SiteName, "\n")
		fmt.Printf("%s\t%s\t%s\t%s\t%v\n", m.Name, p.Fset.Position(p.Func.Pos()), label, c.Setting, err)
	}
}

// spec names a function as the sample does.
func (r *recall) spec(p *mutate.Pass) string {
	dir := strings.Trim(strings.TrimPrefix(p.Pkg.Path(), r.looking.path), "/")
	if dir == "" {
		return specOf(".", p.Func)
	}
	return specOf("./"+dir, p.Func)
}
