package example

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/facts"
)

// legality judges whether the Afters of a Match mean the same in its place.
type legality struct{ *Match }

// holds reports whether the After means the same in the matched place.
func (m legality) holds() bool {
	// First come the conditions that hold for every example, and then those that the pair asks for.
	if !m.constants() || !m.areDeadAfter() || !m.orderKept() || !m.namesGo() {
		return false
	}
	if m.pair.AnyOrder && !m.anyOrder() {
		return false
	}
	// Spent memory must belong to the function, and nothing may read its elements later.
	for _, name := range m.pair.Spent {
		if v := m.Var(name); v == nil || !facts.Owns(m.Pass, v) || m.elementsLive(v) {
			return false
		}
	}
	// Each expression must bear being evaluated where and as often as After does.
	for name, e := range m.exprs {
		if !m.mayMove(name, e) {
			return false
		}
	}
	// A guard in code decides conditions that no example can express.
	if m.pair.Guard != nil && !m.pair.Guard(m.Match) {
		return false
	}
	return m.pair.rule.rule.Guard == nil || m.pair.rule.rule.Guard(m.Match)
}

// mayMove reports whether all Afters may evaluate an expression as they do.
func (m legality) mayMove(name string, e ast.Expr) bool {
	f := m.Pass.Effects(e)
	b := m.pair.before.used[name]
	once := b.times == 1 && !b.inLoop && b.inFirst
	// Where After evaluates an expression once at the same time as Before, it may do anything.
	exact := m.pair.rule.rule.Class != beagle.E1
	for _, way := range m.pair.ways {
		a := way.used[name]
		once = once && a.times == 1 && !a.inLoop && a.inFirst
		// A function that panics may do so earlier in a rule of class E1, but no other may panic.
		if f.Panics && (a.always && !b.always || exact && (b.always != a.always || b.behindChange != a.behindChange)) {
			return false
		}
	}
	if once {
		return true
	}
	// Otherwise it must have no effects, and keep its value throughout the matched statements.
	if f.Writes {
		return false
	}
	if len(m.list) == 0 {
		return true
	}
	region := m.Region()
	if v := m.Pass.Var(e); v != nil && m.addressed[name] {
		return true // it stands for the variable's address, which its methods do not change
	} else if v != nil && !m.Pass.IsGlobal(v) && !facts.Pointed(m.Pass, v) {
		return !m.Pass.Reassigned(v, region) &&
			!(facts.Captured.Of(m.Pass)[v] && m.Pass.Assigned(v, m.Pass.FuncOf(region)))
	}
	return facts.SameValue(m.Pass, e, region)
}

// orderKept reports whether expressions with effects keep their place among the others, as far as
// these notice.
func (m legality) orderKept() bool {
	// Only effects have an order to keep.
	for x, ex := range m.exprs {
		if !m.Pass.Effects(ex).Writes {
			continue
		}
		for y, ey := range m.exprs {
			if x == y || m.Pass.Info.Types[ey].Value != nil {
				continue
			}
			early := ey.Pos() < ex.Pos() && !m.isFlat(ey) && m.pair.before.consumes(y, x)
			if early || m.notices(ey) && !m.orderSame(x, y) {
				return false
			}
		}
	}
	return true
}

// orderSame reports whether After evaluates two expressions in the order of the code.
func (m legality) orderSame(x, y string) bool {
	for _, way := range m.pair.ways {
		a, b := way.used[x], way.used[y]
		if a.times > 0 && b.times > 0 && (a.order < b.order) != (m.exprs[x].Pos() < m.exprs[y].Pos()) {
			return false
		}
	}
	return true
}

// notices reports whether the value of an expression may depend on effects of others.
func (m legality) notices(e ast.Expr) bool {
	f := m.Pass.Effects(e)
	found := f.Writes || f.Reads || f.Panics
	for id := range nodesOf[*ast.Ident](e) {
		v, ok := m.Pass.Info.Uses[id].(*types.Var)
		found = found || ok && facts.IsLocal(m.Pass, v) && (facts.Captured.Of(m.Pass)[v] || facts.Pointed(m.Pass, v))
	}
	return found
}

// isFlat reports whether an expression has a value that effects of others cannot change: no
// variable that they may set, and no memory.
func (m legality) isFlat(e ast.Expr) bool {
	return facts.IsBasic(m.Pass.Info.TypeOf(e)) && !m.notices(e)
}

// areDeadAfter reports whether all variables of the match that do not live on are unused behind it.
func (m legality) areDeadAfter() bool {
	captured := facts.Captured.Of(m.Pass)
	for obj, v := range m.locals {
		if captured[v] && !m.capturedInside(v) {
			return false
		}
		if !m.isOutput(obj) && m.usedOutside(v) {
			return false
		}
	}
	for _, r := range m.loops {
		// Before Go 1.22, all iterations share the variables of the head.
		if (captured[r.loop.Index] || captured[r.loop.Value]) && !m.Pass.GoAtLeast(22) {
			return false
		}
	}
	for name, v := range m.places {
		if captured[v] || !m.isOutputName(name) && m.liveBehind(v) ||
			facts.Pointed(m.Pass, v) && (!m.isOutputName(name) || len(m.blocks) > 0) {
			return false
		}
	}
	return true
}

// capturedInside reports whether only function literals within the match use v.
func (m legality) capturedInside(v *types.Var) bool { return !m.usedOutside(v) }

func (m *Match) isOutput(obj types.Object) bool {
	for _, e := range m.pair.before.outputs {
		if id, ok := e.(*ast.Ident); ok && m.pair.rule.obj(id) == obj {
			return true
		}
	}
	return false
}

func (m *Match) isOutputName(name string) bool {
	for _, e := range m.pair.before.outputs {
		if id, ok := e.(*ast.Ident); ok && id.Name == name {
			return true
		}
	}
	return false
}

func (m legality) usedOutside(v *types.Var) bool {
	region := m.Region()
	for _, id := range m.Pass.Uses(v, m.Pass.FuncOf(region)) {
		if !facts.Inside(id, region) && (m.tail == nil || !facts.Inside(id, m.tail)) {
			return true
		}
	}
	return false
}

// liveBehind reports whether code after the match may read a variable that the match assigns.
func (m legality) liveBehind(v *types.Var) bool {
	region := m.Region()
	fn := m.Pass.FuncOf(region)
	if facts.UsedAfter(m.Pass, v, fn, region.End()) || facts.Captured.Of(m.Pass)[v] {
		return true
	}
	if fn.Type.Results != nil && facts.Inside(declarationNode(v), fn.Type.Results) {
		return true
	}
	return m.inLoopOf(v)
}

// inLoopOf reports whether a loop around the match may read v in its next iteration. A goto may
// make a loop, too.
func (m legality) inLoopOf(v *types.Var) bool {
	if facts.HasGoto(m.Pass, m.Pass.FuncOf(m.Node)) {
		return true
	}
	for _, up := range m.Pass.Path(m.Node) {
		switch up.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if !facts.Inside(declarationNode(v), up) && up != m.Node {
				return true
			}
		}
	}
	return false
}

// namesGo reports whether the declarations of names that are matched as their values can go: they
// stand in front of the match.
func (m legality) namesGo() bool {
	for _, d := range m.named {
		if d.Stmt.End() > m.Region().Pos() {
			return false
		}
	}
	return true
}

// anyOrder reports whether the pieces of code may run in any order, and none changes what a loop
// goes through.
func (m legality) anyOrder() bool {
	for _, l := range m.kept {
		head := l.Seq
		if head == nil {
			head = l.Bound
		}
		for name := range m.blocks {
			if code := m.Code(name); code != nil && !facts.SameValue(m.Pass, head, code) {
				return false
			}
		}
	}
	for x := range m.blocks {
		for y := range m.blocks {
			a, b := m.Code(x), m.Code(y)
			if x < y && a != nil && b != nil && !facts.AnyOrder(m.Pass, a, b) {
				return false
			}
		}
	}
	return true
}

// elementsLive reports whether code after the match may read the elements of a slice.
func (m legality) elementsLive(v *types.Var) bool {
	end := m.Region().End()
	for _, id := range m.Pass.Uses(v, m.Pass.FuncOf(m.Node)) {
		if call, ok := m.Pass.Parent(id).(*ast.CallExpr); ok && m.Pass.LenOf(call) == v {
			continue
		}
		if id.Pos() >= end && (m.tail == nil || !facts.Inside(id, m.tail)) || m.inCode(id) {
			return true
		}
	}
	return m.inLoopOf(v)
}

// inCode reports whether a node lies in code that a parameter stands for.
func (m legality) inCode(n ast.Node) bool {
	for _, b := range m.blocks {
		for _, code := range b.nodes() {
			if facts.Inside(n, code) {
				return true
			}
		}
	}
	return false
}

// declarationNode makes a node where a variable is declared.
func declarationNode(v *types.Var) ast.Node { return &ast.Ident{NamePos: v.Pos(), Name: v.Name()} }

// constants reports whether the pair's When holds: its parameters are constants, and it admits
// them.
func (m legality) constants() bool {
	if m.pair.when == nil {
		return true
	}
	// When is an ordinary function: call it with the constants.
	fn := reflect.ValueOf(m.pair.When)
	var args []reflect.Value
	i := 0
	for v := range m.pair.when.sig.Params().Variables() {
		e := m.exprs[v.Name()]
		if e == nil {
			return false
		}
		arg, ok := constantValue(m.Pass.Info.Types[e].Value, fn.Type().In(i))
		if !ok {
			return false
		}
		args = append(args, arg)
		i++
	}
	return fn.Call(args)[0].Bool()
}

// constantValue converts a constant to a Go value of a type. ok is false if the type cannot hold
// it.
func constantValue(v constant.Value, t reflect.Type) (reflect.Value, bool) {
	if v == nil {
		return reflect.Value{}, false
	}
	out := reflect.New(t).Elem()
	// Each kind converts only from its own kind of constant: the condition was written for that
	// type.
	switch t.Kind() {
	case reflect.String:
		if v.Kind() != constant.String {
			return out, false
		}
		out.SetString(constant.StringVal(v))
	case reflect.Bool:
		if v.Kind() != constant.Bool {
			return out, false
		}
		out.SetBool(constant.BoolVal(v))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		// A constant has no width. One that does not fit would be wrapped silently.
		n, ok := constant.Int64Val(constant.ToInt(v))
		if !ok || out.OverflowInt(n) {
			return out, false
		}
		out.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, ok := constant.Uint64Val(constant.ToInt(v))
		if !ok || out.OverflowUint(n) {
			return out, false
		}
		out.SetUint(n)
	default:
		return out, false
	}
	return out, true
}
