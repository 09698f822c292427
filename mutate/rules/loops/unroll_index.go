package loops

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// unrollIndex (catalogue L1, for loops that unroll leaves out) matches a short loop that takes
// elements at its index from several slices, stores some, or goes through a part of a slice. It
// handles blocks of elements in front of the loop, which remains for the rest.
var unrollIndex = &mutate.Mutator{
	Name: "unroll-index",
	Doc: "Handle several elements per iteration where a loop stores elements, takes them from several slices, or " +
		"goes through a part of one. The compiler does not unroll loops, and checks each access. Parts are cut to " +
		"one length in front, so that one test covers a block. Exact: the loop itself handles the rest, and " +
		"everything if an index would lie outside.",
	Example: mutate.Shows(`for i := from; i < to; i++ {
	dst[i] ^= key[i]
}`,
		`at := from
if 0 <= at && at <= to && to <= len(dst) && to <= len(key) {
	dstRest, keyRest := dst[at:to], key[at:to]
	for len(dstRest) >= 4 && len(keyRest) >= 4 {
		dstRest[0] ^= keyRest[0]
		dstRest[1] ^= keyRest[1]
		dstRest[2] ^= keyRest[2]
		dstRest[3] ^= keyRest[3]
		dstRest, keyRest = dstRest[4:], keyRest[4:]
		at += 4
	}
}
for i := at; i < to; i++ {
	dst[i] ^= key[i]
}`),
	Class: beagle.E0,
	Gain:  1.3,
	Find:  findUnrollIndex,
	Params: func(*mutate.Pass, mutate.Site) []mutate.Param {
		return []mutate.Param{{Label: "8", Value: 8}, {Label: "4", Value: 4}}
	},
	Rewrite: rewriteUnrollIndex,
}

// An indexLoop counts up by one and uses its index for elements only.
type indexLoop struct {
	stmt     ast.Stmt
	body     *ast.BlockStmt
	index    *types.Var
	from, to string
	start    int64      // where it begins, or -1 if that is no constant
	whole    ast.Expr   // the slice to whose end it goes, or nil
	value    *types.Var // the element of whole that the head declares, or nil

	seqs  []ast.Expr             // what it takes elements of, in the order of the text
	elems map[*ast.IndexExpr]int // which of seqs the element is of
}

// maxBlockLines bounds the bodies: a block of eight should still be read at a glance.
const maxBlockLines = 4

// maxSlices bounds what the processor has registers for: each slice needs two in the loop.
const maxSlices = 4

// findUnrollIndex looks for counting loops that index several lists, and which unroll does not
// take.
func findUnrollIndex(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		if syntax.LoopBody(s) == nil || facts.IsLabelled(p, s) || !facts.CanDeclare(p, s) ||
			facts.IsRedefined(p, s, "len") {
			continue
		}
		if _, at := p.Siblings(s); at < 0 {
			continue
		}
		if l, ok := p.Elements(s); ok && l.Plain {
			continue // unroll takes it
		}
		// The bounds must stay, the body may be repeated, and it must index something whose tests
		// are saved.
		l := indexLoopOf(p, s)
		if l == nil || !l.repeatable(p) || !l.findElems(p) || afterBlocks(p, l) {
			continue
		}
		var names []string
		for _, e := range l.seqs {
			names = append(names, p.Text(e))
		}
		sites = append(sites, mutate.Site{Node: s, Label: "loop over " + strings.Join(names, ", "), Data: l})
	}
	return sites
}

// indexLoopOf returns the loop with its bounds, or nil if these may change in it.
func indexLoopOf(p *mutate.Pass, s ast.Stmt) *indexLoop {
	switch s := s.(type) {
	case *ast.ForStmt:
		// Match for i := a; i < b; i++ with bounds that stay. The length of a slice may not change
		// either.
		c, ok := p.Counted(s)
		if !ok || c.Skips || c.Start == nil || s.Init.(*ast.AssignStmt).Tok != token.DEFINE ||
			ast.Unparen(s.Cond).(*ast.BinaryExpr).Op != token.LSS || !isInt(p, c.Bound) ||
			!endStays(p, c.Bound, s) || !facts.Stable(p, c.Start, s) || !simpleBound(c.Bound) {
			return nil
		}
		l := &indexLoop{stmt: s, body: s.Body, index: c.Index, from: p.Text(c.Start), to: p.Text(c.Bound), start: -1}
		// With len(s) as the bound, the elements of s can be read through a slice that shrinks.
		if call, ok := p.IsBuiltin(c.Bound, "len"); ok {
			l.whole = ast.Unparen(call.Args[0])
		}
		if n, ok := p.Int(c.Start); ok && n >= 0 {
			l.start = n
		}
		if l.start >= 0 && p.Info.Types[c.Bound].Value != nil {
			return nil // fixed-trips writes it out
		}
		return l
	case *ast.RangeStmt:
		if s.Tok != token.DEFINE || syntax.IsBlank(s.Key) || facts.UsesName(p, s.X, s.Key.(*ast.Ident).Name) {
			return nil // the head of the rest loop would read the index instead
		}
		l := &indexLoop{stmt: s, body: s.Body, index: p.Var(s.Key), from: "0"}
		// A range over a slice or an integer has the same form, from 0.
		if facts.IsSlice(p.Info.TypeOf(s.X)) && simpleBound(s.X) {
			l.whole, l.to = ast.Unparen(s.X), "len("+p.Text(s.X)+")"
			if !syntax.IsBlank(s.Value) {
				l.value = p.Var(s.Value)
			}
			return l
		}
		if p.Info.Types[s.X].Value != nil || !isInt(p, s.X) || !facts.Stable(p, s.X, s) || !simpleBound(s.X) {
			return nil
		}
		l.to = p.Text(s.X)
		return l
	}
	return nil
}

// endStays reports whether a bound keeps its value in a loop, or is the length of what does.
func endStays(p *mutate.Pass, bound ast.Expr, loop ast.Stmt) bool {
	call, ok := p.IsBuiltin(bound, "len")
	return facts.Stable(p, bound, loop) || ok && facts.HeldStill(p, ast.Unparen(call.Args[0]), loop)
}

// isInt reports whether an expression is an int, as the lengths of slices are.
func isInt(p *mutate.Pass, e ast.Expr) bool {
	return types.Identical(types.Default(p.Info.TypeOf(e)), types.Typ[types.Int])
}

// simpleBound reports whether a bound reads well where it stands several times.
func simpleBound(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return simpleBound(e.X)
	case *ast.CallExpr: // facts.Stable admits none but len and the like
		return len(e.Args) == 1 && simpleBound(e.Args[0])
	case *ast.BinaryExpr:
		return simpleBound(e.X) && simpleBound(e.Y)
	}
	return false
}

// repeatable reports whether the body may stand several times in a row. Calls take so long that
// fewer tests of the index would not show.
func (l *indexLoop) repeatable(p *mutate.Pass) bool {
	// The loop's variables belong to one iteration each, so the body may neither change nor keep
	// them.
	if l.index == nil || facts.Captured.Of(p)[l.index] || p.Assigned(l.index, l.body) || len(l.body.List) == 0 ||
		l.value != nil && (p.Assigned(l.value, l.body) || facts.DeclaresName(p, l.body, l.value.Name())) ||
		facts.LineCount(p, l.body)-1 > maxBlockLines {
		return false
	}
	fits := true
	// Loops and calls take long anyway, and jumps have no single place to go to.
	ast.Inspect(l.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.BranchStmt,
			*ast.LabeledStmt, *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.DeclStmt:
			fits = false
		case *ast.UnaryExpr:
			fits = fits && n.Op != token.AND // an address tells where an element lies
		// Single instructions are no calls.
		case *ast.CallExpr:
			_, counts := p.IsCall(n, "math/bits", "OnesCount64", "OnesCount32", "OnesCount", "RotateLeft64",
				"RotateLeft32", "TrailingZeros64", "Len64")
			fits = fits && (counts || p.Info.Types[n.Fun].IsType() || p.Info.Types[n.Fun].IsBuiltin() &&
				p.Text(n.Fun) != "append")
		}
		return fits
	})
	return fits
}

// findElems reports whether the body uses the index for elements of slices only, and lists these.
// The loop may store elements, and must not replace the slices.
func (l *indexLoop) findElems(p *mutate.Pass) bool {
	l.elems = map[*ast.IndexExpr]int{}
	// The slice that gives the number of turns must stay as it is.
	if l.whole != nil && !l.keeps(p, l.whole) || l.value != nil && l.seq(p, l.whole) < 0 {
		return false
	}
	for _, id := range p.Uses(l.index, l.body) {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ast.Unparen(ix.Index) != ast.Expr(id) {
			return false
		}
		// Each slice gets a number, by which the guard tests it once.
		if l.elems[ix] = l.seq(p, ast.Unparen(ix.X)); l.elems[ix] < 0 {
			return false
		}
	}
	return len(l.elems) > 0 && len(l.seqs) <= maxSlices
}

// seq returns the place of a slice in the list of those that the loop takes elements of, or -1 if
// the loop may replace it.
func (l *indexLoop) seq(p *mutate.Pass, e ast.Expr) int {
	for i, x := range l.seqs {
		if p.Same(x, e) {
			return i
		}
	}
	if !syntax.SlicedOrString(p.Info.TypeOf(e)) || !l.keeps(p, e) {
		return -1
	}
	l.seqs = append(l.seqs, e)
	return len(l.seqs) - 1
}

// keeps reports whether the loop replaces neither a local slice nor the one in a field or in a
// variable of the package. In front of the loop, a name that the loop declares means nothing, or
// something else.
func (l *indexLoop) keeps(p *mutate.Pass, e ast.Expr) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		if v := p.Var(id); v != nil && l.stmt.Pos() <= v.Pos() && v.Pos() < l.stmt.End() {
			return false
		}
	}
	v := p.Var(e)
	if !facts.IsLocal(p, v) {
		return facts.HeldStill(p, e, l.stmt)
	}
	return !facts.Captured.Of(p)[v] && (!facts.Pointed(p, v) || !facts.MayReplace(p, l.stmt)) &&
		(!p.Assigned(v, l.body) || facts.StoresElementsOnly(p, v, l.body))
}

// afterBlocks recognises the loop that this rule left for the rest: it starts where the blocks in
// front of it end.
func afterBlocks(p *mutate.Pass, l *indexLoop) bool {
	list, at := p.Siblings(l.stmt)
	f, ok := l.stmt.(*ast.ForStmt)
	if !ok || at < 1 {
		return false
	}
	c, ok := p.Counted(f)
	if !ok {
		return false
	}
	v := p.Var(c.Start)
	return v != nil && p.Assigned(v, list[at-1])
}

// rewriteUnrollIndex writes the body k times for blocks of k iterations, with the lists cut to what
// is left.
func rewriteUnrollIndex(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	l, k := s.Data.(*indexLoop), param.Value.(int)
	at := p.Fresh("at", "done", "start")
	var rests, parts, next, tests []string
	// Each list that the body indexes gets a slice of what is left of it, whose constant indexes
	// need no check. The names come from the list or the field.
	for _, e := range l.seqs {
		base, field, isField := strings.Cut(p.Text(e), ".")
		stem := base
		if isField {
			stem = edit.LowerFirst(field)
		}
		name := p.Fresh(stem+"Rest", stem+"Part")
		if slices.Contains(rests, name) { // two fields of one name
			name = p.Fresh(base+edit.UpperFirst(field)+"Rest", base+edit.UpperFirst(field)+"Part")
		}
		rests, parts = append(rests, name), append(parts, l.part(p, e, at))
		next = append(next, fmt.Sprintf("%s[%d:]", name, k))
		tests = append(tests, fmt.Sprintf("len(%s) >= %d", name, k))
	}
	// The block runs as long as all of them have k elements left.
	blocks := fmt.Sprintf("%s := %s\nfor %s {\n", strings.Join(rests, ", "), strings.Join(parts, ", "),
		strings.Join(tests, " && "))
	// The body is written k times, with the j-th element of each rest.
	for j := range k {
		blocks += l.copied(p, rests, strconv.Itoa(j)) + "\n"
	}
	blocks += fmt.Sprintf("%s = %s\n%s += %d\n}\n", strings.Join(rests, ", "), strings.Join(next, ", "), at, k)
	// The slices start at the index; where that could panic and the original not, a guard skips the
	// block.
	if guard := l.guard(p, at); guard != "" {
		blocks = "if " + guard + " {\n" + blocks + "}\n"
	}
	// The original loop handles what is left, from where the blocks ended.
	rest := p.BodyText(l.body)
	if l.value != nil {
		rest = fmt.Sprintf("%s := %s[%s]\n%s", l.value.Name(), p.Text(l.whole), l.index.Name(), rest)
	}
	text := fmt.Sprintf("%[1]s := %[2]s\n%[3]sfor %[4]s := %[1]s; %[4]s < %[5]s; %[4]s++ {\n%[6]s\n}",
		at, l.from, blocks, l.index.Name(), l.to, rest)
	return []mutate.Edit{p.Replace(l.stmt, text)}, nil
}

// part cuts what the loop goes through out of a slice.
func (l *indexLoop) part(p *mutate.Pass, e ast.Expr, at string) string {
	from, to := at, l.to
	if l.start == 0 || l.from == "0" {
		from = ""
	}
	if l.isWhole(p, e) {
		to = ""
	}
	if from == "" && to == "" {
		return p.Text(e)
	}
	return fmt.Sprintf("%s[%s:%s]", p.Text(e), from, to)
}

// isWhole reports whether the loop goes to the end of a slice.
func (l *indexLoop) isWhole(p *mutate.Pass, e ast.Expr) bool {
	return l.whole != nil && p.Same(e, l.whole)
}

// guard is the condition under which no index of the loop lies outside, or "".
func (l *indexLoop) guard(p *mutate.Pass, at string) string {
	var tests []string
	switch {
	// From 0 to the length of the slice, nothing can lie outside.
	case l.from == "0" && l.whole != nil:
	case l.from == "0":
		tests = append(tests, "0 <= "+l.to)
	case l.start >= 0:
		tests = append(tests, at+" <= "+l.to)
	default:
		tests = append(tests, "0 <= "+at, at+" <= "+l.to)
	}
	for _, e := range l.seqs {
		// A slice that is not the bound itself must be long enough.
		if !l.isWhole(p, e) {
			tests = append(tests, fmt.Sprintf("%s <= len(%s)", l.to, p.Text(e)))
		}
	}
	return strings.Join(tests, " && ")
}

// copied returns the body for the element j of a block. The element that the head declares is read
// in its place if the body is one assignment: that reads all before it stores, unless it calls
// copy, of which Go leaves open whether it runs before an operand is read.
func (l *indexLoop) copied(p *mutate.Pass, rests []string, j string) string {
	as, single := l.body.List[0].(*ast.AssignStmt)
	single = single && len(l.body.List) == 1 && as.Tok != token.DEFINE && !facts.UsesName(p, as, "copy")
	text := strings.TrimSpace(p.TextWith(l.body, func(n ast.Node) (string, bool) {
		if ix, ok := n.(*ast.IndexExpr); ok {
			if k, is := l.elems[ix]; is {
				return rests[k] + "[" + j + "]", true
			}
		}
		if id, ok := n.(*ast.Ident); ok && single && l.value != nil && p.Info.Uses[id] == l.value {
			return rests[0] + "[" + j + "]", true
		}
		return "", false
	}))
	// A copy of the element is declared unless all is read in one statement.
	text = strings.TrimSpace(text[1 : len(text)-1]) // without the braces
	if l.value != nil && !single {
		text = fmt.Sprintf("%s := %s[%s]\n%s", l.value.Name(), rests[0], j, text)
	}
	if declaresNames(l.body.List) || l.value != nil && !single {
		return "{\n" + text + "\n}"
	}
	return text
}
