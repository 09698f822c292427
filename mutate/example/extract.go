package example

import (
	"errors"
	"go/ast"
	"go/token"
	"strconv"
)

// literalsOf returns the literals of the rule's pairs.
func literalsOf(f *ast.File, r *Rule) ([]*ast.CompositeLit, error) {
	var out []*ast.CompositeLit
	found := false
	// The rule's literal is the one with its name. It has a list of literals for the pairs.
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || found {
			return !found
		}
		name, _ := field(lit, "Name").(*ast.BasicLit)
		if name == nil || name.Value != strconv.Quote(r.Name) {
			return true
		}
		found = true
		if pairs, ok := field(lit, "Pairs").(*ast.CompositeLit); ok {
			for _, e := range pairs.Elts {
				if p, ok := e.(*ast.CompositeLit); ok {
					out = append(out, p)
				}
			}
		}
		return false
	})
	if !found || len(out) != len(r.Pairs) || len(out) == 0 {
		return nil, errors.New("the source does not hold the rule's literal with its Pairs")
	}
	return out, nil
}

func field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// keptDecls returns the declarations that examples may use: imports, types and constants.
func keptDecls(f *ast.File) []ast.Decl {
	var out []ast.Decl
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			out = append(out, g)
		}
	}
	return out
}

// An extract collects the functions of the pairs as declarations with names of their own.
type extract struct {
	file  *ast.File
	decls []ast.Decl
	funcs []*ast.FuncDecl
	named map[string]*ast.FuncDecl // declared functions, which several pairs may name
}

// pair takes the functions of a pair: Before, After, the further ways, and the conditions. read
// takes them back in the same order.
func (x *extract) pair(p *Pair, lit *ast.CompositeLit) error {
	// A way is a choice and its After, by names or in order.
	values := []ast.Expr{field(lit, "Before"), field(lit, "After")}
	if also, ok := field(lit, "Also").(*ast.CompositeLit); ok {
		for _, e := range also.Elts {
			way, ok := e.(*ast.CompositeLit)
			if !ok {
				return errors.New("an element of Also is not a literal")
			}
			after := field(way, "After")
			if after == nil && len(way.Elts) == 2 {
				after = way.Elts[1]
			}
			values = append(values, after)
		}
	}
	if len(values) != 2+len(p.Also) {
		return errors.New("the field Also is not a literal")
	}
	// A condition is there exactly if the value has one.
	if p.When != nil {
		values = append(values, field(lit, "When"))
	}
	if p.Given != nil {
		values = append(values, field(lit, "Given"))
	}
	for _, v := range values {
		if err := x.add(v); err != nil {
			return err
		}
	}
	return nil
}

// add takes a function literal, or the name of a declared function, perhaps instantiated.
func (x *extract) add(v ast.Expr) error {
	// Every function becomes a declaration with a name of its own, so that one file can hold them
	// all.
	fn := &ast.FuncDecl{Name: ast.NewIdent("example" + strconv.Itoa(len(x.funcs)))}
	switch e := v.(type) {
	case *ast.FuncLit:
		fn.Type, fn.Body = e.Type, e.Body
	case *ast.IndexExpr:
		return x.add(e.X)
	case *ast.IndexListExpr:
		return x.add(e.X)
	// A declared function is taken once. Its type arguments are found again by the checker.
	case *ast.Ident:
		if old := x.named[e.Name]; old != nil {
			x.funcs = append(x.funcs, old)
			return nil
		}
		x.named[e.Name] = fn
		for _, d := range x.file.Decls {
			if old, ok := d.(*ast.FuncDecl); ok && old.Name.Name == e.Name {
				fn.Type, fn.Body = old.Type, old.Body
			}
		}
	}
	if fn.Body == nil {
		return errors.New("a function is neither a literal nor declared in this file")
	}
	x.funcs = append(x.funcs, fn)
	x.decls = append(x.decls, fn)
	return nil
}
