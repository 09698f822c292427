package rules

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// unroll (catalogue L1, in the block form of B4) matches a loop over the elements of a slice. It
// writes a loop that consumes k elements of the slice in each iteration, so that no access needs a
// check. A second loop handles the rest.
var unroll = &mutate.Mutator{
	Name: "unroll",
	Doc: "Handle several elements per iteration by cutting blocks off the front of the slice. The compiler does not " +
		"unroll loops; in this form one length test covers the whole block and no element access is checked. Legal " +
		"where the index is used only to read the element.",
	Example: mutate.Shows(`for i := 0; i < len(s); i++ {
	if !ok[s[i]] {
		return false
	}
}`,
		`rest := s
for len(rest) >= 4 {
	if !ok[rest[0]] || !ok[rest[1]] || !ok[rest[2]] || !ok[rest[3]] {
		return false
	}
	rest = rest[4:]
}
for i := range len(rest) {
	if !ok[rest[i]] {
		return false
	}
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findUnroll,
	Params:  unrollFactors,
	Rewrite: rewriteUnroll,
}

// maxUnrolledLines bounds the bodies to unroll: long ones gain nothing from fewer loop tests.
const maxUnrolledLines = 10

func findUnroll(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[ast.Stmt](p, nil) {
		l, ok := p.Elements(s)
		if !ok || !l.Plain || !isInnermost(l) || unrolledBefore(p, l) || !canDeclare(p, s) || !canStart(p, l) {
			continue
		}
		// A long body has enough to do between two turns.
		if _, ok := unfoldBody(p, l, "rest", 0); !ok || lineCount(p, l.Body) > maxUnrolledLines {
			continue
		}
		sites = append(sites, mutate.Site{Node: s, Label: "loop over " + l.Seq.Name(), Data: l})
	}
	return sites
}

// isInnermost reports whether the loop reads its element and holds no other loop, whose iterations
// would outweigh its own.
func isInnermost(l *mutate.ElementLoop) bool {
	inner := true
	ast.Inspect(l.Body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.DeferStmt:
			inner = false
		}
		return inner
	})
	_, array := l.Seq.Type().Underlying().(*types.Array)
	return inner && !array && len(l.Body.List) > 0 && (len(l.Elems) > 0 || l.Value != nil)
}

// unrolledBefore recognises the tail that this rule wrote: a loop over the variable that the loop
// before it consumes.
func unrolledBefore(p *mutate.Pass, l *mutate.ElementLoop) bool {
	list, i := p.Siblings(l.Stmt)
	if i < 1 {
		return false
	}
	before, ok := list[i-1].(*ast.ForStmt)
	return ok && len(p.Uses(l.Seq, before.Cond)) > 0
}

func unrollFactors(p *mutate.Pass, s mutate.Site) []mutate.Param {
	var out []mutate.Param
	for _, k := range []int{4, 8, 2, 16} {
		if k < 16 || lineCount(p, s.Data.(*mutate.ElementLoop).Body) <= 4 {
			out = append(out, mutate.Param{Label: strconv.Itoa(k), Value: k})
		}
	}
	return out
}

// rewriteUnroll writes the body k times for blocks of k elements. The original loop handles the
// rest.
func rewriteUnroll(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	l, k := s.Data.(*mutate.ElementLoop), param.Value.(int)
	if isLabelled(p, s.Node) {
		return nil, errors.New("the loop has a label")
	}
	rest := p.Fresh("rest", "rest2")
	var block strings.Builder
	// Tests that leave in the same way are joined into one condition. Any other body is repeated.
	if cond, then, ok := exitTest(p, l); ok {
		tests := make([]string, k)
		for j := range tests {
			tests[j] = elementText(p, l, rest, cond, strconv.Itoa(j))
		}
		fmt.Fprintf(&block, "if %s {\n%s\n}\n", joinTests(tests, "||"), p.BodyText(then))
	} else {
		for j := range k {
			text, ok := unfoldBody(p, l, rest, j)
			if !ok {
				return nil, errors.New("the body cannot be repeated")
			}
			block.WriteString(text + "\n")
		}
	}
	// The blocks run while k elements are left, and the original loop takes the rest.
	text := fmt.Sprintf("%s := %s\nfor len(%s) >= %d {\n%s%s = %s[%d:]\n}\n%s",
		rest, startOf(l), rest, k, block.String(), rest, rest, k, remainderLoop(p, l, rest))
	if _, i := p.Siblings(s.Node.(ast.Stmt)); i < 0 {
		return nil, errors.New("the loop stands in no statement list")
	}
	return []mutate.Edit{p.Replace(s.Node, text)}, nil
}

// canStart reports whether the functions that startOf and the loop after it call are the
// language's own.
func canStart(p *mutate.Pass, l *mutate.ElementLoop) bool {
	return !isRedefined(p, l.Stmt, "len") && (l.Start == 0 || p.GoAtLeast(21) && !isRedefined(p, l.Stmt, "min"))
}

func startOf(l *mutate.ElementLoop) string {
	if l.Start == 0 {
		return l.Seq.Name()
	}
	return fmt.Sprintf("%s[min(%d, len(%s)):]", l.Seq.Name(), l.Start, l.Seq.Name())
}

// remainderLoop returns the original loop, over the rest.
func remainderLoop(p *mutate.Pass, l *mutate.ElementLoop, rest string) string {
	// What is left is shorter than a step, so it goes one by one.
	body := p.TextWith(l.Body, func(n ast.Node) (string, bool) {
		if ix, ok := n.(*ast.IndexExpr); ok && isElem(l, ix) {
			return rest + "[" + l.Index.Name() + "]", true
		}
		return "", false
	})
	if l.Value != nil {
		// The index may be needed by the body as well.
		index := "_"
		if len(l.Elems) > 0 {
			index = l.Index.Name()
		}
		return fmt.Sprintf("for %s, %s := range %s %s", index, l.Value.Name(), rest, body)
	}
	return countTo(p, l.Index.Name(), "len("+rest+")") + body
}

func isElem(l *mutate.ElementLoop, ix *ast.IndexExpr) bool {
	for _, e := range l.Elems {
		if e == ix {
			return true
		}
	}
	return false
}

// elementText returns the text of n with rest[j] in place of the loop's element.
func elementText(p *mutate.Pass, l *mutate.ElementLoop, rest string, n ast.Node, j string) string {
	// Where the body may write to the list, the copy of the element keeps its name.
	elem, keep := rest+"["+j+"]", needsCopy(p, l)
	return p.TextWith(n, func(m ast.Node) (string, bool) {
		switch m := m.(type) {
		case *ast.IndexExpr:
			if isElem(l, m) {
				return elem, true
			}
		case *ast.Ident:
			if keep {
				return "", false
			}
			if l.Value != nil && p.Info.Uses[m] == l.Value {
				return elem, true
			}
			if v := copyOfElement(p, l); v != nil && p.Info.Uses[m] == v {
				return elem, true
			}
		}
		return "", false
	})
}

// needsCopy reports whether the body may write into the slice, through another one that shares its
// memory. In that case code must not read an element again that the original had copied.
func needsCopy(p *mutate.Pass, l *mutate.ElementLoop) bool {
	if isStringVar(l.Seq) {
		return false
	}
	// A write through anything but a plain variable may reach the list.
	stores := false
	ast.Inspect(l.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				stores = stores || p.Var(left) == nil && p.Text(left) != "_"
			}
		case *ast.IncDecStmt:
			stores = stores || p.Var(n.X) == nil
		case *ast.CallExpr:
			stores = stores || p.Effects(n).Writes
		}
		return !stores
	})
	return stores
}

// copyOfElement returns c if the body starts with c := s[i] and does not assign c later. Code can
// then read the block in place of the copy.
func copyOfElement(p *mutate.Pass, l *mutate.ElementLoop) *types.Var {
	as, ok := l.Body.List[0].(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	ix, ok := ast.Unparen(as.Rhs[0]).(*ast.IndexExpr)
	v := p.Var(as.Lhs[0])
	if !ok || !isElem(l, ix) || v == nil || p.Assigned(v, p.FuncOf(as)) && assignedAgain(p, v, as) {
		return nil
	}
	return v
}

func assignedAgain(p *mutate.Pass, v *types.Var, def *ast.AssignStmt) bool {
	fn := p.FuncOf(def)
	for _, id := range p.Uses(v, fn) {
		// Its declaration is no second assignment.
		if up, ok := p.Parent(id).(*ast.AssignStmt); !ok || up != def {
			if p.Assigned(v, p.Parent(id)) {
				return true
			}
		}
	}
	return false
}

// exitTest recognises a body that only leaves the loop if a pure test of the element holds. The
// tests of a block can be joined.
func exitTest(p *mutate.Pass, l *mutate.ElementLoop) (cond ast.Expr, then *ast.BlockStmt, ok bool) {
	// Behind an optional copy of the element, the body is a single if with a single return.
	list := l.Body.List
	if copyOfElement(p, l) != nil {
		list = list[1:]
	}
	if len(list) != 1 {
		return nil, nil, false
	}
	s, isIf := list[0].(*ast.IfStmt)
	if !isIf || s.Init != nil || s.Else != nil || len(s.Body.List) != 1 {
		return nil, nil, false
	}
	ret, isReturn := s.Body.List[0].(*ast.ReturnStmt)
	// The return must not depend on the element: it no longer says which one it was.
	if !isReturn || p.Effects(s.Cond).Writes || usesElement(p, l, ret) {
		return nil, nil, false
	}
	if b, isBinary := s.Cond.(*ast.BinaryExpr); isBinary && b.Op == token.LAND {
		return nil, nil, false // with || it would need parentheses and read badly
	}
	return s.Cond, s.Body, true
}

func usesElement(p *mutate.Pass, l *mutate.ElementLoop, n ast.Node) bool {
	used := false
	for id := range mutate.Nodes[*ast.Ident](p, n) {
		v, ok := p.Info.Uses[id].(*types.Var)
		used = used || ok && (v == l.Index || v == l.Value || v == copyOfElement(p, l))
	}
	return used
}

// unfoldBody returns one copy of the body for element j. It turns `if x { continue }` and the
// statements after it into two branches. It refuses a body with break, labels or a continue
// elsewhere.
func unfoldBody(p *mutate.Pass, l *mutate.ElementLoop, rest string, j int) (string, bool) {
	// A break would leave the block's loop, after elements that the block has not handled.
	breaks, continues, ok := p.Branches(l.Body)
	if !ok || len(breaks) > 0 || p.Effects(l.Body).Jumps && hasDefer(p, l.Body) {
		return "", false
	}
	list, keep := l.Body.List, needsCopy(p, l)
	if copyOfElement(p, l) != nil && !keep {
		list = list[1:]
	}
	// Each continue must be the end of an if; those that are left over stand elsewhere.
	text, left := unfoldList(p, l, list, rest, j, len(continues))
	if left != 0 {
		return "", false
	}
	if keep && l.Value != nil {
		text = fmt.Sprintf("%s := %s[%d]\n%s", l.Value.Name(), rest, j, text)
	}
	// Declarations of one copy must not meet those of the next.
	if declaresNames(list) || keep && l.Value != nil {
		text = "{\n" + text + "\n}"
	}
	return text, true
}

// unfoldList writes the statements of element j. An iteration that ends in a continue has no loop
// to continue any more: what follows it in the body becomes the else branch.
func unfoldList(p *mutate.Pass, l *mutate.ElementLoop, list []ast.Stmt, rest string, j, continues int) (string, int) {
	if len(list) == 0 {
		return "", continues
	}
	if s, ok := list[0].(*ast.IfStmt); ok && s.Else == nil && s.Init == nil &&
		facts.EndsIn(s.Body.List, token.CONTINUE) {
		then := ""
		if before := s.Body.List[:len(s.Body.List)-1]; len(before) > 0 {
			then = elementText(p, l, rest,
				&ast.BlockStmt{Lbrace: before[0].Pos(), List: before, Rbrace: before[len(before)-1].End() - 1},
				strconv.Itoa(j))
		}
		// The statements after the if run only if it does not continue.
		other, left := unfoldList(p, l, list[1:], rest, j, continues-1)
		cond := elementText(p, l, rest, s.Cond, strconv.Itoa(j))
		// Leave out a branch that is empty, and the if with both.
		switch {
		case other == "" && then == "":
			return "", left
		case then == "":
			return fmt.Sprintf("if %s {\n%s\n}", negatedText(p, s.Cond, cond), other), left
		case other == "":
			return fmt.Sprintf("if %s {\n%s\n}", cond, then), left
		}
		return fmt.Sprintf("if %s {\n%s\n} else {\n%s\n}", cond, then, other), left
	}
	text := elementText(p, l, rest, list[0], strconv.Itoa(j))
	more, left := unfoldList(p, l, list[1:], rest, j, continues)
	if more != "" {
		text += "\n" + more
	}
	return text, left
}

var comparison = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR}

// negatedText returns !cond in the usual spelling. Comparisons of floats stay under the !, because
// of NaN.
func negatedText(p *mutate.Pass, cond ast.Expr, text string) string {
	switch e := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return strings.TrimPrefix(strings.TrimSpace(text), "!")
		}
	case *ast.BinaryExpr:
		op, ok := comparison[e.Op]
		b, basic := p.Info.TypeOf(e.X).Underlying().(*types.Basic)
		// The operator must stand once in the text, or another one might be turned.
		if old := regexp.MustCompile(" " + e.Op.String() + " "); ok && basic &&
			b.Info()&(types.IsFloat|types.IsComplex) == 0 && len(old.FindAllString(text, -1)) == 1 {
			return old.ReplaceAllString(text, " "+op.String()+" ")
		}
		return "!(" + text + ")"
	}
	return "!" + text
}

// declaresNames reports whether a list declares names, so that its copies need blocks of their own.
func declaresNames(list []ast.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.DeclStmt:
			return true
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				return true
			}
		}
	}
	return false
}

// joinTests breaks a long chain after every fourth test.
func joinTests(tests []string, op string) string {
	var out strings.Builder
	for i, t := range tests {
		switch {
		case i == 0:
		case i%4 == 0 && len(tests) > 5:
			out.WriteString(" " + op + "\n")
		default:
			out.WriteString(" " + op + " ")
		}
		out.WriteString(t)
	}
	return out.String()
}
