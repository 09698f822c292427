package text

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// appendCall writes a call that appends a part to a slice.
func appendCall(p *mutate.Pass, slice string, part ast.Expr) string {
	// A formatted part has a form that appends it without a text of its own.
	if a := formatterOf(p, part); a != nil {
		call := ast.Unparen(part).(*ast.CallExpr)
		form := a.form
		if strings.HasPrefix(form, ".") {
			form = edit.EscapeFormat(p.Text(call.Fun.(*ast.SelectorExpr).X)) + form
		}
		return fmt.Sprintf(form, slice, p.Between(call.Args[0].Pos(), call.Rparen))
	}
	if s, ok := facts.ConstString(p, part); ok && len(s) == 1 && s[0] < 0x80 {
		return fmt.Sprintf("append(%s, %q)", slice, s[0])
	}
	// A conversion to a string is appended without the conversion.
	if call, ok := part.(*ast.CallExpr); ok && len(call.Args) == 1 && p.Info.Types[call.Fun].IsType() {
		switch arg := call.Args[0]; {
		case (facts.IsPredeclared(p, arg, types.Int32) || facts.IsPredeclared(p, arg, types.UntypedRune)) &&
			p.GoAtLeast(18):
			return fmt.Sprintf("utf8.AppendRune(%s, %s)", slice, p.Text(arg))
		case facts.IsByteSlice(p, arg):
			part = arg
		}
	}
	return fmt.Sprintf("append(%s, %s...)", slice, p.Text(part))
}
