package memory

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// binaryWrite (part of catalogue A9) matches calls of binary.Write with a number. It writes the
// bytes of the number without an interface.
var binaryWrite = &mutate.Mutator{
	Name: "binary-write",
	Doc: "Write a number without binary.Write, which takes it as an interface, asks for its type, and makes a list " +
		"of bytes. Nothing is allocated where the writer is a bytes.Buffer. Exact: the type and the order of bytes " +
		"are known, and the writer gets the same bytes in one call.",
	Example: mutate.Shows(`if err := binary.Write(w, binary.BigEndian, uint32(n)); err != nil {`,
		`if err := writeBig32(w, uint32(n)); err != nil {`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findBinaryWrites,
	Rewrite: edit.Precomputed,
}

// A numberWrite is a call of binary.Write with a number.
type numberWrite struct {
	call   *ast.CallExpr
	order  string // BigEndian or LittleEndian
	bits   int64
	number string // the number as an unsigned one of that size
}

// findBinaryWrites looks for such calls. Those of a function with the same writer are one site.
func findBinaryWrites(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		for _, buffer := range []bool{true, false} {
			var writes []numberWrite
			for _, call := range mutate.Nodes[*ast.CallExpr](p, fn) {
				w, ok := numberWritten(p, call)
				if n := len(writes); n > 0 && call.End() < writes[n-1].call.End() &&
					call.Pos() >= writes[n-1].call.Args[2].Pos() {
					continue // the number of the other call is replaced as a whole
				}
				if ok && syntax.IsNamed(syntax.Pointee(p.Info.TypeOf(call.Args[0])), "bytes", "Buffer") == buffer {
					writes = append(writes, w)
				}
			}
			if len(writes) > 0 && facts.TakesTime(p, writes[0].call) {
				sites = append(sites, edit.Site(writes[0].call, "numbers to "+p.Text(writes[0].call.Args[0]),
					writeNumbers(p, writes, buffer)...))
			}
		}
	}
	return sites
}

// numberWritten recognises binary.Write of a number of a known size in a known order.
func numberWritten(p *mutate.Pass, e *ast.CallExpr) (w numberWrite, ok bool) {
	w.call, ok = p.IsCall(e, "encoding/binary", "Write")
	if !ok || len(w.call.Args) != 3 {
		return w, false
	}
	order, ok := ast.Unparen(w.call.Args[1]).(*ast.SelectorExpr)
	if !ok {
		return w, false
	}
	v, ok := p.Info.Uses[order.Sel].(*types.Var)
	if !ok || v.Pkg() == nil || v.Pkg().Path() != "encoding/binary" || v.IsField() {
		return w, false
	}
	w.order = v.Name()
	number, bits, ok := unsignedText(p, w.call.Args[2])
	w.number, w.bits = number, bits
	return w, ok && (w.order == "BigEndian" || w.order == "LittleEndian")
}

// unsignedText returns the text of a number of a fixed size as an unsigned one of the same bits.
func unsignedText(p *mutate.Pass, e ast.Expr) (text string, bits int64, ok bool) {
	tv := p.Info.Types[e]
	b, ok := tv.Type.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 || syntax.IsTypeParam(tv.Type) {
		return "", 0, false // nil has a basic type too
	}
	// A constant is no number of another sign.
	if tv.Value != nil && constant.Sign(tv.Value) < 0 {
		return "", 0, false
	}
	bits = types.SizesFor("gc", "amd64").Sizeof(b) * 8
	plain := fmt.Sprintf("uint%d", bits)
	if !facts.Means(p, e.Pos(), plain, types.Universe.Lookup(plain)) {
		return "", 0, false
	}
	switch b.Kind() {
	case types.Uint8, types.Uint16, types.Uint32, types.Uint64:
		if types.Identical(tv.Type, b) {
			return p.Text(e), bits, true
		}
		return plain + "(" + p.Text(e) + ")", bits, true
	case types.Int8, types.Int16, types.Int32, types.Int64:
		return plain + "(" + p.Text(e) + ")", bits, true
	}
	return "", 0, false // the others have no fixed size, or other bits
}

// writeNumbers replaces calls by those of helpers.
func writeNumbers(p *mutate.Pass, writes []numberWrite, buffer bool) []mutate.Edit {
	at, names := writes[0].call, map[string]string{}
	pkg, writer := "io", "%s.Writer"
	if buffer {
		pkg, writer = "bytes", "*%s.Buffer"
	}
	imported, edits := p.Imports("encoding/binary", pkg)
	for _, w := range writes {
		wish := fmt.Sprintf("write%s%d", w.order[:len(w.order)-len("Endian")], w.bits)
		if names[wish] == "" {
			body := fmt.Sprintf("var b [%d]byte\n\t%s.%s.PutUint%d(b[:], v)", w.bits/8, imported[0], w.order, w.bits)
			if w.bits == 8 {
				body = "b := [1]byte{v}"
			}
			name, declared := edit.Helper(p, at, func(name string) string {
				return fmt.Sprintf("// %s writes the bytes of v.\nfunc %s(w "+writer+", v uint%d) error {\n\t%s\n"+
					"\t_, err := w.Write(b[:])\n\treturn err\n}", name, name, imported[1], w.bits, body)
			}, wish, wish+"To")
			names[wish] = name
			edits = append(edits, declared...)
		}
		edits = append(edits, p.Span(w.call.Fun.Pos(), w.call.Fun.End(), names[wish]),
			p.Span(w.call.Args[0].End(), w.call.Args[1].End(), ""), p.Replace(w.call.Args[2], w.number))
	}
	return edits
}
