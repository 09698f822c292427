package rules

import (
	"fmt"
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// splitStack (part of catalogue S4) matches pieces of a text that stay in the function. It collects
// them in an array on the stack.
var splitStack = &mutate.Mutator{
	Name: "split-stack",
	Doc: "Collect the pieces of a text in an array on the stack. strings.Split and strings.Fields look through the " +
		"text once to count, allocate a slice, and look again. Legal because the pieces stay in the function, which " +
		"does not ask for the slice's capacity; more pieces than the array holds move to the heap by themselves.",
	Before: `parts := strings.Split(version, ".")
if len(parts) != 3 {
	return errVersion
}`,
	After: `var room [8]string // holds most pieces without an allocation
parts := appendParts(room[:0], version, ".")
if len(parts) != 3 {
	return errVersion
}`,
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findSplitStack,
	Params:  splitStackSizes,
	Rewrite: rewriteSplitStack,
}

// A pieceSite is a declaration of pieces: parts := strings.Split(s, sep).
type pieceSite struct {
	decl   facts.Declaration
	call   *ast.CallExpr
	fields bool
	most   int64 // the limit of SplitN; 0 is none
}

func findSplitStack(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || d.Type != nil {
			continue
		}
		s, ok := pieceSiteOf(p, d)
		if !ok || len(p.Uses(d.Var, p.File)) == 0 || !staysHere(p, d.Var) {
			continue
		}
		sites = append(sites, mutate.Site{Node: d.Stmt, Label: "pieces " + d.Var.Name(), Data: s})
	}
	return sites
}

// pieceSiteOf accepts separators that are constant and not empty: an empty one takes runes apart.
func pieceSiteOf(p *mutate.Pass, d facts.Declaration) (s pieceSite, ok bool) {
	s.decl = d
	if s.call, s.fields = p.IsCall(d.Value, "strings", "Fields"); s.fields {
		return s, true
	}
	if s.call, ok = p.IsCall(d.Value, "strings", "Split", "SplitN"); !ok {
		return s, false
	}
	if len(s.call.Args) == 3 {
		n, constant := p.Int(s.call.Args[2])
		if !constant || n == 0 || n == 1 || n > 64 {
			return s, false // without a piece, or with the whole text
		}
		s.most = max(n, 0)
	}
	sep, constant := constString(p, s.call.Args[1])
	return s, constant && sep != ""
}

func splitStackSizes(_ *mutate.Pass, site mutate.Site) []mutate.Param {
	if s := site.Data.(pieceSite); s.most > 0 {
		return []mutate.Param{{Label: fmt.Sprint(s.most), Value: int(s.most)}}
	}
	return []mutate.Param{{Label: "8", Value: 8}, {Label: "32", Value: 32}}
}

func rewriteSplitStack(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(pieceSite)
	declare, wish, more := appendPartsText, "appendParts", ""
	switch {
	case s.fields:
		declare, wish = appendFieldsText, "appendFields"
	case s.most > 0:
		declare, wish = appendPartsLimitText, "appendFirstParts"
		more = ", " + p.Text(s.call.Args[2])
	}
	if !s.fields {
		more = ", " + p.Text(s.call.Args[1]) + more
	}
	name, edits := helper(p, p.FuncOf(s.decl.Stmt), declare, wish)
	room := p.Fresh("room", "space")
	edits = append(edits, p.Replace(s.decl.Stmt,
		fmt.Sprintf("var %s [%d]string // holds most pieces without an allocation\n%s := %s(%s[:0], %s%s)", room,
			param.Value, s.decl.Var.Name(), name, room, p.Text(s.call.Args[0]), more)))
	return withImports(p, edits, "strings"), nil
}

func appendPartsText(name string) string {
	return fmt.Sprintf(`// %[1]s appends the pieces of s between separators, which are not empty.
func %[1]s(to []string, s, sep string) []string {
	for {
		i := strings.Index(s, sep)
		if i < 0 {
			return append(to, s)
		}
		to = append(to, s[:i])
		s = s[i+len(sep):]
	}
}`, name)
}

func appendPartsLimitText(name string) string {
	return fmt.Sprintf(`// %[1]s appends the pieces of s between separators, the last of which is the
// rest behind most-1 separators.
func %[1]s(to []string, s, sep string, most int) []string {
	for ; most > 1; most-- {
		i := strings.Index(s, sep)
		if i < 0 {
			break
		}
		to = append(to, s[:i])
		s = s[i+len(sep):]
	}
	return append(to, s)
}`, name)
}

func appendFieldsText(name string) string {
	return fmt.Sprintf(`// %[1]s appends the words of s to an empty slice. strings.Fields looks at
// texts that are not ASCII.
func %[1]s(to []string, s string) []string {
	start := -1 // of a word
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			return append(to[:0], strings.Fields(s)...)
		}
		space := c == ' ' || c >= '\t' && c <= '\r'
		if space && start >= 0 {
			to = append(to, s[start:i])
			start = -1
		} else if !space && start < 0 {
			start = i
		}
	}
	if start >= 0 {
		to = append(to, s[start:])
	}
	return to
}`, name)
}
