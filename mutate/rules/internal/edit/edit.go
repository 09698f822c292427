package edit

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file writes the pieces of text of which the edits of several rules consist.

// CanHelp reports whether helpers can be declared. The names of the language must keep their
// meaning. The package that helpers call must not have the name of a variable in a helper.
func CanHelp(p *mutate.Pass, pkg string) bool {
	for _, name := range []string{"bool", "byte", "false", "len", "rune", "string", "true", "uint", "uint64"} {
		if p.Pkg.Scope().Lookup(name) != nil {
			return false
		}
	}
	return len(pkg) > 2 &&
		!slices.Contains([]string{"each", "found", "head", "low", "rest", "sep", "tail", "tops", "whole"}, pkg)
}

// nowhereElse reports whether the package declares a name only once, so that it means the same in
// all functions.
func nowhereElse(p *mutate.Pass, name string) bool {
	for id, obj := range p.Info.Defs {
		if id.Name == name && (obj == nil || obj.Parent() != nil && obj != p.Pkg.Scope().Lookup(name)) {
			return false // fields and methods have no scope
		}
	}
	return true
}

// Parameters writes each parameter with its type, and the names alone.
func Parameters(p *mutate.Pass, fn *ast.FuncDecl) (params, args string) {
	var full, names []string
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			full = append(full, id.Name+" "+p.Text(f.Type))
			names = append(names, id.Name)
		}
	}
	return strings.Join(full, ", "), strings.Join(names, ", ")
}

// LabelOf returns the labelled statement if s has a label, and s otherwise: new text goes in front
// of it. Where a goto leads to the label, the text has to run each time, so it follows the label.
func LabelOf(p *mutate.Pass, s ast.Stmt) ast.Stmt {
	if l, ok := p.Parent(s).(*ast.LabeledStmt); ok && !facts.JumpedTo(p, l) {
		return l
	}
	return s
}

// ByteText writes a byte as a character if it is ASCII, and as a number if not.
func ByteText(c int) string {
	if c < 0x80 {
		return QuotedByte(byte(c))
	}
	return fmt.Sprintf("0x%02x", c)
}

// LiteralOf writes an integer of a type.
func LiteralOf(typ, value string) string {
	if typ == "int" {
		return value
	}
	return typ + "(" + value + ")"
}

// OneLine returns the first line of a text, with dots if there are more.
func OneLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if more {
		line += " ..."
	}
	return line
}

// InsertBefore inserts a statement in front of s, above the comment that belongs to s.
func InsertBefore(p *mutate.Pass, s ast.Stmt, text string) mutate.Edit {
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

// WithImports adds the imports that the edits' text needs of the given standard packages, and uses
// the names of these imports.
func WithImports(p *mutate.Pass, edits []mutate.Edit, paths ...string) []mutate.Edit {
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
				edits[i].New = RenamePackage(edits[i].New, base, name)
			}
		}
	}
	return append(mutate.MergeImports(out), edits...)
}

// mentionsPackage reports whether text uses the package of that name.
func mentionsPackage(text, name string) bool { return RenamePackage(text, name, "") != text }

// RenamePackage gives a package another name wherever its name stands alone and an exported name
// follows.
func RenamePackage(text, from, to string) string {
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

// CountTo returns the head of a loop that counts an int from 0, in the module's language version.
func CountTo(p *mutate.Pass, index, limit string) string {
	if p.GoAtLeast(22) {
		return fmt.Sprintf("for %s := range %s ", index, limit)
	}
	return fmt.Sprintf("for %s := 0; %s < %s; %s++ ", index, index, limit, index)
}

// EscapeFormat makes a text safe for a format.
func EscapeFormat(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// IsASCII reports whether a text has no character beyond ASCII.
func IsASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// Precomputed is the Rewrite of rules without a choice: Find has prepared the edits.
func Precomputed(_ *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	return s.Data.([]mutate.Edit), nil
}

// Site returns a place with its edits.
//
//go:noinline
func Site(n ast.Node, label string, edits ...mutate.Edit) mutate.Site {
	return mutate.Site{Node: n, Label: label, Data: edits}
}

// SitesOf returns the Find of a rule that applies at each node in which parse recognises something.
func SitesOf[N ast.Node, S any](
	parse func(*mutate.Pass, N) *S, label func(*mutate.Pass, *S) string,
) func(*mutate.Pass) []mutate.Site {
	return func(p *mutate.Pass) []mutate.Site {
		var sites []mutate.Site
		for _, n := range mutate.Nodes[N](p, nil) {
			if s := parse(p, n); s != nil {
				sites = append(sites, mutate.Site{Node: n, Label: label(p, s), Data: s})
			}
		}
		return sites
	}
}

// Redeclare puts statements in place of a declaration. Where it is one of several, they go after
// all.
func Redeclare(p *mutate.Pass, d facts.Declaration, text string) []mutate.Edit {
	if d.Spec != nil {
		return []mutate.Edit{p.Replace(d.Spec, ""), p.Insert(d.Stmt.End(), "\n"+text)}
	}
	return []mutate.Edit{p.Replace(d.Stmt, text)}
}

// OutermostOnly drops edits that lie within another edit, such as x within (x).
func OutermostOnly(edits []mutate.Edit) []mutate.Edit {
	var out []mutate.Edit
	for i, e := range edits {
		covered := slices.ContainsFunc(edits[:i], func(o mutate.Edit) bool {
			return o.Start <= e.Start && e.End <= o.End && o.Start < o.End
		})
		if !covered {
			out = append(out, e)
		}
	}
	return out
}
