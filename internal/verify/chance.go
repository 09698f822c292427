package verify

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
)

// chance refuses code whose answer changes from run to run, or from machine to machine, without
// reading a clock. Examples are the order of a map, the text of an address, and the name of the
// architecture. Beagle compares on one machine, and no comparison meets what goes wrong once in a
// million calls.
func chance(c *code, report reporter) {
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			printsAddress(c, n, report)
		case *ast.Ident:
			obj := c.info.Uses[n]
			if obj != nil && obj.Pkg() != nil &&
				(systems[obj.Pkg().Path()] && isConst(obj) || machines[objectName(obj)]) {
				report(n, "use "+objectName(obj), "use of "+objectName(obj),
					"its value differs on other systems, where no check compared the versions")
			}
		}
		return true
	})
}

// machines lists names in pure packages whose value differs from machine to machine.
var machines = set(
	`strconv.IntSize math/bits.UintSize encoding/binary.NativeEndian path/filepath.Separator path/filepath.ListSeparator`)

// systems lists packages whose constants differ from machine to machine.
var systems = set(`runtime os syscall`)

func isConst(obj types.Object) bool { _, ok := obj.(*types.Const); return ok }

// addressVerb matches %p with its flags.
var addressVerb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*p`)

// printsAddress reports calls of fmt whose text would hold an address.
func printsAddress(c *code, call *ast.CallExpr, report reporter) {
	fn := c.callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "fmt" {
		return
	}
	const why = "where memory lies differs from run to run"
	if i := formatOf(fn); i >= 0 && i < len(call.Args) && c.info.Types[call.Args[i]].Value == nil {
		report(call.Args[i], "format", "a format that is not constant",
			"it may print where memory lies; write the format out")
	}
	for _, arg := range call.Args {
		tv := c.info.Types[arg]
		switch {
		case tv.Value != nil && tv.Value.Kind() == constant.String:
			if len(tv.Value.ExactString()) < maxSize && addressVerb.MatchString(constant.StringVal(tv.Value)) {
				report(arg, "address", "the verb %p", why)
			}
		case tv.Type != nil && hasAddress(tv.Type):
			report(arg, "address", "the text of a pointer", why)
		}
	}
}

// formatOf returns the position of the format among the parameters of a function of fmt, or -1.
func formatOf(fn *types.Func) int {
	params := fn.Signature().Params()
	for i := range params.Len() {
		if params.At(i).Name() == "format" {
			return i
		}
	}
	return -1
}

// hasAddress reports whether fmt may print an address for a value of type t. It does for functions,
// channels and most pointers, and interfaces may hold any of them. At the top, fmt prints the
// target of a pointer to a struct, list or map. Types with a text of their own decide themselves.
func hasAddress(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok && !hasText(t) {
		switch p.Elem().Underlying().(type) {
		case *types.Struct, *types.Array, *types.Slice, *types.Map:
			t = p.Elem()
		default:
			return true
		}
	}
	return holdsAddress(t, nil)
}

// holdsAddress is hasAddress below the top, where fmt prints pointers as addresses.
func holdsAddress(t types.Type, seen []types.Type) bool {
	if hasText(t) {
		return false
	}
	return holds(t, seen, holdsAddress, func(u types.Type) bool {
		switch u := u.(type) {
		case *types.Pointer, *types.Chan, *types.Signature, *types.Interface:
			return true
		case *types.Basic:
			return u.Kind() == types.UnsafePointer
		case *types.Slice:
			return holdsAddress(u.Elem(), append(seen, t))
		case *types.Map:
			return holdsAddress(u.Key(), append(seen, t)) || holdsAddress(u.Elem(), append(seen, t))
		}
		return false
	})
}

// hasText reports whether fmt calls a method of type t to get its text.
func hasText(t types.Type) bool {
	for _, name := range []string{"Error", "String", "Format"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name); obj != nil {
			if _, ok := obj.(*types.Func); ok {
				return true
			}
		}
	}
	return false
}
