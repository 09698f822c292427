package syntax

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestUnchanged names the variables by what happens to them: those that begin with keeps stay.
func TestUnchanged(t *testing.T) {
	const src = `package p

import ("sort"; "sync")

var (
	keepsNumber   = 3
	keepsTable    = [4]int{1, 2}
	keepsList     = [][2]int{{1, 2}}
	keepsMap      = map[string]int{"a": 1}
	keepsSearched = [][3]int{{1, 2, 3}}
	keepsText     = "abc"
	keepsFunc     = func() {}
	keepsWhole    = [2]string{"a", "b"}

	setNumber    = 1
	setElement   = []int{1}
	setField     = struct{ a []int }{}
	setKey       = map[string]int{}
	addressed    = [4]int{}
	addressedPart = [4]struct{ n int }{}
	sliced       = [4]byte{}
	handedOn     = []int{3, 1}
	named        = []int{1}
	returned     = []int{1}
	passed       = []int{1}
	recursed     = []int{1}
	locked       sync.Mutex
	pointed      = new(int)
	counted      = 0
	ranged       = 0
	deleted      = map[int]int{}
	inner        = [][]int{{1}}
	Exported     = 1
)

func search[E interface{ [2]int | [3]int }](list []E, n int) (e E) {
	for _, x := range list {
		if x[0] == n {
			return x
		}
	}
	return list[len(list)-1]
}

func change(a []int) { a[0] = 1 }
func again(a []int, n int) { if n > 0 { again(a, n-1) } }

func f(n int) ([]int, [2]string) {
	_ = keepsNumber + keepsTable[n] + keepsList[n][0] + keepsMap["a"] + len(keepsText) + int(keepsText[0])
	_ = search(keepsSearched, n)
	keepsFunc()
	setNumber = 2
	setElement[0] = 2
	setField.a[1] = 2
	setKey["a"]++
	_ = &addressed
	_ = &addressedPart[1].n
	_ = sliced[:]
	sort.Ints(handedOn)
	x := named
	x[0] = 1
	change(passed)
	again(recursed, 1)
	locked.Lock()
	*pointed = 1
	counted++
	for ranged = range 3 {
	}
	delete(deleted, 1)
	for _, in := range inner {
		in[0] = 1
	}
	return returned, keepsWhole
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("p", fset, []*ast.File{file}, info)
	if err != nil {
		t.Fatal(err)
	}
	got := Unchanged([]*ast.File{file}, pkg, info)
	for _, name := range pkg.Scope().Names() {
		if _, ok := pkg.Scope().Lookup(name).(*types.Var); ok && strings.HasPrefix(name, "keeps") != got[name] {
			t.Errorf("%s: got %v", name, got[name])
		}
	}
	if len(got) != 8 {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
}
