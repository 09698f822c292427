package mutate

import (
	"go/ast"
	"testing"
)

func TestPortable(t *testing.T) {
	p := pass(t, `package p

import (
	"math"
	"os"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

const own, sep = "x", string(os.PathSeparator)

const (
	first = strconv.IntSize << iota
	second
)

func f() {
	const local = 'a'
	_ = "literal"
	_ = own + "y"
	_ = local + 1
	_ = utf8.RuneSelf
	_ = math.MaxInt8
	_ = sep + own
	_ = second
	_ = math.MaxInt
	_ = unsafe.Sizeof(0)
	_ = ^uint(0) >> 63
}
`)
	want := []bool{true, true, true, true, true, false, false, false, false, false}
	for _, as := range Nodes[*ast.AssignStmt](p, fn(p, "f")) {
		if got := p.Values().Portable(as.Rhs[0]); got != want[0] {
			t.Errorf("%s: portable is %v", p.Text(as.Rhs[0]), got)
		}
		want = want[1:]
	}
}
