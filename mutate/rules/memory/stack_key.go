package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
	"github.com/beagle-go/beagle/mutate/rules/internal/formats"
)

// stackKey (catalogue S11) matches a map look-up with a concatenated string key. It builds the key
// in a buffer on the stack and looks up m[string(buf)].
var stackKey = &mutate.Mutator{
	Name: "stack-key",
	Doc: "Build the composite key of a map lookup in a buffer on the stack. The concatenation allocates a string " +
		"that lives for the lookup only. Legal because reading m[string(buf)] copies nothing and keeps nothing.",
	Example: mutate.Shows(`return m[host+":"+port]`,
		`var scratch [64]byte // holds most keys without an allocation
key := append(scratch[:0], host...)
key = append(key, ':')
key = append(key, port...)
return m[string(key)]`),
	Class:   beagle.E0,
	Gain:    1.8,
	Find:    findStackKey,
	Params:  sizesFor(64, 128, 256),
	Rewrite: rewriteStackKey,
}

type keySite struct {
	expr  ast.Expr           // the concatenation
	stmt  ast.Stmt           // the statement in front of which the key is built
	decl  *facts.Declaration // key := a + b, if the key has a name
	reads []*ast.Ident
	parts []formats.Piece
}

// findStackKey looks for texts that are put together only to look something up in a map. The
// look-up itself does not keep the text, so bytes on the stack will do.
func findStackKey(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	// First come keys in the look-up itself. They are put together in front of the statement, if
	// nothing before them has effects.
	for _, ix := range mutate.Nodes[*ast.IndexExpr](p, nil) {
		if !facts.IsMapRead(p, ix) || !facts.IsExactString(p, ix.Index) {
			continue
		}
		// One part is a key already.
		parts := keyParts(p, ix.Index)
		if len(parts) < 2 {
			continue
		}
		if stmt, ok := facts.Hoistable(p, ix.Index); ok {
			sites = append(sites, mutate.Site{
				Node:  ix,
				Label: "key " + p.Text(ix.Index),
				Data:  keySite{expr: ix.Index, stmt: stmt, parts: parts},
			})
		}
	}
	// Then come variables, if code does nothing else with them.
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || !syntax.IsPredeclared(d.Var.Type(), types.String) {
			continue
		}
		parts := keyParts(p, d.Value)
		uses, ok := facts.ReadsOf(p, d.Var, p.FuncOf(d.Stmt))
		if len(parts) < 2 || !ok || !onlyLookups(p, uses) {
			continue
		}
		sites = append(sites, mutate.Site{
			Node:  d.Stmt,
			Label: "key " + d.Var.Name(),
			Data:  keySite{d.Value, d.Stmt, &d, uses, parts},
		})
	}
	return sites
}

func onlyLookups(p *mutate.Pass, uses []*ast.Ident) bool {
	for _, id := range uses {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ast.Unparen(ix.Index) != ast.Expr(id) || !facts.IsMapRead(p, ix) {
			return false
		}
	}
	return len(uses) > 0
}

// keyParts takes a concatenation with pure operands apart.
func keyParts(p *mutate.Pass, e ast.Expr) []formats.Piece {
	// A constant needs no memory.
	if p.Info.Types[e].Value != nil {
		return nil
	}
	var out []formats.Piece
	for _, op := range syntax.Operands(e, token.ADD) {
		op = ast.Unparen(op)
		if s, ok := facts.ConstString(p, op); ok {
			out = append(out, formats.Piece{Text: s})
			continue
		}
		// A part with an effect must run once, where it is.
		if !p.Pure(op) {
			return nil
		}
		out = append(out, formats.Piece{Arg: op, Verb: 's'})
	}
	return formats.Join(out)
}

// appendKeyPart appends numbers and conversions without a string in between.
func appendKeyPart(p *mutate.Pass, b string, q formats.Piece) string {
	if call, ok := q.Arg.(*ast.CallExpr); ok {
		if _, itoa := p.IsCall(call, "strconv", "Itoa"); itoa {
			return formats.AppendForm(p, b, formats.Piece{Arg: call.Args[0], Verb: 'd'})
		}
		if from, ok := facts.ConvertsTo(p, call, "string"); ok {
			return "append(" + b + ", " + p.Text(from) + "...)"
		}
	}
	return formats.AppendForm(p, b, q)
}

// rewriteStackKey puts the key together in an array on the stack, and looks up string(key).
func rewriteStackKey(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	k := s.Data.(keySite)
	array, name := p.Fresh("scratch"), p.Fresh("key")
	// A variable for the key keeps its name, and becomes a slice.
	if k.decl != nil {
		name = k.decl.Var.Name()
	}
	// The first part starts the slice on the array, and the others follow.
	lines := []string{
		fmt.Sprintf("var %s [%d]byte // holds most keys without an allocation", array, param.Value),
		fmt.Sprintf("%s := %s", name, appendKeyPart(p, array+"[:0]", k.parts[0])),
	}
	for _, q := range k.parts[1:] {
		lines = append(lines, fmt.Sprintf("%s = %s", name, appendKeyPart(p, name, q)))
	}
	text := strings.Join(lines, "\n")
	// string(key) in a look-up makes no copy: the compiler knows that the map does not keep it.
	if k.decl == nil {
		edits := []mutate.Edit{edit.InsertBefore(p, k.stmt, text), p.Replace(k.expr, "string("+name+")")}
		return edit.WithImports(p, edits, "strconv"), nil
	}
	edits := []mutate.Edit{p.Replace(k.decl.Stmt, text)}
	for _, id := range k.reads {
		edits = append(edits, p.Replace(id, "string("+name+")"))
	}
	return edit.WithImports(p, edits, "strconv"), nil
}
