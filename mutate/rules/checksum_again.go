package rules

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// checksumAgain is H1 for combined checksums: arithmetic that spares a second
// look at the data costs more than the look, unless the data is long.
var checksumAgain = &mutate.Mutator{
	Name: "checksum-again",
	Doc: "Continue a checksum over the data itself instead of combining it with the data's own checksum by arithmetic. The standard library sums " +
		"many bytes in a nanosecond; the arithmetic takes as long as a kilobyte or more. That the helper combines two sums is a guess from what " +
		"it is handed, which the verification decides.",
	Before: `sum := crc32.ChecksumIEEE(block)
total = combine(running, sum, len(block))`,
	After: `sum := crc32.ChecksumIEEE(block)
if len(block) < 2048 {
	total = crc32.Update(running, crc32.IEEETable, block)
} else {
	total = combine(running, sum, len(block))
}`,
	Class:   beagle.E4,
	Gain:    4,
	Find:    findChecksumAgain,
	Params:  againBelow,
	Rewrite: rewriteChecksumAgain,
}

type againSite struct {
	call   *ast.CallExpr
	stmt   *ast.AssignStmt
	first  ast.Expr // the sum so far
	data   *types.Var
	update string // of the package, with the polynomial: "crc32.Update(%s, crc32.IEEETable, %s)"
}

func findChecksumAgain(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for as := range mutate.Nodes[*ast.AssignStmt](p, nil) {
		if len(as.Lhs) != 1 || len(as.Rhs) != 1 {
			continue
		}
		call, ok := ast.Unparen(as.Rhs[0]).(*ast.CallExpr)
		if !ok || len(call.Args) != 3 || p.FuncOf(call) == nil {
			continue
		}
		if s := againOf(p, as, call); s != nil {
			sites = append(sites, mutate.Site{Node: call, Label: p.Text(call), Data: s})
		}
	}
	return sites
}

// againOf recognises f(a, sum of x, len(x)), where f is a pure function of the
// candidate on numbers.
func againOf(p *mutate.Pass, as *ast.AssignStmt, call *ast.CallExpr) *againSite {
	fn := p.Decl(p.Callee(call))
	if fn == nil || fn == p.FuncOf(call) || p.Effects(call).Writes {
		return nil
	}
	for _, e := range []ast.Expr{call, call.Args[0], call.Args[1]} {
		if !isBasic(p, e, types.Uint32) {
			return nil
		}
	}
	length := ast.Unparen(call.Args[2])
	if conv, ok := length.(*ast.CallExpr); ok && p.Info.Types[conv.Fun].IsType() {
		length = conv.Args[0]
	}
	data := p.LenOf(length)
	if data == nil || !local(p, data) || !isByteSliceVar(data) || p.Assigned(data, p.FuncOf(call)) || captured(p, data) {
		return nil
	}
	update := sumOf(p, call.Args[1], data)
	if update == "" || !p.Pure(call.Args[0]) {
		return nil
	}
	return &againSite{call: call, stmt: as, first: call.Args[0], data: data, update: update}
}

func isByteSliceVar(v *types.Var) bool {
	return mutate.IsBytes(v.Type()) && isSlice(v.Type())
}

// sumOf recognises the checksum of data, or a variable that holds it for ever,
// and gives the call that continues such a sum.
func sumOf(p *mutate.Pass, e ast.Expr, data *types.Var) string {
	if v := p.Var(e); v != nil && local(p, v) && !p.Assigned(v, p.FuncOf(e)) && !captured(p, v) {
		for list, i := range statements(p) {
			if d, ok := declaration(p, list[i]); ok && d.Var == v && d.Value != nil {
				e = d.Value
			}
		}
	}
	if call, ok := p.IsCall(e, "hash/crc32", "ChecksumIEEE"); ok && p.Var(call.Args[0]) == data {
		pkg := p.Text(call.Fun.(*ast.SelectorExpr).X)
		return pkg + ".Update(%s, " + pkg + ".IEEETable, %s)"
	}
	if call, ok := p.IsCall(e, "hash/crc32", "Checksum"); ok && p.Var(call.Args[0]) == data && p.Pure(call.Args[1]) && packageLevel(p, call.Args[1]) {
		pkg := p.Text(call.Fun.(*ast.SelectorExpr).X)
		return pkg + ".Update(%s, " + p.Text(call.Args[1]) + ", %s)"
	}
	return ""
}

// againBelow is the length below which the data is read again: always, or below
// what arithmetic costs.
func againBelow(*mutate.Pass, mutate.Site) []mutate.Param {
	return []mutate.Param{{Label: "below 2048", Value: 2048}, {Label: "below 512", Value: 512}, {Label: "below 8192", Value: 8192}, {Label: "always", Value: 0}}
}

func rewriteChecksumAgain(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	site, below := s.Data.(*againSite), param.Value.(int)
	update := fmt.Sprintf(site.update, p.Text(site.first), site.data.Name())
	if below == 0 {
		return []mutate.Edit{p.Replace(site.call, update)}, nil
	}
	lhs := p.Text(site.stmt.Lhs[0])
	text := fmt.Sprintf("if len(%s) < %d { // reading it again costs less than arithmetic\n%s = %s\n} else {\n%s = %s\n}",
		site.data.Name(), below, lhs, update, lhs, p.Text(site.call))
	if site.stmt.Tok == token.DEFINE {
		text = "var " + lhs + " uint32\n" + text
	}
	if _, at := p.Siblings(site.stmt); at < 0 {
		return nil, errors.New("the sum stands in no statement list")
	}
	return []mutate.Edit{p.Replace(site.stmt, text)}, nil
}
