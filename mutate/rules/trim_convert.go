package rules

import (
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// trimConvert (catalogue S12) matches a conversion of bytes to a string that code then trims or
// slices. It trims or slices the bytes first, so that only the rest is copied.
var trimConvert = &mutate.Mutator{
	Name: "trim-then-convert",
	Doc: "Trim or slice bytes before converting them to a string, so that only what is kept is copied. Legal " +
		"because trimming by package bytes and by package strings keeps the same bytes.",
	Before:  `name := strings.TrimSpace(string(line))`,
	After:   `name := string(bytes.TrimSpace(line))`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findTrimConvert,
	Rewrite: precomputed,
}

func findTrimConvert(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for e := range mutate.Nodes[ast.Expr](p, nil) {
		if edits := trimEdits(p, e); edits != nil {
			sites = append(sites, site(e, p.Text(e), edits...))
		}
	}
	return sites
}

func trimEdits(p *mutate.Pass, e ast.Expr) []mutate.Edit {
	if sl, ok := e.(*ast.SliceExpr); ok {
		// Only string(b)[low:] is safe: an upper bound between length and capacity panics for the
		// string, but not for the slice.
		if from, ok := converts(p, sl.X, "string"); ok && sl.Low != nil && sl.High == nil {
			return []mutate.Edit{p.Replace(sl, "string("+p.Text(from)+p.Between(sl.Lbrack, sl.End())+")")}
		}
		return nil
	}
	call, ok := p.IsCall(e, "strings", "TrimSpace", "Trim", "TrimLeft", "TrimRight", "TrimPrefix", "TrimSuffix")
	if !ok || e != ast.Expr(call) {
		return nil
	}
	from, ok := converts(p, call.Args[0], "string")
	sel, isSel := call.Fun.(*ast.SelectorExpr)
	if !ok || !isSel {
		return nil
	}
	pkg, edits := p.Import("bytes")
	text := "string(" + pkg + "." + sel.Sel.Name + "(" + p.Text(from)
	if len(call.Args) == 2 {
		arg := p.Text(call.Args[1])
		if name := sel.Sel.Name; name == "TrimPrefix" || name == "TrimSuffix" {
			if _, isConst := constString(p, call.Args[1]); !isConst {
				return nil // the conversion would only move
			}
			arg = "[]byte(" + arg + ")"
		}
		text += ", " + arg
	}
	return append(edits, p.Replace(call, text+"))"))
}
