package verify

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"
)

// A hunk is a place at which two versions differ: statements of one list of the original, and the
// candidate's statements in place of them. The statements around them, and those that hold them,
// are the same in both.
type hunk struct {
	was, is      []ast.Stmt
	from, to     token.Pos // in the candidate: what to replace to have the original's statements again
	originalText string    // the original's text, in the place of from to to
}

// hunks aligns the functions of two versions by name and lists where their
// statements differ. Comments and line breaks are no difference.
func hunks(orig, cand *code) []hunk {
	a := &aligner{orig: orig, cand: cand, texts: map[ast.Node]string{}}
	was := functions(orig.file)
	for name, is := range functions(cand.file) {
		if f := was[name]; f != nil && a.text(orig, f.Type) == a.text(cand, is.Type) {
			a.lists(blockOf(f.Body), blockOf(is.Body))
		}
	}
	return a.out
}

// functions returns the functions of a file that have bodies, by name.
func functions(f *ast.File) map[string]*ast.FuncDecl {
	out := map[string]*ast.FuncDecl{}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name = types.ExprString(d.Recv.List[0].Type) + "." + name
			}
			out[name] = d
		}
	}
	return out
}

// An aligner compares two versions.
type aligner struct {
	orig, cand *code
	texts      map[ast.Node]string
	out        []hunk
}

// A block is a list of statements, and where it begins and ends.
type block struct {
	list     []ast.Stmt
	from, to token.Pos
}

func blockOf(b *ast.BlockStmt) block { return block{b.List, b.Lbrace + 1, b.Rbrace} }

// lists aligns two lists. Statements with equal texts are the same; lists looks into statements
// that differ only in the statements that they hold.
func (a *aligner) lists(was, is block) {
	pairs := a.pairs(was.list, is.list)
	i, k := 0, 0
	for _, p := range append(pairs, [2]int{len(was.list), len(is.list)}) {
		if p[0] > i || p[1] > k {
			a.hunk(was.list[i:p[0]], is, k, p[1])
		}
		if p[0] < len(was.list) {
			a.alignInside(was.list[p[0]], is.list[p[1]])
		}
		i, k = p[0]+1, p[1]+1
	}
}

// hunk notes that the candidate has the statements from k to end of a list instead of some of the
// original.
func (a *aligner) hunk(was []ast.Stmt, is block, k, end int) {
	h := hunk{was: was, is: is.list[k:end], from: is.from, to: is.from}
	switch {
	case k < end:
		h.from, h.to = is.list[k].Pos(), is.list[end-1].End()
	case k > 0:
		h.from = is.list[k-1].End()
		h.to = h.from
	}
	if len(was) > 0 {
		h.originalText = a.orig.between(was[0].Pos(), was[len(was)-1].End())
	}
	if k == end {
		h.originalText = "\n" + h.originalText + "\n"
	}
	a.out = append(a.out, h)
}

// pairs returns the heaviest common subsequence of two lists. Statements that are the same weigh
// more than those with the same head only.
func (a *aligner) pairs(was, is []ast.Stmt) [][2]int {
	// best[i][k] is the weight of the best pairing of was[i:] and is[k:].
	best := make([][]int, len(was)+1)
	for i := range best {
		best[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		for k := len(is) - 1; k >= 0; k-- {
			best[i][k] = max(best[i+1][k], best[i][k+1])
			if w := a.weigh(was[i], is[k]); w > 0 {
				best[i][k] = max(best[i][k], w+best[i+1][k+1])
			}
		}
	}
	// Walk along the best pairing from the front.
	var out [][2]int
	for i, k := 0, 0; i < len(was) && k < len(is); {
		w := a.weigh(was[i], is[k])
		switch {
		case w > 0 && best[i][k] == w+best[i+1][k+1]:
			out = append(out, [2]int{i, k})
			i, k = i+1, k+1
		case best[i][k] == best[i+1][k]:
			i++
		default:
			k++
		}
	}
	return out
}

// weigh weighs the common part of two statements: 2 for all, 1 for all but the statements that they
// hold, and 0 for less.
func (a *aligner) weigh(was, is ast.Stmt) int {
	switch {
	case a.text(a.orig, was) == a.text(a.cand, is):
		return 2
	case a.head(a.orig, was) == a.head(a.cand, is):
		return 1
	}
	return 0
}

// alignInside aligns the statements that two statements with the same head hold.
func (a *aligner) alignInside(was, is ast.Stmt) {
	if a.text(a.orig, was) == a.text(a.cand, is) {
		return
	}
	w, i := innerLists(was), innerLists(is)
	for n := range min(len(w), len(i)) { // equal heads hold equally many lists
		a.lists(w[n], i[n])
	}
	if was, ok := unlabelled(was).(*ast.IfStmt); ok {
		a.elses(was, unlabelled(is).(*ast.IfStmt))
	}
}

// elses aligns the else branches of two if statements.
func (a *aligner) elses(was, is *ast.IfStmt) {
	switch {
	case was.Else == nil && is.Else == nil:
	case was.Else == nil:
		a.out = append(a.out, hunk{is: elseOf(is), from: is.Body.End(), to: is.Else.End()})
	case is.Else == nil:
		again := " else " + a.orig.between(was.Else.Pos(), was.Else.End())
		a.out = append(a.out, hunk{was: elseOf(was), from: is.Body.End(), to: is.Body.End(), originalText: again})
	default:
		w, whole := was.Else.(*ast.BlockStmt)
		i, also := is.Else.(*ast.BlockStmt)
		switch {
		case whole && also:
			a.lists(blockOf(w), blockOf(i))
		case !whole && !also && a.weigh(was.Else, is.Else) > 0:
			a.alignInside(was.Else, is.Else)
		default:
			again := a.orig.between(was.Else.Pos(), was.Else.End())
			a.out = append(a.out, hunk{elseOf(was), elseOf(is), is.Else.Pos(), is.Else.End(), again})
		}
	}
}

// elseOf returns the else branch of an if statement, as a list.
func elseOf(s *ast.IfStmt) []ast.Stmt {
	if b, ok := s.Else.(*ast.BlockStmt); ok {
		return b.List
	}
	return []ast.Stmt{s.Else}
}

// innerLists returns the lists that a statement holds, without an else branch.
func innerLists(s ast.Stmt) []block {
	var out []block
	for _, b := range bodies(s) {
		switch b := b.(type) {
		case *ast.BlockStmt:
			out = append(out, blockOf(b))
		case *ast.CaseClause:
			out = append(out, block{b.Body, b.Colon + 1, b.End()})
		case *ast.CommClause:
			out = append(out, block{b.Body, b.Colon + 1, b.End()})
		}
	}
	return out
}

// bodies returns the outermost nodes with lists of statements in a statement: bodies of loops and
// branches, cases, and bodies of function literals.
func bodies(s ast.Stmt) []ast.Node {
	var out []ast.Node
	s = unlabelled(s)
	switch s.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return []ast.Node{s}
	}
	var otherwise ast.Node
	if s, ok := s.(*ast.IfStmt); ok {
		otherwise = s.Else
	}
	ast.Inspect(s, func(n ast.Node) bool {
		b, ok := n.(*ast.BlockStmt)
		if ok && n != otherwise {
			out = append(out, b)
		}
		return !ok && n != otherwise
	})
	return out
}

// unlabelled returns a statement without its labels.
func unlabelled(s ast.Stmt) ast.Stmt {
	for {
		l, ok := s.(*ast.LabeledStmt)
		if !ok {
			return s
		}
		s = l.Stmt
	}
}

// head returns the text of a statement without the statements that it holds.
func (a *aligner) head(c *code, s ast.Stmt) string {
	var b strings.Builder
	at := s.Pos()
	for _, body := range bodies(s) {
		switch body := body.(type) {
		case *ast.BlockStmt:
			b.WriteString(tokens(c.between(at, body.Lbrace)) + "{ }")
			at = body.Rbrace + 1
		case *ast.CaseClause:
			b.WriteString(tokens(c.between(at, body.Colon)) + ":")
			at = s.End()
		case *ast.CommClause:
			b.WriteString(tokens(c.between(at, body.Colon)) + ":")
			at = s.End()
		}
	}
	if _, is := unlabelled(s).(*ast.IfStmt); is {
		return b.String()
	}
	return b.String() + tokens(c.between(at, s.End()))
}

// text returns the text of a node, without comments and line breaks.
func (a *aligner) text(c *code, n ast.Node) string {
	if t, ok := a.texts[n]; ok {
		return t
	}
	t := tokens(c.between(n.Pos(), n.End()))
	a.texts[n] = t
	return t
}

// between returns the source from one place to another.
func (c *code) between(from, to token.Pos) string { return c.src[c.offset(from):c.offset(to)] }

func (c *code) offset(p token.Pos) int { return c.fset.File(c.file.FileStart).Offset(p) }

// tokens brings a text into one form, whatever its line breaks and comments.
func tokens(src string) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) {}, 0)
	var b strings.Builder
	comma := false
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		closes := tok == token.RPAREN || tok == token.RBRACE || tok == token.RBRACK
		if comma && !closes { // a comma in front of a closing bracket comes with a line break
			b.WriteString(", ")
		}
		if comma = tok == token.COMMA; comma || tok == token.SEMICOLON && lit != ";" {
			continue
		}
		if lit == "" || !tok.IsLiteral() && tok != token.SEMICOLON {
			lit = tok.String()
		}
		b.WriteString(lit + " ")
	}
}
