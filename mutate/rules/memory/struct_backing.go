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
)

// structBacking (part of catalogue A6) matches a loop through something of known length that makes
// a struct on the heap each iteration. It makes all structs at once, and hands out the next one.
var structBacking = &mutate.Mutator{
	Name: "struct-backing",
	Doc: "Allocate in one piece the structs that a loop makes one by one and keeps by their addresses: one " +
		"allocation instead of one for each. Contents and identities are the same; only, one struct in use keeps " +
		"all alive, and iterations that make none leave room unused.",
	Example: mutate.Shows(`for _, u := range users {
	out = append(out, &Row{Name: u.Name})
}`,
		`rows := make([]Row, len(users)) // all in one piece
for _, u := range users {
	rows[0] = Row{Name: u.Name}
	out = append(out, &rows[0])
	rows = rows[1:]
}`),
	Class:   beagle.E2,
	Gain:    1.3,
	Find:    findStructBacking,
	Rewrite: edit.Precomputed,
}

// findStructBacking looks for loops that allocate one struct for each element of a list. One slice
// of structs serves for all; each iteration takes the next element of it.
func findStructBacking(p *mutate.Pass) []mutate.Site {
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if _, ok := p.IsCall(call, "runtime", "SetFinalizer"); ok {
			return nil // it takes the begin of an allocation only
		}
	}
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		// The number of iterations bounds how many structs there are, so the loop must have a
		// length.
		l := facts.Loops.Of(p)[s]
		if l == nil || !hasLength(p, l) || !facts.CanDeclare(p, s) {
			continue
		}
		for _, stmt := range l.Body.List {
			// The type is named in front of the loop, so it must mean the same there.
			lit := keptStruct(p, stmt)
			if lit == nil || !knownOutside(p, lit.Type, s) {
				continue
			}
			typ := p.Text(lit.Type)
			name := p.Fresh(pluralOf(typ), "structs")
			up := p.Parent(lit).(*ast.UnaryExpr)
			// The literal becomes the address of the first element left, and the slice gets shorter
			// after the statement. The elements are zero already, so an empty literal needs no
			// assignment.
			edits := []mutate.Edit{
				edit.InsertBefore(p, edit.LabelOf(p, s),
					fmt.Sprintf("%s := make([]%s, len(%s)) // all in one piece", name, typ, p.Text(l.Seq))),
				p.Replace(up, "&"+name+"[0]"),
				p.Insert(stmt.End(), fmt.Sprintf("\n%s = %s[1:]", name, name)),
			}
			if len(lit.Elts) > 0 {
				edits = append(edits, edit.InsertBefore(p, stmt, fmt.Sprintf("%s[0] = %s", name, p.Text(lit))))
			}
			sites = append(sites, edit.Site(lit, "structs "+typ+" of a loop", edits...))
		}
	}
	return sites
}

// hasLength reports whether a loop takes at most as many iterations as the length of what it goes
// through says in front of it.
func hasLength(p *mutate.Pass, l *facts.Loop) bool {
	switch l.Kind {
	case facts.OverElements:
	case facts.OverMap:
		// Entries that are added to a map during the loop may come up in it.
		if !facts.MapKept(p, l.Seq, l.Body) {
			return false
		}
	default:
		return false
	}
	// It is evaluated in front of the loop, too.
	if p.Effects(l.Seq).Writes {
		return false
	}
	for range mutate.Nodes[*ast.CallExpr](p, l.Seq) {
		return false
	}
	_, literal := ast.Unparen(l.Seq).(*ast.CompositeLit)
	return !literal
}

// keptStruct returns the literal of a statement that makes a struct and keeps its address: in a
// variable that is handed on, in a list or in an element. All else of the statement has no effects.
func keptStruct(p *mutate.Pass, s ast.Stmt) *ast.CompositeLit {
	// A variable must be handed on: one that stays here is on the stack anyway.
	if d, ok := facts.Declares(p, s); ok {
		if d.Value == nil || d.Type != nil || !pointerKept(p, d.Var) {
			return nil
		}
		return structLiteral(p, d.Value)
	}
	// A list or an element keeps the address.
	if call, ok := facts.ElementAppend(p, s); ok {
		if len(call.Args) != 2 {
			return nil
		}
		return structLiteral(p, call.Args[1])
	}
	lhs, rhs, ok := syntax.SplitAssign(s, token.ASSIGN)
	ix, index := lhs.(*ast.IndexExpr)
	if !ok || !index || p.Effects(ix).Writes {
		return nil
	}
	lit := structLiteral(p, rhs)
	if lit != nil && p.Effects(lit).Writes && p.Effects(ix).Reads {
		return nil // the element would be found after the literal's changes
	}
	return lit
}

// pointerKept reports whether code does more with a pointer than to use the fields behind it. The
// compiler keeps the other structs on the stack.
func pointerKept(p *mutate.Pass, v *types.Var) bool {
	for _, id := range p.Uses(v, p.File) {
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); !ok || sel.X != ast.Expr(id) {
			return true
		}
	}
	return false
}

// knownOutside reports whether the names of a type mean the same in front of a loop.
func knownOutside(p *mutate.Pass, typ ast.Expr, loop ast.Stmt) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, typ) {
		if obj := p.Info.Uses[id]; obj != nil && obj.Parent() != nil && !facts.Means(p, loop.Pos(), id.Name, obj) {
			return false
		}
	}
	return true
}

// pluralOf is a name for several values of a type.
func pluralOf(typ string) string {
	typ, _, _ = strings.Cut(typ, "[")
	return edit.LowerFirst(typ[strings.LastIndex(typ, ".")+1:]) + "s"
}
