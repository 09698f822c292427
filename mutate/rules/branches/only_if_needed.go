package branches

import (
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// onlyIfNeeded (part of catalogue C12) matches calls of library functions that mostly return their
// argument, such as TrimSpace and ToLower. It calls a helper that looks first whether there is
// anything to do.
var onlyIfNeeded = &mutate.Mutator{
	Name: "only-if-needed",
	Doc: "Test whether a text needs trimming or lowering before calling the function: a test of both ends, of eight " +
		"bytes at once, or of one ASCII byte costs less than the call. A single character is trimmed without the " +
		"call. Exact: the function would return the texts that pass the test unchanged; all others go to the " +
		"function.",
	Example: mutate.Shows(`name = strings.TrimSpace(name)`,
		`name = trimSpace(name)

// trimSpace is strings.TrimSpace, which has nothing to do when both ends are
// printable ASCII.
func trimSpace(s string) string {
	if n := len(s); n > 0 && s[0]-'!' <= '~'-'!' && s[n-1]-'!' <= '~'-'!' {
		return s
	}
	return strings.TrimSpace(s)
}`),
	Class:   beagle.E0,
	Gain:    1.25,
	Find:    findNeedless,
	Rewrite: rewriteNeedless,
}

// A needless is a call that can be left out if its argument equals its result.
type needless struct {
	call *ast.CallExpr
	name string // the name of the function
	rune bool   // of package unicode: the helper handles ASCII without it
	cut  string // the characters to trim, for Trim and the like
}

// maxTrimmed is how many characters are worth a comparison each.
const maxTrimmed = 3

// findNeedless offers all calls together. If there are several functions, it also offers the calls
// of each.
func findNeedless(p *mutate.Pass) []mutate.Site {
	var all []needless
	by := map[string][]needless{}
	var names []string
	// Group the calls by function, in the order of the text.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		n, ok := needlessCall(p, call)
		if !ok {
			continue
		}
		name := n.function()
		if by[name] == nil {
			names = append(names, name)
		}
		all, by[name] = append(all, n), append(by[name], n)
	}
	if len(all) == 0 {
		return nil
	}
	sites := []mutate.Site{{Node: holderOf(p, all), Label: "calls of " + strings.Join(names, ", "), Data: all}}
	// Single functions are offered only if there are several: all together are the same site
	// otherwise.
	for _, name := range names {
		if len(names) > 1 {
			sites = append(sites, mutate.Site{Node: by[name][0].call, Label: "calls of " + name, Data: by[name]})
		}
	}
	return sites
}

// holderOf returns the node that holds all calls: their function, or the target.
func holderOf(p *mutate.Pass, all []needless) ast.Node {
	if len(all) == 1 {
		return all[0].call
	}
	own := p.FuncOf(all[0].call)
	for _, n := range all {
		if p.FuncOf(n.call) != own {
			return p.Func
		}
	}
	return own
}

// function returns the function's name in its helper's name and in labels.
func (n needless) function() string {
	if n.rune {
		return n.name + "Rune"
	}
	return n.name
}

// needlessCall recognises a call that often returns its argument: one that trims ends or changes
// the case.
func needlessCall(p *mutate.Pass, call *ast.CallExpr) (n needless, ok bool) {
	// The call must be one of those whose result is often their argument.
	_, text := p.IsCall(call, "strings", "TrimSpace", "Trim", "TrimLeft", "TrimRight", "ToLower", "ToUpper")
	_, letter := p.IsCall(call, "unicode", "ToLower", "ToUpper")
	if !text && !letter || p.FuncOf(call) == nil {
		return n, false
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !edit.CanHelp(p, p.Text(fun.X)) {
		return n, false
	}
	// As a statement, in go and in defer nothing takes the result.
	switch p.Parent(call).(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return n, false
	}
	n = needless{call: call, name: fun.Sel.Name, rune: letter}
	// A set of characters must be constant, ASCII and short: the helper compares the ends with each
	// of them.
	if strings.HasPrefix(n.name, "Trim") && n.name != "TrimSpace" {
		if len(call.Args) != 2 {
			return n, false // one call yields both arguments
		}
		var constant bool
		if n.cut, constant = facts.ConstString(p, call.Args[1]); !constant || n.cut == "" || len(n.cut) > maxTrimmed ||
			!edit.IsASCII(n.cut) || !facts.WrittenOut(p, call.Args[1]) {
			return n, false
		}
	}
	// The helper itself holds such a call, and must not get a helper of its own. Nor does a call
	// need one behind a test that asks the same.
	return n, !looksFirst(p, call, p.FuncOf(call))
}

// looksFirst recognises what this rule wrote, even if other rules have changed it since. It is a
// function that returns its parameter, or the result of the call on its parameter.
func looksFirst(p *mutate.Pass, call *ast.CallExpr, own *ast.FuncDecl) bool {
	sig := p.Info.Defs[own.Name].(*types.Func).Signature()
	if _, last := p.Parent(call).(*ast.ReturnStmt); !last || own == p.Func || sig.Params().Len() != 1 ||
		p.Var(call.Args[0]) != sig.Params().At(0) {
		return false
	}
	for _, r := range mutate.Nodes[*ast.ReturnStmt](p, own) {
		if len(r.Results) == 1 && p.Var(r.Results[0]) == sig.Params().At(0) {
			return true
		}
	}
	return false
}

// rewriteNeedless has the calls ask a helper, which returns the argument at once if nothing is to
// be done.
func rewriteNeedless(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	var edits []mutate.Edit
	names := map[string]string{} // by the called function
	load := false
	for _, n := range s.Data.([]needless) {
		// Calls of one function with the same characters share a helper.
		key := n.function() + " " + n.cut
		if names[key] == "" {
			wish := edit.LowerFirst(n.function())
			if n.cut != "" {
				wish = uniqueWish(names, wish)
			}
			var more []mutate.Edit
			names[key], more = edit.Helper(p, n.call, n.declare(p), wish, wish+"IfNeeded")
			edits = append(edits, more...)
			load = load || len(more) > 0 && strings.HasPrefix(n.name, "To") && !n.rune
		}
		edits = append(edits, p.Replace(n.call.Fun, names[key]))
		// The helper knows the characters, so the argument goes.
		if n.cut != "" {
			edits = append(edits, p.Span(n.call.Args[0].End(), n.call.Args[1].End(), ""))
		}
	}
	// Helpers for letters read eight bytes at a time, by a function that is declared once.
	if load {
		_, more, err := characters.StringText.Load(p, p.Func)
		return append(edits, more...), err
	}
	return edits, nil
}

// uniqueWish numbers the wishes of one rewrite, since Fresh reserves none of them.
func uniqueWish(names map[string]string, wish string) string {
	// The rewrite makes several names before any is in the file.
	taken := func(name string) bool {
		for _, used := range names {
			if used == name || strings.HasPrefix(used, name+"IfNeeded") {
				return true
			}
		}
		return false
	}
	name := wish
	for i := 2; taken(name); i++ {
		name = wish + strconv.Itoa(i)
	}
	return name
}

// declare returns a function that writes the helper for a call.
func (n needless) declare(p *mutate.Pass) func(name string) string {
	pkg := p.Text(n.call.Fun.(*ast.SelectorExpr).X)
	return func(name string) string {
		if n.rune {
			return n.letter(name, pkg)
		}
		switch n.name {
		case "TrimSpace":
			return fmt.Sprintf(`// %[1]s is strings.TrimSpace, which has nothing to do when both ends are
// printable ASCII.
func %[1]s(s string) string {
	if n := len(s); n > 0 && s[0]-'!' <= '~'-'!' && s[n-1]-'!' <= '~'-'!' {
		return s
	}
	return %[2]s.TrimSpace(s)
}`, name, pkg)
		case "ToLower":
			return n.toCase(p, name, pkg, letterRange{"capitals", 'A', 'Z'})
		case "ToUpper":
			return n.toCase(p, name, pkg, letterRange{"small letters", 'a', 'z'})
		}
		return n.trim(name, pkg)
	}
}

// letter writes the helper for a function of package unicode, short enough to be inlined.
func (n needless) letter(name, pkg string) string {
	first, last, add := "'A'", "'Z'", "+ ('a' - 'A')"
	if n.name == "ToUpper" {
		first, last, add = "'a'", "'z'", "- ('a' - 'A')"
	}
	return fmt.Sprintf(`// %[1]s is %[2]s.%[3]s, without a call for ASCII.
func %[1]s(r rune) rune {
	if r >= %[4]s && r <= %[5]s {
		return r %[6]s
	}
	if r < 0x80 {
		return r
	}
	return %[2]s.%[3]s(r)
}`, name, pkg, n.name, first, last, add)
}

// trim writes the helper for functions that trim a few ASCII characters.
func (n needless) trim(name, pkg string) string {
	if len(n.cut) == 1 {
		return n.trimOne(name)
	}
	var tests []string
	// TrimLeft looks at the first byte only, and TrimRight at the last. Nothing is trimmed if the
	// end bytes are not in the set.
	for _, end := range []string{"s[0]", "s[n-1]"} {
		if n.name == "TrimLeft" && end != "s[0]" || n.name == "TrimRight" && end == "s[0]" {
			continue
		}
		for _, c := range []byte(n.cut) {
			tests = append(tests, end+" != "+edit.ByteText(int(c)))
		}
	}
	return fmt.Sprintf(`// %[1]s is strings.%[2]s with %[3]q, which has nothing to do when no end has it.
func %[1]s(s string) string {
	if n := len(s); n > 0 && %[4]s {
		return s
	}
	return %[5]s.%[2]s(s, %[3]q)
}`, name, n.name, n.cut, strings.Join(tests, " && "), pkg)
}

// trimOne writes out the trimming of one character.
func (n needless) trimOne(name string) string {
	text := "// %[1]s is strings.%[2]s with %[3]q.\nfunc %[1]s(s string) string {\n"
	if n.name != "TrimRight" {
		text += "for len(s) > 0 && s[0] == %[4]s {\ns = s[1:]\n}\n"
	}
	if n.name != "TrimLeft" {
		text += "for len(s) > 0 && s[len(s)-1] == %[4]s {\ns = s[:len(s)-1]\n}\n"
	}
	return fmt.Sprintf(text+"return s\n}", name, n.name, n.cut, edit.ByteText(int(n.cut[0])))
}

// A letterRange is the ASCII letters that a function of package strings changes.
type letterRange struct {
	name        string
	first, last byte
}

// toCase writes the helper for ToLower and ToUpper. It tests words of eight bytes, and the last
// word overlaps the one before. For shorter texts it tests one word of twice four bytes, which the
// compiler loads in two steps. The additions carry into the top bit of each byte, but never out of
// it.
func (n needless) toCase(p *mutate.Pass, name, pkg string, letters letterRange) string {
	load, _, _ := characters.StringText.Load(p, p.Func)
	return strings.NewReplacer("<name>", name, "<pkg>", pkg, "<function>", n.name,
		"<letters>", letters.name, "<load>", load, "<for i>", edit.CountTo(p, "i", "n"),
		"<first>", edit.ByteText(int(letters.first)), "<last>", edit.ByteText(int(letters.last))).
		Replace(`// <name> is strings.<function>, which has nothing to do for ASCII without
// <letters>. It looks at eight bytes at once.
func <name>(s string) string {
	const each, tops = 0x0101010101010101, 0x8080808080808080
	n, rest := len(s), s
	if n < 4 {
		<for i>{
			if s[i] >= 0x80 || s[i]-<first> <= <last>-<first> {
				return <pkg>.<function>(s)
			}
		}
		return s
	}
	for {
		var w uint64
		if len(rest) >= 8 {
			w = <load>(rest)
			rest = rest[8:]
		} else if n >= 8 {
			w = <load>(s[n-8:])
			rest = ""
		} else {
			t := s[n-4:]
			w = uint64(s[3])<<24 | uint64(s[2])<<16 | uint64(s[1])<<8 | uint64(s[0]) |
				(uint64(t[3])<<24|uint64(t[2])<<16|uint64(t[1])<<8|uint64(t[0]))<<32
			rest = ""
		}
		low := w &^ tops
		if (w|(low+(0x80-<first>)*each)&^(low+(0x7f-<last>)*each))&tops != 0 {
			return <pkg>.<function>(s)
		}
		if len(rest) == 0 {
			return s
		}
	}
}`)
}
