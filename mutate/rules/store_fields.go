package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// storeFields (catalogue A13) matches an assignment of a large struct literal to memory. It stores
// each field where it belongs.
var storeFields = &mutate.Mutator{
	Name: "store-fields",
	Doc: "Store the fields of a large struct in place instead of assigning a literal. The compiler builds such a " +
		"literal on the stack, field by field, and then copies it. Legal because all values are known before the " +
		"first field is stored, and evaluating them changes nothing. A panic may find some fields stored.",
	Example: mutate.Shows(`*r = Reader{src: src, line: 1}`,
		`*r = Reader{} // the fields are stored in place
r.src = src
r.line = 1`),
	Class:   beagle.E1,
	Gain:    1.1,
	Find:    findStoreFields,
	Rewrite: precomputed,
}

// A fieldStore is one field of a literal, with its value.
type fieldStore struct {
	path  string // from the struct: ".Context.Name"
	value ast.Expr
}

// findStoreFields looks for assignments of large literals to what a pointer or an element holds.
func findStoreFields(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		to, from, ok := splitAssign(list[i], token.ASSIGN)
		lit, isLit := ast.Unparen(from).(*ast.CompositeLit)
		// A literal takes a few nanoseconds. Its share is small even where it is worth something.
		if !ok || !isLit || !canDeclare(p, list[i]) {
			continue
		}
		if edits := storeFieldsEdits(p, list[i], to, lit); edits != nil {
			sites = append(sites, site(list[i], p.Text(to), edits...))
		}
	}
	return sites
}

// storeFieldsEdits returns the edits that store the fields of a literal, or nil where that would
// not be the same, or no faster.
func storeFieldsEdits(p *mutate.Pass, s ast.Stmt, to ast.Expr, lit *ast.CompositeLit) []mutate.Edit {
	t := p.Info.TypeOf(to)
	if !types.Identical(t, p.Info.TypeOf(lit)) || elementSize(t) < largeElement || importsAny(p, "unsafe", "C") {
		return nil
	}
	// A literal without values clears the place already, and one of constants is copied from where
	// the program holds it.
	stores, whole, ok := flatten(p, lit, "")
	if !ok || len(stores) == 0 || whole && !slices.ContainsFunc(stores, func(f fieldStore) bool {
		return p.Info.Types[f.value].Value == nil
	}) {
		return nil
	}
	place, bind, ok := storePlace(p, to)
	if !ok {
		return nil
	}
	// Values that a store could change are read before the first one.
	var text, after strings.Builder
	for _, f := range stores {
		value := p.Text(f.value)
		if p.Effects(f.value).Writes {
			return nil
		}
		if !outlasts(p, f.value, to) {
			name := p.Fresh(valueName(f.path), valueName(f.path)+"Now")
			declaration, ok := declare(p, name, f.value)
			if !ok {
				return nil
			}
			text.WriteString(declaration + "\n")
			value = name
		}
		fmt.Fprintf(&after, "\n%s%s = %s", place, f.path, value)
	}
	text.WriteString(bind)
	if whole {
		return []mutate.Edit{p.Replace(s, text.String()+strings.TrimSpace(after.String()))}
	}
	clearing := p.Text(to)
	if bind != "" {
		clearing = "*" + place
	}
	fmt.Fprintf(&text, "%s = %s{} // the fields are stored in place", clearing, p.Text(lit.Type))
	return []mutate.Edit{p.Replace(s, text.String()+after.String())}
}

// valueName makes a name for the value of a field: ".Context.Name" gives contextName.
func valueName(path string) string {
	parts := strings.Split(path[1:], ".")
	for i := range parts {
		parts[i] = upperFirst(parts[i])
	}
	return lowerFirst(strings.Join(parts, ""))
}

// declare writes the declaration of a variable for a value. An operation may get its type from what
// it is assigned to, as the comparison that becomes a bool of another name.
func declare(p *mutate.Pass, name string, value ast.Expr) (text string, ok bool) {
	switch ast.Unparen(value).(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
		typ, ok := facts.TypeText(p, p.Info.TypeOf(value))
		return "var " + name + " " + typ + " = " + p.Text(value), ok
	}
	return name + " := " + p.Text(value), true
}

// flatten lists the fields that a literal gives values, and those of literals inside it. whole says
// that it gives one to each.
func flatten(p *mutate.Pass, lit *ast.CompositeLit, path string) (stores []fieldStore, whole, ok bool) {
	st, ok := p.Info.TypeOf(lit).Underlying().(*types.Struct)
	if !ok {
		return nil, false, false
	}
	whole = len(lit.Elts) == st.NumFields()
	for i, e := range lit.Elts {
		name := st.Field(i).Name()
		if kv, keyed := e.(*ast.KeyValueExpr); keyed {
			name, e = p.Text(kv.Key), kv.Value
		}
		if name == "_" {
			return nil, false, false
		}
		inner, isLit := ast.Unparen(e).(*ast.CompositeLit)
		if isLit && isStruct(p.Info.TypeOf(inner)) && types.Identical(p.Info.TypeOf(inner), fieldType(st, name)) {
			more, all, ok := flatten(p, inner, path+"."+name)
			if !ok {
				return nil, false, false
			}
			stores, whole = append(stores, more...), whole && all
			continue
		}
		stores = append(stores, fieldStore{path + "." + name, e})
	}
	return stores, whole, true
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// fieldType returns the type of a struct's field.
func fieldType(st *types.Struct, name string) types.Type {
	for f := range st.Fields() {
		if f.Name() == name {
			return f.Type()
		}
	}
	return nil
}

// storePlace says how to name a place whose fields are to be stored, one after the other: what a
// local variable points to, a field of it, or an element of a local slice. bind is a statement that
// comes before, or "".
func storePlace(p *mutate.Pass, to ast.Expr) (place, bind string, ok bool) {
	switch e := ast.Unparen(to).(type) {
	case *ast.StarExpr:
		v := p.Var(e.X)
		return p.Text(e.X), "", v != nil && facts.IsLocal(p, v)
	case *ast.SelectorExpr:
		// Fields of the variable itself, or of what it points to, lie at one place.
		v := rootVar(p, e)
		follows, ok := pointersOf(p, e)
		if !ok || !facts.IsLocal(p, v) {
			return "", "", false
		}
		return p.Text(e), "", len(follows) == 0 || len(follows) == 1 && isPointer(v.Type())
	case *ast.IndexExpr:
		v := p.Var(e.X)
		if v == nil || !facts.IsLocal(p, v) || !isSlice(v.Type()) || p.Effects(e.Index).Writes {
			return "", "", false
		}
		place = p.Fresh("at", "into")
		return place, place + " := &" + p.Text(e) + "\n", true
	}
	return "", "", false
}

// pointersOf returns the types of the structs that a path of fields reaches through a pointer, from
// its variable on.
func pointersOf(p *mutate.Pass, e ast.Expr) (structs []types.Type, ok bool) {
	sel, isSel := ast.Unparen(e).(*ast.SelectorExpr)
	if !isSel {
		return nil, p.Var(e) != nil
	}
	s := p.Info.Selections[sel]
	if s == nil || s.Kind() != types.FieldVal {
		return nil, false
	}
	structs, ok = pointersOf(p, sel.X)
	t := s.Recv()
	for _, i := range s.Index() {
		if ptr, isPtr := t.Underlying().(*types.Pointer); isPtr {
			t = ptr.Elem()
			structs = append(structs, t)
		}
		st, isStruct := t.Underlying().(*types.Struct)
		if !isStruct {
			return nil, false
		}
		t = st.Field(i).Type()
	}
	return structs, ok
}

// outlasts reports whether a value is the same, and its evaluation cannot panic otherwise, while
// the fields of a place are stored. It must be read from other memory than the place's.
func outlasts(p *mutate.Pass, e, place ast.Expr) bool {
	e = ast.Unparen(e)
	if tv := p.Info.Types[e]; tv.Value != nil || tv.IsNil() {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		structs, ok := pointersOf(p, e)
		return ok && apart(p, rootVar(p, e), place) && !slices.ContainsFunc(structs, func(t types.Type) bool {
			return mayOverlap(t, p.Info.TypeOf(place))
		})
	case *ast.UnaryExpr:
		return e.Op != token.AND && e.Op != token.ARROW && outlasts(p, e.X, place)
	case *ast.BinaryExpr:
		return (e.Op == token.ADD || e.Op == token.SUB) && outlasts(p, e.X, place) && outlasts(p, e.Y, place)
	}
	return false
}

// apart reports whether a variable is local, and cannot be or hold the memory of a place.
func apart(p *mutate.Pass, v *types.Var, place ast.Expr) bool {
	return facts.IsLocal(p, v) && (v != rootVar(p, place) && !facts.Pointed(p, v) ||
		!holdsType(v.Type(), p.Info.TypeOf(place)))
}

// mayOverlap reports whether values of two types may share memory: the one may be a part of the
// other. A pointer may be converted to one to a type of the same structure.
func mayOverlap(a, b types.Type) bool { return holdsType(a, b) || holdsType(b, a) }

// holdsType reports whether a value of a type may have one of another inside it.
func holdsType(t, part types.Type) bool {
	if types.IdenticalIgnoreTags(t.Underlying(), part.Underlying()) {
		return true
	}
	if _, generic := types.Unalias(t).(*types.TypeParam); generic {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holdsType(u.Elem(), part)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsType(f.Type(), part) {
				return true
			}
		}
	}
	return false
}
