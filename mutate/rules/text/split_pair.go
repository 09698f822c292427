package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// splitPair (part of catalogue S4) matches strings.SplitN with a limit of two whose halves code
// uses by index. It calls strings.Cut and names the halves.
var splitPair = &mutate.Mutator{
	Name: "split-pair",
	Doc: "Cut a string in two with strings.Cut instead of SplitN, which allocates a slice for the halves. Legal " +
		"because the halves are used by name only, and the second only where it is known to be there.",
	Example: mutate.Shows(`pair := strings.SplitN(s, "=", 2)
if len(pair) < 2 {
	return s, ""
}
return pair[0], pair[1]`,
		`head, tail, found := strings.Cut(s, "=")
if !found {
	return s, ""
}
return head, tail`),
	Class:   beagle.E0,
	Gain:    1.8,
	Find:    findSplitPair,
	Rewrite: edit.Precomputed,
}

// findSplitPair looks for strings.SplitN(s, sep, 2) in a variable, of which code only takes the
// halves.
func findSplitPair(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	// strings.Cut came with Go 1.18.
	if !p.GoAtLeast(18) {
		return nil
	}
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Type != nil || facts.Captured.Of(p)[d.Var] || !facts.CanDeclare(p, list[i]) {
			continue
		}
		// SplitN with an empty separator splits characters, which Cut does not.
		call, ok := p.IsCall(syntax.OrNil(d.Value), "strings", "SplitN")
		if !ok || !p.IsInt(call.Args[2], 2) {
			continue
		}
		if sep, constant := facts.ConstString(p, call.Args[1]); !constant || sep == "" {
			continue
		}
		if edits := pairEdits(p, d, call); edits != nil {
			sites = append(sites, edit.Site(d.Stmt, "halves of "+p.Text(call.Args[0]), edits...))
		}
	}
	return sites
}

// pairEdits names the halves and the answer. It returns nil if code uses the parts other than as
// pair[0], pair[1] and in comparisons of their number.
func pairEdits(p *mutate.Pass, d facts.Declaration, call *ast.CallExpr) []mutate.Edit {
	// strings.Cut gives the two halves and whether there were two; those that nothing uses become
	// blank.
	names := [3]string{p.Fresh("head", "before"), p.Fresh("tail", "after"), p.Fresh("found", "isPair")}
	used := [3]bool{}
	var edits []mutate.Edit
	use := func(n ast.Node, i int, prefix string) {
		used[i] = true
		edits = append(edits, p.Replace(n, prefix+names[i]))
	}
	// Each use must be a half or a question for their number. The second half exists only where the
	// code has asked for it: anywhere else the original panics and Cut returns an empty text.
	for _, id := range p.Uses(d.Var, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			switch {
			case up.X != ast.Expr(id) || facts.AssignedTo(p, up):
				return nil
			case p.IsInt(up.Index, 0):
				use(up, 0, "")
			case p.IsInt(up.Index, 1) && knownPair(p, up, d.Var):
				use(up, 1, "")
			default:
				return nil
			}
		// SplitN with 2 gives one or two parts, so a comparison of their number is the same as the
		// answer, or its opposite.
		case *ast.CallExpr:
			test, is := p.Parent(up).(*ast.BinaryExpr)
			if !is {
				return nil
			}
			pair, ok := asksForPair(p, test, d.Var)
			if !ok {
				return nil
			}
			if pair {
				use(test, 2, "")
			} else {
				use(test, 2, "!")
			}
		default:
			return nil
		}
	}
	// Without any use the compiler would reject the variables.
	if len(edits) == 0 {
		return nil
	}
	for i := range names {
		if !used[i] {
			names[i] = "_"
		}
	}
	fun := call.Fun.(*ast.SelectorExpr)
	return append(edits,
		p.Replace(d.Stmt,
			fmt.Sprintf("%s, %s, %s := %s.Cut(%s, %s)", names[0], names[1], names[2], p.Text(fun.X),
				p.Text(call.Args[0]), p.Text(call.Args[1]))))
}

// asksForPair reads a comparison of len(v), which is 1 or 2, with a constant.
func asksForPair(p *mutate.Pass, e ast.Expr, v *types.Var) (pair, ok bool) {
	b, is := ast.Unparen(e).(*ast.BinaryExpr)
	if !is || p.LenOf(b.X) != v {
		return false, false
	}
	// The constant must tell 1 from 2: only then does the comparison say which one it is.
	n, constant := p.Int(b.Y)
	if !constant {
		return false, false
	}
	// holds evaluates the comparison for a given length.
	holds := func(length int64) bool {
		switch b.Op {
		case token.EQL:
			return length == n
		case token.NEQ:
			return length != n
		case token.LSS:
			return length < n
		case token.LEQ:
			return length <= n
		case token.GTR:
			return length > n
		}
		return length >= n
	}
	switch b.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return holds(2), holds(1) != holds(2)
	}
	return false, false
}

// knownPair reports whether both halves certainly exist at n: it stands under a test for them, or
// after a test that leaves without them.
func knownPair(p *mutate.Pass, n ast.Node, v *types.Var) bool {
	// Climb from the use outwards, to a test that must have held for the use to be reached.
	child := n
	for _, up := range p.Path(n)[1:] {
		switch up := up.(type) {
		// The right side of && is reached when the left side holds, that of || when it does not.
		case *ast.BinaryExpr:
			if up.Y == child &&
				(up.Op == token.LAND && impliesPair(p, up.X, v, true) ||
					up.Op == token.LOR && impliesPair(p, up.X, v, false)) {
				return true
			}
		// So it is with the body and the else branch of an if.
		case *ast.IfStmt:
			if up.Body == child && impliesPair(p, up.Cond, v, true) ||
				up.Else == child && impliesPair(p, up.Cond, v, false) {
				return true
			}
		// An earlier statement of the list may have left where the second half is missing.
		case *ast.BlockStmt:
			if leavesWithout(p, up.List, child, v) {
				return true
			}
		case *ast.CaseClause:
			if leavesWithout(p, up.Body, child, v) {
				return true
			}
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		}
		child = up
	}
	return false
}

// impliesPair reports whether both halves exist if a condition has a given truth value.
func impliesPair(p *mutate.Pass, cond ast.Expr, v *types.Var, truth bool) bool {
	op := token.LAND
	if !truth {
		op = token.LOR
	}
	for _, test := range syntax.Operands(cond, op) {
		if pair, ok := asksForPair(p, test, v); ok && pair == truth {
			return true
		}
	}
	return false
}

// leavesWithout reports whether a statement in front of child leaves the list if there is no second
// half.
func leavesWithout(p *mutate.Pass, list []ast.Stmt, child ast.Node, v *types.Var) bool {
	for _, s := range list {
		if ast.Node(s) == child {
			return false
		}
		if i, ok := s.(*ast.IfStmt); ok && i.Else == nil && mutate.Terminates(i.Body.List) &&
			impliesPair(p, i.Cond, v, false) {
			return true
		}
	}
	return false
}
