package text

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// joinConcat (part of catalogue S1) matches strings.Join of a list that the call itself writes. It
// writes a concatenation.
var joinConcat = &mutate.Mutator{
	Name: "join-concat",
	Doc: "Concatenate the parts that a call of strings.Join lists. The compiler adds up their lengths and copies " +
		"each once, without a slice and a builder, and constants beside each other become one. Exact: both evaluate " +
		"the parts in order and yield the same text.",
	Example: mutate.Shows(`return strings.Join([]string{host, port}, ":")`, `return host + ":" + port`),
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findJoinConcat,
	Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
		return []mutate.Edit{p.Replace(s.Node, s.Data.(string))}, nil
	},
}

// maxJoined is how many operands the compiler concatenates without a slice of them on the heap,
// and people read.
const maxJoined = 64

func findJoinConcat(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, e := range mutate.Nodes[*ast.CallExpr](p, nil) {
		call, ok := p.IsCall(e, "strings", "Join")
		if !ok {
			continue
		}
		if text, ok := concatOf(p, call); ok {
			sites = append(sites, mutate.Site{Node: call, Label: "join of " + p.Text(call.Args[0]), Data: text})
		}
	}
	return sites
}

// concatOf writes the sum of the parts of a list with the separator between them.
func concatOf(p *mutate.Pass, call *ast.CallExpr) (string, bool) {
	// The parts must be written out, and few enough for one sum.
	lit, ok := ast.Unparen(call.Args[0]).(*ast.CompositeLit)
	if !ok || len(lit.Elts) < 2 || len(lit.Elts) > maxJoined {
		return "", false
	}
	elem, ok := p.Info.TypeOf(lit).Underlying().(*types.Slice)
	if !ok || !syntax.IsPredeclared(elem.Elem(), types.String) {
		return "", false
	}
	// A separator that varies appears once for each gap, so its value must not change between two
	// of them.
	sep, constant := facts.ConstString(p, call.Args[1])
	if !constant && !(p.Pure(call.Args[1]) && facts.Stable(p, call.Args[1], call)) {
		return "", false // it is evaluated once for each part
	}
	// The compiler may evaluate operands of a sum in another order than elements of a list.
	if !inAnyOrder(p, lit.Elts) {
		return "", false
	}
	var out []string
	// Alternate the parts with the separator; an empty one disappears.
	for i, e := range lit.Elts {
		if _, keyed := e.(*ast.KeyValueExpr); keyed {
			return "", false
		}
		if i > 0 && (!constant || sep != "") {
			out = append(out, edit.Operand(call.Args[1], p.Text(call.Args[1]), token.ADD))
		}
		out = append(out, edit.Operand(e, p.Text(e), token.ADD))
	}
	// A sum binds less than what may stand around a call.
	text := strings.Join(out, " + ")
	switch p.Parent(call).(type) {
	case *ast.BinaryExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.SelectorExpr:
		text = "(" + text + ")"
	}
	return text, true
}

// inAnyOrder reports whether the value of no part depends on what another one does: the language
// leaves open whether a variable is read before or after a call beside it.
func inAnyOrder(p *mutate.Pass, parts []ast.Expr) bool {
	writes, others := 0, 0
	for _, e := range parts {
		if p.Effects(e).Writes {
			writes++
		} else if p.Info.Types[e].Value == nil {
			others++
		}
	}
	return writes == 0 || writes+others == 1
}
