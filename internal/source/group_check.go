package source

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// This file holds what a version of a group must leave as it is: what others see of it.

// checkRest returns the problem of a version of a group that breaks the rest of the package. It
// returns nil if the error comes from the bodies that the check leaves out.
func (r *Reader) checkRest(f *File, err types.Error) *Problem {
	if r.scope.group == nil || err.Soft {
		return nil
	}
	for _, d := range r.scope.group.keptDecls {
		if d.Pos() <= err.Pos && err.Pos <= d.End() {
			at := r.pkg.fset.Position(err.Pos)
			return &Problem{"scope", fmt.Sprintf("the rest of the package no longer compiles: %s:%d: %s",
				filepath.Base(at.Filename), at.Line, err.Msg), 0}
		}
	}
	return nil
}

// missingDeclarations names the declarations that a version of a group must have and that the file
// lacks; "" for none.
func (sc *Scope) missingDeclarations(f *ast.File) string {
	there := map[string]bool{}
	for _, d := range f.Decls {
		for _, key := range declKeys(d) {
			there[key] = true
		}
	}
	// In order, so that the same one is named each time.
	for _, key := range inorder.Keys(sc.group.held) {
		if !there[key] {
			return key
		}
	}
	return ""
}

// declKeys returns the names that a declaration gives, methods as T.M.
func declKeys(d ast.Decl) (out []string) {
	switch d := d.(type) {
	// A method belongs to its type by name.
	case *ast.FuncDecl:
		if recv := syntax.Receiver(d); recv != "" {
			return []string{recv + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					out = append(out, id.Name)
				}
			}
		}
	}
	return out
}

// memberOf reports whether a function belongs to the scope of a group.
func (sc *Scope) memberOf(key string) bool {
	return sc.group != nil && slices.ContainsFunc(sc.pieces, func(p *piece) bool {
		return p.kind == "func" && p.key() == key
	})
}

// documented reports whether a piece of a group is part of the package's API: its comment stays.
func (sc *Scope) documented(p *piece) bool {
	return sc.group != nil && (p.kind == "func" || p.kind == "type") && p.names[0].IsExported()
}

// checkGroup compares the visible parts of a group with the original: signatures, methods, exported
// fields, and the operations on values of its types.
func (r *Reader) checkGroup(f *File) *Problem {
	// The functions that others call keep their signatures.
	for _, p := range r.scope.pieces {
		if p.kind != "func" || !r.scope.group.held[p.key()] {
			continue
		}
		was, now := signatureKey(r.pkg.info.Defs[p.names[0]]), ""
		at := f.Func.Pos()
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && slices.Contains(declKeys(d), p.key()) {
				now, at = signatureKey(f.Info.Defs[fn.Name]), fn.Pos()
			}
		}
		if now != was {
			return f.problem("scope", at, "the signature of %s changed: %s, was %s", p.key(), now, was)
		}
	}
	// The types of the group keep all that others can see of them.
	for _, name := range inorder.Keys(r.scope.group.types) {
		obj, ok := f.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue // nothing else uses it: see missing
		}
		if err := r.pkg.sameType(r.pkg.Types.Scope().Lookup(name).(*types.TypeName), obj); err != nil {
			return f.problem("scope", obj.Pos(), "%v", err)
		}
	}
	return nil
}

// sameType compares the visible parts of a type with the original.
func (pkg *Package) sameType(was, now *types.TypeName) error {
	name := was.Name()
	// Names, type parameters and the kind of type come first, and then fields and methods.
	if a, b := typeHead(was), typeHead(now); a != b {
		return fmt.Errorf("the declaration of %s changed: %s, was %s", name, b, a)
	}
	s, ok := now.Type().Underlying().(*types.Struct)
	if !ok {
		return fmt.Errorf("%s is no longer a struct", name)
	}
	old := was.Type().Underlying().(*types.Struct)
	if a, b := visible(old), visible(s); a != b {
		return fmt.Errorf("the exported fields of %s changed: %s, was %s", name, brackets(b), brackets(a))
	}
	for _, ptr := range []bool{false, true} {
		if a, b := methodSet(was, ptr), methodSet(now, ptr); a != b {
			return fmt.Errorf("the exported methods of %s changed: %s, was %s", name, brackets(b), brackets(a))
		}
	}
	// Somebody may compare values, or use them as keys.
	if types.Comparable(was.Type()) && !types.Comparable(now.Type()) && pkg.handedOut(was) {
		return fmt.Errorf("values of %s are no longer comparable", name)
	}
	// A field that points somewhere makes copies share memory.
	if sharing(was.Type(), map[types.Type]bool{}) == "" {
		if by := sharing(now.Type(), map[types.Type]bool{}); by != "" {
			return fmt.Errorf("a copy of a %s had memory of its own, and now shares the memory behind %s", name, by)
		}
	}
	return nil
}

// handedOut reports whether other packages get values of a type, beside pointers. They may compare
// those values.
func (pkg *Package) handedOut(t *types.TypeName) bool {
	if !t.Exported() {
		return false
	}
	// byValue looks for values of the type among what a function takes and returns.
	byValue := func(sig *types.Signature) bool {
		for _, list := range []*types.Tuple{sig.Params(), sig.Results()} {
			for v := range list.Variables() {
				if holdsValue(v.Type(), t, false) {
					return true
				}
			}
		}
		return sig.Recv() != nil && holdsValue(sig.Recv().Type(), t, false)
	}
	// Exported functions, variables and fields are where other packages get values.
	for _, obj := range pkg.info.Defs {
		if obj == nil || !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Func:
			if byValue(obj.Signature()) {
				return true
			}
		case *types.Var:
			if (obj.IsField() || obj.Parent() == pkg.Types.Scope()) && holdsValue(obj.Type(), t, false) {
				return true
			}
		}
	}
	return false
}

func brackets(list string) string { return "[" + list + "]" }

// typeHead returns a type's name with its parameters, and whether it is an alias.
func typeHead(t *types.TypeName) string {
	var parts []string
	if n, ok := t.Type().(*types.Named); ok {
		for p := range n.TypeParams().TypeParams() {
			parts = append(parts, p.Obj().Name()+" "+types.TypeString(p.Constraint(), (*types.Package).Path))
		}
	}
	return fmt.Sprintf("%s[%s] alias=%v", t.Name(), strings.Join(parts, ", "), t.IsAlias())
}

// visible lists the exported fields of a struct, in order, with their types and tags, and those
// that embedded fields bring along.
func visible(s *types.Struct) string { return strings.Join(visibleFields(s, nil), "; ") }

// visibleFields lists the exported fields of a struct, those of embedded structs included. around
// holds the structs on the way, which may embed themselves.
func visibleFields(s *types.Struct, around []types.Type) (out []string) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if f.Exported() {
			out = append(out, fmt.Sprintf("%s %s %q %v", f.Name(), types.TypeString(f.Type(), (*types.Package).Path),
				s.Tag(i), f.Embedded()))
			continue
		}
		// An embedded struct shows its exported fields, even where its own name is hidden.
		t := syntax.Pointee(f.Type())
		if below, ok := t.Underlying().(*types.Struct); ok && f.Embedded() && !slices.Contains(around, t) {
			out = append(out, visibleFields(below, append(slices.Clip(around), t))...)
		}
	}
	return out
}

// methodSet lists the exported methods of a type, or of pointers to it, with those that embedded
// fields bring along.
func methodSet(t *types.TypeName, ptr bool) string {
	// Pointers have the methods of both kinds of receivers.
	typ := t.Type()
	if ptr {
		typ = types.NewPointer(typ)
	}
	set := types.NewMethodSet(typ)
	var out []string
	for m := range set.Methods() {
		if fn, ok := m.Obj().(*types.Func); ok && fn.Exported() {
			out = append(out, fn.Name()+unnamed(fn, qualifyOthers(t.Pkg())))
		}
	}
	return strings.Join(out, "; ")
}

// sharing names the field by which a copy of a value shares memory that can change; "" for none.
func sharing(t types.Type, seen map[types.Type]bool) string {
	// A type that leads back to itself has been looked at.
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch t := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return "it"
	case *types.Array:
		return sharing(t.Elem(), seen)
	case *types.Struct:
		for f := range t.Fields() {
			if sharing(f.Type(), seen) != "" {
				return "its field " + f.Name()
			}
		}
	}
	return ""
}
