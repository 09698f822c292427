//lint:file-ignore SA6005 a Before is what the rule replaces

package rules

import (
	_ "embed"
	"fmt"
	"go/ast"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed lower_text.go
var lowerTextSource string

// lowerText (part of catalogue S6) matches a text in lower or upper case that code only compares
// with constants, switches on, or looks up. It compares as it converts, or converts on the stack.
var lowerText = example.Rule{
	Name: "lower-text",
	Doc: "Look at the lower or upper case of a text without making a string of it: compare byte by byte up to the " +
		"first difference, or convert a short text on the stack for a switch or a look-up. Exact: ASCII converts " +
		"byte by byte, and a text with other characters before the answer is known is converted as before.",
	Class:  beagle.E0,
	Gain:   1.6,
	Source: lowerTextSource,
	Pairs: []example.Pair{{
		Before: func(s, x string) bool { return strings.ToLower(s) == x },
		After:  func(s, x string) bool { return kit.LowerIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.ToLower(s) != x },
		After:  func(s, x string) bool { return !kit.LowerIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.ToUpper(s) == x },
		After:  func(s, x string) bool { return kit.UpperIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.ToUpper(s) != x },
		After:  func(s, x string) bool { return !kit.UpperIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasPrefix(strings.ToLower(s), x) },
		After:  func(s, x string) bool { return kit.LowerStarts(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasPrefix(strings.ToUpper(s), x) },
		After:  func(s, x string) bool { return kit.UpperStarts(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasSuffix(strings.ToLower(s), x) },
		After:  func(s, x string) bool { return kit.LowerEnds(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasSuffix(strings.ToUpper(s), x) },
		After:  func(s, x string) bool { return kit.UpperEnds(s, x) },
		When:   isASCIIText,
	}},
	Code: lowerLookups,
}.Mutator()

func isASCIIText(x string) bool { return kit.AllASCII(x) }

// lowerRoom is what a converted text has room for on the stack. Longer ones are converted as
// before.
const lowerRoom = 32

// lowerLookups finds conversions that a switch, or a map that is read, takes: the compiler makes no
// string of bytes for these.
func lowerLookups(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		to := ""
		for name, helper := range map[string]string{"ToLower": "AppendLower", "ToUpper": "AppendUpper"} {
			if _, ok := p.IsCall(call, "strings", name); ok {
				to = helper
			}
		}
		if _, selected := call.Fun.(*ast.SelectorExpr); to == "" || !selected || !looksUp(p, call) ||
			redefinesAny(p, call, "append", "byte", "cap", "len", "make", "string") {
			continue
		}
		name, edits := helper(p, call, kitText("strings.go", to), lowerFirst(to), lowerFirst(to)+"Text")
		edits = append(edits, p.Replace(call, fmt.Sprintf("string(%s(make([]byte, 0, %d), %s))", name, lowerRoom,
			p.Text(call.Args[0]))))
		sites = append(sites, site(call, "look-up of "+p.Text(call), withImports(p, edits, "strings")...))
	}
	return sites
}

// looksUp reports whether the text of a call is what a switch compares with constants, or the key
// of a read in a map.
func looksUp(p *mutate.Pass, call *ast.CallExpr) bool {
	switch up := p.Parent(call).(type) {
	case *ast.IndexExpr:
		return ast.Unparen(up.Index) == ast.Expr(call) && isMapRead(p, up)
	case *ast.SwitchStmt:
		if up.Tag != ast.Expr(call) {
			return false
		}
		for _, c := range up.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if p.Info.Types[e].Value == nil {
					return false
				}
			}
		}
		return true
	}
	return false
}

// kitText returns a function that declares a function of the kit under a name. It calls no other of
// the kit.
func kitText(file, of string) func(name string) string {
	return func(name string) string {
		data, err := kit.Sources.ReadFile(file)
		if err != nil {
			panic(err) // it is compiled in
		}
		_, text, _ := strings.Cut(string(data), "// "+of+" ")
		text, _, _ = strings.Cut(text, "\n}\n")
		return strings.ReplaceAll("// "+of+" "+text, of, name) + "\n}"
	}
}
