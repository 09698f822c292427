package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file writes the pieces of text of which the edits of several rules consist.

// labelOf returns the labelled statement if s has a label, and s otherwise: new text goes in front
// of it. Where a goto leads to the label, the text has to run each time, so it follows the label.
func labelOf(p *mutate.Pass, s ast.Stmt) ast.Stmt {
	if l, ok := p.Parent(s).(*ast.LabeledStmt); ok && !facts.JumpedTo(p, l) {
		return l
	}
	return s
}

// byteText writes a byte as a character if it is ASCII, and as a number if not.
func byteText(c int) string {
	if c < 0x80 {
		return quotedByte(byte(c))
	}
	return fmt.Sprintf("0x%02x", c)
}

// literalOf writes an integer of a type.
func literalOf(typ, value string) string {
	if typ == "int" {
		return value
	}
	return typ + "(" + value + ")"
}

// oneLine returns the first line of a text, with dots if there are more.
func oneLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if more {
		line += " ..."
	}
	return line
}

// insertBefore inserts a statement in front of s, above the comment that belongs to s.
func insertBefore(p *mutate.Pass, s ast.Stmt, text string) mutate.Edit {
	at := s.Pos()
	for _, g := range slices.Backward(p.File.Comments) {
		if g.End() < at && p.Fset.Position(g.End()).Line == p.Fset.Position(at).Line-1 && ownLine(p, g.Pos()) {
			at = g.Pos()
			break
		}
	}
	return p.Insert(at, strings.TrimSpace(text)+"\n")
}

// ownLine reports whether only blank space precedes pos on its line.
func ownLine(p *mutate.Pass, pos token.Pos) bool {
	at := p.Offset(pos)
	line := p.Src[strings.LastIndexByte(string(p.Src[:at]), '\n')+1 : at]
	return strings.TrimSpace(string(line)) == ""
}

// withImports adds the imports that the edits' text needs of the given standard packages, and uses
// the names of these imports.
func withImports(p *mutate.Pass, edits []mutate.Edit, paths ...string) []mutate.Edit {
	var out []mutate.Edit
	for _, path := range paths {
		base := path[strings.LastIndexByte(path, '/')+1:]
		// Only packages that the new text names are imported.
		if !slices.ContainsFunc(edits, func(e mutate.Edit) bool { return mentionsPackage(e.New, base) }) {
			continue
		}
		name, imports := p.Import(path)
		out = append(out, imports...)
		for i := range edits {
			// The file may know the package by another name.
			if name != base && mentionsPackage(edits[i].New, base) {
				edits[i].New = renamePackage(edits[i].New, base, name)
			}
		}
	}
	return append(mutate.MergeImports(out), edits...)
}

// mentionsPackage reports whether text uses the package of that name.
func mentionsPackage(text, name string) bool { return renamePackage(text, name, "") != text }

// renamePackage gives a package another name wherever its name stands alone and an exported name
// follows.
func renamePackage(text, from, to string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		exported := i+len(from)+1 < len(text) && text[i+len(from)+1] >= 'A' && text[i+len(from)+1] <= 'Z'
		if exported && strings.HasPrefix(text[i:], from+".") &&
			// A field or a string with that text is no package.
			(i == 0 || !isNameByte(text[i-1]) && text[i-1] != '.' && text[i-1] != '"') {
			out.WriteString(to)
			i += len(from)
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

// isNameByte reports whether a byte can be a part of a name; of a character beyond ASCII each can.
func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// countTo returns the head of a loop that counts an int from 0, in the module's language version.
func countTo(p *mutate.Pass, index, limit string) string {
	if p.GoAtLeast(22) {
		return fmt.Sprintf("for %s := range %s ", index, limit)
	}
	return fmt.Sprintf("for %s := 0; %s < %s; %s++ ", index, index, limit, index)
}

// appendCall writes a call that appends a part to a slice.
func appendCall(p *mutate.Pass, slice string, part ast.Expr) string {
	// A formatted part has a form that appends it without a text of its own.
	if a := formatterOf(p, part); a != nil {
		call := ast.Unparen(part).(*ast.CallExpr)
		form := a.form
		if strings.HasPrefix(form, ".") {
			form = escapeFormat(p.Text(call.Fun.(*ast.SelectorExpr).X)) + form
		}
		return fmt.Sprintf(form, slice, p.Between(call.Args[0].Pos(), call.Rparen))
	}
	if s, ok := constString(p, part); ok && len(s) == 1 && s[0] < 0x80 {
		return fmt.Sprintf("append(%s, %q)", slice, s[0])
	}
	// A conversion to a string is appended without the conversion.
	if call, ok := part.(*ast.CallExpr); ok && len(call.Args) == 1 && p.Info.Types[call.Fun].IsType() {
		switch arg := call.Args[0]; {
		case (isBasic(p, arg, types.Int32) || isBasic(p, arg, types.UntypedRune)) && p.GoAtLeast(18):
			return fmt.Sprintf("utf8.AppendRune(%s, %s)", slice, p.Text(arg))
		case isByteSlice(p, arg):
			part = arg
		}
	}
	return fmt.Sprintf("append(%s, %s...)", slice, p.Text(part))
}

// escapeFormat makes a text safe for a format.
func escapeFormat(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// isASCII reports whether a text has no character beyond ASCII.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// steadyText returns a name for the string that a loop goes through. If the string has no name of
// its own that nothing changes, the edits declare one in front of the loop.
func steadyText(p *mutate.Pass, r *ast.RangeStmt) (name string, edits []mutate.Edit, ok bool) {
	// A local variable that the loop does not assign is such a name.
	if v := p.Var(r.X); v != nil && facts.IsLocal(p, v) && !p.Assigned(v, r) && !facts.Captured.Of(p)[v] {
		return p.Text(r.X), nil, true
	}
	if facts.HasGoto(p, p.FuncOf(r)) {
		return "", nil, false // it may not jump over a declaration
	}
	// A constant needs no name, and an edit needs a list to stand in.
	if _, at := p.Siblings(labelOf(p, r)); at < 0 || p.Info.Types[r.X].Value != nil {
		return "", nil, false
	}
	name = p.Fresh("text", "characters")
	return name, []mutate.Edit{insertBefore(p, labelOf(p, r), name+" := "+p.Text(r.X))}, true
}
