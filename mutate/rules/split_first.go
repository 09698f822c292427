package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// splitFirst (part of catalogue S4) matches a call of strings.Split of which code uses only the
// first part, the last part or the count. It calls Cut, LastIndex or Count.
var splitFirst = &mutate.Mutator{
	Name: "split-first",
	Doc: "Look for the one separator that matters instead of splitting the whole string. Split allocates a slice of " +
		"all parts, of which one is used. Legal because the separator is a non-empty constant; with an empty one, " +
		"Split takes runes apart.",
	Before:  `host := strings.Split(addr, ":")[0]`,
	After:   `host, _, _ := strings.Cut(addr, ":")`,
	Class:   beagle.E0,
	Gain:    4,
	Find:    findSplitFirst,
	Params:  splitForms,
	Rewrite: rewriteSplitFirst,
}

type splitSite struct {
	kind string // "first", "last", "count"
	node ast.Expr
	str  ast.Expr
	sep  ast.Expr
	stmt ast.Stmt           // `x := Split(...)[0]` or the statement before which to cut
	drop *facts.Declaration // the variable of the parts, if there is one
}

func findSplitFirst(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	add := func(s splitSite) {
		sites = append(sites, mutate.Site{Node: s.node, Label: s.kind + " of " + p.Text(s.node), Data: s})
	}
	for e := range mutate.Nodes[ast.Expr](p, nil) {
		if s, ok := splitUse(p, e, splitCall); ok {
			add(s)
		}
	}
	for list, i := range statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil {
			continue
		}
		if _, _, ok := splitCall(p, d.Value); !ok {
			continue
		}
		uses, ok := reads(p, d.Var, p.FuncOf(d.Stmt))
		if !ok || len(uses) != 1 || p.InLoop(uses[0]) && !p.InLoop(d.Stmt) {
			continue
		}
		if s, ok := partsUse(p, d, uses[0]); ok {
			add(s)
		}
	}
	return sites
}

// partsUse returns the site for a variable of parts whose only use is parts[0].
func partsUse(p *mutate.Pass, d facts.Declaration, id *ast.Ident) (s splitSite, ok bool) {
	str, sep, _ := splitCall(p, d.Value)
	asParts := func(p *mutate.Pass, e ast.Expr) (ast.Expr, ast.Expr, bool) {
		return str, sep, ast.Unparen(e) == ast.Expr(id)
	}
	up, isExpr := p.Parent(id).(ast.Expr)
	if !isExpr || !facts.Stable(p, str, p.FuncOf(id).Body) {
		return s, false
	}
	if s, ok = splitUse(p, up, asParts); ok {
		s.drop = &d
	}
	return s, ok
}

// splitCall recognises strings.Split with a constant, non-empty separator.
func splitCall(p *mutate.Pass, e ast.Expr) (str, sep ast.Expr, ok bool) {
	call, ok := p.IsCall(e, "strings", "Split", "SplitN")
	if !ok || len(call.Args) == 3 && !p.IsInt(call.Args[2], -1) {
		return nil, nil, false
	}
	text, ok := constString(p, call.Args[1])
	return call.Args[0], call.Args[1], ok && text != ""
}

// splitUse recognises Split(s, sep)[0] and len(Split(s, sep)).
func splitUse(
	p *mutate.Pass, e ast.Expr, split func(*mutate.Pass, ast.Expr) (ast.Expr, ast.Expr, bool),
) (s splitSite, ok bool) {
	s.node = e
	if call, yes := p.IsBuiltin(e, "len"); yes && e == ast.Expr(call) {
		s.kind = "count"
		s.str, s.sep, ok = split(p, call.Args[0])
		return s, ok
	}
	ix, yes := e.(*ast.IndexExpr)
	if !yes || !p.IsInt(ix.Index, 0) {
		return s, false
	}
	s.kind = "first"
	if s.str, s.sep, ok = split(p, ix.X); !ok || !p.Pure(s.str) || len(p.Path(e)) < 2 {
		return s, false
	}
	if assignedTo(p, e) {
		return s, false
	}
	s.stmt, ok = facts.Hoistable(p, e)
	return s, ok
}

// assignedTo reports whether e is the target of an assignment, or code takes its address.
func assignedTo(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		for _, l := range up.Lhs {
			if ast.Unparen(l) == e {
				return true
			}
		}
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.IncDecStmt:
		return true
	}
	return false
}

func splitForms(p *mutate.Pass, s mutate.Site) []mutate.Param {
	sp := s.Data.(splitSite)
	if sp.kind == "count" {
		return []mutate.Param{{Label: "count"}}
	}
	var out []mutate.Param
	if goAtLeast(p, 18) {
		out = append(out, mutate.Param{Label: "cut", Value: "cut"})
	}
	text, _ := constString(p, sp.sep)
	if len(out) == 0 || len(text) == 1 && sp.target(p) != "" {
		out = append(out, mutate.Param{Label: "index", Value: "index"})
	}
	return out
}

// target returns x for `x := Split(...)[0]`, or "".
func (s *splitSite) target(p *mutate.Pass) string {
	lhs, rhs, ok := assigned(s.stmt, token.DEFINE)
	if id, isIdent := lhs.(*ast.Ident); ok && isIdent && rhs == s.node && id.Name != "_" {
		if v, isVar := p.Info.Defs[id].(*types.Var); isVar && v != nil {
			return id.Name
		}
	}
	return ""
}

func rewriteSplitFirst(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(splitSite)
	pkg, edits := p.Import("strings")
	str, sep := p.Text(s.str), p.Text(s.sep)
	if s.drop != nil {
		edits = append(edits, p.Delete(s.drop.Stmt))
	}
	if s.kind == "count" {
		text := fmt.Sprintf("%s.Count(%s, %s) + 1", pkg, str, sep)
		switch p.Parent(s.node).(type) {
		case *ast.BinaryExpr:
			text = "(" + text + ")"
		}
		return append(edits, p.Replace(s.node, text)), nil
	}
	x := s.target(p)
	head := x
	if x == "" {
		head = p.Fresh("head", "first")
	}
	text := fmt.Sprintf("%s, _, _ := %s.Cut(%s, %s)", head, pkg, str, sep)
	if param.Value == "index" {
		text = s.indexed(p, head, pkg)
	}
	if x != "" {
		return append(edits, p.Replace(s.stmt, text)), nil
	}
	return append(edits, before(p, s.stmt, text), p.Replace(s.node, head)), nil
}

// indexed writes the first part as what stands in front of the separator, for modules whose Go has
// no Cut, and where a search for one byte is all there is to do.
func (s *splitSite) indexed(p *mutate.Pass, head, pkg string) string {
	search := fmt.Sprintf("Index(%s, %s)", head, p.Text(s.sep))
	if c, _ := constString(p, s.sep); len(c) == 1 {
		search = fmt.Sprintf("IndexByte(%s, %s)", head, byteText(int(c[0])))
	}
	i := p.Fresh("i", "at")
	return fmt.Sprintf("%s := %s\nif %s := %s.%s; %s >= 0 {\n%s = %s[:%s]\n}", head, p.Text(s.str), i, pkg, search, i,
		head, head, i)
}
