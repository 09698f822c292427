package verify

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// code is a type-checked candidate file, as far as the policy reads it.
type code struct {
	typedText
	src  string
	file *ast.File
	fn   *ast.FuncDecl // the target; of a group, one of its functions
	rest []*ast.File   // the other files of the package, without bodies

	entries map[string]bool // of a group, the functions that others call, as syntax.FuncName has them

	helpers  func() *helpers  // of the rest of the package; may be nil
	literals []constant.Value // of the original: the constants that its package contains
	reached  map[string]bool  // of the original: see reachedNames
	allowed  *allowance       // of the original

	once  sync.Once
	found []Violation // by inspect

	summaries map[types.Object]*effects.Summary // of its functions; memory fills it in
	ssaFuncs  []*ssa.Function                   // likewise

	decidesBySums bool // whether it decides by digests that are sums
}

// typedText is the text of a package, or of a part of it, with the type checker's results.
type typedText struct {
	fset *token.FileSet
	pkg  *types.Package
	info *types.Info
}

// A Violation is one construct that the policy forbids.
type Violation struct {
	Line      int    `json:"line"` // in the candidate's source
	Construct string `json:"construct"`
	Why       string `json:"why"`

	key string // an equal key in the original excuses it
}

func (v Violation) String() string {
	return fmt.Sprintf("line %d: %s: %s", v.Line, v.Construct, v.Why)
}

// A rule of the policy reports its findings in one version. The caller subtracts those of the
// original, so a rule reads one version only.
type rule func(c *code, report reporter)

// A reporter takes one finding of a rule.
type reporter func(at ast.Node, key, construct, why string)

// policy lists every rule, in the order in which reports list the violations.
var policy = []rule{directives, imports, statements, uses, packageVars, memory, typeArguments, chance, identity,
	wordSize, digests, mapOrder, typeNames, localTime}

// maxGrowth bounds the candidate's size: a table of 4,096 entries fits, and a corpus does not.
const (
	maxGrowth = 16
	maxSize   = 64 << 10

	// bytes of a package variable: the program's start fills it, and no measurement of calls sees
	// that time
	maxVariable = 1 << 20
)

// forbidden lists the candidate's findings that the original does not have.
func forbidden(orig, cand *code, known *KnownValues) []Violation {
	out := unexcused(orig, cand)
	out = append(out, orig.allowed.strays(cand)...)
	out = append(out, copied(orig, cand, known)...)
	out = append(out, timed(orig, cand)...)
	if limit := maxSize + maxGrowth*len(orig.src); len(cand.src) > limit {
		out = append(out, Violation{Line: 1, Construct: fmt.Sprintf("%d bytes of source", len(cand.src)),
			Why: fmt.Sprintf("the limit for this original is %d", limit)})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Line < out[j].Line })
	return out
}

// unexcused lists the findings in a version that none in the original excuses.
func unexcused(orig, cand *code) (out []Violation) {
	excused := make(map[string]bool)
	for _, v := range inspect(orig) {
		excused[v.key] = true
	}
	maps.Copy(excused, orig.reached)
	excused[sumKey] = excused[sumKey] || excused[digestKey] || orig.decidesBySums
	for _, v := range inspect(cand) {
		by := func(key string) bool { return excused[key] }
		if v.key == unread || !slices.ContainsFunc(excuses(v.key), by) && !orig.allowed.excuse(cand, v) {
			out = append(out, v)
		}
	}
	return out
}

// inspect reads one version once, because many candidates are compared with one original.
func inspect(c *code) []Violation {
	c.once.Do(func() { c.found = c.inspect() })
	return c.found
}

func (c *code) inspect() []Violation {
	var out []Violation
	known := make(map[string]bool)
	report := func(at ast.Node, key, construct, why string) {
		line := c.fset.Position(at.Pos()).Line
		once := fmt.Sprint(line, key)
		if !known[once] {
			known[once] = true
			out = append(out, Violation{Line: line, Construct: construct, Why: why, key: key})
		}
	}
	for _, r := range policy {
		c.apply(r, report)
	}
	return out
}

// apply runs one rule. A rule that panics has not read the version, and nothing excuses that.
func (c *code) apply(r rule, report reporter) {
	defer func() {
		if p := recover(); p != nil {
			report(c.fn, unread, "the file", fmt.Sprintf("the policy could not read it: %v", p))
		}
	}()
	r(c, report)
}

// unread is the key of a violation that says that a rule could not read the version.
const unread = "unread"

// directives refuses comments that steer the compiler, the linker, line numbers or this judge: only
// the user may state a contract. It allows noinline, which can only make a candidate slower, and
// fix directives, which only "go fix" reads.
func directives(c *code, report reporter) {
	for _, group := range c.file.Comments {
		for _, com := range group.List {
			text := strings.TrimSpace(com.Text)
			if !isDirective(text) || text == "//go:noinline" || text == "//go:fix inline" {
				continue
			}
			report(com, "directive "+text, "directive "+text,
				"it changes the compilation or the linking of the file, which the comparison cannot see")
		}
	}
}

func isDirective(text string) bool {
	for _, p := range []string{"//go:", "//beagle:", "// +build", "//+build", "//line ", "/*line ", "//export ",
		"//extern ", "#cgo", "// #cgo"} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

func imports(c *code, report reporter) {
	for _, spec := range c.file.Imports {
		path := strings.Trim(spec.Path.Value, "`\"")
		switch {
		case path == "C":
			report(spec, "import C", `import "C"`, "cgo is not allowed in a candidate")
		case spec.Name != nil && spec.Name.Name == "_":
			report(spec, "import _ "+path, fmt.Sprintf("import _ %q", path), "it runs code for its side effects")
		}
	}
}

// statements refuses statements that start goroutines or talk to them, and functions without a body
// to read.
func statements(c *code, report reporter) {
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "go", "go statement", "a candidate may not start goroutines")
		// The rule of memory sees which channels a version uses, and this one how.
		case *ast.SelectStmt:
			report(n, "chan select", "select statement", channelsWhy)
		case *ast.SendStmt:
			report(n, "chan send", "channel send", channelsWhy)
		case *ast.ChanType:
			report(n, "chan type", "channel type", channelsWhy)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "chan receive", "channel receive", channelsWhy)
			}
		case *ast.RangeStmt:
			if syntax.Is[*types.Chan](c.info.TypeOf(n.X)) {
				report(n, "chan receive", "channel receive", channelsWhy)
			}
		case *ast.FuncDecl:
			if n.Body == nil {
				report(n, "body "+n.Name.Name, "function "+n.Name.Name+" without a body",
					"assembly and linked names are not allowed")
			}
			if n.Recv == nil && n.Name.Name == "init" {
				report(n, "init", "init function", "it runs before anything is compared")
			}
		}
		return true
	})
}

// typeArguments refuses generic code that asks for its type argument, because the checks try only
// the types of the recorded calls. Any function can ask an interface that holds a value of such a
// type.
func typeArguments(c *code, report reporter) {
	const why = "its answer may differ for type arguments that no check tried"
	for _, decl := range c.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !isGeneric(c, fn) {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.TypeAssertExpr, *ast.TypeSwitchStmt:
				report(n, "type argument", "type assertion in a generic function", why)
			}
			return true
		})
	}
	var boxes func(f *ssa.Function)
	boxes = func(f *ssa.Function) {
		for _, b := range f.Blocks {
			for _, in := range b.Instrs {
				if box, ok := in.(*ssa.MakeInterface); ok && isOpen(box.X.Type()) {
					at := ast.Node(place(box.Pos()))
					if !box.Pos().IsValid() {
						at = f.Syntax()
					}
					report(at, "type argument in an interface", "value of a type argument in an interface", why)
				}
			}
		}
		for _, g := range f.AnonFuncs {
			boxes(g)
		}
	}
	for _, f := range c.ssaFuncs {
		boxes(f)
	}
}

// isOpen reports whether a type mentions a type parameter, also where a generic function declares
// it.
func isOpen(t types.Type) bool {
	seen := map[types.Type]bool{} // local types may contain themselves
	var open func(t types.Type) bool
	open = func(t types.Type) bool {
		t = types.Unalias(t)
		if seen[t] {
			return false
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.TypeParam:
			return true
		case *types.Named:
			local := t.Obj().Pkg() != nil && t.Obj().Parent() != t.Obj().Pkg().Scope()
			return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), open) || local && open(t.Underlying())
		case *types.Struct:
			return slices.ContainsFunc(slices.Collect(t.Fields()), func(f *types.Var) bool { return open(f.Type()) })
		case *types.Interface:
			return slices.ContainsFunc(slices.Collect(t.Methods()), func(m *types.Func) bool { return open(m.Type()) })
		case *types.Signature:
			return open(t.Params()) || open(t.Results())
		case *types.Tuple:
			return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return open(v.Type()) })
		case *types.Map:
			return open(t.Key()) || open(t.Elem())
		case interface{ Elem() types.Type }:
			return open(t.Elem())
		}
		return false
	}
	return open(t)
}

func isGeneric(c *code, fn *ast.FuncDecl) bool {
	obj, ok := c.info.Defs[fn.Name].(*types.Func)
	return ok && (obj.Signature().TypeParams().Len() > 0 || obj.Signature().RecvTypeParams().Len() > 0)
}

const channelsWhy = "channels keep state and block"

// uses checks every name that the file does not declare itself.
func uses(c *code, report reporter) {
	ids := make([]*ast.Ident, 0, len(c.info.Uses))
	for id := range c.info.Uses {
		if c.contains(id) { // it holds what the rest of the package names too
			ids = append(ids, id)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i].Pos() < ids[j].Pos() })
	for _, id := range ids {
		obj := syntax.Origin(c.info.Uses[id])
		if c.declares(obj) || c.isPredeclared(obj) {
			continue
		}
		if construct, why := objection(c, obj); why != "" {
			report(id, "use "+objectName(obj), construct, why)
		}
	}
}

// objection returns what the candidate does by using an object, and why that is refused; why is ""
// if nothing speaks against it.
func objection(c *code, obj types.Object) (construct, why string) {
	name := objectName(obj)
	path := ""
	if obj.Pkg() != nil {
		path = obj.Pkg().Path()
	}
	// Builtins, functions, variables and types each have their own rules.
	switch o := obj.(type) {
	case *types.Builtin:
		return objectToBuiltin(o, path)
	case *types.Func:
		if types.IsInterface(recvType(o)) || isAllowed(path, name) || c.helps(o) {
			return "", ""
		}
		return "call of " + name, callWhy(c, path)
	case *types.Var:
		if o.IsField() || isAllowed(path, name) || syntax.IsError(o.Type()) || c.helps(o) {
			return "", ""
		}
		return "use of variable " + name,
			"the original does not depend on it, and its value may change between calls; declare one in the candidate"
	case *types.TypeName:
		if stateful[path] || impure[name] {
			return "type " + name, "it touches " + topic(path)
		}
	}
	return "", ""
}

// helps reports whether the rest of the package declares obj, and its use has no effect beside its
// result.
func (c *code) helps(obj types.Object) bool {
	if obj.Pkg() != c.pkg {
		return false
	}
	h := c.restFacts()
	return h != nil && h.err == nil && (h.pure[objectName(obj)] || h.constant[objectName(obj)])
}

func objectToBuiltin(b *types.Builtin, path string) (construct, why string) {
	switch {
	case path == "unsafe":
		return "unsafe." + b.Name(), "it touches " + topic(path)
	case b.Name() == "print" || b.Name() == "println":
		return b.Name(), "it writes to standard error"
	case b.Name() == "recover":
		return "recover", "it can swallow a panic that the original lets through"
	}
	return "", ""
}

func callWhy(c *code, path string) string {
	switch {
	case path == c.pkg.Path():
		return "the original does not call it, and its effects beside its result are unknown; declare a copy in " +
			"the candidate"
	case strings.Contains(strings.Split(path, "/")[0], "."):
		return "the original does not call it, and its effects beside its result are unknown"
	}
	return "it touches " + topic(path)
}

func isAllowed(path, name string) bool {
	return pure[path] && !impure[name] || pureOnly[name]
}

// packageVars refuses package variables that hold state by their nature. A variable that the start
// computes and nothing writes is fine; memory checks the writes.
func packageVars(c *code, report reporter) {
	for _, decl := range c.file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			vs := spec.(*ast.ValueSpec)
			for i, name := range vs.Names {
				obj, e := c.info.Defs[name], initialiser(vs, i)
				// A variable may be too large, hold an error with state, or hold a function with
				// state.
				switch {
				case obj == nil:
				case c.bytesOf(obj, e) > maxVariable:
					report(name, "size "+name.Name, "package variable "+name.Name,
						fmt.Sprintf("it takes %d bytes of every program that imports the package; the limit is %d",
							c.bytesOf(obj, e), maxVariable))
				case syntax.IsError(obj.Type()) && !plainError(c, e):
					report(name, "closure "+name.Name, "package variable "+name.Name,
						"it holds an error that may keep state; make it with errors.New or fmt.Errorf")
				case holdsFunc(obj.Type(), nil) && !statelessFuncs(c, e):
					report(name, "closure "+name.Name, "package variable "+name.Name,
						"it holds a function value that may keep state between calls; declare a function instead")
				}
			}
		}
	}
}

// bytesOf returns the memory of a package variable, as far as the source shows it. The check of the
// start sees the rest.
func (c *code) bytesOf(obj types.Object, value ast.Expr) int64 {
	n, _ := source.VariableBytes(c.file, c.info, obj, value)
	return n
}

var sizes = types.SizesFor("gc", "amd64")

func initialiser(vs *ast.ValueSpec, i int) ast.Expr {
	switch {
	case len(vs.Values) == len(vs.Names):
		return vs.Values[i]
	case len(vs.Values) == 1:
		return vs.Values[0]
	}
	return nil
}

// plainError reports whether an expression makes an error of basic values and other errors alone.
func plainError(c *code, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case nil:
		return true
	case *ast.Ident, *ast.SelectorExpr: // another error variable
		return syntax.IsError(c.info.TypeOf(e)) || c.info.Types[e].IsNil()
	case *ast.CallExpr:
		fn := c.callee(e)
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "errors" && fn.Pkg().Path() != "fmt" {
			return false
		}
		if fn.Name() != "New" && (fn.Name() != "Errorf" || len(e.Args) == 0 || wraps(c, e.Args[0]) > 1) {
			return false // Unwrap hands out the list of the joined errors
		}
		for _, arg := range e.Args {
			if !syntax.Is[*types.Basic](c.info.TypeOf(arg)) && !plainError(c, arg) {
				return false
			}
		}
		return true
	}
	return false
}

// wraps counts the errors that a format wraps. A format that is not constant may wrap any number.
func wraps(c *code, format ast.Expr) int {
	v := c.info.Types[format].Value
	if v == nil || v.Kind() != constant.String {
		return 2
	}
	n, text := 0, constant.StringVal(v)
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		for i++; i < len(text) && strings.IndexByte("+-# 0123456789.*[]", text[i]) >= 0; i++ {
		}
		if i < len(text) && text[i] == 'w' {
			n++
		}
	}
	return n
}

// statelessFuncs reports whether every function value in a package variable's initialiser is
// stateless: a declared function, a method expression, or a literal. A literal at package level
// captures nothing.
func statelessFuncs(c *code, e ast.Expr) bool {
	if e == nil {
		return true // nil functions; a later assignment is a write
	}
	t := c.info.TypeOf(e)
	if syntax.IsError(t) || types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
		return plainError(c, e)
	}
	if !holdsFunc(t, nil) {
		return true
	}
	// Each function value in the initialiser must be one without state.
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return true
	case *ast.CompositeLit:
		for _, el := range e.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				el = kv.Value
			}
			if c.info.TypeOf(el) != nil && !statelessFuncs(c, el) {
				return false
			}
		}
		return true
	case *ast.UnaryExpr:
		return e.Op == token.AND && statelessFuncs(c, e.X)
	case *ast.Ident:
		_, ok := c.info.Uses[e].(*types.Func)
		return ok || c.info.Types[e].IsNil()
	case *ast.SelectorExpr:
		sel, isSel := c.info.Selections[e]
		_, isFunc := c.info.Uses[e.Sel].(*types.Func)
		return isFunc && (!isSel || sel.Kind() == types.MethodExpr)
	}
	return false
}

// contains reports whether a node stands in the candidate file.
func (c *code) contains(n ast.Node) bool {
	return n.Pos() >= c.file.FileStart && n.Pos() <= c.file.FileEnd
}

// declares reports whether the candidate file declares obj.
func (c *code) declares(obj types.Object) bool {
	return obj.Pkg() == c.pkg && obj.Pos() >= c.file.FileStart && obj.Pos() <= c.file.FileEnd
}

// isPredeclared reports whether obj is an ordinary predeclared name, a package name or a label.
// None of these has an effect of its own.
func (c *code) isPredeclared(obj types.Object) bool {
	switch obj.(type) {
	case *types.PkgName, *types.Label, *types.Nil, *types.Const:
		return true
	case *types.TypeName:
		return obj.Pkg() == nil
	}
	return false
}

func recvType(f *types.Func) types.Type {
	if recv := f.Signature().Recv(); recv != nil {
		return recv.Type()
	}
	return types.Typ[types.Invalid]
}
