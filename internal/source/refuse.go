package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// refuse returns an error that names the parameter or result that no record can hold, with the
// reason and the remedy; nil if all can be recorded.
func (u *Unit) refuse() error {
	vars := variables(u.Sig)
	// Parameters must have a form as records, and results must be comparable.
	for i, v := range vars {
		name := u.Target.Params[i].Name
		if r := (recordability{u.Package}).unencodable(v.Type()); r != nil {
			return u.refusal("parameter "+name+r.path, "cannot be recorded", r)
		}
	}
	for i, v := range flatten(u.Sig.Results()) {
		name := v.Name()
		if name == "" || name == "_" {
			name = fmt.Sprintf("#%d", i+1)
		}
		if r := (recordability{u.Package}).unencodable(v.Type()); r != nil {
			return u.refusal("result "+name+r.path, "cannot be compared", r)
		}
	}
	// Without either, nothing could tell two versions apart.
	if len(vars)+u.Sig.Results().Len() == 0 {
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s takes nothing and returns nothing: there is nothing to compare", u.Target.Spec()),
			Remedy: "name the function that does the work on its arguments",
		}
	}
	return nil
}

func flatten(t *types.Tuple) []*types.Var {
	var out []*types.Var
	for v := range t.Variables() {
		out = append(out, v)
	}
	return out
}

func (u *Unit) refusal(what, cannot string, r *reason) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("%s: %s %s: it is %s (%s)", u.Target.Spec(), what, cannot, r.why,
			u.Package.TypeString(r.t)),
		Remedy: r.remedy,
	}
}

// A reason explains why a type has no record.
type reason struct {
	path   string // from the parameter: ".conn.done", "[]"
	t      types.Type
	why    string
	remedy string
}

// opaque are types whose values mean something only in the process, and what
// to do about them.
var opaque = map[string]string{
	"context.Context":         "move the work that needs no context into a function of its own, and name that",
	"net.Conn":                "name the function that works on the bytes",
	"net/http.ResponseWriter": "name the function that makes the body",
	"net/http.Request":        "name the function that takes what it needs of the request as plain values",
	"os.File":                 "name a function that takes an io.Reader or the bytes",
	"reflect.Value":           "name a function that takes the value as its own type",
	"reflect.Type":            "name a function that takes the value as its own type",
	"testing.T":               "name the function under test",
	"testing.B":               "name the function under test",
	"testing.F":               "name the function under test",
	"testing.TB":              "name the function under test",
	"database/sql.DB":         "name the function that works on the rows",
	"go/token.FileSet":        "name a function that takes the text",
}

// inert are types with fields that cannot be recorded, and whose zero value serves a record as
// well.
var inert = map[string]bool{
	"sync.Mutex": true, "sync.RWMutex": true, "sync.Once": true, "sync.WaitGroup": true, "sync.Cond": false,
	"sync/atomic.Int32": true, "sync/atomic.Int64": true, "sync/atomic.Uint32": true, "sync/atomic.Uint64": true,
	"sync/atomic.Uintptr": true, "sync/atomic.Bool": true, "sync/atomic.Value": true, "sync/atomic.Pointer": true,
	"sync.Pool": true, "strings.Builder": true, "bytes.Buffer": true, "time.Time": true, "time.Location": true,
	"math/big.Int": true, "math/big.Rat": true, "math/big.Float": true,
}

// recordability decides whether a call's values can be recorded, by their types.
type recordability struct{ pkg *Package }

// unencodable returns why values of a type cannot be recorded, or nil.
func (rec recordability) unencodable(t types.Type) *reason {
	return rec.walk(t, "", true, map[types.Type]bool{})
}

// walk looks for a part of a type that no record can hold, and names it by its path. Types that
// occur within themselves are looked at once.
func (rec recordability) walk(t types.Type, path string, top bool, seen map[types.Type]bool) *reason {
	if seen[t] {
		return nil
	}
	seen[t] = true
	// Some types are known by name, whatever they consist of.
	if pkg, name := syntax.NameOf(t); name != "" {
		full := pkg + "." + name
		if remedy, ok := opaque[full]; ok {
			return &reason{path, t, "a value that means something only inside its process", remedy}
		}
		if inert[full] {
			return nil
		}
	}
	switch x := t.Underlying().(type) {
	case *types.Basic:
		return rec.basicReason(x, t, path)
	case *types.Chan:
		return &reason{path, t, "a channel",
			"take the values as a slice, and let the caller move them through the channel"}
	case *types.Signature:
		return &reason{path, t, "a function, which no record can hold",
			"wrap it: a function of the package that calls this one with one fixed callback can be named"}
	case *types.Pointer:
		return rec.walk(x.Elem(), path, false, seen)
	case *types.Slice:
		return rec.walk(x.Elem(), path+"[]", false, seen)
	case *types.Array:
		return rec.walk(x.Elem(), path+"[]", false, seen)
	case *types.Map:
		if r := rec.walk(x.Key(), path+"[key]", false, seen); r != nil {
			return r
		}
		return rec.walk(x.Elem(), path+"[]", false, seen)
	case *types.Struct:
		return rec.walkFields(x, path, seen)
	}
	return nil // an interface: its values are judged when they are recorded
}

func (rec recordability) basicReason(b *types.Basic, t types.Type, path string) *reason {
	switch b.Kind() {
	case types.UnsafePointer:
		return &reason{path, t, "an address whose memory has no type", "take a typed pointer or a slice"}
	case types.Uintptr:
		// Only these packages make numbers of addresses.
		if !rec.pkg.direct["unsafe"] && !rec.pkg.direct["reflect"] && !rec.pkg.direct["syscall"] {
			return nil // a number: nothing in the package makes addresses
		}
		return &reason{path, t, "an address, which differs in every process",
			"take a typed pointer, or uint64 if it is a number"}
	}
	return nil
}

// walkFields looks into a struct. A field that no code ever sets is harmless, whatever its type.
func (rec recordability) walkFields(s *types.Struct, path string, seen map[types.Type]bool) *reason {
	for f := range s.Fields() {
		r := rec.walk(f.Type(), path+"."+f.Name(), false, seen)
		// A field that is never set is nil in every record.
		if r == nil {
			continue
		}
		if rec.neverSet(f) {
			continue
		}
		r.remedy = "name a function that takes only the fields it needs" + " (" + f.Name() + " is in the way)"
		return r
	}
	return nil
}

// neverSet reports whether a field is unexported, belongs to the target's
// package, and no literal, assignment or address of it occurs there.
func (rec recordability) neverSet(f *types.Var) bool {
	if f.Exported() || f.Pkg() != rec.pkg.Types || f.Name() == "_" {
		return f.Name() == "_"
	}
	// is says whether an expression names the field.
	is := func(e ast.Expr) bool {
		switch e := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			return syntax.Origin(objectOf(rec.pkg.info, e.Sel)) == syntax.Origin(f)
		case *ast.Ident:
			return syntax.Origin(objectOf(rec.pkg.info, e)) == syntax.Origin(f)
		}
		return false
	}
	set := false
	// The field is set by an assignment, its address, or a literal with or without keys.
	for _, file := range rec.pkg.files {
		ast.Inspect(file.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					set = set || is(l)
				}
			case *ast.UnaryExpr:
				set = set || n.Op == token.AND && is(n.X)
			case *ast.KeyValueExpr:
				set = set || is(n.Key)
			case *ast.CompositeLit:
				set = set || rec.positional(n, f)
			}
			return !set
		})
	}
	return !set
}

// positional reports whether a literal without keys sets the field.
func (rec recordability) positional(lit *ast.CompositeLit, f *types.Var) bool {
	if len(lit.Elts) == 0 {
		return false
	}
	// With keys, each says what it sets.
	if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); keyed {
		return false
	}
	// A literal in a list of pointers has the pointer's type.
	t := syntax.Pointee(rec.pkg.info.TypeOf(lit))
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for g := range s.Fields() {
		if syntax.Origin(g) == syntax.Origin(f) {
			return true
		}
	}
	return false
}
