package source

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Conditions holds the contract of the target's calls, as its comment and the options state it.
type Conditions struct {
	Requires *Predicate // the condition of Target.Contract; nil for none

	terms map[string][]string // of a group, those that the options state, by function

	target *beagle.Target
	sig    *types.Signature // the target's
	opts   *Options
	pkg    *Package
	scope  *Scope
}

// The directives above a target that state its contract.
const (
	requiresDirective = "//beagle:requires"
	ignoreDirective   = "//beagle:ignore"
)

// A Predicate is a condition over the target's parameters and receiver.
type Predicate struct {
	Text string // canonical Go

	params []paramUse  // in order of place
	quals  []qualifier // package names, in order of place
}

// A paramUse is the place of a parameter's name in a predicate.
type paramUse struct{ at, param, size int }

// Imports returns the paths of the packages that the predicate names.
func (p *Predicate) Imports() []string {
	var out []string
	for _, q := range p.quals {
		if !slices.Contains(out, q.path) {
			out = append(out, q.path)
		}
	}
	return out
}

// Render writes the predicate for another place. params are the parameters' names there, and
// qualify gives the packages' names.
func (p *Predicate) Render(params []beagle.Param, qualify func(path, name string) string) string {
	var edits []syntax.Edit
	for _, n := range p.params {
		edits = append(edits, syntax.Edit{Start: n.at, End: n.at + n.size, New: params[n.param].Name})
	}
	for _, q := range p.quals {
		edits = append(edits, syntax.Edit{Start: q.at, End: q.at + len(q.name), New: qualify(q.path, q.name)})
	}
	inorder.By(edits, func(a, b syntax.Edit) int { return a.Start - b.Start })
	return syntax.Apply(p.Text, edits)
}

// And joins conditions; an empty one says nothing.
func And(exprs ...string) string {
	var parts []string
	for _, e := range exprs {
		if e = strings.TrimSpace(e); e != "" && !slices.Contains(parts, e) {
			parts = append(parts, e)
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	// Without parentheses, an or would take its neighbours apart.
	for i, part := range parts {
		if x, err := parser.ParseExpr(part); err == nil {
			if b, ok := x.(*ast.BinaryExpr); ok && b.Op == token.LOR {
				parts[i] = "(" + part + ")"
			}
		}
	}
	return strings.Join(parts, " && ")
}

// readDemands reads the demands of the target's comment and of the options. For a group see
// readGroup.
func (c *Conditions) readDemands() (err error) {
	// A group has no single function whose parameters could be spoken of.
	if c.scope.group != nil && c.opts.Entry == "" {
		c.target.Contract.Ignore, err = Ignores(c.opts.Ignore)
		return err
	}
	exprs, ignore := demands(c.scope.target)
	exprs = append(exprs, c.demanded()...)
	if c.Requires, err = c.conditions(c.formals(), exprs); err != nil {
		return err
	}
	if c.Requires != nil {
		c.target.Contract.Requires = c.Requires.Text
	}
	c.target.Contract.Ignore, err = Ignores(append(ignore, c.opts.Ignore...))
	return err
}

// demands returns the conditions in the comment above a function, and the differences to ignore.
func demands(p *piece) (exprs, ignore []string) {
	doc := p.decl.(*ast.FuncDecl).Doc
	if doc == nil {
		return nil, nil
	}
	// Each line of the comment is a directive of its own.
	for _, line := range doc.List {
		if rest, ok := directive(line.Text, requiresDirective); ok {
			exprs = append(exprs, rest)
		}
		if rest, ok := directive(line.Text, ignoreDirective); ok {
			ignore = append(ignore, list(rest)...)
		}
	}
	return exprs, ignore
}

// conditions joins conditions on the calls of one function; nil for none.
func (c *Conditions) conditions(f *formals, exprs []string) (*Predicate, error) {
	for _, e := range exprs { // each alone, so that an error shows what was written and no more
		if strings.TrimSpace(e) == "" {
			continue
		}
		if _, err := c.condition(f, e); err != nil {
			return nil, err
		}
	}
	// Joined, they may still not fit, as with one name for two packages.
	all := And(exprs...)
	if all == "" {
		return nil, nil
	}
	return c.condition(f, all)
}

// directive returns the rest of a line after a directive's name.
func directive(line, name string) (string, bool) {
	rest, ok := strings.CutPrefix(line, name)
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// Ignores checks a list of differences to ignore and puts it in order.
func Ignores(kinds []string) ([]string, error) {
	var out []string
	for _, kind := range kinds {
		if !slices.Contains(beagle.Ignorable, kind) {
			return nil, &beagle.UsageError{What: fmt.Sprintf("a contract cannot ignore %q", kind),
				Remedy: "give any of " + strings.Join(beagle.Ignorable, ", ") + ": see docs/contracts.md"}
		}
	}
	// In the order of the list, whatever order they were given in.
	for _, kind := range beagle.Ignorable {
		if slices.Contains(kinds, kind) {
			out = append(out, kind)
		}
	}
	return out, nil
}

// formals are the receiver and the parameters of a function, as conditions name them.
type formals struct {
	spec   string // of the function
	params []beagle.Param
	vars   []*types.Var
	file   *srcFile
}

// formals returns the receiver and the parameters of the target.
func (c *Conditions) formals() *formals {
	return &formals{c.target.Spec(), c.target.Params, variables(c.sig), c.scope.target.file}
}

// formalsOf returns the receiver and the parameters of a function of a group.
func (c *Conditions) formalsOf(p *piece) *formals {
	sig := c.pkg.info.Defs[p.names[0]].(*types.Func).Signature()
	return &formals{c.target.PkgPath + "." + p.key(), c.pkg.params(sig), variables(sig), p.file}
}

// Predicate reads a condition over the target's parameters. Its error is a *beagle.UsageError
// that names the offending place.
func (c *Conditions) Predicate(text string) (*Predicate, error) {
	return c.condition(c.formals(), text)
}

// condition reads a condition on any function of the package, as [Conditions.Predicate] does.
func (c *Conditions) condition(f *formals, text string) (*Predicate, error) {
	text = strings.TrimSpace(text)
	// bad words an error with its column.
	bad := func(column int, what, remedy string) error {
		at := ""
		if column > 0 {
			at = fmt.Sprintf(" at column %d", column)
		}
		return &beagle.UsageError{
			What:   fmt.Sprintf("the contract %q of %s%s: %s", text, f.spec, at, what),
			Remedy: remedy,
		}
	}
	// Parse one line of one expression.
	if strings.ContainsAny(text, "\r\n") || commented(text) {
		return nil,
			bad(0, "it has a comment or more than one line",
				"write it on one line; several lines that begin with "+requiresDirective+" all count")
	}
	if canonical, err := format.Source([]byte(text)); err == nil && !strings.Contains(string(canonical), "\n") {
		text = string(canonical)
	}
	fset := token.NewFileSet()
	expr, err := parser.ParseExprFrom(fset, "", text, 0)
	if err != nil {
		var list scanner.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			return nil, bad(list[0].Pos.Column, list[0].Msg, contractRemedy)
		}
		return nil, bad(0, err.Error(), contractRemedy)
	}
	// Type-check it in a scope with the parameters.
	info := newInfo(nil)
	scope, err := c.contractScope(f, expr)
	if err != nil {
		return nil, bad(0, err.Error(), contractRemedy)
	}
	if err := types.CheckExpr(fset, scope, token.NoPos, expr, info); err != nil {
		var te types.Error
		if errors.As(err, &te) {
			return nil,
				bad(fset.Position(te.Pos).Column, te.Msg,
					"it may name "+f.names()+", the package's constants and functions, and the standard library")
		}
		return nil, bad(0, err.Error(), contractRemedy)
	}
	// It must depend on the inputs, be a bool, and change nothing.
	tv := info.Types[expr]
	switch {
	case tv.Value != nil:
		return nil,
			bad(0, "it is "+tv.Value.String()+" whatever the inputs are", "name a parameter: "+f.names())
	case !types.Identical(types.Default(tv.Type), types.Typ[types.Bool]):
		return nil, bad(0, fmt.Sprintf("it is of type %s, not bool", tv.Type), contractRemedy)
	}
	if at, why := c.pkg.impure(expr, info); why != "" {
		return nil,
			bad(fset.Position(at).Column, why, "a contract is evaluated on every input and may change nothing: "+
				"use operators, len, cap, and functions that only compute")
	}
	p := f.predicate(text, fset, expr, info)
	if len(p.params) == 0 { // a variable of the package decides, say, and leaves out all calls or none
		return nil, bad(0, "it does not depend on the inputs", "name a parameter: "+f.names())
	}
	return p, nil
}

// commented reports whether a text has a Go comment.
func commented(text string) bool {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(text)), []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	for {
		switch _, tok, _ := s.Scan(); tok {
		case token.COMMENT:
			return true
		case token.EOF:
			return false
		}
	}
}

const contractRemedy = "write a Go condition over the parameters, such as n >= 0 && len(s) < 1<<16"

func (f *formals) names() string {
	var names []string
	for _, p := range f.params {
		names = append(names, p.Name)
	}
	return orList(names)
}

// contractScope returns a package that declares the parameters, the names of the target's package
// and of its file's imports, and the standard packages that the expression names.
func (c *Conditions) contractScope(f *formals, expr ast.Expr) (*types.Package, error) {
	// Names of the parameters come first, and so hide those of the package.
	q := types.NewPackage(c.pkg.Types.Path(), c.pkg.Types.Name())
	for i, v := range f.vars {
		q.Scope().Insert(types.NewVar(token.NoPos, q, f.params[i].Name, v.Type()))
	}
	for _, name := range c.pkg.Types.Scope().Names() {
		q.Scope().Insert(c.pkg.Types.Scope().Lookup(name))
	}
	// Imports of the target's file have the names that they have there.
	imports := map[string]string{}
	for _, s := range f.file.ast.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		name, _ := c.pkg.packageName(path)
		if s.Name != nil {
			name = s.Name.Name
		}
		imports[name] = path
	}
	// A qualifier that is no import may be a package of the library.
	var failed error
	ast.Inspect(expr, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := s.X.(*ast.Ident)
		if !ok || q.Scope().Lookup(id.Name) != nil {
			return true
		}
		path := imports[id.Name]
		if path == "" {
			path = stdNames[id.Name]
		}
		if path == "" {
			return true // the type check reports the error
		}
		p, err := c.pkg.exports.Import(path)
		if err != nil {
			failed = err
			return true
		}
		q.Scope().Insert(types.NewPkgName(token.NoPos, q, id.Name, p))
		return true
	})
	return q, failed
}

// predicate notes where a checked expression names parameters and packages.
func (f *formals) predicate(text string, fset *token.FileSet, expr ast.Expr, info *types.Info) *Predicate {
	p := &Predicate{Text: text}
	ast.Inspect(expr, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		at := fset.Position(id.Pos()).Offset
		// Names that the text may have to be given otherwise elsewhere: packages and parameters.
		switch obj := info.Uses[id].(type) {
		case *types.PkgName:
			p.quals = append(p.quals, qualifier{at, id.Name, obj.Imported().Path()})
		case *types.Var:
			i := slices.IndexFunc(f.params, func(q beagle.Param) bool { return q.Name == id.Name })
			// A field may be named as a parameter is.
			if i >= 0 && !obj.IsField() {
				p.params = append(p.params, paramUse{at, i, len(id.Name)})
			}
		}
		return true
	})
	return p
}

// stated returns the demands of the options on a function as lines of a comment.
func (c *Conditions) stated(p *piece) (lines []string) {
	if p.kind != "func" || c.scope.group == nil && p != c.scope.target {
		return nil
	}
	// The options speak of the target, or of the functions of a group by name.
	exprs := []string{c.opts.Requires}
	if c.scope.group != nil {
		if c.scope.unrecorded(p) != "" {
			return nil // nothing leaves out a call of it
		}
		exprs = c.terms[p.key()]
	}
	f := c.formals()
	if p != c.scope.target {
		f = c.formalsOf(p)
	}
	// A condition is written as it was understood.
	for _, e := range exprs {
		if e = strings.TrimSpace(e); e == "" {
			continue
		}
		if read, err := c.condition(f, e); err == nil {
			e = read.Text
		}
		lines = append(lines, requiresDirective+" "+e)
	}
	if len(c.opts.Ignore) > 0 {
		lines = append(lines, ignoreDirective+" "+strings.Join(c.opts.Ignore, ","))
	}
	return lines
}

// Stated writes the demands of the options above the functions of a version, so that a patch names
// its contract. Demands in the functions' own comments stay.
func (c *Conditions) Stated(src string) string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, candidateName, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return src
	}
	// Each function gets the lines that its comment lacks.
	var edits []syntax.Edit
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		p := c.pkg.function(declKeys(fn)[0])
		if p == nil {
			continue
		}
		at, doc := fset.Position(fn.Type.Func).Offset, commentText(fn.Doc)
		above := ""
		if doc == "" { // a patch keeps the user's own comment only where a version has none
			doc = strings.ReplaceAll(p.doc(), "\r", "")
			above = doc
		}
		if more := missingDirectives(doc, c.stated(p)); more != "" {
			edits = append(edits, syntax.Edit{Start: at, End: at, New: above + more})
		}
	}
	return syntax.Apply(src, edits)
}

// missingDirectives returns the directives as lines to append to a comment that lacks them; "" for
// none.
func missingDirectives(doc string, lines []string) string {
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(doc, l+"\n") })
	if len(lines) == 0 {
		return ""
	}
	text := strings.Join(lines, "\n") + "\n"
	if doc != "" && !strings.Contains(doc, "//beagle:") {
		text = "//\n" + text
	}
	return text
}
