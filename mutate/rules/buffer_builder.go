package rules

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
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
	Rewrite: precomputed,
}

// findBufferBuilder looks for buffers that are only written, and read as a text in the end.
func findBufferBuilder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d := range declarations(p) {
		node, text, ok := emptyBuffer(p, d)
		// Reading from a buffer, or taking its bytes, is not what a builder can do.
		if !ok || !onlyWritten(p, d) {
			continue
		}
		edits := withImports(p, []mutate.Edit{p.Replace(node, text)}, "strings")
		sites = append(sites, site(d.Stmt, "buffer "+d.Var.Name(), edits...))
	}
	return sites
}

// emptyBuffer recognises the declaration of an empty buffer, or of a pointer to one. It returns the
// part to replace, and the same for a builder.
func emptyBuffer(p *mutate.Pass, d facts.Declaration) (node ast.Node, text string, ok bool) {
	// var b bytes.Buffer: the type alone is replaced. An explicit type beside a value would need a
	// second edit.
	if d.Value == nil {
		return d.Type, "strings.Builder", d.Type != nil && isNamed(d.Var.Type(), "bytes", "Buffer")
	}
	if d.Type != nil {
		return nil, "", false
	}
	// A short declaration must start with an empty buffer, since a builder takes no first content.
	switch v := d.Value.(type) {
	case *ast.CompositeLit:
		return v.Type, "strings.Builder", len(v.Elts) == 0 && isNamed(d.Var.Type(), "bytes", "Buffer")
	case *ast.UnaryExpr:
		lit, is := v.X.(*ast.CompositeLit)
		if v.Op != token.AND || !is || len(lit.Elts) > 0 {
			return nil, "", false
		}
		return lit.Type, "strings.Builder", isNamed(p.Info.TypeOf(lit), "bytes", "Buffer")
	// NewBuffer(nil) and NewBufferString("") are empty as well.
	case *ast.CallExpr:
		if made, is := p.IsBuiltin(v, "new"); is {
			t := p.Info.TypeOf(made.Args[0])
			return v, "new(strings.Builder)", t != nil && isNamed(t, "bytes", "Buffer")
		}
		if made, is := p.IsCall(v, "bytes", "NewBuffer"); is {
			return v, "new(strings.Builder)", p.Info.Types[made.Args[0]].IsNil()
		}
		if made, is := p.IsCall(v, "bytes", "NewBufferString"); is {
			s, constant := constString(p, made.Args[0])
			return v, "new(strings.Builder)", constant && s == ""
		}
	}
	return nil, "", false
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
		if !ok || !isCalled(p, sel) {
			return false
		}
		call := p.Parent(sel).(*ast.CallExpr)
		switch sel.Sel.Name {
		// Builders have these methods with the same results.
		case "WriteString", "WriteByte", "WriteRune", "Write", "Len":
		case "Grow":
			if !isLength(p, call.Args[0]) {
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

// printsInto reports whether a variable is the writer of a call that only writes to it.
func printsInto(p *mutate.Pass, id *ast.Ident) bool {
	var arg ast.Expr = id
	if u, ok := p.Parent(id).(*ast.UnaryExpr); ok && u.Op == token.AND {
		arg = u
	}
	call, ok := p.Parent(arg).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[0] != arg {
		return false
	}
	_, prints := p.IsCall(call, "fmt", "Fprint", "Fprintf", "Fprintln")
	_, writes := p.IsCall(call, "io", "WriteString")
	return prints || writes
}

// sizeHints offers to give a builder room where no exact size is known: as much as a text or list
// that the function is given, or enough for a short text.
func sizeHints(p *mutate.Pass, d facts.Declaration) []string {
	var out []string
	for _, v := range parametersOf(p, p.FuncOf(d.Stmt)) {
		if v == nil || v.Name() == "_" || p.Assigned(v, p.FuncOf(d.Stmt)) || len(out) == 2 {
			continue
		}
		if t := v.Type().Underlying().String(); t == "string" || strings.HasPrefix(t, "[]") {
			out = append(out, "len("+v.Name()+")")
		}
	}
	return append(out, "64")
}

// manyWrites reports whether code writes to a builder more than once, so that it may grow.
func manyWrites(p *mutate.Pass, d facts.Declaration) bool {
	n := 0
	for _, id := range p.Uses(d.Var, p.File) {
		switch sel, _ := p.Parent(id).(*ast.SelectorExpr); {
		case printsInto(p, id), sel != nil && strings.HasPrefix(sel.Sel.Name, "Write"):
			// A write within a loop counts twice: it may run often.
			if n++; p.InLoop(id) && !p.InLoop(d.Stmt) {
				n++
			}
		case sel == nil || !isCalled(p, sel):
			return false // handed on to code that may ask for the capacity
		}
	}
	return n > 1
}
