package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// stringBuilder (catalogue S1) matches a string that a loop extends with += and that nothing reads
// meanwhile. It writes a strings.Builder and one read of its text after the loop.
var stringBuilder = &mutate.Mutator{
	Name: "string-builder",
	Doc: "Collect a string that grows in a loop in a strings.Builder. Every += copies what is there already, so the " +
		"loop is quadratic. Legal because nothing else sees the string while it grows.",
	Example: mutate.Shows(`s := ""
for _, w := range words {
	s += w + " "
}
return s`,
		`var s strings.Builder
for _, w := range words {
	s.WriteString(w)
	s.WriteByte(' ')
}
return s.String()`),
	Class:   beagle.E0,
	Gain:    3,
	Find:    findStringBuilder,
	Params:  growParams,
	Rewrite: rewriteStringBuilder,
}

// builderGrow (the second half of S1) matches a builder that code fills in several steps. It calls
// Grow before them: with the exact size or a bound before a loop, else with the length of an input
// or room for a short text.
var builderGrow = &mutate.Mutator{
	Name: "builder-grow",
	Doc: "Give a strings.Builder its size before code fills it: the exact one if it is known, otherwise the length " +
		"of an input, or room for a short text. It saves the copies that doubling makes. Legal because only the " +
		"capacity differs, and nobody asks for it.",
	Example: mutate.Shows(`var b strings.Builder
for _, w := range words {
	b.WriteString(w)
}`,
		`var b strings.Builder
n := 0
for _, w := range words {
	n += len(w)
}
b.Grow(n)
for _, w := range words {
	b.WriteString(w)
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findBuilderGrow,
	Params:  growParams,
	Rewrite: rewriteBuilderGrow,
}

type builderSite struct {
	decl    facts.Declaration
	edits   []mutate.Edit
	name    string // the name of the builder
	loop    ast.Stmt
	sizes   []string // arguments of Grow that code in front of the loop can evaluate
	prepass string   // statements that compute the exact size, or ""
	total   string   // the variable that the prepass computes
}

func growParams(_ *mutate.Pass, s mutate.Site) []mutate.Param {
	b := s.Data.(*builderSite)
	var out []mutate.Param
	// Without Grow is a choice only if there is something else to rewrite.
	if len(b.edits) > 0 {
		out = append(out, mutate.Param{Label: "none"})
	}
	if b.prepass != "" {
		// The exact size is computed beforehand, by a pass over the parts.
		out = append(out, mutate.Param{Label: "exact", Value: b.prepass + b.name + ".Grow(" + b.total + ")"})
	}
	for _, size := range b.sizes {
		out = append(out, mutate.Param{Label: size, Value: b.name + ".Grow(" + size + ")"})
	}
	return out
}

// findStringBuilder looks for texts that a loop adds to, and which a builder could hold instead.
func findStringBuilder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d, rest := range facts.AllDeclarations(p) {
		if !syntax.IsPredeclared(d.Var.Type(), types.String) {
			continue
		}
		b := &builderSite{decl: d, name: d.Var.Name()}
		// All uses must be appends or reads that a builder can answer.
		if b.convert(p) {
			b.size(p, rest, d.Var)
			sites = append(sites, mutate.Site{
				Node:  b.loop,
				Label: "string " + d.Var.Name() + " built in a loop",
				Data:  b,
			})
		}
	}
	return sites
}

// convert prepares the edits that turn the string into a builder.
func (b *builderSite) convert(p *mutate.Pass) bool {
	if facts.Captured.Of(p)[b.decl.Var] || !facts.Movable(p, b.decl) {
		return false
	}
	fn := p.FuncOf(b.decl.Stmt)
	text := "var " + b.name + " strings.Builder"
	// An initial value is written first. It must not be the variable's own name in an outer scope.
	if init := b.decl.Value; init != nil {
		if s, ok := facts.ConstString(p, init); !ok || s != "" {
			if facts.MentionsName(p, init, b.name) || !inTurn(p, init) || !ok && b.decl.Spec != nil {
				// The builder would hide what init means by the name, or a part of a group would be
				// evaluated after the others.
				return false
			}
			text += "\n" + writeStatements(p, b.name, init, nil)
		}
	}
	name, imports := p.Import("strings")
	b.edits = append(imports, edit.Redeclare(p, b.decl, strings.ReplaceAll(text, "strings.", name+"."))...)
	// Every use must have a form for builders: the type changes at all of them.
	for _, id := range p.Uses(b.decl.Var, fn) {
		e, ok := b.use(p, id)
		if !ok {
			return false
		}
		b.edits = append(b.edits, e...)
	}
	return b.loop != nil
}

// use rewrites one use of the string: an append or a read.
func (b *builderSite) use(p *mutate.Pass, id *ast.Ident) ([]mutate.Edit, bool) {
	v := b.decl.Var
	if as, ok := facts.Enclosing[*ast.AssignStmt](p, id); ok {
		if added, self, ok := addedTo(p, as, v); ok {
			// An assignment has the string on both sides: the left one is rewritten, the right one
			// goes with it.
			if as.Lhs[0] != ast.Expr(id) {
				return nil, ast.Expr(id) == self // the s in the sum of s = s + x
			}
			// Text that is added must not read the string, which is no string any more.
			if n := len(p.Uses(v, added)); n > 1 || n == 1 && self == nil || !inTurn(p, added) {
				return nil, false
			}
			if loop := outerLoop(p, as, b.decl.Stmt); loop != nil && b.loop == nil {
				b.loop = loop
			}
			return []mutate.Edit{p.Replace(as, strings.TrimSpace(writeStatements(p, b.name, added, self)))}, true
		}
	}
	return b.read(p, id)
}

// read rewrites a read of the string. A read in the loop that builds the string may only ask for
// the length.
func (b *builderSite) read(p *mutate.Pass, id *ast.Ident) ([]mutate.Edit, bool) {
	switch up := p.Parent(id).(type) {
	case *ast.BinaryExpr:
		// A comparison with the empty text is one of the length.
		if s, ok := facts.ConstString(p, up.Y); ok && s == "" && up.X == ast.Expr(id) && up.Op != token.ADD {
			return []mutate.Edit{p.Replace(up, b.name+".Len() "+up.Op.String()+" 0")}, true
		}
	// Its length is known without making the text.
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(up, "len"); ok {
			return []mutate.Edit{p.Replace(up, b.name+".Len()")}, true
		}
	// An address, an assignment and a loop variable are no reads.
	case *ast.UnaryExpr:
		if up.Op == token.AND {
			return nil, false
		}
	case *ast.AssignStmt:
		if slices.Contains(up.Lhs, ast.Expr(id)) {
			return nil, false
		}
	case *ast.RangeStmt:
		if up.X != ast.Expr(id) {
			return nil, false
		}
	}
	// In a loop the text may still grow after the read. A read that leaves the loop is the last.
	if outerLoop(p, id, b.decl.Stmt) != nil && !facts.InReturn(p, id) {
		return nil, false
	}
	return []mutate.Edit{p.Replace(id, b.name+".String()")}, true
}

func leftmostOperand(e ast.Expr) ast.Expr {
	for {
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok || b.Op != token.ADD {
			return ast.Unparen(e)
		}
		e = b.X
	}
}

// addedTo returns what `v += e` or `v = v + e` adds. In the second form, the sum contains v itself
// as its leftmost operand.
func addedTo(p *mutate.Pass, as *ast.AssignStmt, v *types.Var) (added, self ast.Expr, ok bool) {
	if lhs, rhs, ok := syntax.SplitAssign(as, token.ADD_ASSIGN); ok && p.Var(lhs) == v {
		return rhs, nil, true
	}
	lhs, rhs, ok := syntax.SplitAssign(as, token.ASSIGN)
	if !ok || p.Var(lhs) != v || p.Var(leftmostOperand(rhs)) != v || leftmostOperand(rhs) == rhs {
		return nil, nil, false
	}
	return rhs, leftmostOperand(rhs), true
}

// inTurn reports whether the parts of a concatenation may be evaluated and written one by one. The
// language leaves open whether a variable is read before or after a call behind it, and the
// compiler reads it after.
func inTurn(p *mutate.Pass, e ast.Expr) bool {
	open := false // a part so far reads what a call may change
	for _, part := range syntax.Operands(e, token.ADD) {
		if open && p.Effects(part).Writes && !printsPlain(p, part) {
			return false
		}
		call, ok := ast.Unparen(part).(*ast.CallExpr)
		open = open || !(ok && !p.Info.Types[call.Fun].IsType()) && !facts.OwnValue(p, part)
	}
	return true
}

// printsPlain recognises fmt.Sprint and the like of numbers and texts, which run no other code.
func printsPlain(p *mutate.Pass, e ast.Expr) bool {
	call, ok := p.IsCall(e, "fmt", "Sprint", "Sprintf", "Sprintln")
	return ok && !slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		return syntax.PlainKind(p.Info.TypeOf(arg)) == 0 || p.Effects(arg).Writes
	})
}

// writeStatements returns the statements that write the parts of a concatenation, all but skip.
func writeStatements(p *mutate.Pass, name string, e, skip ast.Expr) string {
	if skip != nil && ast.Unparen(e) == skip {
		return ""
	}
	if s, ok := facts.ConstString(p, e); ok {
		// A single character is cheaper to write as a byte.
		if len(s) == 1 && s[0] < 0x80 {
			return fmt.Sprintf("%s.WriteByte(%q)\n", name, s[0])
		}
		if s == "" {
			return ""
		}
		return name + ".WriteString(" + p.Text(e) + ")\n"
	}
	// The parts of a sum are written one after the other, which saves the text of the sum.
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD {
		return writeStatements(p, name, b.X, skip) + writeStatements(p, name, b.Y, skip)
	}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(call.Args) == 1 && p.Info.Types[call.Fun].IsType() {
		arg := call.Args[0]
		// A converted rune or byte slice is written without the conversion.
		switch {
		case facts.IsPredeclared(p, arg, types.Int32) || facts.IsPredeclared(p, arg, types.UntypedRune):
			return name + ".WriteRune(" + p.Text(arg) + ")\n"
		case facts.IsByteSlice(p, arg):
			return name + ".Write(" + p.Text(arg) + ")\n"
		}
	}
	return name + ".WriteString(" + p.Text(ast.Unparen(e)) + ")\n"
}

// size finds bounds for what the loop writes, if the loop stands in rest.
func (b *builderSite) size(p *mutate.Pass, rest []ast.Stmt, v *types.Var) {
	for _, s := range rest {
		if s != b.loop {
			continue
		}
		r, ok := s.(*ast.RangeStmt)
		if !ok || !facts.Stable(p, r.X, r) {
			continue
		}
		// Only a range over texts gives a useful bound: the sum of their lengths, or the length of
		// the one text whose characters are written.
		switch t := p.Info.TypeOf(r.X).Underlying().(type) {
		case *types.Slice:
			if syntax.IsPredeclared(t.Elem(), types.String) {
				b.prepass, b.total = sumLengths(p, r, v)
			}
		case *types.Basic:
			if t.Info()&types.IsString != 0 {
				b.sizes = append(b.sizes, "len("+p.Text(r.X)+")")
			}
		}
	}
}

// sumLengths returns statements that sum up what a loop over strings writes, if that is each
// element once and constants.
func sumLengths(p *mutate.Pass, r *ast.RangeStmt, v *types.Var) (text, total string) {
	elem, ok := r.Value.(*ast.Ident)
	if !ok || elem.Name == "_" {
		return "", ""
	}
	// Constants in the body are written at most once an element.
	fixed := 0
	for _, lit := range mutate.Nodes[*ast.BasicLit](p, r.Body) {
		if s, ok := facts.ConstString(p, lit); ok {
			fixed += len(s)
		} else if lit.Kind == token.CHAR {
			fixed++
		}
	}
	total = p.Fresh("size", "total")
	sum := "len(" + elem.Name + ")"
	if fixed > 0 {
		sum += fmt.Sprintf(" + %d", fixed)
	}
	return fmt.Sprintf("%s := 0\nfor _, %s := range %s {\n%s += %s\n}\n", total, elem.Name, p.Text(r.X), total, sum),
		total
}

func rewriteStringBuilder(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	b := s.Data.(*builderSite)
	if grow, ok := param.Value.(string); ok {
		return append([]mutate.Edit{edit.InsertBefore(p, b.loop, grow)}, b.edits...), nil
	}
	return b.edits, nil
}

// findBuilderGrow looks for builders that code fills without having grown them first.
func findBuilderGrow(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d, rest := range facts.AllDeclarations(p) {
		if d.Value != nil {
			continue
		}
		// Code that asks for the capacity would see the difference.
		if d.Var.Type().String() != "strings.Builder" || asksCapacity(p, d.Var) {
			continue
		}
		// A loop with known sizes has the best estimate. Otherwise the known sizes of many writes
		// in a row are added.
		if b := sizedBuilder(p, d, rest); b != nil {
			sites = append(sites, mutate.Site{Node: b.loop, Label: "builder " + b.name + " filled in a loop", Data: b})
			continue
		}
		if manyWrites(p, d) && len(rest) > 0 {
			b := &builderSite{decl: d, name: d.Var.Name(), loop: rest[0], sizes: sizeHints(p, d)}
			sites = append(sites, mutate.Site{Node: d.Stmt, Label: "builder " + b.name, Data: b})
		}
	}
	return sites
}

// sizedBuilder finds the loop that fills a builder, if its size can be known in front of it.
func sizedBuilder(p *mutate.Pass, d facts.Declaration, rest []ast.Stmt) *builderSite {
	for _, s := range rest {
		if syntax.LoopBody(s) == nil || len(p.Uses(d.Var, s)) == 0 {
			continue
		}
		b := &builderSite{decl: d, name: d.Var.Name(), loop: s}
		if b.size(p, rest, d.Var); b.prepass != "" || len(b.sizes) > 0 {
			return b
		}
		return nil
	}
	return nil
}

// asksCapacity reports whether code already grows the builder, or reads the capacity of any
// builder: this one may be handed to it.
func asksCapacity(p *mutate.Pass, v *types.Var) bool {
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if _, asks := p.IsCall(call, "strings", "Builder.Cap"); asks {
			return true
		}
	}
	for _, id := range p.Uses(v, p.File) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if ok && sel.Sel.Name == "Grow" {
			return true
		}
	}
	return false
}

func rewriteBuilderGrow(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	return []mutate.Edit{edit.InsertBefore(p, s.Data.(*builderSite).loop, param.Value.(string))}, nil
}

// sizeHints offers to give a builder room where no exact size is known: as much as a text or list
// that the function is given, or enough for a short text.
func sizeHints(p *mutate.Pass, d facts.Declaration) []string {
	var out []string
	for _, v := range facts.ParametersOf(p, p.FuncOf(d.Stmt)) {
		if v == nil || v.Name() == "_" || p.Assigned(v, p.FuncOf(d.Stmt)) || len(out) == 2 {
			continue
		}
		if t := v.Type().Underlying().String(); t == "string" || strings.HasPrefix(t, "[]") {
			out = append(out, "len("+v.Name()+")")
		}
	}
	return append(out, "64")
}

// manyWrites reports whether code writes to a builder more than once, so that it may grow.
func manyWrites(p *mutate.Pass, d facts.Declaration) bool {
	n := 0
	for _, id := range p.Uses(d.Var, p.File) {
		switch sel, _ := p.Parent(id).(*ast.SelectorExpr); {
		case printsInto(p, id), sel != nil && strings.HasPrefix(sel.Sel.Name, "Write"):
			// A write within a loop counts twice: it may run often.
			if n++; p.InLoop(id) && !p.InLoop(d.Stmt) {
				n++
			}
		case sel == nil || !facts.IsCalled(p, sel):
			return false // handed on to code that may ask for the capacity
		}
	}
	return n > 1
}
