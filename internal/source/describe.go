package source

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/printer"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
)

// describe reads the target's declaration: signature, parameters, and the instantiation to
// measure. It refuses targets that cannot be recorded and compared.
func (u *Unit) describe(ctx context.Context) error {
	// A group has no signature of its own.
	if u.Scope.group != nil && u.opts.Entry == "" {
		return u.describeGroup()
	}
	f := u.Scope.target.decl.(*ast.FuncDecl)
	fn := u.Package.info.Defs[f.Name].(*types.Func)
	// The receiver is a parameter like others, apart from its name.
	if f.Recv != nil {
		u.Target.Recv = u.Scope.target.recv
		if _, ok := fn.Signature().Recv().Type().(*types.Pointer); ok {
			u.Target.Recv = "*" + u.Target.Recv
		}
	}
	text, err := u.Package.signatureText(f)
	if err != nil {
		return err
	}
	// An instance is measured, even of a generic function.
	u.Target.Signature = text
	if u.Sig, err = u.instantiate(ctx, fn); err != nil {
		return err
	}
	u.Target.Variadic = u.Sig.Variadic()
	u.Target.Params = u.Package.params(u.Sig)
	u.Target.Results = u.results()
	if u.Unrecordable = u.refuse(); !u.opts.InPlace {
		return u.Unrecordable
	}
	return nil
}

// signatureText returns the declaration's first part on one line.
func (pkg *Package) signatureText(f *ast.FuncDecl) (string, error) {
	g := *f
	g.Doc, g.Body = nil, nil
	var b bytes.Buffer
	if err := printer.Fprint(&b, pkg.fset, &g); err != nil {
		return "", err
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	return strings.NewReplacer("( ", "(", ", )", ")", " )", ")").Replace(text), nil
}

// params names every parameter of a function, the receiver first: a record needs names.
func (pkg *Package) params(sig *types.Signature) []beagle.Param {
	taken := map[string]bool{}
	vars := variables(sig)
	for _, v := range vars {
		taken[v.Name()] = true
	}
	var out []beagle.Param
	for i, v := range vars {
		name := v.Name()
		// A record has a field for each parameter, so those without a name get one.
		if name == "" || name == "_" {
			if name = fmt.Sprintf("arg%d", i); v == sig.Recv() {
				name = "recv"
			}
			for taken[name] {
				name += "_"
			}
			taken[name] = true
		}
		out = append(out, pkg.param(name, v.Type()))
	}
	return out
}

func (u *Unit) results() []beagle.Param {
	var out []beagle.Param
	for v := range u.Sig.Results().Variables() {
		out = append(out, u.Package.param(v.Name(), v.Type()))
	}
	return out
}

func (pkg *Package) param(name string, t types.Type) beagle.Param {
	return beagle.Param{Name: name, Type: pkg.TypeString(t), Kind: kind(t)}
}

// kind names the kind of the underlying type.
func kind(t types.Type) string {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		// The package unsafe belongs to this name.
		if t.Kind() == types.UnsafePointer {
			return "unsafe.Pointer"
		}
		return types.Typ[t.Kind()].Name()
	case *types.Slice:
		return "slice"
	case *types.Array:
		return "array"
	case *types.Map:
		return "map"
	case *types.Struct:
		return "struct"
	case *types.Pointer:
		return "pointer"
	case *types.Interface:
		return "interface"
	case *types.Chan:
		return "chan"
	case *types.Signature:
		return "func"
	}
	return "unknown"
}
