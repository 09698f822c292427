package rules

import (
	"go/ast"
	"go/constant"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// writeByte (catalogue S13) matches a write of one constant ASCII character as a rune or string,
// and fmt.Fprintf of a constant text. It calls WriteByte or WriteString.
var writeByte = &mutate.Mutator{
	Name: "write-byte",
	Doc: "Write one constant ASCII character as a byte, and a constant text without fmt. Legal because the same " +
		"bytes arrive and the results of the call are not used.",
	Before:  `b.WriteRune(',')`,
	After:   `b.WriteByte(',')`,
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findWriteByte,
	Rewrite: precomputed,
}

func findWriteByte(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for st := range mutate.Nodes[*ast.ExprStmt](p, nil) {
		call, ok := st.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		if text := byteWrite(p, call); text != "" {
			sites = append(sites, site(st, p.Text(call), p.Replace(call, text)))
		}
	}
	return sites
}

func byteWrite(p *mutate.Pass, call *ast.CallExpr) string {
	if _, ok := p.IsCall(call, "fmt", "Fprintf", "Fprint"); ok && len(call.Args) == 2 {
		return constWrite(p, call)
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	for _, t := range [][2]string{{"strings", "Builder."}, {"bytes", "Buffer."}, {"bufio", "Writer."}} {
		if _, ok := p.IsCall(call, t[0], t[1]+"WriteRune"); ok {
			if v := p.Info.Types[call.Args[0]].Value; v != nil {
				if r, exact := constant.Int64Val(v); exact && r >= 0 && r < 0x80 {
					if _, literal := call.Args[0].(*ast.BasicLit); !literal {
						return p.Text(sel.X) + ".WriteByte(byte(" + p.Text(call.Args[0]) + "))"
					}
					return p.Text(sel.X) + ".WriteByte(" + p.Text(call.Args[0]) + ")"
				}
			}
		}
		if _, ok := p.IsCall(call, t[0], t[1]+"WriteString"); ok {
			if s, ok := constString(p, call.Args[0]); ok && len(s) == 1 && s[0] < 0x80 {
				return p.Text(sel.X) + ".WriteByte(" + strconv.QuoteRune(rune(s[0])) + ")"
			}
		}
	}
	return ""
}

// constWrite handles fmt.Fprintf(&b, "text"), which it writes without fmt.
func constWrite(p *mutate.Pass, call *ast.CallExpr) string {
	w := writerText(p, call.Args[0])
	s, ok := constString(p, call.Args[1])
	if w == "" || !ok || strings.Contains(s, "%") {
		return ""
	}
	return w + ".WriteString(" + p.Text(call.Args[1]) + ")"
}
