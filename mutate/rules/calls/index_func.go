package calls

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// indexFunc (catalogue D2 for the library) matches a search through a text that calls a function
// literal for each rune. It writes the loop.
var indexFunc = &mutate.Mutator{
	Name: "index-func",
	Doc: "Search or trim a text with a loop of its own instead of strings.IndexFunc, LastIndexFunc, TrimFunc and " +
		"their like, which call their function for each rune. Exact: the loop decodes the same runes, and everything " +
		"else that the function reads stays the same.",
	Example: mutate.Shows(`return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) == -1`,
		`return otherIn(s) == -1

func otherIn(s string) int {
	for i, r := range s {
		if r < '0' || r > '9' {
			return i
		}
	}
	return -1
}`),
	Class:   beagle.E0,
	Gain:    1.4,
	Find:    findIndexFunc,
	Rewrite: edit.Precomputed,
}

// A runeSearch is what a function of the library does with the runes that a function is true for.
type runeSearch struct {
	name    string
	from    string // an end of the text, or "both"
	trims   bool   // it cuts the runes off
	answers bool   // it only says whether there is one
}

var runeSearches = []runeSearch{
	{name: "IndexFunc", from: "start"},
	{name: "LastIndexFunc", from: "end"},
	{name: "ContainsFunc", from: "start", answers: true},
	{name: "TrimLeftFunc", from: "start", trims: true},
	{name: "TrimRightFunc", from: "end", trims: true},
	{name: "TrimFunc", from: "both", trims: true},
}

// findIndexFunc looks for searches of the library that call a function for each rune. In a function
// literal the helper could not take over what the literal captures.
func findIndexFunc(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if p.FuncOf(call) == nil || inFuncLit(p, call) {
			continue
		}
		for _, s := range runeSearches {
			_, text := p.IsCall(call, "strings", s.name)
			_, bytes := p.IsCall(call, "bytes", s.name)
			if !text && !bytes || bytes && s.trims { // of bytes that are all cut off, nil is left
				continue
			}
			if edits := s.loop(p, call, bytes); edits != nil {
				sites = append(sites, edit.Site(call, "search in "+p.Text(call.Args[0]), edits...))
			}
		}
	}
	return sites
}

// loop writes a helper that searches, and its call.
func (s *runeSearch) loop(p *mutate.Pass, call *ast.CallExpr, bytes bool) []mutate.Edit {
	// The helper uses these names. A parameter or package variable with one of them would change
	// its meaning.
	test, r, params, args := testOfRune(p, call.Args[1])
	for _, own := range []string{"utf8", "rune", "len", "size"} {
		if test == "" || r == own || slices.Contains(args, own) || p.Pkg.Scope().Lookup(own) != nil {
			return nil
		}
	}
	fn := p.FuncOf(call)
	// Text and bytes differ in the type and in the name of the decoder.
	text, kind, suffix := p.Fresh("text", "textOf"), "string", "InString"
	if bytes {
		kind, suffix = "[]byte", ""
	}
	// The helper returns a position, or a bool where the call only asks whether there is one, or
	// the rest of the text where it trims.
	result, verb, body := "int", "looks for a rune in", ""
	base := "searchIn"
	switch {
	case s.trims:
		base, result, verb = "trimFor", kind, "cuts runes off"
		body = s.trim(text, r, test, suffix)
	case s.answers:
		result = "bool"
		fallthrough
	default:
		body = s.search(p, text, r, test, bytes)
	}
	// The helper gets the text and every variable that the test reads, because it lies outside of
	// the function.
	name := p.Fresh(base+edit.UpperFirst(fn.Name.Name), base+"TextOf"+edit.UpperFirst(fn.Name.Name))
	decl := fmt.Sprintf("// %[1]s %[2]s a text of %[3]s.\nfunc %[1]s(%[4]s) %[5]s {\n%[6]s}", name, verb, fn.Name.Name,
		strings.Join(append([]string{text + " " + kind}, params...), ", "), result, body)
	to := name + "(" + strings.Join(append([]string{p.Text(call.Args[0])}, args...), ", ") + ")"
	return edit.WithImports(p, []mutate.Edit{p.Replace(call, to), p.Declare(fn, decl)}, "unicode/utf8")
}

// search goes from one end of a text to the first rune that passes.
func (s *runeSearch) search(p *mutate.Pass, text, r, test string, bytes bool) string {
	i, none := p.Fresh("i", "at"), "-1"
	found, head := i, i+", "+r
	if s.answers {
		// Some searches ask for a place, others only whether there is one.
		found, none, head = "true", "false", "_, "+r
	}
	switch {
	// From the end, runes are decoded backwards; a byte of ASCII is its own rune.
	case s.from == "end":
		suffix := "InString"
		if bytes {
			suffix = ""
		}
		return fmt.Sprintf(`for %[1]s := len(%[2]s); %[1]s > 0; {
%[3]s, size := rune(%[2]s[%[1]s-1]), 1
if %[3]s >= utf8.RuneSelf {
%[3]s, size = utf8.DecodeLastRune%[5]s(%[2]s[:%[1]s])
}
%[1]s -= size
if %[4]s {
return %[1]s
}
}
return -1
`, i, text, r, test, suffix)
	case bytes:
		return fmt.Sprintf(`for %[1]s := 0; %[1]s < len(%[2]s); {
%[3]s, size := rune(%[2]s[%[1]s]), 1
if %[3]s >= utf8.RuneSelf {
%[3]s, size = utf8.DecodeRune(%[2]s[%[1]s:])
}
if %[4]s {
return %[5]s
}
%[1]s += size
}
return %[6]s
`, i, text, r, test, found, none)
	}
	return fmt.Sprintf("for %s := range %s {\nif %s {\nreturn %s\n}\n}\nreturn %s\n", head, text, test, found, none)
}

// trim cuts runes off one end, or off both.
func (s *runeSearch) trim(text, r, test, suffix string) string {
	const form = `for len(%[1]s) > 0 {
%[2]s, size := rune(%[1]s[%[4]s]), 1
if %[2]s >= utf8.RuneSelf {
%[2]s, size = utf8.%[5]s(%[1]s)
}
if !(%[3]s) {
break
}
%[1]s = %[1]s[%[6]s]
}
`
	start := fmt.Sprintf(form, text, r, test, "0", "DecodeRune"+suffix, "size:")
	end := fmt.Sprintf(form, text, r, test, "len("+text+")-1", "DecodeLastRune"+suffix, ":len("+text+")-size")
	switch s.from {
	case "start":
		return start + "return " + text + "\n"
	case "end":
		return end + "return " + text + "\n"
	}
	return start + end + "return " + text + "\n"
}

// testOfRune writes what a function value asks of a rune, and the variables that it reads besides.
// It returns "" where that cannot stand elsewhere.
func testOfRune(p *mutate.Pass, e ast.Expr) (test, name string, params, args []string) {
	// A named function is called by its name. Its identity must be known: a variable could hold
	// another function at each call.
	lit, ok := ast.Unparen(e).(*ast.FuncLit)
	if !ok {
		if !facts.IsKnownFunc(p, e) {
			return "", "", nil, nil
		}
		name = p.Fresh("r", "char")
		return p.Text(e) + "(" + name + ")", name, nil, nil
	}
	// A literal must be a single return without effects, which then stands as an expression.
	if len(lit.Body.List) != 1 || len(lit.Type.Params.List) != 1 || len(lit.Type.Params.List[0].Names) != 1 ||
		syntax.IsBlank(lit.Type.Params.List[0].Names[0]) {
		return "", "", nil, nil
	}
	ret, ok := lit.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 || p.Effects(ret.Results[0]).Writes {
		return "", "", nil, nil
	}
	// Each variable from outside of the literal becomes a parameter of the helper. Its type must
	// have a name at package level, and nothing may write it through a pointer while the helper
	// reads its copy.
	own := p.Info.Defs[lit.Type.Params.List[0].Names[0]]
	var seen []types.Object
	if facts.NamesLocal(p, ret.Results[0]) {
		return "", "", nil, nil
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, ret.Results[0]) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v == own || v.IsField() || p.IsGlobal(v) || slices.Contains(seen, types.Object(v)) {
			continue
		}
		// A type that has no name at package level cannot be a parameter's.
		t, ok := facts.TypeText(p, v.Type())
		inner := lit.Pos() <= v.Pos() && v.Pos() < lit.End()
		if !ok || inner || p.FuncOf(e).Type.TypeParams != nil || facts.MentionsTypeParam(v.Type()) ||
			facts.AddressTaken(p, v, p.FuncOf(e)) {
			return "", "", nil, nil
		}
		seen = append(seen, v)
		params, args = append(params, v.Name()+" "+t), append(args, v.Name())
	}
	// A captured variable with the rune's name would be hidden by it.
	if slices.Contains(args, lit.Type.Params.List[0].Names[0].Name) {
		return "", "", nil, nil
	}
	return p.Text(ret.Results[0]), lit.Type.Params.List[0].Names[0].Name, params, args
}
