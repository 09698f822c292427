package corpus

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// shapes translates go/types into what rt needs to read and write values.
type shapes struct {
	pkg  *types.Package
	name func(types.Type) string
	made map[types.Type]*rt.Shape
}

func newShapes(pkg *source.Package) *shapes {
	return &shapes{pkg: pkg.Types, name: pkg.TypeString, made: map[types.Type]*rt.Shape{}}
}

// ArgsShape returns the shape of the target's arguments, receiver first: a struct whose fields have
// the names of the parameters. lookup finds the shapes of dynamic types.
func ArgsShape(u *source.Unit) (args *rt.Shape, lookup func(string) *rt.Shape) {
	b := newShapes(u.Package)
	args = &rt.Shape{Name: u.Target.Name, Type: "struct {}", Kind: reflect.Struct}
	var vars []*types.Var
	if r := u.Sig.Recv(); r != nil {
		vars = append(vars, r)
	}
	for v := range u.Sig.Params().Variables() {
		vars = append(vars, v)
	}
	for i, v := range vars {
		args.Fields = append(args.Fields, rt.ShapeField{Name: u.Target.Params[i].Name, Shape: b.shape(v.Type())})
	}
	return args, b.lookup
}

// resultsShape does for the target's results what ArgsShape does for its arguments. Its fields are
// numbered.
func resultsShape(u *source.Unit) (results *rt.Shape, lookup func(string) *rt.Shape) {
	b := newShapes(u.Package)
	results = &rt.Shape{Name: "the results of " + u.Target.Name, Type: "struct {}", Kind: reflect.Struct}
	names := recordNames("R", u.Sig.Results().Len())
	for i, name := range names {
		results.Fields = append(results.Fields, rt.ShapeField{Name: name, Shape: b.shape(u.Sig.Results().At(i).Type())})
	}
	return results, b.lookup
}

// recordNames returns the field names of the struct of arguments (A) or results (R) in records.
func recordNames(letter string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", letter, i)
	}
	return names
}

// shape returns the shape of a type. A type that refers to itself gets one shape.
func (b *shapes) shape(t types.Type) *rt.Shape {
	t = types.Unalias(t)
	if s, ok := b.made[t]; ok {
		return s
	}
	s := &rt.Shape{Name: b.name(t), Type: typeName(t)}
	s.Form = rt.FormOf(s.Type)
	b.made[t] = s
	switch u := t.Underlying().(type) {
	case *types.Basic:
		s.Kind, s.Bits = basicKind(u)
	case *types.Slice:
		s.Kind, s.Elem = reflect.Slice, b.shape(u.Elem())
	case *types.Array:
		s.Kind, s.Elem, s.Len = reflect.Array, b.shape(u.Elem()), int(u.Len())
	case *types.Pointer:
		s.Kind, s.Elem = reflect.Pointer, b.shape(u.Elem())
	case *types.Map:
		s.Kind, s.Key, s.Elem = reflect.Map, b.shape(u.Key()), b.shape(u.Elem())
	case *types.Interface:
		s.Kind = reflect.Interface
	case *types.Struct:
		s.Kind = reflect.Struct
		b.fields(s, u)
	case *types.Chan:
		s.Kind = reflect.Chan
	default:
		s.Kind = reflect.Func
	}
	return s
}

func (b *shapes) fields(s *rt.Shape, t *types.Struct) {
	switch s.Form {
	case "lock", "text":
		return
	case "pointer":
		s.Elem = b.shape(t.Field(0).Type().(*types.Array).Elem().(*types.Pointer).Elem())
		return
	}
	for f := range t.Fields() {
		if f.Name() != "_" {
			s.Fields = append(s.Fields,
				rt.ShapeField{
					Name:   f.Name(),
					Shape:  b.shape(f.Type()),
					Hidden: !f.Exported() && f.Pkg().Path() != b.pkg.Path(),
				})
		}
	}
}

var kinds = map[types.BasicKind]reflect.Kind{
	types.Bool: reflect.Bool, types.String: reflect.String, types.UnsafePointer: reflect.UnsafePointer,
	types.Uintptr: reflect.Uintptr,
	types.Int:     reflect.Int, types.Int8: reflect.Int8, types.Int16: reflect.Int16, types.Int32: reflect.Int32,
	types.Int64: reflect.Int64,
	types.Uint:  reflect.Uint, types.Uint8: reflect.Uint8, types.Uint16: reflect.Uint16, types.Uint32: reflect.Uint32,
	types.Uint64:  reflect.Uint64,
	types.Float32: reflect.Float32, types.Float64: reflect.Float64, types.Complex64: reflect.Complex64,
	types.Complex128: reflect.Complex128,
}

var bits = map[reflect.Kind]int{
	reflect.Int: 64, reflect.Int8: 8, reflect.Int16: 16, reflect.Int32: 32, reflect.Int64: 64, reflect.Uintptr: 64,
	reflect.Uint: 64, reflect.Uint8: 8, reflect.Uint16: 16, reflect.Uint32: 32, reflect.Uint64: 64,
	reflect.Float32: 32, reflect.Float64: 64, reflect.Complex64: 64, reflect.Complex128: 128,
}

func basicKind(t *types.Basic) (reflect.Kind, int) {
	k := kinds[t.Kind()]
	if n := reflect.TypeFor[int]().Bits(); n == 32 && (k == reflect.Int || k == reflect.Uint || k == reflect.Uintptr) {
		return k, n
	}
	return k, bits[k]
}

// typeName is rt.TypeName for a type that does not run here.
func typeName(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return namedName(t)
	case *types.Basic:
		return types.Typ[t.Kind()].Name()
	case *types.Pointer:
		return "*" + typeName(t.Elem())
	case *types.Slice:
		return "[]" + typeName(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), typeName(t.Elem()))
	case *types.Map:
		return "map[" + typeName(t.Key()) + "]" + typeName(t.Elem())
	case *types.Interface:
		if t.Empty() {
			return "interface {}"
		}
	}
	return types.TypeString(t, (*types.Package).Name)
}

func namedName(t *types.Named) string {
	name := t.Obj().Name()
	if t.TypeArgs().Len() > 0 {
		var args []string
		for a := range t.TypeArgs().Types() {
			args = append(args, typeName(a))
		}
		name += "[" + strings.Join(args, ",") + "]"
	}
	if p := t.Obj().Pkg(); p != nil {
		return p.Path() + "." + name
	}
	return name
}

// lookup finds named types of the package and of those that it imports, and
// pointers and slices of them. Others are left to rt.
func (b *shapes) lookup(name string) *rt.Shape {
	if t := b.find(name); t != nil {
		return b.shape(t)
	}
	return nil
}

// find returns the type with a name, as reflect writes it, or nil. It looks in the package and its
// imports.
func (b *shapes) find(name string) types.Type {
	if rest, ok := strings.CutPrefix(name, "*"); ok {
		if t := b.find(rest); t != nil {
			return types.NewPointer(t)
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(name, "[]"); ok {
		if t := b.find(rest); t != nil {
			return types.NewSlice(t)
		}
		return nil
	}
	dot := strings.LastIndex(name, ".")
	if dot < 0 {
		return nil
	}
	for _, p := range append([]*types.Package{b.pkg}, b.pkg.Imports()...) {
		if p.Path() != name[:dot] && p.Name() != name[:dot] {
			continue
		}
		if obj, ok := p.Scope().Lookup(name[dot+1:]).(*types.TypeName); ok {
			return obj.Type()
		}
	}
	return nil
}
