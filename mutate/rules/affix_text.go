package rules

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// affixText (part of catalogue S7) matches bytes.HasPrefix and its like with a string that is
// converted to bytes. It calls a helper that compares bytes with the string.
var affixText = &mutate.Mutator{
	Name: "affix-text",
	Doc: "Compare the first or last bytes with a string as it is, instead of converting the string for " +
		"bytes.HasPrefix and its like. The compiler compares strings with bytes in place, and short constants as " +
		"one number. Exact: the helper is the library's function, but for the type of the prefix.",
	Before: `if v, ok := bytes.CutPrefix(field, []byte("host:")); ok {`,
	After: `if v, ok := cutPrefixText(field, "host:"); ok {

func cutPrefixText(b []byte, s string) ([]byte, bool) {
	if len(b) >= len(s) && string(b[:len(s)]) == s {
		return b[len(s):], true
	}
	return b, false
}`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findAffixTexts,
	Rewrite: rewriteAffixTexts,
}

// affixHelpers maps functions of package bytes to the results and the body of the helper.
var affixHelpers = map[string][2]string{
	"HasPrefix": {"bool", "return <starts>"},
	"HasSuffix": {"bool", "return <ends>"},
	"TrimPrefix": {"[]byte", `if <starts> {
		return b[len(s):]
	}
	return b`},
	"TrimSuffix": {"[]byte", `if <ends> {
		return b[:len(b)-len(s)]
	}
	return b`},
	"CutPrefix": {"([]byte, bool)", `if <starts> {
		return b[len(s):], true
	}
	return b, false`},
	"CutSuffix": {"([]byte, bool)", `if <ends> {
		return b[:len(b)-len(s)], true
	}
	return b, false`},
}

// affixNames are the keys of affixHelpers.
var affixNames = []string{"HasPrefix", "HasSuffix", "TrimPrefix", "TrimSuffix", "CutPrefix", "CutSuffix"}

// findAffixTexts makes one site of all calls: a single call is not worth a step of its own.
func findAffixTexts(p *mutate.Pass) []mutate.Site {
	var calls []*ast.CallExpr
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if _, ok := p.IsCall(call, "bytes", affixNames...); !ok || p.FuncOf(call) == nil || len(call.Args) != 2 {
			continue
		}
		fun, qualified := call.Fun.(*ast.SelectorExpr)
		if _, ok := converts(p, call.Args[1], "[]byte"); ok && qualified && canHelp(p, p.Text(fun.X)) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return []mutate.Site{{Node: calls[0], Label: "affixes that are texts", Data: calls}}
}

func rewriteAffixTexts(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	var edits []mutate.Edit
	names := map[string]string{}
	for _, call := range s.Data.([]*ast.CallExpr) {
		fun := call.Fun.(*ast.SelectorExpr)
		of := fun.Sel.Name
		if names[of] == "" {
			base := strings.ToLower(of[:1]) + of[1:]
			name, declared := helper(p, call, affixHelper(of), base+"Text", base+"OfText")
			names[of], edits = name, slices.Concat(edits, declared)
		}
		from, _ := converts(p, call.Args[1], "[]byte")
		edits = append(edits, p.Replace(fun, names[of]), p.Replace(call.Args[1], p.Text(from)))
	}
	return edits, nil
}

// affixHelper returns a function that declares the helper for a function of package bytes.
func affixHelper(of string) func(name string) string {
	h := affixHelpers[of]
	return func(name string) string {
		return strings.NewReplacer("<name>", name, "<of>", of, "<result>", h[0], "<body>", strings.NewReplacer(
			"<starts>", "len(b) >= len(s) && string(b[:len(s)]) == s",
			"<ends>", "len(b) >= len(s) && string(b[len(b)-len(s):]) == s").Replace(h[1])).Replace(
			`// <name> is bytes.<of> for a text.
func <name>(b []byte, s string) <result> {
	<body>
}`)
	}
}
