package text

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

//go:embed byte_separator.go
var byteSeparatorSource string

// byteSeparator (part of catalogue S4) matches calls of strings.Cut, Index and the like, and
// those of package bytes, with a constant separator of one byte. It calls IndexByte or
// LastIndexByte, and writes Cut out or into a helper.
var byteSeparator = example.Rule{
	Name: "byte-separator",
	Doc: "Search for a byte instead of a string of one byte: IndexByte runs the vector code at once, Index first " +
		"looks at the string's length. Exact: the string is a constant of one byte.",
	Class:  beagle.E0,
	Gain:   1.15,
	Source: byteSeparatorSource,
	Pairs: []example.Pair{{
		Before: func(s, sep string) (string, string, bool) { return strings.Cut(s, sep) },
		After:  func(s, sep string) (string, string, bool) { return kit.CutByte(s, sep[0]) },
		When:   hasOneByte,
	}, {
		Before: func(s []byte, sep string) ([]byte, []byte, bool) { return bytes.Cut(s, []byte(sep)) },
		After:  func(s []byte, sep string) ([]byte, []byte, bool) { return kit.CutBytes(s, sep[0]) },
		When:   hasOneByte,
	}, {
		Before: func(s, sep string) int { return strings.Index(s, sep) },
		After:  func(s, sep string) int { return strings.IndexByte(s, sep[0]) },
		When:   hasOneByte,
	}, {
		Before: func(s []byte, sep string) int { return bytes.Index(s, []byte(sep)) },
		After:  func(s []byte, sep string) int { return bytes.IndexByte(s, sep[0]) },
		When:   hasOneByte,
	}, {
		Before: func(s, sep string) int { return strings.LastIndex(s, sep) },
		After:  func(s, sep string) int { return strings.LastIndexByte(s, sep[0]) },
		When:   hasOneByte,
	}, {
		Before: func(s []byte, sep string) int { return bytes.LastIndex(s, []byte(sep)) },
		After:  func(s []byte, sep string) int { return bytes.LastIndexByte(s, sep[0]) },
		When:   hasOneByte,
	}, {
		Before: func(s, sep string) bool { return strings.Contains(s, sep) },
		After:  func(s, sep string) bool { return strings.IndexByte(s, sep[0]) >= 0 },
		When:   hasOneByte,
	}, {
		Before: func(s []byte, sep string) bool { return bytes.Contains(s, []byte(sep)) },
		After:  func(s []byte, sep string) bool { return bytes.IndexByte(s, sep[0]) >= 0 },
		When:   hasOneByte,
	}, {
		Before: func(s string, sep rune) int { return strings.IndexRune(s, sep) },
		After:  func(s string, sep rune) int { return strings.IndexByte(s, byte(sep)) },
		When:   isASCII,
	}, {
		Before: func(s []byte, sep rune) int { return bytes.IndexRune(s, sep) },
		After:  func(s []byte, sep rune) int { return bytes.IndexByte(s, byte(sep)) },
		When:   isASCII,
	}, {
		Before: func(s string, sep rune) bool { return strings.ContainsRune(s, sep) },
		After:  func(s string, sep rune) bool { return strings.IndexByte(s, byte(sep)) >= 0 },
		When:   isASCII,
	}, {
		Before: func(s []byte, sep rune) bool { return bytes.ContainsRune(s, sep) },
		After:  func(s []byte, sep rune) bool { return bytes.IndexByte(s, byte(sep)) >= 0 },
		When:   isASCII,
	}},
	Guard: func(m *example.Match) bool {
		return facts.WrittenOut(m.Pass, m.Expr("sep")) && hasValue(m.Pass, m.Node.(ast.Expr))
	},
	Code:     findCutsInPlace,
	Together: true,
	Label:    func(*example.Match) string { return "separators of one byte" },
}.Mutator()

func hasOneByte(sep string) bool { return len(sep) == 1 }

func isASCII(sep rune) bool { return sep >= 0 && sep < 0x80 }

// hasValue reports whether something takes the value of a call.
func hasValue(p *mutate.Pass, call ast.Expr) bool {
	switch p.Parent(call).(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return false
	}
	return true
}

// findCutsInPlace finds statements that assign the results of Cut for a variable, and writes them
// out. The compiler then sees that later tests ask for found again.
func findCutsInPlace(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, nil) {
		call, ok := ast.Unparen(as.Rhs[0]).(*ast.CallExpr)
		if !ok || len(call.Args) != 2 || p.FuncOf(as) == nil {
			continue
		}
		// Package bytes takes the separator as bytes, so look through the conversion.
		e := call.Args[1]
		_, of := p.IsCall(call, "strings", "Cut")
		_, ofBytes := p.IsCall(call, "bytes", "Cut")
		if ofBytes {
			e, of = facts.ConvertsTo(p, e, "[]byte")
		}
		if !of || !facts.WrittenOut(p, e) {
			continue
		}
		// IndexByte looks for one byte, so the separator must be a single constant one.
		fun, qualified := call.Fun.(*ast.SelectorExpr)
		sep, constant := facts.ConstString(p, e)
		if !qualified || !constant || len(sep) != 1 || !edit.CanHelp(p, p.Text(fun.X)) {
			continue
		}
		if text := cutInPlace(p, as, call, edit.ByteText(int(sep[0])), ofBytes); text != "" {
			sites = append(sites, edit.Site(as, "", p.Replace(as, text)))
		}
	}
	return sites
}

// cutInPlace writes out a statement of a list that assigns the results of Cut for a variable. It
// returns "" for others.
func cutInPlace(p *mutate.Pass, as *ast.AssignStmt, call *ast.CallExpr, sep string, ofBytes bool) string {
	// The text is named up to five times in the result, so it must be a local variable that nothing
	// else changes meanwhile.
	text := p.Var(call.Args[0])
	if len(as.Lhs) != 3 || !facts.IsLocal(p, text) || facts.Captured.Of(p)[text] {
		return ""
	}
	// The result is an if statement: only a statement of a list has room for it.
	if list, at := p.Siblings(as); at < 0 || list[at] != ast.Stmt(as) || ofBytes &&
		!facts.IsByteSlice(p, call.Args[0]) {
		return ""
	}
	// Cut returns the part before, the part after and true. Without a separator it returns the
	// whole text, an empty one and false, where the empty slice of bytes is nil.
	s, at, pkg := text.Name(), p.Fresh("at", "sep"), p.Text(call.Fun.(*ast.SelectorExpr).X)
	found := []string{s + "[:" + at + "]", s + "[" + at + "+1:]", "true"}
	not := []string{s, `""`, "false"}
	if ofBytes {
		not[1] = "[]byte(nil)"
	}
	var to, yes, no []string
	// Take a pair of texts for each result that is used. A definition that takes the name of the
	// text or of the package would hide it from the statement that follows.
	for i, l := range as.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok || as.Tok == token.DEFINE && (id.Name == s || id.Name == pkg) {
			return ""
		}
		if id.Name != "_" {
			to, yes, no = append(to, id.Name), append(yes, found[i]), append(no, not[i])
		}
	}
	if len(to) == 0 || facts.IsRedefined(p, as, "true") || facts.IsRedefined(p, as, "false") {
		return ""
	}
	lhs := strings.Join(to, ", ")
	test := fmt.Sprintf("if %s := %s.IndexByte(%s, %s); %[1]s >= 0 {\n%[5]s = %[6]s\n}", at, pkg, s, sep, lhs,
		strings.Join(yes, ", "))
	// A definition needs its variables in front of the test, with the values of the case without a
	// separator. An assignment uses an else branch, and skips what would assign a variable to
	// itself.
	if as.Tok == token.DEFINE {
		test = fmt.Sprintf("%s := %s\n%s", lhs, strings.Join(no, ", "), test)
	} else if to, no = dropSelfAssignments(to, no); len(to) > 0 {
		test += fmt.Sprintf(" else {\n%s = %s\n}", strings.Join(to, ", "), strings.Join(no, ", "))
	}
	return test
}

// dropSelfAssignments drops assignments of a variable to itself.
func dropSelfAssignments(to, from []string) (lhs, rhs []string) {
	for i := range to {
		if to[i] != from[i] {
			lhs, rhs = append(lhs, to[i]), append(rhs, from[i])
		}
	}
	return lhs, rhs
}
