package text

import (
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// bufferBuilder (part of catalogue S1) matches a bytes.Buffer that stays in the function and whose
// text is all that code reads. It writes a strings.Builder, which other rules know.
var bufferBuilder = &mutate.Mutator{
	Name: "buffer-builder",
	Doc: "Collect a text in a strings.Builder instead of a bytes.Buffer. The buffer's String copies the text once " +
		"more, and its writes keep a read position that nobody uses. Exact: the buffer stays in the function, and " +
		"code only writes to it and takes its text.",
	Example: mutate.Shows(`var b bytes.Buffer
for _, w := range words {
	b.WriteString(w)
}
return b.String()`,
		`var b strings.Builder
for _, w := range words {
	b.WriteString(w)
}
return b.String()`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findBufferBuilder,
	Rewrite: edit.Precomputed,
}

// findBufferBuilder looks for buffers that are only written, and read as a text in the end.
func findBufferBuilder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d := range facts.AllDeclarations(p) {
		node, text, ok := facts.EmptyBuffer(p, d)
		// Reading from a buffer, or taking its bytes, is not what a builder can do.
		if !ok || !onlyWritten(p, d) {
			continue
		}
		edits := edit.WithImports(p, []mutate.Edit{p.Replace(node, text)}, "strings")
		sites = append(sites, edit.Site(d.Stmt, "buffer "+d.Var.Name(), edits...))
	}
	return sites
}

// onlyWritten reports whether each use of a buffer is one that a builder serves alike, and one of
// them takes the text.
func onlyWritten(p *mutate.Pass, d facts.Declaration) bool {
	texts := 0
	for _, id := range p.Uses(d.Var, p.File) {
		if printsInto(p, id) {
			continue
		}
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || !facts.IsCalled(p, sel) {
			return false
		}
		call := p.Parent(sel).(*ast.CallExpr)
		switch sel.Sel.Name {
		// Builders have these methods with the same results.
		case "WriteString", "WriteByte", "WriteRune", "Write", "Len":
		case "Grow":
			if !facts.IsLength(p, call.Args[0]) {
				return false // a negative number is a panic, whose text differs
			}
		case "String":
			texts++
		default:
			return false
		}
	}
	return texts > 0
}
