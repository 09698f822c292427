package branches

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// chainSwitch (catalogue C11) matches a chain of ifs that compare one variable with different
// constants. It writes a switch on the variable.
var chainSwitch = &mutate.Mutator{
	Name: "if-chain-to-switch",
	Doc: "Choose by a switch instead of comparing one value with constants one after the other. The compiler " +
		"searches constant cases or jumps through a table. Legal because the constants differ and the value is a " +
		"plain variable.",
	Example: mutate.Shows(`if op == "get" {
	return 1
} else if op == "put" {
	return 2
} ...`,
		`switch op {
case "get":
	return 1
case "put":
	return 2
...
}`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findChainSwitch,
	Rewrite: edit.Precomputed,
}

type chainArm struct {
	consts []ast.Expr
	body   *ast.BlockStmt
}

// findChainSwitch looks for four or more comparisons of one variable with constants: as else ifs,
// or as ifs in a row that return.
func findChainSwitch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		s, ok := list[i].(*ast.IfStmt)
		if !ok {
			continue
		}
		// A chain of else if is one site.
		if v, arms, otherwise := elseChain(p, s); len(arms) >= 4 && areDistinct(p, arms) {
			sites = append(sites, edit.Site(s, "chain on "+v.Name(), p.Replace(s, switchText(p, v, arms, otherwise))))
			continue
		}
		// In a run of ifs that return, each one begins a shorter run: offer only the longest.
		if i > 0 {
			if prev, ok := list[i-1].(*ast.IfStmt); ok && returnArm(p, prev) != nil && returnArm(p, s) != nil &&
				armVar(p, prev) == armVar(p, s) {
				continue // only the first one of a run counts
			}
		}
		v, arms, last := returnRun(p, list[i:])
		if len(arms) >= 4 && areDistinct(p, arms) {
			sites = append(sites,
				edit.Site(s, "chain on "+v.Name(), p.Span(s.Pos(), last.End(), switchText(p, v, arms, nil))))
		}
	}
	return sites
}

// constantsEqual reads `v == c1 || v == c2` with constants.
func constantsEqual(p *mutate.Pass, cond ast.Expr) (v *types.Var, consts []ast.Expr) {
	for _, op := range syntax.Operands(cond, token.LOR) {
		b, ok := ast.Unparen(op).(*ast.BinaryExpr)
		if !ok || b.Op != token.EQL || p.Info.Types[b.Y].Value == nil {
			return nil, nil
		}
		w := p.Var(b.X)
		// A global may change between the tests. Floats are left out: a NaN equals no case.
		if w == nil || v != nil && w != v || !facts.IsLocal(p, w) ||
			facts.OrderedKind(p, b.X)&(types.IsInteger|types.IsString) == 0 {
			return nil, nil
		}
		v, consts = w, append(consts, b.Y)
	}
	return v, consts
}

// elseChain follows a chain of else ifs. It returns no arms if one of them tests something else.
func elseChain(p *mutate.Pass, s *ast.IfStmt) (v *types.Var, arms []chainArm, otherwise *ast.BlockStmt) {
	for {
		// All conditions compare the same variable with constants. A break in a body would leave
		// the switch instead of the loop.
		w, consts := constantsEqual(p, s.Cond)
		if s.Init != nil || w == nil || v != nil && w != v || breaksOut(p, s.Body) {
			return nil, nil, nil
		}
		v, arms = w, append(arms, chainArm{consts, s.Body})
		// The chain ends without an else, with one, or goes on.
		switch e := s.Else.(type) {
		case nil:
			return v, arms, nil
		case *ast.BlockStmt:
			if breaksOut(p, e) {
				return nil, nil, nil
			}
			return v, arms, e
		case *ast.IfStmt:
			s = e
		}
	}
}

// returnArm returns the arm of `if v == c { return ... }`.
func returnArm(p *mutate.Pass, s *ast.IfStmt) *chainArm {
	v, consts := constantsEqual(p, s.Cond)
	if v == nil || s.Init != nil || s.Else != nil || breaksOut(p, s.Body) || !facts.EndsIn(s.Body.List, token.RETURN) {
		return nil
	}
	return &chainArm{consts, s.Body}
}

func armVar(p *mutate.Pass, s *ast.IfStmt) *types.Var {
	v, _ := constantsEqual(p, s.Cond)
	return v
}

// returnRun collects consecutive ifs that return and test one variable.
func returnRun(p *mutate.Pass, list []ast.Stmt) (v *types.Var, arms []chainArm, last ast.Stmt) {
	for _, st := range list {
		s, ok := st.(*ast.IfStmt)
		if !ok {
			break
		}
		arm, w := returnArm(p, s), armVar(p, s)
		// A run goes on as long as one variable is tested.
		if arm == nil || v != nil && w != v {
			break
		}
		v, arms, last = w, append(arms, *arm), s
	}
	return v, arms, last
}

// areDistinct reports whether no constant occurs twice: a switch with a constant twice does not
// compile. Constants of different types may be equal, so numbers are compared by value.
func areDistinct(p *mutate.Pass, arms []chainArm) bool {
	seen := map[string]bool{}
	for _, a := range arms {
		for _, c := range a.consts {
			// A switch over numbers compares their values, however they are written.
			key := constant.ToInt(p.Info.Types[c].Value).ExactString()
			if p.Info.Types[c].Value.Kind() == constant.String {
				key = p.Info.Types[c].Value.ExactString()
			}
			if seen[key] {
				return false
			}
			seen[key] = true
		}
	}
	return true
}

func switchText(p *mutate.Pass, v *types.Var, arms []chainArm, otherwise *ast.BlockStmt) string {
	out := "switch " + v.Name() + " {\n"
	for _, a := range arms {
		var consts []string
		for _, c := range a.consts {
			consts = append(consts, p.Text(c))
		}
		out += "case " + strings.Join(consts, ", ") + ":\n" + p.BodyText(a.body) + "\n"
	}
	if otherwise != nil {
		out += "default:\n" + p.BodyText(otherwise) + "\n"
	}
	return out + "}"
}

// breaksOut reports whether a break in b belongs to a statement around b: inside a switch it would
// leave the switch.
func breaksOut(p *mutate.Pass, b *ast.BlockStmt) bool {
	list, _, ok := p.Branches(b)
	return len(list) > 0 || !ok
}
