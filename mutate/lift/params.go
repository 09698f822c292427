package lift

import (
	"go/ast"
	"reflect"

	"github.com/beagle-go/beagle/mutate"
)

// Params returns the target's parameters, receiver first, with types that hold the same values;
// false when one is of no type of the grammar.
func Params(p *mutate.Pass) (names []string, ts []reflect.Type, ok bool) {
	lists := []*ast.FieldList{p.Func.Recv, p.Func.Type.Params}
	for _, list := range lists {
		if list == nil {
			continue
		}
		// A variadic parameter has no record of its own type, and a type outside of the grammar no
		// column.
		for _, f := range list.List {
			t := grammarType(p.Info.TypeOf(f.Type))
			if _, variadic := f.Type.(*ast.Ellipsis); variadic || t == nil {
				return nil, nil, false
			}
			for range max(1, len(f.Names)) {
				ts = append(ts, reflect.TypeOf(t.make(0)).Elem())
			}
			if len(f.Names) == 0 {
				names = append(names, "_")
			}
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names, ts, len(ts) > 0
}
