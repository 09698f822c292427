package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// elementPointer (catalogue L5 for one element) matches a variable that takes a copy of an element
// and of which code reads parts. It keeps the element's address instead.
var elementPointer = &mutate.Mutator{
	Name: "element-pointer",
	Doc: "Look at an element where it is instead of copying it into a variable, when it does not fit registers and " +
		"only parts of it are read. Legal because nothing that runs while the variable lives changes memory, and " +
		"the variable stays as it is.",
	Example: mutate.Shows(`entry := table[middle]
if r < entry.first {`,
		`entry := &table[middle] // not copied
if r < entry.first {`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findElementPointers,
	Rewrite: precomputed,
}

// findElementPointers looks for variables that hold a copy of an element, in code that runs often.
// The statements after the copy decide whether a pointer will do.
func findElementPointers(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list := range p.Lists() {
		for i, s := range list {
			d, ok := facts.Declares(p, s)
			// A copy costs little where it is made once.
			if !ok || p.FuncOf(s) == nil || !takesTime(p, s) {
				continue
			}
			if edits := elementEdits(p, d, list[i+1:]); edits != nil {
				sites = append(sites, site(s, "copy in "+d.Var.Name(), edits...))
			}
		}
	}
	return sites
}

// elementEdits rewrites a declaration and the uses in the statements after it.
func elementEdits(p *mutate.Pass, d facts.Declaration, rest []ast.Stmt) []mutate.Edit {
	// Only a short declaration has no type that would have to become a pointer.
	if _, short := d.Stmt.(*ast.AssignStmt); !short {
		return nil
	}
	// A value in registers is cheap to copy. A pointer to the element is as good as the copy only
	// if nobody changes the copy.
	ix, ok := d.Value.(*ast.IndexExpr)
	if !ok || inRegisters(d.Var.Type()) || facts.Captured.Of(p)[d.Var] || p.Assigned(d.Var, p.FuncOf(d.Stmt)) {
		return nil
	}
	// An element of a map has no address.
	if _, slice := p.Info.TypeOf(ix.X).Underlying().(*types.Slice); !slice {
		return nil
	}
	// As long as the name lives nothing may write elements of this type or replace the slice: the
	// copy would not have noticed.
	for _, s := range rest {
		if !changesOnlyLocals(p, s, p.Var(ix.X)) || changesWhole(p, s) {
			return nil
		}
	}
	// A field is reached through a pointer as before. An index of a generic type, and a use of the
	// whole value, need the star.
	_, generic := types.Unalias(d.Var.Type()).(*types.TypeParam)
	parts := 0
	edits := []mutate.Edit{p.Replace(ix, "&"+p.Text(ix))}
	for _, id := range p.Uses(d.Var, p.FuncOf(d.Stmt)) {
		switch up := p.Parent(id).(type) {
		case *ast.SelectorExpr:
			parts++
			continue
		case *ast.IndexExpr:
			if up.X == ast.Expr(id) {
				parts++
				if generic {
					edits = append(edits, p.Replace(id, "(*"+id.Name+")"))
				}
				continue
			}
		}
		edits = append(edits, p.Replace(id, "*"+id.Name))
	}
	// Where only the whole value is used, it is copied at its first use anyway.
	if parts == 0 {
		return nil
	}
	return edits
}

// changesOnlyLocals reports whether code changes nothing but local variables, elements of maps,
// which no address reaches, and slices of the function's own, apart from one.
func changesOnlyLocals(p *mutate.Pass, code ast.Node, elements *types.Var) bool {
	owned := func(v *types.Var) bool { return v != elements && facts.Owns(p, v) }
	return facts.ChangesOnly(p, code, func(l ast.Expr) bool {
		ix, ok := ast.Unparen(l).(*ast.IndexExpr)
		return facts.MapElement(p, l) || ok && owned(p.Var(ix.X))
	}, func(call *ast.CallExpr) bool {
		_, more := p.IsBuiltin(call, "append")
		return more && owned(p.Var(call.Args[0]))
	})
}

// changesWhole reports whether code gives a variable that holds an array or a struct another value.
// A slice may share the variable's memory.
func changesWhole(p *mutate.Pass, code ast.Node) bool {
	// whole reports whether e names a value; a pointer to it would see its parts change.
	whole := func(e ast.Expr) bool {
		if identOf(e) == nil || isBlank(e) {
			return false
		}
		switch p.Info.TypeOf(e).Underlying().(type) {
		case *types.Array, *types.Struct, *types.Interface: // and type parameters
			return true
		}
		return false
	}
	// A definition makes a new variable, which nobody points to.
	for n := range mutate.Nodes[ast.Stmt](p, code) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if p.Info.Defs[identOf(l)] == nil && whole(l) {
					return true
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN && (whole(n.Key) || whole(n.Value)) {
				return true
			}
		}
	}
	return false
}

// inRegisters reports whether the compiler may keep a value of a type in registers, so that a copy
// costs nothing: up to four words, in at most four fields, without arrays of several elements.
func inRegisters(t types.Type) bool {
	const word, most = 8, 4
	// A type parameter counts as small, unless its constraint says otherwise.
	if param, ok := types.Unalias(t).(*types.TypeParam); ok {
		return !constrainedToLarge(param)
	}
	// The size of a type that holds a type parameter is unknown: it counts as small, too.
	if mentionsTypeParam(t) {
		return true
	}
	if types.SizesFor("gc", "amd64").Sizeof(t) > word*most {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Array:
		return t.Len() == 0 || t.Len() == 1 && inRegisters(t.Elem())
	case *types.Struct:
		if t.NumFields() > most {
			return false
		}
		for f := range t.Fields() {
			if !inRegisters(f.Type()) {
				return false
			}
		}
	}
	return true
}

// constrainedToLarge reports whether all types that a type parameter may stand for are listed, and
// none fits registers.
func constrainedToLarge(param *types.TypeParam) bool {
	// Without a list of types, any type may come.
	constraint, ok := param.Constraint().Underlying().(*types.Interface)
	if !ok || constraint.NumEmbeddeds() != 1 {
		return false
	}
	union, ok := constraint.EmbeddedType(0).(*types.Union)
	if !ok {
		return false
	}
	for term := range union.Terms() {
		// An interface in the list is no list of types, and a small type is cheap to copy.
		if _, named := term.Type().Underlying().(*types.Interface); named || inRegisters(term.Type()) {
			return false
		}
	}
	return union.Len() > 0
}
