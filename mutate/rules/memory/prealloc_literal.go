package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A firstElements is a list that is written out, or made of a text, and grows afterwards: []T{a, b}
// or []byte(s).
type firstElements struct {
	value ast.Expr
	typ   string // as written
	text  string // the elements as further arguments of append
	room  string // how many they are
	n     int    // the same if the list is written out
}

// maxFirst is the number of elements above which a list stays as it is written.
const maxFirst = 64

// firstOf recognises a list with elements.
func firstOf(p *mutate.Pass, e ast.Expr) (f firstElements, ok bool) {
	f.value = e
	switch e := e.(type) {
	case *ast.CompositeLit:
		if e.Type == nil || len(e.Elts) == 0 || len(e.Elts) > maxFirst || !facts.IsSlice(p.Info.TypeOf(e)) {
			return f, false
		}
		for _, x := range e.Elts {
			switch x := x.(type) {
			case *ast.KeyValueExpr:
				return f, false // an index
			case *ast.CompositeLit:
				if x.Type == nil {
					return f, false // the type stands in the list's type only
				}
			}
		}
		f.typ, f.n, f.room = p.Text(e.Type), len(e.Elts), strconv.Itoa(len(e.Elts))
		f.text = strings.TrimRight(p.Between(e.Lbrace+1, e.Rbrace), " \t")
		return f, true
	case *ast.CallExpr:
		from, ok := facts.ConvertsTo(p, e, "[]byte")
		if !ok || !p.Pure(from) || facts.CallsFunction(p, from) {
			return f, false
		}
		f.typ, f.text = p.Text(e.Fun), p.Text(from)+"..."
		f.room = "len(" + p.Text(from) + ")"
		return f, true
	}
	return f, false
}

// roomFor makes the list with room for more elements from the start.
func (f firstElements) roomFor(more string) string {
	return fmt.Sprintf("append(make(%s, 0, %s+%s), %s)", f.typ, f.room, more, f.text)
}

// longerSites finds lists that are declared with elements and grow in the statements that follow.
//
//	args := []string{"get", key}
//	for _, f := range fields {
//		args = append(args, f)
//	}
func longerSites(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || facts.Captured.Of(p)[d.Var] || !facts.CanDeclare(p, list[i]) ||
			facts.RedefinesAny(p, list[i], "make", "append", "len") {
			continue
		}
		f, ok := firstOf(p, d.Value)
		if !ok {
			continue
		}
		if more := growthAfter(p, d, list[i:]); more != "" {
			sites = append(sites, edit.Site(d.Stmt, d.Var.Name()+" that grows", p.Replace(d.Value, f.roomFor(more))))
		}
	}
	return sites
}

// growthAfter returns by how many elements a list certainly grows in the statements after its
// declaration, which list begins with. It stops at the first other use. The number is exact, so
// that no room is left which two later appends could share.
func growthAfter(p *mutate.Pass, d facts.Declaration, list []ast.Stmt) string {
	var terms []string
	single := 0
	for i, s := range list[1:] {
		if len(p.Uses(d.Var, s)) == 0 {
			continue // it does not need the list, even if it leaves the function
		}
		g, ok := growthOf(p, d.Var, s)
		if !ok || g.of != nil && !g.knownAt(p, d.Stmt, list[:i+1]) {
			break
		}
		if single += g.single; g.of != nil {
			terms = append(terms, g.text)
		}
	}
	// The elements of one append alone are better written into the list.
	if len(terms) == 0 {
		return ""
	}
	if single > 0 {
		terms = append(terms, strconv.Itoa(single))
	}
	return strings.Join(terms, "+")
}

// A growth is a number of elements that a statement appends.
type growth struct {
	single int
	of     ast.Expr // what they are as many as; nil if there are single ones only
	text   string   // their number, from of
}

// growthOf recognises an append, and a loop in which every iteration appends.
func growthOf(p *mutate.Pass, v *types.Var, s ast.Stmt) (g growth, ok bool) {
	if w, call, ok := facts.AppendsTo(p, s); ok {
		// The list itself may not be among what is appended.
		if w != v || len(p.Uses(v, s)) != 2 {
			return g, false
		}
		if !call.Ellipsis.IsValid() {
			return growth{single: len(call.Args) - 1}, true
		}
		e := call.Args[1]
		return growth{of: e, text: "len(" + p.Text(e) + ")"}, !p.Info.Types[e].IsNil()
	}
	per, _, _ := appendsPerIteration(p, v, s)
	if per == 0 || per != directAppends(p, v, syntax.LoopBody(s)) || facts.Loops.Of(p)[s].StopsEarly(p) {
		return g, false
	}
	if _, continues, clean := p.Branches(syntax.LoopBody(s)); !clean || len(continues) > 0 {
		return g, false // some iterations may append less
	}
	if g.of, g.text, ok = iterations(p, s); !ok {
		return g, false
	}
	if per > 1 {
		g.text = strconv.Itoa(per) + "*" + g.text
	}
	return g, true
}

// directAppends counts the elements that the statements of a body append under no condition.
func directAppends(p *mutate.Pass, v *types.Var, body *ast.BlockStmt) int {
	n := 0
	for _, s := range body.List {
		if w, call, ok := facts.AppendsTo(p, s); ok && w == v {
			n += len(call.Args) - 1
		}
	}
	return n
}

// iterations returns the exact number of iterations of a loop that does not stop early, and the
// expression that it comes from.
func iterations(p *mutate.Pass, s ast.Stmt) (of ast.Expr, text string, ok bool) {
	switch s := s.(type) {
	case *ast.RangeStmt:
		of = s.X
		switch p.Info.TypeOf(of).Underlying().(type) {
		case *types.Slice, *types.Array:
			return of, "len(" + p.Text(of) + ")", true
		case *types.Map:
			return of, "len(" + p.Text(of) + ")", facts.MapKept(p, of, s.Body)
		}
		return of, factor(p, of), facts.IsPredeclared(p, of, types.Int) && facts.IsLength(p, of)
	case *ast.ForStmt:
		l, ok := p.Counted(s)
		if !ok || !l.Strict || l.Skips || l.Start == nil || !p.IsInt(l.Start, 0) || !facts.IsLength(p, l.Bound) ||
			!facts.IsPredeclared(p, l.Bound, types.Int) || !facts.Stable(p, l.Bound, s) {
			return nil, "", false
		}
		if cond, ok := ast.Unparen(s.Cond).(*ast.BinaryExpr); !ok || cond.Op != token.LSS {
			return nil, "", false
		}
		return l.Bound, factor(p, l.Bound), true
	}
	return nil, "", false
}

// factor is the text of an expression as a factor of a product.
func factor(p *mutate.Pass, e ast.Expr) string {
	if _, ok := ast.Unparen(e).(*ast.BinaryExpr); ok {
		return "(" + p.Text(ast.Unparen(e)) + ")"
	}
	return p.Text(e)
}

// knownAt reports whether code can ask for the number at a declaration: without effects, with names
// that mean the same there, and with the same answer as after the statements that follow it.
func (g growth) knownAt(p *mutate.Pass, at ast.Stmt, between []ast.Stmt) bool {
	if f := p.Effects(g.of); f.Writes || f.Panics || f.Allocs || facts.CallsFunction(p, g.of) {
		return false
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, g.of) {
		obj := p.Info.Uses[id]
		if v, field := obj.(*types.Var); obj == nil || field && v.IsField() {
			continue
		}
		if !facts.Means(p, at.Pos(), id.Name, obj) {
			return false
		}
	}
	_, isMap := p.Info.TypeOf(g.of).Underlying().(*types.Map)
	for _, s := range between {
		// The length of a map is memory that a lock may guard.
		if !facts.Stable(p, g.of, s) || isMap && p.Effects(s).Writes {
			return false
		}
	}
	return true
}
