package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// stackText (catalogue S3) matches a concatenation with parts that functions of the library format,
// such as numbers. It appends all parts to an array on the stack.
var stackText = &mutate.Mutator{
	Name: "stack-text",
	Doc: "Put a text that holds formatted numbers together in an array on the stack. Each call that formats a part " +
		"allocates a string for the concatenation to copy; appending writes the part where it belongs, and the only " +
		"allocation is the result. Exact: the library appends what it would return.",
	Example: mutate.Shows(`return host + ":" + strconv.Itoa(port)`,
		`var room [64]byte // holds most texts while they grow
text := append(room[:0], host...)
text = append(text, ':')
text = strconv.AppendInt(text, int64(port), 10)
return string(text)`),
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findStackText,
	Params:  textRooms,
	Rewrite: rewriteStackText,
}

// A textSite is a concatenation.
type textSite struct {
	sum   ast.Expr
	parts []ast.Expr
	front ast.Stmt // what the appends stand in front of; nil if they stand in the sum's place
}

// findStackText looks for sums of texts with at least one part that formats a value.
func findStackText(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, sum := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		// Take whole sums of texts only, at least one part of which formats something.
		if sum.Op != token.ADD || !facts.IsExactString(p, sum) || p.Info.Types[sum].Value != nil ||
			!facts.TakesTime(p, sum) ||
			partOfSum(p, sum) || facts.RedefinesAny(p, sum, "append", "byte", "int64", "make", "string") {
			continue
		}
		s := &textSite{sum: sum, parts: joinedParts(p, sum)}
		if !slices.ContainsFunc(s.parts, func(e ast.Expr) bool { return formatterOf(p, e) != nil }) {
			continue
		}
		// The text can be put together in front of the statement, if no part has an effect and
		// nothing there changes one. Otherwise it has to be one expression, with calls inside of
		// calls, which should not get too deep.
		front, ok := facts.Hoistable(p, sum)
		switch impure := impureParts(p, s.parts); {
		case ok && impure == 0 && facts.CanDeclare(p, front):
			s.front = front
		case len(s.parts) > maxNestedParts || impure > 1:
			continue
		}
		sites = append(sites, mutate.Site{Node: sum, Label: "text " + p.Text(sum), Data: s})
	}
	return sites
}

// partOfSum reports whether a concatenation is an operand of another.
func partOfSum(p *mutate.Pass, sum ast.Expr) bool {
	for _, up := range p.Path(sum) {
		switch up := up.(type) {
		case *ast.ParenExpr:
		case *ast.BinaryExpr:
			if ast.Expr(up) != sum {
				return up.Op == token.ADD
			}
		default:
			return false
		}
	}
	return false
}

// rewriteStackText appends the parts to a slice with room on the stack, so that only the whole text
// is allocated.
func rewriteStackText(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*textSite)
	var edits []mutate.Edit
	// In an expression each part wraps the one before.
	if s.front == nil {
		text := fmt.Sprintf("make([]byte, 0, %d)", param.Value)
		for _, part := range s.parts {
			text = appendCall(p, text, part)
		}
		edits = []mutate.Edit{p.Replace(s.sum, "string("+text+")")}
	} else {
		room, name := p.Fresh("room", "space"), p.Fresh("text", "joined")
		lines := fmt.Sprintf("var %s [%d]byte // holds most texts while they grow\n%s := %s\n", room, param.Value, name,
			appendCall(p, room+"[:0]", s.parts[0]))
		for _, part := range s.parts[1:] {
			lines += fmt.Sprintf("%s = %s\n", name, appendCall(p, name, part))
		}
		edits = []mutate.Edit{edit.InsertBefore(p, s.front, lines), p.Replace(s.sum, "string("+name+")")}
	}
	return edit.WithImports(p, edits, "encoding/hex", "fmt", "strconv", "unicode/utf8"), nil
}
