package rules

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
)

// byteSeparator (part of catalogue S4) matches calls of strings.Cut, Index and the like, and
// those of package bytes, with a constant separator of one byte. It calls IndexByte or
// LastIndexByte, and writes Cut out or into a helper.
var byteSeparator = &mutate.Mutator{
	Name: "byte-separator",
	Doc: "Look for a byte where a string of one byte is looked for: IndexByte goes to the vector code at once, " +
		"Index first asks how long the string is. Exact: the string is a constant of one byte.",
	Before: `name, value, ok := strings.Cut(part, "=")`,
	After: `name, value, ok := part, "", false
if at := strings.IndexByte(part, '='); at >= 0 {
	name, value, ok = part[:at], part[at+1:], true
}`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findByteSeparators,
	Rewrite: rewriteByteSeparators,
}

// oneByte maps functions of package strings to those for one byte. Cut becomes a helper of the
// candidate.
var oneByte = map[string]string{"Cut": "", "Index": "IndexByte", "LastIndex": "LastIndexByte", "Contains": "IndexByte"}

// findByteSeparators makes one site of all calls: a single call is not worth a step of its own.
func findByteSeparators(p *mutate.Pass) []mutate.Site {
	var calls []*ast.CallExpr
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if separatesByByte(p, call) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return []mutate.Site{{Node: calls[0], Label: "separators of one byte", Data: calls}}
}

func separatesByByte(p *mutate.Pass, call *ast.CallExpr) bool {
	_, ofStrings := p.IsCall(call, "strings", "Cut", "Index", "LastIndex", "Contains")
	_, ofBytes := p.IsCall(call, "bytes", "Cut", "Index", "LastIndex", "Contains")
	if !ofStrings && !ofBytes || p.FuncOf(call) == nil {
		return false
	}
	switch p.Parent(call).(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return false
	}
	if len(call.Args) != 2 {
		return false // one call yields both arguments
	}
	e := call.Args[1]
	if ofBytes {
		from, ok := converts(p, e, "[]byte")
		if !ok {
			return false
		}
		e = from
	}
	sep, constant := constString(p, e)
	fun, qualified := call.Fun.(*ast.SelectorExpr)
	return constant && len(sep) == 1 && qualified && writtenOut(p, e) && canHelp(p, p.Text(fun.X))
}

// separator is the byte that a call looks for, and whether it looks among bytes.
func separator(p *mutate.Pass, call *ast.CallExpr) (sep string, ofBytes bool) {
	e := call.Args[1]
	from, ofBytes := converts(p, e, "[]byte")
	if ofBytes {
		e = from
	}
	text, _ := constString(p, e)
	return byteText(int(text[0])), ofBytes
}

// writtenOut reports whether code can write a constant as its value. A constant of another package
// or file may differ between systems.
func writtenOut(p *mutate.Pass, e ast.Expr) bool {
	for id := range mutate.Nodes[*ast.Ident](p, e) {
		switch obj := p.Info.Uses[id].(type) {
		case *types.PkgName:
			return false
		case *types.Const:
			if v := constantOf(p, obj); v == nil || !writtenOut(p, v) {
				return false
			}
		}
	}
	return true
}

// constantOf returns the value that the candidate declares a constant with, or nil.
func constantOf(p *mutate.Pass, c *types.Const) ast.Expr {
	for spec := range mutate.Nodes[*ast.ValueSpec](p, nil) {
		for i, id := range spec.Names {
			if p.Info.Defs[id] == c && len(spec.Values) == len(spec.Names) {
				return spec.Values[i]
			}
		}
	}
	return nil
}

// canHelp reports whether helpers can be declared. The names of the language must keep their
// meaning. The package that helpers call must not have the name of a variable in a helper.
func canHelp(p *mutate.Pass, pkg string) bool {
	for _, name := range []string{"bool", "byte", "false", "len", "rune", "string", "true", "uint", "uint64"} {
		if p.Pkg.Scope().Lookup(name) != nil {
			return false
		}
	}
	return len(pkg) > 2 &&
		!slices.Contains([]string{"each", "found", "head", "low", "rest", "sep", "tail", "tops", "whole"}, pkg)
}

func rewriteByteSeparators(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	var edits []mutate.Edit
	cuts := map[bool]string{}
	for _, call := range s.Data.([]*ast.CallExpr) {
		fun := call.Fun.(*ast.SelectorExpr)
		sep, ofBytes := separator(p, call)
		name := fun.Sel.Name
		if name == "Cut" {
			if st := cutInPlace(p, call, sep, ofBytes); st != nil {
				edits = append(edits, *st)
				continue
			}
			if cuts[ofBytes] == "" {
				name, more, err := example.Helper(p, call, map[bool]string{false: "CutByte", true: "CutBytes"}[ofBytes])
				if err != nil {
					return nil, err
				}
				cuts[ofBytes], edits = name, append(edits, more...)
			}
			edits = append(edits, p.Replace(fun, cuts[ofBytes]))
		} else if name == "Contains" {
			edits = append(edits, p.Replace(fun, "("+p.Text(fun.X)+".IndexByte"), p.Insert(call.End(), " >= 0)"))
		} else {
			edits = append(edits, p.Replace(fun.Sel, oneByte[name]))
		}
		edits = append(edits, p.Replace(call.Args[1], sep))
	}
	return edits, nil
}

// cutInPlace writes out a statement that assigns the results of Cut for a variable. The compiler
// then sees that later tests ask for found again. It returns nil if the call stands elsewhere.
func cutInPlace(p *mutate.Pass, call *ast.CallExpr, sep string, ofBytes bool) *mutate.Edit {
	as, ok := p.Parent(call).(*ast.AssignStmt)
	text := p.Var(call.Args[0])
	if !ok || len(as.Lhs) != 3 || !facts.IsLocal(p, text) || facts.Captured.Of(p)[text] {
		return nil
	}
	if list, at := p.Siblings(as); at < 0 || list[at] != ast.Stmt(as) || ofBytes && !isByteSlice(p, call.Args[0]) {
		return nil
	}
	s, at, pkg := text.Name(), p.Fresh("at", "sep"), p.Text(call.Fun.(*ast.SelectorExpr).X)
	found := []string{s + "[:" + at + "]", s + "[" + at + "+1:]", "true"}
	not := []string{s, `""`, "false"}
	if ofBytes {
		not[1] = "[]byte(nil)"
	}
	var to, yes, no []string
	for i, l := range as.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok || as.Tok == token.DEFINE && (id.Name == s || id.Name == pkg) {
			return nil
		}
		if id.Name != "_" {
			to, yes, no = append(to, id.Name), append(yes, found[i]), append(no, not[i])
		}
	}
	if len(to) == 0 || redefined(p, as, "true") || redefined(p, as, "false") {
		return nil
	}
	lhs := strings.Join(to, ", ")
	test := fmt.Sprintf("if %s := %s.IndexByte(%s, %s); %[1]s >= 0 {\n%[5]s = %[6]s\n}", at, pkg, s, sep, lhs,
		strings.Join(yes, ", "))
	if as.Tok == token.DEFINE {
		test = fmt.Sprintf("%s := %s\n%s", lhs, strings.Join(no, ", "), test)
	} else if to, no = changes(to, no); len(to) > 0 {
		test += fmt.Sprintf(" else {\n%s = %s\n}", strings.Join(to, ", "), strings.Join(no, ", "))
	}
	edit := p.Replace(as, test)
	return &edit
}

// changes drops assignments of a variable to itself.
func changes(to, from []string) (lhs, rhs []string) {
	for i := range to {
		if to[i] != from[i] {
			lhs, rhs = append(lhs, to[i]), append(rhs, from[i])
		}
	}
	return lhs, rhs
}

// nowhereElse reports whether the package declares a name only once, so that it means the same in
// all functions.
func nowhereElse(p *mutate.Pass, name string) bool {
	for id, obj := range p.Info.Defs {
		if id.Name == name && (obj == nil || obj.Parent() != nil && obj != p.Pkg.Scope().Lookup(name)) {
			return false // fields and methods have no scope
		}
	}
	return true
}

// sameCode reports whether two functions are equal after formatting, apart from the comment in
// front.
func sameCode(a, b string) bool {
	code := func(s string) string {
		_, text, _ := strings.Cut("\n"+s, "\nfunc ")
		out, err := format.Source([]byte("package p\nfunc " + text))
		if err != nil {
			return text
		}
		return string(out)
	}
	return code(a) == code(b)
}
