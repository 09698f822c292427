package memory

import (
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// stackScratch (catalogue A3) matches a slice that stays in the function and that the compiler
// would put on the heap. It starts the slice in an array on the stack; longer contents still move
// to the heap.
var stackScratch = &mutate.Mutator{
	Name: "stack-scratch",
	Doc: "Start a scratch slice in an array on the stack; longer contents still move to the heap by themselves. It " +
		"saves the allocation and the garbage collector's work. Legal because the slice stays in the function and " +
		"its capacity and nil-ness are not looked at; a negative size panics with another text.",
	Example: mutate.Shows(`buf := make([]byte, 0, len(s))
for i := range len(s) {
	buf = append(buf, lower(s[i]))
}
return table[string(buf)]`,
		`var scratch [64]byte // holds most contents without an allocation
buf := scratch[:0]
for i := range len(s) {
	buf = append(buf, lower(s[i]))
}
return table[string(buf)]`),
	Class:   beagle.E1,
	Gain:    1.7,
	Find:    findStackScratch,
	Params:  scratchSizes,
	Rewrite: rewriteStackScratch,
}

func findStackScratch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		for _, s := range emptySlices(p, list[i]) {
			if d := s.decl; facts.StaysHere(p, d.Var) && (s.length != nil || cutsWithin(p, d.Var)) {
				sites = append(sites, mutate.Site{Node: d.Stmt, Label: "scratch slice " + d.Var.Name(), Data: s})
			}
		}
	}
	return sites
}

func rewriteStackScratch(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(scratchSite)
	array, name := p.Fresh("scratch"), site.decl.Var.Name()
	text := fmt.Sprintf("var %s [%d]%s // holds most contents without an allocation\n", array, param.Value, site.elem)
	if site.length == nil {
		text += fmt.Sprintf("%s := %s[:0]", name, array)
	} else {
		// With a length, the array serves if it is long enough.
		n := p.Text(site.length)
		text += fmt.Sprintf("%s := %s[:]\nif %s <= len(%s) {\n%s = %s[:%s:%s]\n} else {\n%s = make([]%s, %s)\n}",
			name, array, n, array, name, name, n, n, name, site.elem, n)
	}
	return edit.Redeclare(p, site.decl, text), nil
}
