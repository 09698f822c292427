package verify

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// An allowance lists the effects of the original with copies of its callees. A version may have the
// same effects, each function those of its own original, or of that one's callees: end a walk over
// a map, read a value by reflection, or print an address. By a digest it may decide only where its
// own original does. In place, copies may also keep the state that their originals keep. So the
// target's own text reaches the callees' state by the same calls as in the original, and by no
// others.
type allowance struct {
	anywhere map[string]bool // keys of writes to memory, and of locks, which excuse every function
	callees  map[string]*callee
	main     bool // package main has another name while versions are compared
}

// A callee is a function of the original with copies, under the name of its copy.
type callee struct {
	keys      map[string]bool // keys of the policy's findings in it
	signature string
	calls     map[string]bool // functions of the file
	stateful  bool            // it has keys, or calls a function that is stateful
}

// calleesDo reads the original with copies of its callees: with all at once, and with each alone,
// since a copy may call the original of another copy.
func (e *Env) calleesDo() *allowance {
	c := &allowance{anywhere: map[string]bool{}, callees: map[string]*callee{},
		main: e.Unit.Package.Name == "main"}
	// Read the original with copies of all its callees, and let callers do the same as their
	// callees.
	wide, copies := e.Unit.Copies.WidenWhole(e.Unit.Target.Source)
	if len(copies) == 0 {
		return c
	}
	e.find(wide, c)
	c.hoist()
	if !e.InPlace {
		return c
	}
	// Read it with each copy alone.
	for _, one := range e.soloOriginals(wide, copies) {
		e.find(one, c)
	}
	// A function is stateful if it calls a stateful one, directly or through others.
	for changed := true; changed; {
		changed = false
		for _, f := range c.callees {
			for to := range f.calls {
				if !f.stateful && c.callees[to] != nil && c.callees[to].stateful {
					f.stateful, changed = true, true
				}
			}
		}
	}
	return c
}

// soloOriginals returns the original with each copy alone. Functions that call each other in a
// circle come together, and their text is returned once: the analysis of one of mapstructure takes
// 2 s.
func (e *Env) soloOriginals(wide string, copies []string) []string {
	var out []string
	known := map[string]bool{}
	for _, name := range copies {
		one, err := e.Unit.Copies.Narrow(e.touched(wide, name))
		if err != nil {
			continue
		}
		text := strings.Join(strings.Fields(strings.Replace(one, touch, "", 1)), " ")
		if !known[text] {
			known[text] = true
			out = append(out, one)
		}
	}
	return out
}

// hoist lets callers have the effects of their callees, since a step may inline a callee. Digests
// stay where they are: a caller has other values to decide on.
func (c *allowance) hoist() {
	for changed := true; changed; {
		changed = false
		for _, f := range c.callees {
			for to := range f.calls {
				if c.callees[to] == nil {
					continue
				}
				for key := range c.callees[to].keys {
					if c.stateless(key) && key != digestKey && key != sumKey && !f.keys[key] {
						f.keys[key], changed = true, true
					}
				}
			}
		}
	}
}

// find adds the policy's findings in a version.
func (e *Env) find(src string, all *allowance) {
	f, problem := e.Unit.Reader.Parse(src)
	if problem != nil {
		return
	}
	c := e.codeOf(f)
	// Note every function with its callees.
	decls := c.declaredBy()
	for _, fn := range c.declared() {
		name := c.nameOf(fn)
		if all.callees[name] == nil {
			all.callees[name] = &callee{keys: map[string]bool{}, calls: map[string]bool{}, signature: c.signature(fn)}
		}
		for _, to := range c.callsIn(fn, decls) {
			all.callees[name].calls[c.nameOf(to.decl)] = true
		}
	}
	// Sort the findings: those that keep nothing between calls belong to their function. In place,
	// a write to memory excuses all functions, and other state belongs to the copy that has it.
	for _, v := range inspect(c) {
		fn := c.funcAt(v.Line)
		switch {
		case fn != nil && all.stateless(v.key):
			all.callees[c.nameOf(fn)].keys[v.key] = true
		case !e.InPlace:
		case c.anywhere(v.key):
			all.anywhere[v.key] = true
		case fn != nil && e.Unit.Copies.CopyOf(c.nameOf(fn)) != "":
			in := all.callees[c.nameOf(fn)]
			in.keys[v.key], in.stateful = true, true
		}
	}
}

// stateless reports whether a key stands for an effect that keeps nothing between calls.
func (c *allowance) stateless(key string) bool {
	switch key {
	case digestKey, sumKey, "map order", "word size", "format", "address", "write " + effects.Kept:
		return true
	}
	return strings.HasPrefix(key, "identity ") || strings.HasPrefix(key, keptState) ||
		strings.HasPrefix(key, invoke) || argumentKeys.MatchString(key) || reflects(key) && !c.main
}

// reflects reports whether a key stands for reflection that keeps nothing. The rule of memory sees
// what it writes, and the rule of names what it calls types.
func reflects(key string) bool {
	name, ok := strings.CutPrefix(key, "use reflect.")
	return ok && !unruly[name]
}

// unruly lists the functions of package reflect that run code, use channels, tell where memory
// lies, or follow the order of a map.
var unruly = set(`MakeFunc NewAt Select SliceAt
	Value.Call Value.CallSlice Value.Method Value.MethodByName Value.Close Value.Recv Value.Send Value.TryRecv
	Value.TrySend Value.Pointer Value.UnsafeAddr Value.UnsafePointer Value.InterfaceData Value.Equal
	Value.MapKeys Value.MapRange Value.Seq Value.Seq2`)

// touch is a statement without an effect.
const touch = "_ = 0x0"

// touched returns a version in which a copy differs from its original in text, but not in
// behaviour. So Narrow keeps that copy.
func (e *Env) touched(src, name string) string {
	f, problem := e.Unit.Reader.Parse(src)
	if problem != nil {
		return src
	}
	var edits []syntax.Edit
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
			body := f.Fset.Position(fn.Body.Lbrace).Offset + 1
			edits = append(edits, syntax.Edit{Start: body, End: body, New: "\n" + touch + "\n"})
		}
	}
	return syntax.Apply(f.Src, edits)
}

// excuse reports whether a callee of the original has the effect that a version has there.
func (c *allowance) excuse(cand *code, v Violation) bool {
	if c == nil {
		return false
	}
	keys := excuses(v.key)
	if slices.ContainsFunc(keys, func(key string) bool { return c.anywhere[key] }) {
		return true
	}
	fn := cand.funcAt(v.Line)
	if fn == nil {
		return false
	}
	in := c.callees[cand.nameOf(fn)]
	if in == nil || in.signature != cand.signature(fn) {
		return false
	}
	return slices.ContainsFunc(keys, func(key string) bool { return in.keys[key] }) ||
		v.key == sumKey && in.keys[digestKey]
}

// strays returns the calls of stateful copies that the original does not make there. With them a
// version could keep its own results in a callee's state, and read them back.
func (c *allowance) strays(cand *code) []Violation {
	if c == nil {
		return nil
	}
	var out []Violation
	decls := cand.declaredBy()
	for _, fn := range cand.declared() {
		from := c.callees[cand.nameOf(fn)]
		for _, call := range cand.callsIn(fn, decls) {
			name := cand.nameOf(call.decl)
			if to := c.callees[name]; to == nil || !to.stateful || from != nil && from.calls[name] || fn == call.decl {
				continue
			}
			out = append(out, Violation{Line: cand.fset.Position(call.ident.Pos()).Line, Construct: "call of " + name,
				Why: "it does more than give a result, and the original's " + cand.nameOf(fn) + " does not call it",
				key: "use " + name})
		}
	}
	return out
}

// anywhere reports whether a callee's effect excuses all functions of a version: the analysis of
// memory sees a write in the callers too, and a lock reveals nothing.
func (c *typedText) anywhere(key string) bool {
	for _, p := range []string{"write ", "keep ", "share ", "pass ", "memory of "} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	name, ok := strings.CutPrefix(key, "use sync.")
	if !ok {
		return false
	}
	for _, obj := range c.info.Uses {
		if fn, ok := obj.(*types.Func); ok && objectName(fn) == "sync."+name {
			return fn.Signature().Results().Len() == 0
		}
	}
	return false
}

// declared returns the functions of the file.
func (c *code) declared() (fns []*ast.FuncDecl) {
	for _, d := range c.file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			fns = append(fns, fn)
		}
	}
	return fns
}

// funcAt returns the function of the file that a line belongs to, or nil.
func (c *code) funcAt(line int) *ast.FuncDecl {
	for _, fn := range c.declared() {
		if c.fset.Position(fn.Pos()).Line <= line && line <= c.fset.Position(fn.End()).Line {
			return fn
		}
	}
	return nil
}

func (c *typedText) nameOf(fn *ast.FuncDecl) string {
	if obj, ok := c.info.Defs[fn.Name].(*types.Func); ok {
		return syntax.FuncName(obj)
	}
	return fn.Name.Name
}

func (c *typedText) signature(fn *ast.FuncDecl) string {
	return fmt.Sprint(c.info.TypeOf(fn.Name))
}

// A use names a function of the file.
type use struct {
	ident *ast.Ident
	decl  *ast.FuncDecl
}

// declaredBy returns the functions of the file by their objects.
func (c *code) declaredBy() map[types.Object]*ast.FuncDecl {
	decls := map[types.Object]*ast.FuncDecl{}
	for _, d := range c.declared() {
		decls[c.info.Defs[d.Name]] = d
	}
	return decls
}

// callsIn returns the uses of the file's functions, decls, in one of them, calls or not.
func (c *typedText) callsIn(fn *ast.FuncDecl, decls map[types.Object]*ast.FuncDecl) (out []use) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if d := decls[syntax.Origin(c.info.Uses[id])]; d != nil {
				out = append(out, use{id, d})
			}
		}
		return true
	})
	return out
}
