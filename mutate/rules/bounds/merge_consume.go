package bounds

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// mergeConsume (catalogue B8) matches an index that starts at 0, only reads one list, and grows by
// one. It cuts the first element off the list in place of counting, so that the loop's test covers
// the accesses.
var mergeConsume = &mutate.Mutator{
	Name: "merge-consume",
	Doc: "Walk along lists by cutting the first element off instead of counting indices: the length test of the loop " +
		"then covers the accesses. Two indices that move apart hide that from the compiler. Legal where the index " +
		"only reads its list and grows by one at a time while it is within it.",
	Example: mutate.Shows(`i, j := 0, 0
for i < len(a) && j < len(b) {
	if a[i] < b[j] {
		out = append(out, a[i])
		i++
	} else {
		out = append(out, b[j])
		j++
	}
}
out = append(out, a[i:]...)`,
		`for len(a) > 0 && len(b) > 0 {
	if a[0] < b[0] {
		out = append(out, a[0])
		a = a[1:]
	} else {
		out = append(out, b[0])
		b = b[1:]
	}
}
out = append(out, a...)`),
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findWalks,
	Rewrite: rewriteWalks,
}

// A walk is an index and the list that it walks along.
type walk struct{ index, list *types.Var }

type walkSite struct {
	def   *ast.AssignStmt
	walks []walk
}

// findWalks looks for definitions of indices that each walk along one list to its end.
func findWalks(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, def := range mutate.Nodes[*ast.AssignStmt](p, nil) {
		if def.Tok != token.DEFINE || len(def.Lhs) != len(def.Rhs) || !facts.CanDeclare(p, def) { // no goto
			continue
		}
		if _, i := p.Siblings(def); i < 0 {
			continue
		}
		// The statement may declare up to three indices, each of which starts at 0 and walks along
		// one list. All must be rewritten, because the statement disappears.
		s := walkSite{def: def}
		for i, l := range def.Lhs {
			index := p.Var(l)
			if list := listOf(p, index, p.FuncOf(def)); list != nil && p.IsInt(def.Rhs[i], 0) {
				s.walks = append(s.walks, walk{index, list})
			}
		}
		if len(s.walks) != len(def.Lhs) || len(s.walks) > 3 {
			continue
		}
		if _, err := s.edits(p); err == nil {
			sites = append(sites, mutate.Site{Node: def, Label: "indices along " + s.walks[0].list.Name(), Data: s})
		}
	}
	return sites
}

// listOf returns the only slice or string that an index reads.
func listOf(p *mutate.Pass, index *types.Var, fn *ast.FuncDecl) *types.Var {
	var list *types.Var
	if index == nil {
		return nil
	}
	// Look at each element that the index reads. All must be of one list.
	for _, id := range p.Uses(index, fn) {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok {
			continue
		}
		v := p.Var(ix.X)
		if v == nil || list != nil && list != v {
			return nil
		}
		list = v
	}
	// The list gets shorter as the walk goes on, so nothing else may see it or set it.
	if list == nil || p.IsGlobal(list) || p.Assigned(list, fn.Body) {
		return nil
	}
	if _, slice := list.Type().Underlying().(*types.Slice); !slice && !syntax.IsText(list.Type()) {
		return nil
	}
	return list
}

func rewriteWalks(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	return s.Data.(walkSite).edits(p)
}

func (s walkSite) edits(p *mutate.Pass) ([]mutate.Edit, error) {
	edits := []mutate.Edit{p.Delete(s.def)}
	for _, w := range s.walks {
		e, err := w.edits(p, s.def)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e...)
	}
	return edits, nil
}

// edits rewrites all uses of the index. Behind the definition, code may use the list only through
// the index.
func (w walk) edits(p *mutate.Pass, def *ast.AssignStmt) ([]mutate.Edit, error) {
	fn := p.FuncOf(def)
	var edits []mutate.Edit
	uses := map[*ast.Ident]bool{} // the uses of the list through the index
	steps := 0
	// Each use of the index becomes one of the list that is left. w.use says which use of the list
	// belongs to it, and whether it is a step.
	for _, id := range p.Uses(w.index, fn) {
		e, list, step, err := w.use(p, id)
		if err != nil {
			return nil, err
		}
		if list != nil {
			uses[list] = true
		}
		// Cutting off an element panics at the end of the list, where i++ only grows. So each step
		// needs a test in front of it.
		if step {
			steps++
			if !w.guarded(p, id) {
				return nil, errors.New("the index may step past the end")
			}
		}
		edits = append(edits, e)
	}
	// Behind the definition the list gets shorter, so no other use may want it whole.
	for _, id := range p.Uses(w.list, fn) {
		if id.Pos() > def.Pos() && !uses[id] {
			return nil, errors.New("the list is used as a whole later")
		}
	}
	if inClosure(p, w.list, fn) {
		return nil, errors.New("a function literal uses the list")
	}
	// In an outer loop the second round would start with what the first one left.
	if steps == 0 || p.InLoop(def) /* the first iteration would use the list up */ {
		return nil, errors.New("the index does not walk")
	}
	return edits, nil
}

// use rewrites one use of the index and returns the list's identifier there.
func (w walk) use(p *mutate.Pass, id *ast.Ident) (e mutate.Edit, list *ast.Ident, step bool, err error) {
	name := w.list.Name()
	// The rest of the list begins at the index. So the element at it is the first, and the rest
	// from it is the whole.
	switch up := p.Parent(id).(type) {
	case *ast.IndexExpr:
		if l, ok := up.X.(*ast.Ident); ok && up.Index == ast.Expr(id) && p.Var(l) == w.list {
			return p.Replace(up, name+"[0]"), l, false, nil
		}
	case *ast.SliceExpr:
		if l, ok := up.X.(*ast.Ident); ok && p.Var(l) == w.list && up.Low == ast.Expr(id) && up.High == nil {
			return p.Replace(up, name), l, false, nil
		}
	// A step cuts off the first element.
	case *ast.IncDecStmt:
		if up.Tok == token.INC {
			return p.Replace(up, fmt.Sprintf("%s = %s[1:]", name, name)), nil, true, nil
		}
	// A comparison with the length asks whether something is left.
	case *ast.BinaryExpr:
		op := map[token.Token]string{token.LSS: "> 0", token.NEQ: "> 0", token.EQL: "== 0", token.GEQ: "== 0"}[up.Op]
		if p.LenOf(up.Y) == w.list && up.X == ast.Expr(id) && op != "" {
			l := up.Y.(*ast.CallExpr).Args[0].(*ast.Ident)
			return p.Replace(up, fmt.Sprintf("len(%s) %s", name, op)), l, false, nil
		}
	}
	return e, nil, false, errors.New("the index is used for something else")
}

// guarded reports whether an i++ comes while i is within the list. It must be the only step of its
// iteration, in a loop that runs while i < len(list).
func (w walk) guarded(p *mutate.Pass, id *ast.Ident) bool {
	for _, up := range p.Path(id) {
		f, ok := up.(*ast.ForStmt)
		if !ok {
			continue
		}
		if f.Cond == nil || !w.bounds(p, f.Cond) {
			return false
		}
		return w.stepsOnce(p, f)
	}
	return false
}

func (w walk) bounds(p *mutate.Pass, cond ast.Expr) bool {
	for _, c := range syntax.Operands(cond, token.LAND) {
		b, ok := ast.Unparen(c).(*ast.BinaryExpr)
		if ok && b.Op == token.LSS && p.Var(b.X) == w.index && p.LenOf(b.Y) == w.list {
			return true
		}
	}
	return false
}

// stepsOnce reports whether no path through the loop steps twice. In a list, or in a list around
// it, no step may follow another, unless the first one's list leaves the iteration.
func (w walk) stepsOnce(p *mutate.Pass, f *ast.ForStmt) bool {
	if f.Post != nil && len(p.Uses(w.index, f.Post)) > 0 {
		return len(w.stepsIn(p, f.Body)) == 0
	}
	return w.once(p, f.Body.List)
}

func (w walk) stepsIn(p *mutate.Pass, n ast.Node) []*ast.IncDecStmt {
	var out []*ast.IncDecStmt
	for _, s := range mutate.Nodes[*ast.IncDecStmt](p, n) {
		if p.Var(s.X) == w.index {
			out = append(out, s)
		}
	}
	return out
}

// once checks a list: after a statement that may step and continue, no other may step.
func (w walk) once(p *mutate.Pass, list []ast.Stmt) bool {
	stepped := false
	// Only statements with a step in them count.
	for _, s := range list {
		steps := len(w.stepsIn(p, s))
		if steps == 0 {
			continue
		}
		if stepped {
			return false
		}
		// A step that leaves at once, by continue or return, does not meet a later one.
		switch s := s.(type) {
		case *ast.IncDecStmt:
			stepped = true
		case *ast.IfStmt:
			ok := w.once(p, s.Body.List)
			// All branches must leave for the step to be the last one.
			leaves := mutate.Terminates(s.Body.List)
			switch e := s.Else.(type) {
			case *ast.BlockStmt:
				ok, leaves = ok && w.once(p, e.List), leaves && mutate.Terminates(e.List)
			case *ast.IfStmt:
				ok, leaves = ok && w.once(p, []ast.Stmt{e}), leaves && mutate.Terminates([]ast.Stmt{e})
			case nil:
				leaves = mutate.Terminates(s.Body.List)
			}
			if !ok {
				return false
			}
			stepped = !leaves
		// A case may step or not; a step behind the switch could be the second.
		case *ast.SwitchStmt:
			for _, c := range s.Body.List {
				if body := c.(*ast.CaseClause).Body; !w.once(p, body) || facts.EndsIn(body, token.FALLTHROUGH) {
					return false
				}
			}
			stepped = true
		default:
			return false
		}
	}
	return true
}

// inClosure reports whether a function literal uses v: it may run after v was cut.
func inClosure(p *mutate.Pass, v *types.Var, fn *ast.FuncDecl) bool {
	for _, lit := range mutate.Nodes[*ast.FuncLit](p, fn) {
		if len(p.Uses(v, lit)) > 0 {
			return true
		}
	}
	return false
}
