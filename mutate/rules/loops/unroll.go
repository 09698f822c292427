package loops

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
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
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
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		l, ok := p.Elements(s)
		if !ok || !l.Plain || !facts.IsInnermost(l) || facts.UnrolledBefore(p, l) || !facts.CanDeclare(p, s) ||
			!facts.CanStart(p, l) {
			continue
		}
		// A long body has enough to do between two turns.
		if _, ok := unfoldBody(p, l, "rest", 0); !ok || facts.LineCount(p, l.Body) > maxUnrolledLines {
			continue
		}
		sites = append(sites, mutate.Site{Node: s, Label: "loop over " + l.Seq.Name(), Data: l})
	}
	return sites
}

func unrollFactors(p *mutate.Pass, s mutate.Site) []mutate.Param {
	var out []mutate.Param
	for _, k := range []int{4, 8, 2, 16} {
		if k < 16 || facts.LineCount(p, s.Data.(*mutate.ElementLoop).Body) <= 4 {
			out = append(out, mutate.Param{Label: strconv.Itoa(k), Value: k})
		}
	}
	return out
}

// rewriteUnroll writes the body k times for blocks of k elements. The original loop handles the
// rest.
func rewriteUnroll(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	l, k := s.Data.(*mutate.ElementLoop), param.Value.(int)
	if facts.IsLabelled(p, s.Node) {
		return nil, errors.New("the loop has a label")
	}
	rest := p.Fresh("rest", "rest2")
	var block strings.Builder
	// Tests that leave in the same way are joined into one condition. Any other body is repeated.
	if cond, then, ok := facts.ExitTest(p, l); ok {
		tests := make([]string, k)
		for j := range tests {
			tests[j] = elementText(p, l, rest, cond, strconv.Itoa(j))
		}
		fmt.Fprintf(&block, "if %s {\n%s\n}\n", edit.JoinTests(tests, "||"), p.BodyText(then))
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
		rest, edit.StartOf(l), rest, k, block.String(), rest, rest, k, edit.RemainderLoop(p, l, rest))
	if _, i := p.Siblings(s.Node.(ast.Stmt)); i < 0 {
		return nil, errors.New("the loop stands in no statement list")
	}
	return []mutate.Edit{p.Replace(s.Node, text)}, nil
}

// unfoldBody returns one copy of the body for element j. It turns `if x { continue }` and the
// statements after it into two branches. It refuses a body with break, labels or a continue
// elsewhere.
func unfoldBody(p *mutate.Pass, l *mutate.ElementLoop, rest string, j int) (string, bool) {
	// A break would leave the block's loop, after elements that the block has not handled.
	breaks, continues, ok := p.Branches(l.Body)
	if !ok || len(breaks) > 0 || p.Effects(l.Body).Jumps && facts.HasDefer(p, l.Body) {
		return "", false
	}
	list, keep := l.Body.List, needsCopy(p, l)
	if facts.CopyOfElement(p, l) != nil && !keep {
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
// to continue any more: the statements after it become the else branch.
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

// negatedText returns !cond in the usual spelling. Comparisons of floats stay under the !, because
// of NaN.
func negatedText(p *mutate.Pass, cond ast.Expr, text string) string {
	switch e := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return strings.TrimPrefix(strings.TrimSpace(text), "!")
		}
	case *ast.BinaryExpr:
		op, ok := edit.Opposite[e.Op]
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
