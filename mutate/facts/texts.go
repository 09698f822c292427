package facts

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// FreeConversion reports whether the compiler makes no string for string(b): in comparisons, map
// look-ups, concatenations and ranges.
func FreeConversion(p *mutate.Pass, e ast.Expr) bool {
	switch p.Parent(e).(type) {
	case *ast.BinaryExpr, *ast.IndexExpr, *ast.RangeStmt, *ast.SwitchStmt:
		return true
	}
	return false
}

// WriterText returns the expression on which to call methods of a strings.Builder or bytes.Buffer,
// or "".
func WriterText(p *mutate.Pass, w ast.Expr) string {
	w = ast.Unparen(w)
	t := p.Info.TypeOf(w)
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	// Writing to these two never fails.
	if s := t.String(); s != "strings.Builder" && s != "bytes.Buffer" {
		return ""
	}
	if u, ok := w.(*ast.UnaryExpr); ok && u.Op == token.AND {
		w = u.X
	}
	// The expression is written again where the text goes.
	if p.Effects(w).Writes {
		return ""
	}
	return p.Text(w)
}

// EmptyBuffer recognises the declaration of an empty buffer, or of a pointer to one. It returns the
// part to replace, and the same for a builder.
func EmptyBuffer(p *mutate.Pass, d Declaration) (node ast.Node, text string, ok bool) {
	// var b bytes.Buffer: the type alone is replaced. An explicit type beside a value would need a
	// second edit.
	if d.Value == nil {
		return d.Type, "strings.Builder", d.Type != nil && syntax.IsNamed(d.Var.Type(), "bytes", "Buffer")
	}
	if d.Type != nil {
		return nil, "", false
	}
	// A short declaration must start with an empty buffer, since a builder takes no first content.
	switch v := d.Value.(type) {
	case *ast.CompositeLit:
		return v.Type, "strings.Builder", len(v.Elts) == 0 && syntax.IsNamed(d.Var.Type(), "bytes", "Buffer")
	case *ast.UnaryExpr:
		lit, is := v.X.(*ast.CompositeLit)
		if v.Op != token.AND || !is || len(lit.Elts) > 0 {
			return nil, "", false
		}
		return lit.Type, "strings.Builder", syntax.IsNamed(p.Info.TypeOf(lit), "bytes", "Buffer")
	// NewBuffer(nil) and NewBufferString("") are empty as well.
	case *ast.CallExpr:
		if made, is := p.IsBuiltin(v, "new"); is {
			t := p.Info.TypeOf(made.Args[0])
			return v, "new(strings.Builder)", t != nil && syntax.IsNamed(t, "bytes", "Buffer")
		}
		if made, is := p.IsCall(v, "bytes", "NewBuffer"); is {
			return v, "new(strings.Builder)", p.Info.Types[made.Args[0]].IsNil()
		}
		if made, is := p.IsCall(v, "bytes", "NewBufferString"); is {
			s, constant := ConstString(p, made.Args[0])
			return v, "new(strings.Builder)", constant && s == ""
		}
	}
	return nil, "", false
}

// InReturn reports whether n stands in a return statement: such a read happens once, even inside a
// loop.
func InReturn(p *mutate.Pass, n ast.Node) bool {
	_, ok := Enclosing[*ast.ReturnStmt](p, n)
	return ok
}

// OwnValue reports whether an expression reads nothing but variables that only the code around it
// can change.
func OwnValue(p *mutate.Pass, e ast.Expr) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		v := p.Var(id)
		if IsLocal(p, v) && (Captured.Of(p)[v] || Pointed(p, v)) {
			return false
		}
	}
	return !p.Effects(e).Reads
}

// MentionsName reports whether an expression mentions a name other than that of a field or method.
func MentionsName(p *mutate.Pass, e ast.Expr, name string) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); id.Name == name && !(ok && sel.Sel == id) {
			return true
		}
	}
	return false
}
