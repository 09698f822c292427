package example

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
)

// respelled returns the arguments of a call that means the same as one of the named function: an
// older name of it, or an idiom from before it.
//
// Functions of packages slices and io have such spellings in other packages.
func respelled(p *mutate.Pass, name string, c *ast.CallExpr) ([]ast.Expr, bool) {
	// Each case lists the older spellings of one function.
	switch name {
	case "slices.Sort":
		call, ok := p.IsCall(c, "sort", "Ints", "Strings", "Float64s")
		if ok {
			return call.Args, true
		}
	// append([]T(nil), s...) is how a slice was cloned.
	case "slices.Clone":
		call, ok := p.IsBuiltin(c, "append")
		if ok && len(call.Args) == 2 && call.Ellipsis.IsValid() && isEmpty(p, call.Args[0]) &&
			types.Identical(p.Info.TypeOf(call.Args[0]), p.Info.TypeOf(call.Args[1])) {
			return call.Args[1:], true
		}
	// A format without a directive, and with no arguments, is the text itself.
	case "io.WriteString":
		if call, ok := p.IsCall(c, "fmt", "Fprint", "Fprintf"); ok && len(call.Args) == 2 {
			v := p.Info.Types[call.Args[1]].Value
			return call.Args, v != nil && v.Kind() == constant.String && !strings.Contains(constant.StringVal(v), "%")
		}
	case "strings.ReplaceAll", "bytes.ReplaceAll":
		return unlimited(p, c, name, "Replace")
	case "strings.Split", "bytes.Split":
		return unlimited(p, c, name, "SplitN")
	case "strings.SplitAfter":
		return unlimited(p, c, name, "SplitAfterN")
	}
	return nil, false
}

// unlimited recognises a call with a last argument of -1, which means no limit.
func unlimited(p *mutate.Pass, c *ast.CallExpr, name, old string) ([]ast.Expr, bool) {
	pkg := name[:len(name)-len(baseOf(name))-1]
	call, ok := p.IsCall(c, pkg, old)
	if !ok {
		return nil, false
	}
	n := len(call.Args) - 1
	return call.Args[:n], p.IsInt(call.Args[n], -1)
}

func baseOf(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}

// isEmpty recognises []T(nil), []T{} and s[:0:0].
func isEmpty(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		return len(e.Args) == 1 && p.Info.Types[e.Fun].IsType() && p.Info.Types[e.Args[0]].IsNil()
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.SliceExpr:
		return e.Slice3 && e.Low == nil && p.IsInt(e.High, 0) && p.IsInt(e.Max, 0)
	}
	return false
}

// leaving matches statements of Before that end in `break` with statements that end in a return:
// both leave the loop.
func (m *matcher) leaving(pats, list []ast.Stmt) bool {
	if len(pats) != 2 || len(list) == 0 {
		return false
	}
	// With a label, the break leaves another loop than the innermost.
	last, ok := pats[1].(*ast.BranchStmt)
	if !ok || last.Tok != token.BREAK || last.Label != nil {
		return false
	}
	obj, args := m.pair.before.codeStmt(pats[0])
	if _, returns := list[len(list)-1].(*ast.ReturnStmt); obj == nil || !returns {
		return false
	}
	return m.codeLeaving(obj, args, list)
}
