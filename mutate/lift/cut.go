package lift

import (
	"fmt"
	"go/ast"
	"go/token"
	gotypes "go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
)

// A cutter finds the inputs and outputs of a region, and whether it may run alone.
type cutter struct {
	p      *mutate.Pass
	r      *Region
	inputs map[any]*Input // by variable, or by the text of a field
	bad    string         // why there is no region
	ends   int            // returns in it
	nested int            // depth of function literals

	assigned []*gotypes.Var // variables that are assigned
	written  *gotypes.Var   // a builder or buffer from outside that it appends to
}

// purePackages lists packages whose functions change nothing and ask nothing of the system.
var purePackages = []string{
	"strings", "bytes", "slices", "maps", "math", "math/bits", "unicode", "unicode/utf8", "unicode/utf16",
	"strconv", "sort",
	"errors", "cmp", "encoding/hex", "encoding/base64", "encoding/base32", "encoding/binary",
	"hash/crc32", "hash/crc64",
	"hash/adler32", "hash/fnv", "html", "path", "net/url", "net/netip", "math/cmplx", "container/heap",
}

// sorters are functions that change the elements of their first argument.
var sorters = []string{"sort.Ints", "sort.Strings", "sort.Float64s", "slices.Sort", "slices.Reverse", "sort.Slice"}

func (x *cutter) refuse(why string) bool {
	x.bad = why
	return false
}

func (x *cutter) inside(pos token.Pos) bool { return x.r.start <= pos && pos < x.r.end }

// visit looks at one node of the region, notes what it reads, writes and calls, and refuses what a
// term of the library can't stand for.
func (x *cutter) visit(n ast.Node) bool {
	// One reason is enough.
	if x.bad != "" {
		return false
	}
	switch n := n.(type) {
	case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.LabeledStmt:
		return x.refuse("goroutines, channels, defers and labels stay")
	// A literal may not write, and its returns do not end the region. It is walked by a copy that
	// knows its depth.
	case *ast.FuncLit:
		if x.p.Effects(n).Writes {
			return x.refuse("a function literal that writes")
		}
		inner := *x
		inner.nested++
		for _, s := range n.Body.List {
			ast.Inspect(s, inner.visit)
		}
		x.bad, x.assigned, x.r = inner.bad, inner.assigned, inner.r
		return false
	case *ast.ForStmt:
		x.r.loops = true
	case *ast.RangeStmt:
		return x.ranges(n)
	// A jump must stay inside, so that control leaves the region in one place.
	case *ast.BranchStmt:
		if n.Label != nil || n.Tok == token.GOTO || x.leaves(n) {
			return x.refuse("a jump out of the region")
		}
	case *ast.ReturnStmt:
		if x.nested == 0 {
			x.ends++
		}
	// An address outlives the region, unless it is of the region's own memory.
	case *ast.UnaryExpr:
		if n.Op == token.ARROW || n.Op == token.AND && !x.own(n.X) {
			return x.refuse("an address or a channel")
		}
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			x.write(l)
		}
	case *ast.IncDecStmt:
		x.write(n.X)
	case *ast.CallExpr:
		return x.call(n)
	case *ast.SelectorExpr:
		return x.selector(n)
	case *ast.Ident:
		x.ident(n)
	}
	return x.bad == ""
}

// own reports whether an operand is a literal or a variable of the region.
func (x *cutter) own(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.Ident:
		v := x.p.Var(e)
		return v != nil && x.inside(v.Pos())
	}
	return false
}

// ranges admits loops over slices, texts and numbers, whose order is always the same.
func (x *cutter) ranges(n *ast.RangeStmt) bool {
	x.r.loops = true
	switch x.p.Info.TypeOf(n.X).Underlying().(type) {
	case *gotypes.Chan, *gotypes.Signature:
		return x.refuse("a range over a function or a channel")
	case *gotypes.Map:
		return x.refuse("a range over a map, whose order differs from run to run")
	}
	// A range with = writes variables from outside of the loop.
	if n.Tok == token.ASSIGN {
		for _, e := range []ast.Expr{n.Key, n.Value} {
			if e != nil {
				x.write(e)
			}
		}
	}
	return true
}

// leaves reports whether a break or continue leaves the region.
func (x *cutter) leaves(n *ast.BranchStmt) bool {
	// It leads to the next clause, which is in the region with its switch.
	if n.Tok == token.FALLTHROUGH {
		return false
	}
	// The path goes from inside out: the first statement that takes the jump decides, and if the
	// region ends before, the jump leaves it.
	for _, up := range x.p.Path(n) {
		if up.Pos() < x.r.start || up.End() > x.r.end {
			return true
		}
		switch up.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.SwitchStmt, *ast.TypeSwitchStmt:
			if n.Tok == token.BREAK {
				return false
			}
		}
	}
	return true
}

// write notes what an assignment changes.
func (x *cutter) write(l ast.Expr) {
	switch l := ast.Unparen(l).(type) {
	case *ast.Ident:
		v := x.p.Var(l)
		switch {
		case l.Name == "_":
		case v == nil || x.p.IsGlobal(v):
			x.bad = "it assigns a global variable"
		case !slices.Contains(x.assigned, v):
			x.assigned = append(x.assigned, v)
		}
	// Elements of an input are an output, but fields and pointers have no such name.
	case *ast.IndexExpr:
		x.elements(l.X)
	case *ast.SelectorExpr:
		if !x.own(l.X) {
			x.bad = "it writes a field"
		}
	default:
		x.bad = "it writes through a pointer"
	}
}

// elements notes that the elements of an operand are written.
func (x *cutter) elements(e ast.Expr) {
	v := x.p.Var(ast.Unparen(e))
	// A global may be read by others meanwhile. A slice that the region itself declared is its own
	// affair.
	switch {
	case v == nil || x.p.IsGlobal(v):
		x.bad = "it writes elements of something other than a local variable"
	case x.inside(v.Pos()):
	default:
		// A slice from outside becomes an input that is an output too.
		in := x.input(v)
		if in == nil || !in.Type.slice {
			x.bad = "it writes elements of a type outside of the grammar"
			return
		}
		in.changed = true
	}
}

// call admits builtins without further effects, functions, and literals that are called on the
// spot.
func (x *cutter) call(n *ast.CallExpr) bool {
	if x.p.Info.Types[n.Fun].IsType() {
		return true
	}
	switch f := x.p.Callee(n).(type) {
	case *gotypes.Builtin:
		switch f.Name() {
		case "append", "len", "make", "new", "min", "max", "delete", "panic":
			return true
		case "copy", "clear":
			x.elements(n.Args[0])
			return true
		}
		return x.refuse("the builtin " + f.Name())
	case *gotypes.Func:
		return x.function(n, f)
	}
	// A literal's body is visited anyway.
	if _, lit := ast.Unparen(n.Fun).(*ast.FuncLit); lit {
		return true
	}
	return x.refuse("a call of a function value")
}

// function admits calls without an effect outside of the region.
func (x *cutter) function(n *ast.CallExpr, f *gotypes.Func) bool {
	// A method of an interface may be anything, and other packages may do more than compute.
	switch {
	case f.Pkg() == nil:
		return x.refuse("a call of a method of error")
	case f.Pkg() != x.p.Pkg && !slices.Contains(purePackages, f.Pkg().Path()):
		return x.refuse("a call into " + f.Pkg().Path())
	case gotypes.IsInterface(receiverType(f)):
		return x.refuse("a call of a method of an interface")
	}
	// A write to a builder is an output of the region.
	if x.appends(n, f) {
		return false
	}
	if f.Pkg() != x.p.Pkg {
		x.r.calls = append(x.r.calls, f.Pkg().Name()+"."+f.Name())
	}
	// Sorts write their argument, which makes its elements an output.
	if f.Pkg() != x.p.Pkg && slices.Contains(sorters, f.Pkg().Name()+"."+f.Name()) {
		x.elements(n.Args[0])
		return x.bad == ""
	}
	if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && f.Signature().Recv() != nil && x.own(sel.X) {
		return true // its receiver is the region's own
	}
	if x.p.Effects(n).Writes {
		return x.refuse("a call with effects")
	}
	return true
}

// appends notes a call that appends to a builder or a buffer from outside of the region, and asks
// for nothing. The text that a region appends is an output of it.
func (x *cutter) appends(n *ast.CallExpr, f *gotypes.Func) bool {
	sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	// A nested function would append later, and WriteTo is no appending but reading.
	if !ok || x.nested > 0 || !strings.HasPrefix(f.Name(), "Write") || f.Name() == "WriteTo" {
		return false
	}
	v := x.p.Var(sel.X)
	_, alone := x.p.Parent(n).(*ast.ExprStmt)
	// The call's results must not be used: only its text remains.
	if v == nil || x.p.IsGlobal(v) || x.inside(v.Pos()) || !alone || builderOf(v.Type()) == "" {
		return false
	}
	// Two variables may lead to one builder, whose text then has both in turn.
	if x.written != nil && x.written != v {
		return !x.refuse("it appends to two builders, which may be one")
	}
	x.written = v
	for _, a := range n.Args {
		ast.Inspect(a, x.visit)
	}
	return true
}

// lends reports whether the memory of a buffer may be that of a slice: other code holds the buffer,
// or took its bytes, perhaps in an earlier turn of a loop.
func (x *cutter) lends(v *gotypes.Var) bool {
	// Through a pointer anybody may hold the same buffer.
	if _, pointer := v.Type().Underlying().(*gotypes.Pointer); pointer {
		return true
	}
	// In a loop that the buffer outlives, code behind the region runs before it in the next turn.
	end := x.r.end
	for _, up := range x.p.Path(x.r.stmts[0]) {
		if s, ok := up.(ast.Stmt); ok && isLoop(s) && s.Pos() > v.Pos() {
			end = max(end, s.End())
		}
	}
	for _, id := range x.p.Uses(v, x.r.fn) {
		sel, ok := x.p.Parent(id).(*ast.SelectorExpr)
		// Passing the buffer itself gives it away; three methods give its memory.
		if id.Pos() < end && (!ok || slices.Contains([]string{"Bytes", "Next", "AvailableBuffer"}, sel.Sel.Name)) {
			return true
		}
	}
	return false
}

// builderOf returns the name of a type that texts are appended to, without a star; "" for others.
func builderOf(t gotypes.Type) string {
	if p, ok := gotypes.Unalias(t).(*gotypes.Pointer); ok {
		t = p.Elem()
	}
	if name := gotypes.TypeString(t, nil); name == "strings.Builder" || name == "bytes.Buffer" {
		return name
	}
	return ""
}

func receiverType(f *gotypes.Func) gotypes.Type {
	if r := f.Signature().Recv(); r != nil {
		return r.Type()
	}
	return gotypes.Typ[gotypes.Int]
}

// selector takes a field of a local variable for an input of its own.
func (x *cutter) selector(n *ast.SelectorExpr) bool {
	sel := x.p.Info.Selections[n]
	if sel == nil || sel.Kind() != gotypes.FieldVal {
		return true
	}
	// Find the variable at the bottom of the chain of fields.
	root := ast.Expr(n)
	for {
		s, ok := ast.Unparen(root).(*ast.SelectorExpr)
		if !ok {
			break
		}
		root = s.X
	}
	v := x.p.Var(root)
	// Fields of the region's own variables are part of its computation, and those of globals are
	// looked at by ident.
	if v == nil || x.p.IsGlobal(v) || x.inside(v.Pos()) {
		return true
	}
	t := x.p.Info.TypeOf(n)
	if grammarType(t) == nil {
		return x.refuse("a field of a type outside of the grammar")
	}
	// Each distinct field is one input, whatever the number of its uses.
	text := x.p.Text(n)
	if x.inputs[text] == nil {
		name := fmt.Sprintf("beagleField%d", len(x.inputs))
		x.inputs[text] = &Input{Name: name, Expr: text, Type: grammarType(t), goType: t}
	}
	return false
}

// ident takes a variable from outside for an input.
func (x *cutter) ident(n *ast.Ident) {
	obj := x.p.Info.Uses[n]
	v, ok := obj.(*gotypes.Var)
	// A constant or a type that the function declares has no meaning at package level, where the
	// program with the regions declares them.
	if obj != nil && !ok && x.r.fn.Pos() <= obj.Pos() && obj.Pos() < x.r.fn.End() && !x.inside(obj.Pos()) {
		x.bad = "a constant or a type of the function"
	}
	switch {
	case !ok || v.IsField() || x.inside(v.Pos()):
	// A global is as good as a constant if nothing changes it.
	case x.p.IsGlobal(v):
		if v.Pkg() != x.p.Pkg || !x.p.Frozen(v) {
			x.bad = "it reads a variable that may change"
		}
	default:
		if x.input(v) == nil {
			x.bad = "its input " + v.Name() + " has a type outside of the grammar"
		}
	}
}

// input returns the input that a variable is; nil when its type is outside of the grammar.
func (x *cutter) input(v *gotypes.Var) *Input {
	if in := x.inputs[v]; in != nil {
		return in
	}
	t := grammarType(v.Type())
	if t == nil {
		return nil
	}
	in := &Input{Name: v.Name(), Expr: v.Name(), Type: t, goType: v.Type(), obj: v}
	in.param = v.Pos() < x.r.fn.Body.Pos()
	x.inputs[v] = in
	return in
}

// collect orders the inputs, and finds the outputs. It returns false if there is no region.
func (x *cutter) collect(whole bool) bool {
	if x.written != nil && (whole || x.r.returns) {
		return false // the loop alone is a region
	}
	// Named results are zero at the start of a function, and no inputs of it. The order must not
	// depend on the map.
	for _, in := range x.inputs {
		if !whole || in.obj == nil || !x.named(in.obj) {
			x.r.Inputs = append(x.r.Inputs, *in)
		}
	}
	inorder.By(x.r.Inputs, func(a, b Input) int { return strings.Compare(x.order(a), x.order(b)) })
	// Outputs come in a fixed order: whether the region returned, its results, the elements that it
	// wrote, and its variables.
	results := x.p.Info.Defs[x.r.fn.Name].(*gotypes.Func).Signature().Results()
	named := results.Len() > 0 && results.At(0).Name() != ""
	if (x.r.returns || x.r.early) && !whole && named {
		return false // a return could mean variables that the region does not assign
	}
	if x.r.early {
		x.r.Outputs = append(x.r.Outputs, Output{Name: "returned", Type: types["bool"],
			goType: gotypes.Typ[gotypes.Bool], result: -1})
	}
	if x.r.returns || x.r.early {
		for i := range results.Len() {
			t := results.At(i).Type()
			if grammarType(t) == nil {
				return false
			}
			x.r.Outputs = append(x.r.Outputs, Output{Type: grammarType(t), goType: t, result: i, early: x.r.early})
		}
	}
	for _, in := range x.r.Inputs {
		if in.changed {
			x.r.Outputs = append(x.r.Outputs, Output{Name: in.Name, Type: in.Type, goType: in.goType, elements: true,
				result: -1})
		}
	}
	// A builder's text is only known where the region ends in one place.
	if v := x.written; v != nil {
		if x.ends > 0 || slices.ContainsFunc(x.r.Inputs, func(in Input) bool { return in.changed }) {
			return false // it would have to append in front of each return, or from elements that it writes
		}
		if builderOf(v.Type()) == "bytes.Buffer" && slices.ContainsFunc(x.r.Inputs, func(in Input) bool {
			return in.Type.Name == "[]byte"
		}) && x.lends(v) {
			return false // an append may move the bytes that the region reads
		}
		x.r.Outputs = append(x.r.Outputs, Output{Name: v.Name(), Type: types["string"],
			goType: gotypes.Typ[gotypes.String], result: -1, builder: v.Type()})
	}
	return x.r.returns || x.leftovers()
}

func (x *cutter) order(in Input) string {
	if in.obj != nil {
		return fmt.Sprintf("%09d", in.obj.Pos())
	}
	return "~" + in.Expr
}

// leftovers finds the variables that are used after the region.
func (x *cutter) leftovers() bool {
	// Variables that the region declares are outputs if code after it uses them.
	for id, obj := range x.p.Info.Defs {
		v, ok := obj.(*gotypes.Var)
		if ok && x.inside(id.Pos()) && !slices.Contains(x.assigned, v) && !v.IsField() {
			x.assigned = append(x.assigned, v)
		}
	}
	// Sort by position: Defs is a map.
	inorder.By(x.assigned, func(a, b *gotypes.Var) int { return int(a.Pos() - b.Pos()) })
	for _, v := range x.assigned {
		if !x.usedAfter(v) {
			continue
		}
		if grammarType(v.Type()) == nil {
			return false
		}
		x.r.Outputs = append(x.r.Outputs, Output{Name: v.Name(), Type: grammarType(v.Type()), goType: v.Type(),
			declared: x.inside(v.Pos()), result: -1, late: x.r.early})
	}
	return true
}

// named reports whether a variable is a named result.
func (x *cutter) named(v *gotypes.Var) bool {
	results := x.r.fn.Type.Results
	return results != nil && results.Pos() <= v.Pos() && v.Pos() < results.End()
}

// usedAfter reports whether code may read a variable after the region: below it, or in the next
// turn of a loop around it.
func (x *cutter) usedAfter(v *gotypes.Var) bool {
	// A named result is read by each return.
	if x.named(v) || x.heldElsewhere(v) {
		return true
	}
	// A loop around both region and variable's uses, that does not declare the variable anew.
	turns := false
	for _, up := range x.p.Path(x.r.stmts[0]) {
		if s, ok := up.(ast.Stmt); ok && isLoop(s) && s.Pos() > v.Pos() && s.Pos() < x.r.start {
			turns = true
		}
	}
	// In the next turn, code before the region runs after it.
	for _, id := range x.p.Uses(v, x.r.fn) {
		if id.Pos() >= x.r.end || turns && id.Pos() < x.r.start {
			return true
		}
	}
	return turns && !x.inside(v.Pos())
}

// heldElsewhere reports whether a function literal uses a variable that it does not declare, or
// code outside of the region takes its address.
func (x *cutter) heldElsewhere(v *gotypes.Var) bool {
	for _, id := range x.p.Uses(v, x.r.fn) {
		for _, up := range x.p.Path(id)[1:] {
			lit, ok := up.(*ast.FuncLit)
			if ok && v.Pos() < lit.Pos() && !(x.r.start <= lit.Pos() && lit.End() <= x.r.end) {
				return true
			}
		}
		if u, ok := x.p.Parent(id).(*ast.UnaryExpr); ok && u.Op == token.AND && !x.inside(id.Pos()) {
			return true
		}
	}
	return false
}
