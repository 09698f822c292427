package rules

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// stdKernel (catalogue L10 and V1) matches loops that spell out IndexByte, Count, Equal, Index or
// copy. It calls the function, which handles 16 or 32 bytes at a time.
var stdKernel = &mutate.Mutator{
	Name: "std-kernel",
	Doc: "Call the standard library for what a byte loop spells out: IndexByte, Count, Equal, Index, copy. These " +
		"are written with vector instructions. Exact: the loop is recognised as a whole, with what stands before " +
		"and behind it.",
	Before: `for i := 0; i < len(s); i++ {
	if s[i] == '/' {
		return i
	}
}
return -1`,
	After:   `return strings.IndexByte(s, '/')`,
	Class:   beagle.E0,
	Gain:    4,
	Find:    findKernels,
	Rewrite: rewriteKernel,
}

// A kernel is the replacement of a loop: text for the statements first to last.
type kernel struct {
	name        string
	first, last ast.Stmt
	text        func() (string, []mutate.Edit)
}

func findKernels(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[ast.Stmt](p, nil) {
		if p.FuncOf(s) == nil || labelled(p, s) {
			continue
		}
		for _, match := range []func(*mutate.Pass, ast.Stmt) *kernel{searchKernel, countKernel, equalKernel,
			substringKernel, copyKernel} {
			if k := match(p, s); k != nil {
				sites = append(sites, mutate.Site{Node: s, Label: "loop that is " + k.name, Data: k})
				break
			}
		}
	}
	return sites
}

func rewriteKernel(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	k := s.Data.(*kernel)
	text, edits := k.text()
	if text == "" {
		return nil, errors.New("the loop cannot be written as a call")
	}
	return append(edits, p.Span(k.first.Pos(), k.last.End(), text)), nil
}

// A byteScan is a loop that does one thing where an element equals a byte.
type byteScan struct {
	seq   *types.Var
	index *types.Var
	want  ast.Expr
	equal bool // false: where it differs
	then  *ast.BlockStmt
}

// scanOf recognises `for ... { if s[i] == c { ... } }` over bytes. It also recognises the form over
// the runes of a string if c is an ASCII constant, since no part of another rune equals c.
func scanOf(p *mutate.Pass, s ast.Stmt) *byteScan {
	l, elem := elementOf(p, s)
	if l == nil || !mutate.IsBytes(l.Seq.Type()) || l.Start != 0 {
		return nil
	}
	list := l.Body.List
	copied := copyOfElement(p, l)
	if copied != nil {
		list = list[1:]
	}
	if len(list) != 1 {
		return nil
	}
	i, ok := list[0].(*ast.IfStmt)
	if !ok || i.Init != nil || i.Else != nil {
		return nil
	}
	c, ok := ast.Unparen(i.Cond).(*ast.BinaryExpr)
	if !ok || c.Op != token.EQL && c.Op != token.NEQ {
		return nil
	}
	is := func(e ast.Expr) bool {
		if ix, ok := ast.Unparen(e).(*ast.IndexExpr); ok {
			return isElem(l, ix)
		}
		v := p.Var(e)
		return v != nil && (v == elem || v == copied)
	}
	want := c.Y
	if !is(c.X) {
		if want = c.X; !is(c.Y) {
			return nil
		}
	}
	if _, constant := p.Int(want); !constant {
		v := p.Var(want)
		if v == nil || p.IsGlobal(v) || p.Assigned(v, l.Body) {
			return nil
		}
	}
	return &byteScan{seq: l.Seq, index: l.Index, want: want, equal: c.Op == token.EQL, then: i.Body}
}

// elementOf is p.Elements, extended by a range over the runes of a string if the loop compares them
// with ASCII constants only.
func elementOf(p *mutate.Pass, s ast.Stmt) (*mutate.ElementLoop, *types.Var) {
	if l, ok := p.Elements(s); ok {
		return l, l.Value
	}
	r, ok := s.(*ast.RangeStmt)
	if !ok || r.Tok != token.DEFINE || r.Value == nil {
		return nil, nil
	}
	l := &mutate.ElementLoop{Stmt: s, Body: r.Body, Seq: p.Var(r.X), Value: p.Var(r.Value)}
	if r.Key != nil {
		l.Index = p.Var(r.Key)
	}
	if l.Seq == nil || l.Value == nil || p.Basic(r.X) != types.String || p.Assigned(l.Seq, r.Body) ||
		p.Assigned(l.Value, r.Body) {
		return nil, nil
	}
	for _, id := range p.Uses(l.Value, r.Body) {
		b, ok := p.Parent(id).(*ast.BinaryExpr)
		if !ok {
			return nil, nil
		}
		n, constant := p.Int(b.Y)
		if !constant || n < 0 || n >= utf8.RuneSelf || b.Op != token.EQL {
			return nil, nil
		}
	}
	return l, l.Value
}

// function returns strings.F for strings and bytes.F for byte slices.
func function(p *mutate.Pass, v *types.Var, name string) (string, []mutate.Edit) {
	path := "bytes"
	if b, ok := v.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
		path = "strings"
	}
	pkg, edits := p.Import(path)
	return pkg + "." + name, edits
}

// argument returns v as a string or []byte.
func argument(v *types.Var) string {
	switch u := v.Type().(type) {
	case *types.Named:
		if _, slice := u.Underlying().(*types.Slice); !slice {
			return "string(" + v.Name() + ")"
		}
	}
	return v.Name()
}

func isArray(v *types.Var) bool {
	_, ok := v.Type().Underlying().(*types.Array)
	return ok
}

// searchKernel recognises a loop that returns at the first match, with other code for no match
// behind it.
func searchKernel(p *mutate.Pass, s ast.Stmt) *kernel {
	scan := scanOf(p, s)
	list, at := p.Siblings(s)
	if scan == nil || !scan.equal || isArray(scan.seq) || at < 0 || at+1 >= len(list) || len(scan.then.List) != 1 {
		return nil
	}
	found, ok1 := scan.then.List[0].(*ast.ReturnStmt)
	missing, ok2 := list[at+1].(*ast.ReturnStmt)
	if !ok1 || !ok2 || len(found.Results) != 1 || len(missing.Results) != 1 {
		return nil
	}
	k := &kernel{first: s, last: missing, name: "IndexByte"}
	var rest string
	switch {
	case scan.index != nil && p.Var(found.Results[0]) == scan.index && p.IsInt(missing.Results[0], -1) &&
		p.Basic(found.Results[0]) == types.Int && p.Basic(missing.Results[0]) == types.Int:
	case isBool(p, found.Results[0], true) && isBool(p, missing.Results[0], false):
		rest = " >= 0"
	case isBool(p, found.Results[0], false) && isBool(p, missing.Results[0], true):
		rest = " < 0"
	default:
		return nil
	}
	k.text = func() (string, []mutate.Edit) {
		f, edits := function(p, scan.seq, "IndexByte")
		return fmt.Sprintf("return %s(%s, %s)%s", f, argument(scan.seq), byteArg(p, scan.want), rest), edits
	}
	return k
}

// byteArg returns the wanted byte as an argument. A named rune constant of a range over a string
// needs a conversion.
func byteArg(p *mutate.Pass, e ast.Expr) string {
	if _, literal := ast.Unparen(e).(*ast.BasicLit); literal ||
		types.Identical(p.Info.TypeOf(e), types.Typ[types.Uint8]) {
		return p.Text(e)
	}
	return "byte(" + p.Text(e) + ")"
}

func isBool(p *mutate.Pass, e ast.Expr, want bool) bool {
	v := p.Info.Types[e].Value
	return v != nil && v.Kind() == constant.Bool && constant.BoolVal(v) == want
}

// countKernel recognises a loop that only does n++ at each match.
func countKernel(p *mutate.Pass, s ast.Stmt) *kernel {
	scan := scanOf(p, s)
	if scan == nil || !scan.equal || isArray(scan.seq) || len(scan.then.List) != 1 {
		return nil
	}
	inc, ok := scan.then.List[0].(*ast.IncDecStmt)
	if !ok || inc.Tok != token.INC || p.Var(inc.X) == nil || !isInteger(p.Info.TypeOf(inc.X)) {
		return nil
	}
	return &kernel{first: s, last: s, name: "Count", text: func() (string, []mutate.Edit) {
		f, edits := function(p, scan.seq, "Count")
		sep := separator(p, scan)
		if sep == "" {
			return "", nil
		}
		call := fmt.Sprintf("%s(%s, %s)", f, argument(scan.seq), sep)
		if t := p.Info.TypeOf(inc.X); t != types.Typ[types.Int] {
			call = types.TypeString(t, types.RelativeTo(p.Pkg)) + "(" + call + ")"
		}
		return fmt.Sprintf("%s += %s", p.Text(inc.X), call), edits
	}}
}

// separator returns the counted byte as the second argument of Count.
func separator(p *mutate.Pass, scan *byteScan) string {
	if b, ok := scan.seq.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
		if n, ok := p.Int(scan.want); ok {
			return strconv.Quote(string([]byte{byte(n)}))
		}
		return "string([]byte{" + byteArg(p, scan.want) + "})"
	}
	return "[]byte{" + byteArg(p, scan.want) + "}"
}

// equalKernel recognises three statements: if len(a) != len(b) { return false }, a loop that
// returns false where they differ, and return true.
func equalKernel(p *mutate.Pass, s ast.Stmt) *kernel {
	l, ok := p.Elements(s)
	list, at := p.Siblings(s)
	if !ok || !mutate.IsBytes(l.Seq.Type()) || isArray(l.Seq) || l.Start != 0 || at < 1 || at+1 >= len(list) ||
		len(l.Body.List) != 1 {
		return nil
	}
	differ, ok := l.Body.List[0].(*ast.IfStmt)
	if !ok || !returnsBool(p, differ, false) {
		return nil
	}
	last, ok := list[at+1].(*ast.ReturnStmt)
	if !ok || len(last.Results) != 1 || !isBool(p, last.Results[0], true) {
		return nil
	}
	other := comparedWith(p, l, differ.Cond)
	lengths, ok := list[at-1].(*ast.IfStmt)
	if other == nil || !ok || !returnsBool(p, lengths, false) || !comparesLengths(p, lengths.Cond, l.Seq, other) {
		return nil
	}
	if !types.Identical(l.Seq.Type(), other.Type()) {
		return nil
	}
	return &kernel{first: lengths, last: last, name: "Equal", text: func() (string, []mutate.Edit) {
		if _, slice := l.Seq.Type().Underlying().(*types.Slice); !slice {
			return fmt.Sprintf("return %s == %s", l.Seq.Name(), other.Name()), nil
		}
		pkg, edits := p.Import("bytes")
		return fmt.Sprintf("return %s.Equal(%s, %s)", pkg, l.Seq.Name(), other.Name()), edits
	}}
}

func returnsBool(p *mutate.Pass, s *ast.IfStmt, want bool) bool {
	if s.Init != nil || s.Else != nil || len(s.Body.List) != 1 {
		return false
	}
	r, ok := s.Body.List[0].(*ast.ReturnStmt)
	return ok && len(r.Results) == 1 && isBool(p, r.Results[0], want)
}

// comparedWith returns b for a[i] != b[i].
func comparedWith(p *mutate.Pass, l *mutate.ElementLoop, cond ast.Expr) *types.Var {
	c, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok || c.Op != token.NEQ || l.Index == nil {
		return nil
	}
	var other *types.Var
	mine := 0
	for _, e := range []ast.Expr{c.X, c.Y} {
		ix, ok := ast.Unparen(e).(*ast.IndexExpr)
		switch {
		case ok && isElem(l, ix), l.Value != nil && p.Var(e) == l.Value:
			mine++
		case ok && p.Var(ix.Index) == l.Index:
			other = p.Var(ix.X)
		}
	}
	if mine != 1 {
		return nil
	}
	return other
}

func comparesLengths(p *mutate.Pass, cond ast.Expr, a, b *types.Var) bool {
	c, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok || c.Op != token.NEQ {
		return false
	}
	x, y := p.LenOf(c.X), p.LenOf(c.Y)
	return x == a && y == b || x == b && y == a
}

// substringKernel recognises for i := 0; i+len(sub) <= len(s); i++ { if s[i:i+len(sub)] == sub {
// return i } } return -1.
func substringKernel(p *mutate.Pass, s ast.Stmt) *kernel {
	f, ok := s.(*ast.ForStmt)
	list, at := p.Siblings(s)
	if !ok || f.Init == nil || at < 0 || at+1 >= len(list) || len(f.Body.List) != 1 {
		return nil
	}
	i, seq, sub := windowLoop(p, f)
	if seq == nil || p.Assigned(seq, f) || p.Assigned(sub, f) || p.Assigned(i, f.Body) {
		return nil
	}
	hit, ok := f.Body.List[0].(*ast.IfStmt)
	if !ok || hit.Init != nil || hit.Else != nil || len(hit.Body.List) != 1 || !isWindow(p, hit.Cond, i, seq, sub) {
		return nil
	}
	found, ok1 := hit.Body.List[0].(*ast.ReturnStmt)
	missing, ok2 := list[at+1].(*ast.ReturnStmt)
	if !ok1 || !ok2 || len(found.Results) != 1 || len(missing.Results) != 1 {
		return nil
	}
	name := ""
	switch {
	case p.Var(found.Results[0]) == i && p.IsInt(missing.Results[0], -1) && p.Basic(missing.Results[0]) == types.Int:
		name = "Index"
	case isBool(p, found.Results[0], true) && isBool(p, missing.Results[0], false):
		name = "Contains"
	default:
		return nil
	}
	return &kernel{first: s, last: missing, name: name, text: func() (string, []mutate.Edit) {
		fn, edits := function(p, seq, name)
		return fmt.Sprintf("return %s(%s, %s)", fn, argument(seq), argument(sub)), edits
	}}
}

// windowLoop reads i, s and sub from `i := 0; i+len(sub) <= len(s); i++` and `i <=
// len(s)-len(sub)`.
func windowLoop(p *mutate.Pass, f *ast.ForStmt) (i, seq, sub *types.Var) {
	init, ok := f.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || !p.IsInt(init.Rhs[0], 0) {
		return nil, nil, nil
	}
	i = p.Var(init.Lhs[0])
	post, ok := f.Post.(*ast.IncDecStmt)
	if !ok || post.Tok != token.INC || p.Var(post.X) != i {
		return nil, nil, nil
	}
	c, ok := f.Cond.(*ast.BinaryExpr)
	if !ok || c.Op != token.LEQ {
		return nil, nil, nil
	}
	if sum, ok := c.X.(*ast.BinaryExpr); ok && sum.Op == token.ADD && p.Var(sum.X) == i {
		seq, sub = p.LenOf(c.Y), p.LenOf(sum.Y)
	} else if diff, ok := c.Y.(*ast.BinaryExpr); ok && diff.Op == token.SUB && p.Var(c.X) == i {
		seq, sub = p.LenOf(diff.X), p.LenOf(diff.Y)
	}
	if seq == nil || sub == nil || p.Basic(c.X) != types.Int || !isString(seq) || !isString(sub) {
		return nil, nil, nil
	}
	return i, seq, sub
}

func isString(v *types.Var) bool {
	b, ok := v.Type().Underlying().(*types.Basic)
	return ok && b.Kind() == types.String
}

// isWindow recognises s[i:i+len(sub)] == sub.
func isWindow(p *mutate.Pass, cond ast.Expr, i, seq, sub *types.Var) bool {
	c, ok := cond.(*ast.BinaryExpr)
	if !ok || c.Op != token.EQL || p.Var(c.Y) != sub {
		return false
	}
	w, ok := c.X.(*ast.SliceExpr)
	if !ok || w.Slice3 || p.Var(w.X) != seq || w.Low == nil || p.Var(w.Low) != i {
		return false
	}
	hi, ok := w.High.(*ast.BinaryExpr)
	return ok && hi.Op == token.ADD && p.Var(hi.X) == i && p.LenOf(hi.Y) == sub
}

// copyKernel recognises dst := make([]T, len(src)) followed by dst[i] = src[i] for all i.
func copyKernel(p *mutate.Pass, s ast.Stmt) *kernel {
	var body *ast.BlockStmt
	var index, value, src *types.Var
	switch s := s.(type) {
	case *ast.RangeStmt:
		body, index, src = s.Body, p.Var(orNil(s.Key)), p.Var(s.X)
		value = p.Var(orNil(s.Value))
	case *ast.ForStmt:
		c, ok := p.Counted(s)
		if !ok || c.Skips || c.Seq == nil || c.Start == nil || !p.IsInt(c.Start, 0) || !c.Strict {
			return nil
		}
		body, index, src = s.Body, c.Index, c.Seq
	}
	if src == nil || index == nil || len(body.List) != 1 {
		return nil
	}
	as, ok := body.List[0].(*ast.AssignStmt)
	if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 {
		return nil
	}
	to, ok := as.Lhs[0].(*ast.IndexExpr)
	if !ok || p.Var(to.Index) != index {
		return nil
	}
	from, isIndex := as.Rhs[0].(*ast.IndexExpr)
	if !(isIndex && p.Var(from.X) == src && p.Var(from.Index) == index) &&
		!(value != nil && p.Var(as.Rhs[0]) == value) {
		return nil
	}
	dst := p.Var(to.X)
	if dst == nil || dst == src || !madeWithLen(p, s, dst, src) || !copyable(dst, src) {
		return nil
	}
	return &kernel{first: s, last: s, name: "copy", text: func() (string, []mutate.Edit) {
		return fmt.Sprintf("copy(%s, %s)", dst.Name(), src.Name()), nil
	}}
}

func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

func copyable(dst, src *types.Var) bool {
	d, ok := dst.Type().Underlying().(*types.Slice)
	if !ok {
		return false
	}
	switch u := src.Type().Underlying().(type) {
	case *types.Slice:
		return types.Identical(d.Elem(), u.Elem())
	case *types.Basic:
		return u.Info()&types.IsString != 0 && types.Identical(d.Elem(), types.Typ[types.Uint8])
	}
	return false
}

// madeWithLen reports whether dst := make([]T, len(src)) stands before s in its list, with no
// assignment to dst or src in between.
func madeWithLen(p *mutate.Pass, s ast.Stmt, dst, src *types.Var) bool {
	list, at := p.Siblings(s)
	for i := at - 1; i >= 0; i-- {
		as, ok := list[i].(*ast.AssignStmt)
		if ok && as.Tok == token.DEFINE && len(as.Lhs) == 1 && p.Var(as.Lhs[0]) == dst {
			call, ok := p.IsBuiltin(as.Rhs[0], "make")
			return ok && len(call.Args) >= 2 && p.LenOf(call.Args[1]) == src
		}
		if p.Assigned(dst, list[i]) || p.Assigned(src, list[i]) {
			return false
		}
	}
	return false
}
