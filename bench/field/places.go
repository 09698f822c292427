package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// development reports whether who writes rules may look at a module's functions. The other half of
// the modules is only counted.
func development(module string) bool {
	sum := sha256.Sum256([]byte("field " + module))
	return sum[0]%2 == 0
}

// only keeps the rules that -rule names.
func (r *recall) only() ([]*mutate.Mutator, error) {
	if r.names == "" {
		return own(), nil
	}
	var out []*mutate.Mutator
	for name := range strings.SplitSeq(r.names, ",") {
		m := rules.Named(name)
		if m == nil || !slices.Contains(own(), m) {
			return nil, fmt.Errorf("-rule names %q, which is no rule of this repository", name)
		}
		out = append(out, m)
	}
	return out, nil
}

// show prints the places that a rule finds in a function, if -rule asks for them and the module is
// for development.
func (r *recall) show(p *mutate.Pass, m *mutate.Mutator, found []mutate.Choice) {
	if r.names == "" || !r.develop {
		return
	}
	for _, c := range found {
		_, _, err := mutate.Take(p, m, c.Site, c.Param)
		label, _, _ := strings.Cut(c.SiteName, "\n")
		fmt.Printf("%s\t%s\t%s\t%s\t%v\n", m.Name, p.Fset.Position(p.Func.Pos()), label, c.Setting, err)
	}
}

// mined are the fixed points of a function that returns every text of lower-case letters as it is.
func mined() *beagle.Mined {
	m := &beagle.Mined{Fixed2: make([][]byte, 256)}
	letters := make([]byte, 32)
	for c := byte('a'); c <= 'z'; c++ {
		m.Fixed1 = append(m.Fixed1, c)
		letters[c/8] |= 1 << (c % 8)
	}
	for a := range m.Fixed2 {
		m.Fixed2[a] = make([]byte, 32)
	}
	for _, c := range m.Fixed1 {
		m.Fixed2[c] = letters
	}
	return m
}

// top is what most calls pass for a parameter: a plain value of its kind, if it has one.
func top(p beagle.Param) []beagle.TopValue {
	value := ""
	switch kind := cmp.Or(p.Kind, p.Type); {
	case kind == "bool":
		value = "true"
	case strings.HasPrefix(kind, "int") && kind != "interface", strings.HasPrefix(kind, "uint"):
		value = "8"
	default:
		return nil
	}
	return []beagle.TopValue{{Value: value, Share: 0.6}}
}
