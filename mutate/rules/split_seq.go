package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// splitSeq (catalogue S5) matches a loop over the parts that strings.Split or Fields returns. It
// ranges over SplitSeq or FieldsSeq, or writes a loop with Cut.
var splitSeq = &mutate.Mutator{
	Name: "split-seq",
	Doc: "Take a string apart while going through it, without the slice of all parts. Legal because strings never " +
		"change, so that parts cut later are the same parts; the separator of the loop form is a non-empty constant.",
	Before: `for _, f := range strings.Split(line, ",") {
	use(f)
}`,
	After: `for f := range strings.SplitSeq(line, ",") {
	use(f)
}`,
	Class:   beagle.E0,
	Gain:    1.4,
	Find:    findSplitSeq,
	Params:  splitSeqForms,
	Rewrite: rewriteSplitSeq,
}

type splitLoop struct {
	loop *ast.RangeStmt
	elem *ast.Ident
	call *ast.CallExpr
	drop ast.Stmt // `parts := strings.Split(...)`, if the loop ranges over parts
}

func findSplitSeq(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		s := splitLoop{loop: r}
		call, seq := p.IsCall(r.X, "strings", "SplitSeq")
		elem, ok := r.Value.(*ast.Ident)
		if seq {
			elem, ok = r.Key.(*ast.Ident)
		}
		if !ok || r.Tok != token.DEFINE || elem.Name == "_" || !seq && !isBlank(r.Key) {
			continue
		}
		if captured(p, p.Info.Defs[elem].(*types.Var)) {
			continue // before Go 1.22 all turns share the variable
		}
		s.elem = elem
		if seq {
			if s.call = call; !constantSeparator(p, call) {
				continue
			}
		} else if s.call, ok = splitter(p, r.X); !ok {
			if s.call, s.drop, ok = keptParts(p, r); !ok {
				continue
			}
		}
		sites = append(sites, mutate.Site{Node: r, Label: "loop over " + p.Text(s.call), Data: s})
	}
	return sites
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return e == nil || ok && id.Name == "_"
}

// splitter recognises the calls that have a Seq form.
func splitter(p *mutate.Pass, e ast.Expr) (*ast.CallExpr, bool) {
	call, ok := p.IsCall(e, "strings", "Split", "SplitAfter", "Fields", "FieldsFunc")
	return call, ok
}

// constantSeparator reports whether a call splits at a constant that is not empty.
func constantSeparator(p *mutate.Pass, call *ast.CallExpr) bool {
	text, ok := constString(p, call.Args[1])
	return ok && text != ""
}

// keptParts finds `parts := strings.Split(...)` right before a loop that is its only user.
func keptParts(p *mutate.Pass, r *ast.RangeStmt) (*ast.CallExpr, ast.Stmt, bool) {
	list, i := p.Siblings(r)
	if i < 1 {
		return nil, nil, false
	}
	d, ok := declaration(p, list[i-1])
	if !ok || d.Value == nil || p.Var(r.X) != d.Var || len(p.Uses(d.Var, p.File)) != 1 {
		return nil, nil, false
	}
	call, ok := splitter(p, d.Value)
	return call, d.Stmt, ok
}

func splitSeqForms(p *mutate.Pass, site mutate.Site) []mutate.Param {
	s := site.Data.(splitLoop)
	var out []mutate.Param
	_, done := p.IsCall(s.call, "strings", "SplitSeq")
	if goAtLeast(p, 24) && !done {
		out = append(out, mutate.Param{Label: "seq", Value: "seq"})
	}
	if _, _, ok := splitCall(p, s.call); ok || done {
		out = append(out, mutate.Param{Label: "cut", Value: "cut"})
	}
	return out
}

func rewriteSplitSeq(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(splitLoop)
	var edits []mutate.Edit
	if s.drop != nil {
		edits = append(edits, p.Delete(s.drop))
	}
	elem := s.elem.Name
	call := p.Text(s.call.Fun) + "Seq" + p.Between(s.call.Fun.End(), s.call.End())
	if param.Value == "seq" {
		return append(edits, p.Span(s.loop.Key.Pos(), s.loop.X.End(), elem+" := range "+call)), nil
	}
	pkg, imports := p.Import("strings")
	str, sep := s.call.Args[0], s.call.Args[1]
	rest, more := p.Fresh("rest"), p.Fresh("more")
	head := fmt.Sprintf("for %s, %s := %s, true; %s; {\nvar %s string\n%s, %s, %s = %s.Cut(%s, %s)\n",
		rest, more, p.Text(str), more, elem, elem, rest, more, pkg, rest, p.Text(sep))
	return append(append(edits, imports...), p.Span(s.loop.Pos(), s.loop.Body.Lbrace+1, head)), nil
}
