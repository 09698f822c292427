package memory

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// staticError (catalogue A11 for errors) matches an error of a constant text that a function makes
// anew each time. It makes it once.
var staticError = &mutate.Mutator{
	Name: "static-error",
	Doc: "Make an error of a constant text once, when the program starts, instead of each time that it is returned. " +
		"It saves an allocation where inputs fail often. All calls then return the same error: two failures " +
		"compare equal, which they did not. Nothing can change the text.",
	Example: mutate.Shows(`return errors.New("no digits")`,
		`return errParseNoDigits

var errParseNoDigits = errors.New("no digits")`),
	Class:   beagle.E2,
	Gain:    1.1,
	Find:    findStaticError,
	Rewrite: edit.Precomputed,
}

// findStaticError looks for errors with a constant text that functions make at each call.
func findStaticError(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	made := map[string][]*ast.CallExpr{}
	var order []string
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if text, ok := constantError(p, call); ok && p.FuncOf(call) != nil && facts.TakesTime(p, call) {
			if _, plain := p.IsCall(call, "errors", "New"); !plain && p.FuncOf(call).Recv != nil {
				// An initialiser may call a method through an interface before the variable is
				// made; the compiler lays errors.New out in advance.
				continue
			}
			if made[text] == nil {
				order = append(order, text)
			}
			made[text] = append(made[text], call)
		}
	}
	for _, text := range order {
		calls := made[text]
		// All errors with one text share a variable, named after the function of the first.
		fn := p.FuncOf(calls[0])
		name := p.Fresh("err"+edit.UpperFirst(fn.Name.Name)+nameFrom(text), "err"+edit.UpperFirst(fn.Name.Name))
		edits := []mutate.Edit{p.Declare(fn, "var "+name+" = "+p.Text(calls[0]))}
		for _, call := range calls {
			edits = append(edits, p.Replace(call, name))
		}
		sites = append(sites, edit.Site(calls[0], "error "+text, edits...))
	}
	return sites
}

// constantError recognises an error whose text is constant.
func constantError(p *mutate.Pass, call *ast.CallExpr) (text string, ok bool) {
	_, plain := p.IsCall(call, "errors", "New")
	_, formatted := p.IsCall(call, "fmt", "Errorf")
	if !plain && !formatted || len(call.Args) != 1 {
		return "", false
	}
	// The variable is declared at package level, where constants of a function have no name.
	text, ok = facts.ConstString(p, call.Args[0])
	if id, named := call.Args[0].(*ast.Ident); named {
		c, isConst := p.Info.Uses[id].(*types.Const)
		ok = ok && isConst && c.Parent() == p.Pkg.Scope()
	} else if _, literal := call.Args[0].(*ast.BasicLit); !literal {
		ok = false // its constants may belong to the function
	}
	// With a % there may be an operand missing, which Errorf tells in the text.
	return text, ok && (plain || !strings.Contains(text, "%"))
}

// nameFrom are the first words of a text as a part of a name.
func nameFrom(text string) string {
	out := ""
	for i, word := range strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if i == 3 {
			break
		}
		out += edit.UpperFirst(strings.ToLower(word))
	}
	return out
}
