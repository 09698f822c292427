package verify

import (
	"go/ast"
	"go/types"
)

// local lists functions whose result is, or may be, a time in the machine's own zone.
var local = set(`time.Unix time.UnixMilli time.UnixMicro time.Parse
	time.Time.UnmarshalText time.Time.UnmarshalJSON time.Time.UnmarshalBinary time.Time.GobDecode`)

// zoneFreeMethods lists methods whose result does not depend on the zone of the time.
var zoneFreeMethods = set(`time.Time.UTC time.Time.In time.Time.Unix time.Time.UnixMilli time.Time.UnixMicro
	time.Time.UnixNano
	time.Time.Sub time.Time.Before time.Time.After time.Time.Equal time.Time.Compare time.Time.IsZero`)

// localTime refuses times in the machine's own zone. The zone where Beagle compares versions is not
// the zone where they will run.
func localTime(c *code, report reporter) {
	fine := make(map[*ast.Ident]bool)
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if fn := c.callee(n); !ok || fn == nil || !zoneFreeMethods[objectName(fn)] {
				return true
			}
			if made, ok := ast.Unparen(sel.X).(*ast.CallExpr); ok && c.callee(made) != nil {
				switch f := ast.Unparen(made.Fun).(type) {
				case *ast.SelectorExpr:
					fine[f.Sel] = true
				case *ast.Ident: // from a dot import
					fine[f] = true
				}
			}
		case *ast.Ident:
			if fn, ok := c.info.Uses[n].(*types.Func); ok && !fine[n] && local[objectName(fn)] {
				report(n, "use "+objectName(fn), "call of "+objectName(fn),
					"its result is in the machine's own time zone; follow it by UTC() or In(...)")
			}
		}
		return true
	})
}
