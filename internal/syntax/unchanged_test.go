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

import ("sort"; "sync"; "unsafe")

type tab [3]int

func (t *tab) first() *int { return &t[0] }
func (t *tab) set()        { t[0] = 1 }

type outer struct{ tab }
type inPointer struct{ *tab }
type table []int
type pair struct{ a []int; n int }

func (table) both(a, b []int) { a[0] = b[0] }
func (t table) own()          { t[0] = 1 }
func (pair) number() int      { return 1 }

type number int

func (n number) next() number { return n + 1 }

var (
	keepsNumber   = 3
	keepsTable    = [4]int{1, 2}
	keepsList     = [][2]int{{1, 2}}
	keepsMap      = map[string]int{"a": 1}
	keepsSearched = [][3]int{{1, 2, 3}}
	keepsText     = "abc"
	keepsFunc     = func() {}
	keepsWhole    = [2]string{"a", "b"}
	keepsKeys     = map[[2]int]bool{{1, 2}: true}
	keepsCount    = map[*tab]int{new(tab): 1}
	keepsMethod   = number(1)
	keepsClosed   = []int{1}
	keepsAsKey    = "a"

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

	pointerKeys   = map[*outer]bool{{tab{1}}: true}
	pointerKeys2  = map[*outer]bool{{tab{1}}: true}
	pointerKeys3  = map[*outer]bool{{tab{1}}: true}
	interfaceKeys = map[any]bool{new(int): true}
	usedAsKey     = &outer{}
	keptAsKey     = new(int)
	pointerValues = map[int]*int{1: new(int)}
	received      = make(chan int, 1)
	receivedRange = make(chan *int, 1)
	receivedIn    = struct{ c chan *int }{make(chan *int, 1)}
	methodValue   = tab{1}
	methodAddress = outer{tab{1}}
	methodPointer = inPointer{new(tab)}
	methodOwn     = table{1}
	methodOwn2    = table{1}
	boundMethod   = tab{1}
	firstOfTwo    = []int{1}
	secondOfTwo   = []int{1}
	fieldPointer  = struct{ a, b int }{1, 2}
	fieldOfField  = struct{ in struct{ list []int } }{}
	structCopy    = pair{a: []int{1}}
	closureSets   = 1
	closureKeeps  = []int{1}
	closureElem   = []int{1}
	deferred      = []int{1}
	arrayPointer  = &[2]int{1, 2}
	unsafePointer = unsafe.Pointer(new(int))
	viaUnsafe     = [2]int{1}
	cleared       = map[int]int{1: 1}
	copiedInto    = []int{1}
	swapped       = 1
	inLiteral     = []int{1}
	asInterface   = []int{1}
	asserted      = any(new(int))
	sent          = []int{1}
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

func loops(m map[any]bool) {
	for k := range keepsKeys {
		k[0]++
	}
	for range pointerKeys2 {
		for k = range pointerKeys2 {
		}
	}
	for _, n := range keepsCount {
		_ = n
	}
	for k := range pointerKeys {
		k.tab[0] = 7
	}
	for k, v := range pointerKeys3 {
		if v {
			*k.first() = 3
		}
	}
	for k := range interfaceKeys {
		*k.(*int) = 1
	}
	for _, p := range pointerValues {
		*p = 1
	}
	m[keepsAsKey], m[keptAsKey] = true, true
	_ = map[*outer]bool{usedAsKey: true}
	_ = <-received
	for p := range receivedRange {
		*p = 2
	}
	*<-receivedIn.c = 3
}

var k *outer

func methods() {
	*methodAddress.first() = 7
	methodPointer.set()
	methodOwn.own()
	table.own(methodOwn2)
	set := boundMethod.set
	set()
	(*tab).set(&methodValue)
	_ = keepsMethod.next() + number.next(keepsMethod)
	table.both(nil, firstOfTwo, secondOfTwo)
	_ = structCopy.number()
	p := &fieldPointer.b
	*p = 2
	fieldOfField.in.list[0] = 1
}

func closures() func() []int {
	func() { closureSets++ }()
	func() { _ = keepsClosed[0] }()
	set := func(a []int) { a[0] = 1 }
	set(closureElem)
	defer change(deferred)
	return func() []int { return closureKeeps }
}

func others(c chan []int) {
	arrayPointer[0] = 1
	*(*int)(unsafePointer) = 1
	*(*int)(unsafe.Pointer(&viaUnsafe[0])) = 1
	clear(cleared)
	copy(copiedInto, []int{2})
	other := 2
	swapped, other = other, swapped
	_ = [][]int{inLiteral}
	_ = any(asInterface)
	*asserted.(*int) = 1
	c <- sent
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
	if len(got) != 13 {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
}
