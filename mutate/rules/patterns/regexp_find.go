package patterns

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// regexpFind (catalogue X2) matches a search for a constant pattern: its text, its groups, all
// matches, a replacement or a split. It writes the pattern as a function over the bytes.
var regexpFind = &mutate.Mutator{
	Name: "regexp-find",
	Doc: "Find a constant pattern with a function made for it, a test or two for each byte. The regexp package " +
		"interprets the pattern, keeps a list of threads or a stack for every byte, and allocates on the way. Exact: " +
		"the function prefers the same match and the same groups. Package regexp still searches texts with " +
		"characters that the function does not distinguish, and those where going back would take long.",
	Example: mutate.Shows(`m := pairPattern.FindStringSubmatch(s)`,
		`m := pairSubmatch(s)

func pairSubmatch(s string) []string {
	m, found, plain := pairFind(s, 0)
	if !plain {
		return pairPattern.FindStringSubmatch(s)
	}
	...`),
	Class:   beagle.E4,
	Gain:    6,
	Find:    findRegexpFind,
	Rewrite: rewriteRegexpFind,
}

type searchSite struct {
	v      *types.Var // the compiled pattern
	finder *pathFinder
	method string
	repl   string     // what ReplaceAllString puts in place of a match
	parts  []replPart // the same, taken apart
	calls  []*ast.CallExpr
}

// searches are the methods that the rule writes.
var searches = []string{"Regexp.FindString", "Regexp.FindStringIndex", "Regexp.FindStringSubmatch",
	"Regexp.FindStringSubmatchIndex", "Regexp.ReplaceAllString", "Regexp.ReplaceAllLiteralString",
	"Regexp.ReplaceAllStringFunc", "Regexp.FindAllString", "Regexp.FindAllStringSubmatch", "Regexp.Split",
	"Regexp.MatchString"}

// findRegexpFind looks for searches with patterns that never change, and compiles each into code of
// its own. It makes one site for all calls that need the same code.
func findRegexpFind(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	if prefersLongest(p) {
		return nil
	}
	index := map[string]*searchSite{}
	// The call must be a method of a pattern whose text is known, with the usual rule of the
	// leftmost-first match.
	for _, e := range mutate.Nodes[*ast.CallExpr](p, nil) {
		call, ok := p.IsCall(e, "regexp", searches...)
		if !ok || p.FuncOf(call) == nil {
			continue
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		v := p.Var(sel.X)
		if v == nil || !p.Frozen(v) || asksFinder(p, call) {
			continue
		}
		// The replacement of a ReplaceAll is part of the code, so it must be constant.
		repl, ok := searchArgs(p, call, sel.Sel.Name)
		if !ok {
			continue
		}
		key := v.Name() + "." + sel.Sel.Name + "." + repl
		if s := index[key]; s != nil {
			s.calls = append(s.calls, call)
			continue
		}
		finder := patternOf(p, v, newPathFinder)
		if finder == nil || sel.Sel.Name == "MatchString" && patternOf(p, v, newDFA) != nil {
			continue // regexp-match writes a table
		}
		// A repeated search after an empty match has rules of its own, and a pattern bound to the
		// start matches once.
		if slices.Contains(repeatedSearches, sel.Sel.Name) && !finder.neverEmpty() ||
			sel.Sel.Name == "ReplaceAllStringFunc" && finder.atStart() {
			continue
		}
		s := &searchSite{v: v, finder: finder, method: sel.Sel.Name, repl: repl, calls: []*ast.CallExpr{call}}
		if s.parts, ok = s.takeApart(p); !ok {
			continue
		}
		index[key] = s
		sites = append(sites, mutate.Site{Node: call, Label: p.Text(sel), Data: s})
	}
	return sites
}

// prefersLongest reports whether code makes a pattern prefer the longest match, which it may at any
// time. The pattern may have another name there.
func prefersLongest(p *mutate.Pass) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, nil) {
		fn, ok := p.Info.Uses[id].(*types.Func)
		if ok && fn.Name() == "Longest" && fn.Pkg() != nil && fn.Pkg().Path() == "regexp" {
			return true
		}
	}
	return false
}

// searchArgs checks the arguments after the text. It returns the replacement, which must be a
// constant; the methods that list matches must list all.
func searchArgs(p *mutate.Pass, call *ast.CallExpr, method string) (repl string, ok bool) {
	switch method {
	case "ReplaceAllString", "ReplaceAllLiteralString":
		return facts.ConstString(p, call.Args[1])
	case "FindAllString", "FindAllStringSubmatch", "Split":
		return "", p.IsInt(call.Args[1], -1)
	}
	return "", true
}

// asksFinder reports whether the call stands in a function that this rule has written: package
// regexp decides there what the finder cannot.
func asksFinder(p *mutate.Pass, call *ast.CallExpr) bool {
	guard, ok := facts.Enclosing[*ast.IfStmt](p, call)
	if !ok {
		return false
	}
	not, ok := guard.Cond.(*ast.UnaryExpr)
	return ok && p.Text(not.X) == "plain"
}

// rewriteRegexpFind declares the finder and a wrapper for the method, and has the calls use it.
func rewriteRegexpFind(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(*searchSite)
	base := edit.LowerFirst(strings.TrimSuffix(strings.TrimSuffix(site.v.Name(), "Pattern"), "Regexp"))
	w := &pathWriter{pathFinder: site.finder, pattern: site.v.Name()}
	declare := func(name string) string {
		w.name = name
		return w.text()
	}
	// The finder serves all methods of one pattern, so it is declared once.
	find, edits := edit.Helper(p, s.Node, declare, base+"Find", base+"FindMatch")
	name := p.Fresh(base+wrapperNames[site.method], base+site.method)
	edits = append(edits, p.Declare(s.Node, site.wrapper(name, find)))
	// Each call goes to the wrapper. The replacement is a part of it, unless it is a function.
	for _, call := range site.calls {
		args := p.Text(call.Args[0])
		if site.method == "ReplaceAllStringFunc" {
			args += ", " + p.Text(call.Args[1])
		}
		edits = append(edits, p.Span(call.Pos(), call.End(), name+"("+args+")"))
	}
	return edit.WithImports(p, edits, "strings"), nil
}

var wrapperNames = map[string]string{
	"FindString": "First", "FindStringIndex": "Index", "FindStringSubmatch": "Submatch",
	"FindStringSubmatchIndex": "SubmatchIndex", "ReplaceAllString": "Replace", "ReplaceAllLiteralString": "Replace",
	"ReplaceAllStringFunc": "ReplaceFunc", "FindAllString": "All", "FindAllStringSubmatch": "AllSubmatch",
	"Split": "Split", "MatchString": "Found",
}

// wrapper writes a method of the pattern with the help of the finder.
func (s *searchSite) wrapper(name, find string) string {
	// Choose the signature, and the body that turns the finder's positions into the method's
	// result. Methods that repeat the search have no body here, because they need a loop.
	body, result, more, params := "", "[]string", "", "s string"
	switch s.method {
	case "FindAllStringSubmatch":
		result, more = "[][]string", ", -1"
	case "ReplaceAllStringFunc":
		result, more, params = "string", ", f", "s string, f func(string) string"
	case "MatchString":
		result, body = "bool", "return found\n"
	case "FindString":
		result, body = "string", "if !found {\nreturn \"\"\n}\nreturn s[m[0]:m[1]]\n"
	case "FindStringIndex":
		result, body = "[]int", "if !found {\nreturn nil\n}\nreturn []int{m[0], m[1]}\n"
	case "FindStringSubmatchIndex":
		result, body = "[]int", "if !found {\nreturn nil\n}\nreturn "+s.indexes()+"\n"
	case "FindStringSubmatch":
		body = "if !found {\nreturn nil\n}\n" + s.texts() + "return groups\n"
	case "ReplaceAllString", "ReplaceAllLiteralString":
		result, more = "string", ", "+strconv.Quote(s.repl)
	default:
		more = ", -1"
	}
	// The finder gives up on texts that are not plain ASCII. There the original method answers.
	fallback := fmt.Sprintf("return %s.%s(s%s)", s.v.Name(), s.method, more)
	head := fmt.Sprintf("// %s answers %s.%s with the help of %s.\nfunc %s(%s) %s {\n", name, s.v.Name(),
		s.method, find, name, params, result)
	// A single search calls the finder once from position 0. MatchString needs no positions.
	if body != "" {
		first := "m"
		if s.method == "MatchString" {
			first = "_"
		}
		return fmt.Sprintf("%s%s, found, plain := %s(s, 0)\nif !plain {\n%s\n}\n%s}", head, first, find, fallback, body)
	}
	return head + s.repeated(find, fallback) + "}"
}

func (s *searchSite) indexes() string {
	var all []string
	for i := range 2 * s.finder.groups {
		all = append(all, fmt.Sprintf("m[%d]", i))
	}
	return "[]int{" + strings.Join(all, ", ") + "}"
}

// texts writes the result of FindStringSubmatch: a group that took no part is empty.
func (s *searchSite) texts() string {
	text := fmt.Sprintf("groups := []string{s[m[0]:m[1]]%s}\n", strings.Repeat(`, ""`, s.finder.groups-1))
	for g := 1; g < s.finder.groups; g++ {
		text += fmt.Sprintf("if m[%d] >= 0 {\ngroups[%d] = s[m[%d]:m[%d]]\n}\n", 2*g, g, 2*g, 2*g+1)
	}
	return text
}

// repeated writes a method that looks at all matches, none of which is empty.
func (s *searchSite) repeated(find, fallback string) string {
	before, each, after := "", "", ""
	// before and after go around the loop, and each is what a match adds.
	switch s.method {
	case "FindAllString", "FindAllStringSubmatch":
		result, groups, match := "[]string", "", "s[m[0]:m[1]]"
		if s.method == "FindAllStringSubmatch" {
			result, groups, match = "[][]string", s.texts(), "groups"
		}
		return fmt.Sprintf("var all %s\nfor from := 0; ; {\nm, found, plain := %s(s, from)\nif !plain {\n%s\n}\n"+
			"if !found {\nbreak\n}\n%sall = append(all, %s)\nfrom = m[1]\n}\nreturn all\n",
			result, find, fallback, groups, match)
	// Split keeps what lies between the matches; an empty text is one part.
	case "Split":
		before = "if len(s) == 0 {\nreturn []string{\"\"}\n}\nvar parts []string\n"
		each = "parts = append(parts, s[end:m[0]])\n"
		after = "return append(parts, s[end:])\n"
	// A replacement keeps it, too, and returns the text itself if nothing matched.
	default:
		before = "var out strings.Builder\n"
		each = "out.WriteString(s[end:m[0]])\n" + s.replaced()
		after = "if end == 0 {\nreturn s\n}\nout.WriteString(s[end:])\nreturn out.String()\n"
	}
	if s.method == "ReplaceAllStringFunc" { // f must not be called again for what lies after
		fallback = fmt.Sprintf("out.WriteString(%s.ReplaceAllStringFunc(s[end:], f))\nreturn out.String()", s.v.Name())
	}
	return fmt.Sprintf("%send := 0 // of the last match\nfor {\nm, found, plain := %s(s, end)\nif !plain {\n%s\n}\n"+
		"if !found {\nbreak\n}\n%send = m[1]\n}\n%s", before, find, fallback, each, after)
}

// repeatedSearches look at all matches. They need a pattern that takes at least a byte.
var repeatedSearches = []string{"ReplaceAllString", "ReplaceAllLiteralString", "ReplaceAllStringFunc",
	"FindAllString", "FindAllStringSubmatch", "Split"}

// neverEmpty reports whether each match has at least one byte.
func (f *pathFinder) neverEmpty() bool {
	return !slices.ContainsFunc([]int{f.first, f.later}, func(k int) bool {
		return f.states[k].done != nil || f.states[k].doneEnd != nil
	})
}

// atStart reports whether matches at the begin of the text differ from those elsewhere.
func (f *pathFinder) atStart() bool {
	return !reflect.DeepEqual(f.states[f.first], f.states[f.later])
}
