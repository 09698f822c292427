package rules

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// byteSeparator is S4 for separators of one byte.
var byteSeparator = &mutate.Mutator{
	Name: "byte-separator",
	Doc: "Look for a byte where a string of one byte is looked for: IndexByte goes to the vector code at once, Index first asks how long the " +
		"string is. Exact: the string is a constant of one byte.",
	Before: `name, value, ok := strings.Cut(part, "=")`,
	After: `name, value, ok := cutByte(part, '=')

// cutByte is strings.Cut with a separator of one byte.
func cutByte(s string, sep byte) (head, tail string, found bool) {
	if i := strings.IndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findByteSeparators,
	Rewrite: rewriteByteSeparators,
}

// oneByte has what is called instead of a function of package strings; Cut has
// a helper of the candidate.
var oneByte = map[string]string{"Cut": "", "Index": "IndexByte", "LastIndex": "LastIndexByte", "Contains": "IndexByte"}

// findByteSeparators takes all calls for one site: none is worth a step of its
// own.
func findByteSeparators(p *mutate.Pass) []mutate.Site {
	var calls []*ast.CallExpr
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if separatesByByte(p, call) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return []mutate.Site{{Node: calls[0], Label: "separators of one byte", Data: calls}}
}

func separatesByByte(p *mutate.Pass, call *ast.CallExpr) bool {
	if _, ok := p.IsCall(call, "strings", "Cut", "Index", "LastIndex", "Contains"); !ok || p.FuncOf(call) == nil {
		return false
	}
	switch p.Parent(call).(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return false
	}
	if len(call.Args) != 2 {
		return false // what another call returns
	}
	sep, constant := constString(p, call.Args[1])
	_, qualified := call.Fun.(*ast.SelectorExpr)
	return constant && len(sep) == 1 && qualified
}

func rewriteByteSeparators(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	var edits []mutate.Edit
	cut := ""
	for _, call := range s.Data.([]*ast.CallExpr) {
		fun := call.Fun.(*ast.SelectorExpr)
		sep, _ := constString(p, call.Args[1])
		edits = append(edits, p.Replace(call.Args[1], byteText(int(sep[0]))))
		switch name := fun.Sel.Name; name {
		case "Cut":
			if cut == "" {
				var more []mutate.Edit
				cut, more = helper(p, call, cutByte(p.Text(fun.X)), "cutByte", "cutAtByte")
				edits = append(edits, more...)
			}
			edits = append(edits, p.Replace(fun, cut))
		case "Contains":
			edits = append(edits, p.Replace(fun, "("+p.Text(fun.X)+".IndexByte"), p.Insert(call.End(), " >= 0)"))
		default:
			edits = append(edits, p.Replace(fun.Sel, oneByte[name]))
		}
	}
	return edits, nil
}

// cutByte declares the helper for Cut under a name.
func cutByte(pkg string) func(name string) string {
	return func(name string) string {
		return fmt.Sprintf(`// %[1]s is strings.Cut with a separator of one byte.
func %[1]s(s string, sep byte) (head, tail string, found bool) {
	if i := %[2]s.IndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}`, name, pkg)
	}
}

// helper is the name of a function that the candidate has as declared, or
// under which the edits declare it behind what holds n. A function that is only
// called the same may do anything.
func helper(p *mutate.Pass, n ast.Node, declare func(name string) string, wishes ...string) (string, []mutate.Edit) {
	for _, name := range wishes {
		d := p.Decl(p.Pkg.Scope().Lookup(name))
		if d != nil && sameCode(p.Text(d), declare(name)) {
			return name, nil
		}
	}
	name := p.Fresh(wishes...)
	return name, []mutate.Edit{p.Declare(n, declare(name))}
}

// sameCode compares two functions but for spaces and the comment in front.
func sameCode(a, b string) bool {
	fields := func(s string) string {
		_, code, _ := strings.Cut("\n"+s, "\nfunc ")
		return strings.Join(strings.Fields(code), " ")
	}
	return fields(a) == fields(b)
}
