package text

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// dropConversion (catalogue S7) matches a conversion between string and []byte for a call that has
// a twin for the other type. It calls the twin, or append or copy, without the conversion.
var dropConversion = &mutate.Mutator{
	Name: "drop-conversion",
	Doc: "Call the twin that takes the present type instead of converting between string and []byte first. Each " +
		"conversion copies. Legal for functions that have a twin in the other package and keep nothing of their " +
		"argument, and for append and copy, which take both.",
	Example: mutate.Shows(`buf.Write([]byte(name))`, `buf.WriteString(name)`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findConversions,
	Rewrite: edit.Precomputed,
}

// twins lists functions that strings and bytes share and whose results hold no memory of their
// arguments. All arguments have the kind of the first, except bytes, runes and character sets.
var twins = []string{"Contains", "Count", "EqualFold", "HasPrefix", "HasSuffix", "Index", "LastIndex", "Compare"}
var twinsOfChars = []string{"ContainsAny", "ContainsRune", "IndexAny", "IndexByte", "IndexRune", "LastIndexAny",
	"LastIndexByte"}

func findConversions(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if edits := conversionEdits(p, call); edits != nil {
			sites = append(sites, edit.Site(call, p.Text(call), edits...))
		}
	}
	return sites
}

// conversionEdits drops a conversion in an argument, where the function or its twin in the other
// package takes the original. It returns nil for other calls.
func conversionEdits(p *mutate.Pass, call *ast.CallExpr) []mutate.Edit {
	// Built-in functions take a string where they take bytes, without a conversion.
	for _, name := range []string{"append", "copy", "len"} {
		if _, ok := p.IsBuiltin(call, name); ok {
			return builtinConversion(p, call, name)
		}
	}
	if len(call.Args) == 0 {
		return nil
	}
	// Then come writes, comparisons, and functions that both packages have. All other calls may
	// decode a rune.
	if edits := writeConversion(p, call); edits != nil {
		return edits
	}
	if _, ok := p.IsCall(call, "bytes", "Equal"); ok {
		return equalConversion(p, call)
	}
	if _, ok := p.IsCall(call, "strings", slices.Concat(twins, twinsOfChars)...); ok {
		return twinConversion(p, call, "string", "bytes")
	}
	if _, ok := p.IsCall(call, "bytes", slices.Concat(twins, twinsOfChars)...); ok {
		return twinConversion(p, call, "[]byte", "strings")
	}
	return runeConversion(p, call)
}

// builtinConversion drops the conversion in append(b, []byte(s)...), copy(b, []byte(s)) and
// len(string(b)).
func builtinConversion(p *mutate.Pass, call *ast.CallExpr, name string) []mutate.Edit {
	last := call.Args[len(call.Args)-1]
	from, ok := facts.ConvertsTo(p, last, "[]byte")
	if name == "len" {
		from, ok = facts.ConvertsTo(p, last, "string")
	}
	if !ok || name == "append" && !call.Ellipsis.IsValid() {
		return nil
	}
	return []mutate.Edit{p.Replace(last, p.Text(from))}
}

// writeConversion turns Write([]byte(s)) into WriteString(s) and back, for writers that only copy.
func writeConversion(p *mutate.Pass, call *ast.CallExpr) []mutate.Edit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if s := p.Info.Selections[sel]; !ok || s == nil || len(s.Index()) > 1 {
		return nil // a type that embeds the writer may have a method of its own by the other name
	}
	for _, t := range [][2]string{{"strings", "Builder."}, {"bytes", "Buffer."}} {
		if _, ok := p.IsCall(call, t[0], t[1]+"Write"); ok {
			if from, ok := facts.ConvertsTo(p, call.Args[0], "[]byte"); ok {
				return []mutate.Edit{p.Replace(sel.Sel, "WriteString"), p.Replace(call.Args[0], p.Text(from))}
			}
		}
		// A bytes.Buffer may move the memory that it shares with b before it copies b.
		if _, ok := p.IsCall(call, "strings", "Builder.WriteString"); ok {
			if from, ok := facts.ConvertsTo(p, call.Args[0], "string"); ok {
				return []mutate.Edit{p.Replace(sel.Sel, "Write"), p.Replace(call.Args[0], p.Text(from))}
			}
		}
	}
	return nil
}

// equalConversion turns bytes.Equal([]byte(s), b) into a comparison of strings, which the compiler
// does without a copy.
func equalConversion(p *mutate.Pass, call *ast.CallExpr) []mutate.Edit {
	// Each side becomes a string: that of a conversion to bytes is the original text, and bytes are
	// converted for the comparison only, which makes no copy.
	text := [2]string{}
	dropped := false
	for i, arg := range call.Args {
		from, ok := facts.ConvertsTo(p, arg, "[]byte")
		if p.Effects(call.Args[1-i]).Writes && !(ok && facts.OwnValue(p, from)) {
			return nil // the other argument may change it
		}
		if ok {
			text[i], dropped = p.Text(from), true
		} else if facts.IsByteSlice(p, arg) {
			text[i] = "string(" + p.Text(arg) + ")"
		} else {
			return nil
		}
	}
	// Without a conversion to drop, bytes.Equal is as good.
	if !dropped {
		return nil
	}
	// The comparison binds less than an operator around it, except && and ||.
	out := text[0] + " == " + text[1]
	switch up := p.Parent(call).(type) {
	case *ast.UnaryExpr: // !bytes.Equal
		return []mutate.Edit{p.Replace(up, text[0]+" != "+text[1])}
	case *ast.BinaryExpr:
		if up.Op != token.LAND && up.Op != token.LOR {
			out = "(" + out + ")"
		}
	}
	return []mutate.Edit{p.Replace(call, out)}
}

// twinConversion calls the function of the other package if a conversion made the first argument
// fit this one.
func twinConversion(p *mutate.Pass, call *ast.CallExpr, to, other string) []mutate.Edit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	from, ok := facts.ConvertsTo(p, call.Args[0], to)
	if !ok {
		return nil
	}
	writes := func(e ast.Expr) bool { return p.Effects(e).Writes }
	if slices.ContainsFunc(call.Args[1:], writes) && !facts.OwnValue(p, from) {
		return nil // they may change what the first argument was copied from
	}
	pkg, edits := p.Import(other)
	edits = append(edits, p.Replace(sel.X, pkg), p.Replace(call.Args[0], p.Text(from)))
	// These functions take the characters as a string in both packages.
	if slices.Contains(twinsOfChars, sel.Sel.Name) {
		return edits
	}
	// The other arguments must be converted back, or be free to convert.
	for _, arg := range call.Args[1:] {
		text, ok := convertedBack(p, arg, to)
		if !ok {
			return nil
		}
		edits = append(edits, p.Replace(arg, text))
	}
	return edits
}

// convertedBack writes a further argument in the other type, if that costs no copy: it was
// converted too, or is constant.
func convertedBack(p *mutate.Pass, arg ast.Expr, to string) (string, bool) {
	if from, ok := facts.ConvertsTo(p, arg, to); ok {
		if _, isConst := facts.ConstString(p, from); isConst || to == "string" {
			return p.Text(from), true
		}
		return p.Text(from), to == "[]byte"
	}
	if s, ok := facts.ConstString(p, arg); ok && to == "string" && len(s) <= 32 {
		return "[]byte(" + p.Text(arg) + ")", true
	}
	return "", false
}

// runeConversion does the same for the pairs of unicode/utf8.
func runeConversion(p *mutate.Pass, call *ast.CallExpr) []mutate.Edit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	// The two functions differ in the argument's type alone, and so in their name.
	if _, ok := p.IsCall(call, "unicode/utf8", "ValidString", "RuneCountInString"); ok {
		if from, ok := facts.ConvertsTo(p, call.Args[0], "string"); ok {
			name := strings.TrimSuffix(strings.TrimSuffix(sel.Sel.Name, "InString"), "String")
			return []mutate.Edit{p.Replace(sel.Sel, name), p.Replace(call.Args[0], p.Text(from))}
		}
	}
	if _, ok := p.IsCall(call, "unicode/utf8", "Valid", "RuneCount"); ok {
		if from, ok := facts.ConvertsTo(p, call.Args[0], "[]byte"); ok {
			name := map[string]string{"Valid": "ValidString", "RuneCount": "RuneCountInString"}[sel.Sel.Name]
			return []mutate.Edit{p.Replace(sel.Sel, name), p.Replace(call.Args[0], p.Text(from))}
		}
	}
	return nil
}
