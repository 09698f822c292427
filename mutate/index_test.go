package mutate

import (
	"go/ast"
	"go/parser"
	"slices"
	"testing"
)

const indexed = `package p

var table = func() (t [4]int) {
	for i := range t {
		t[i] = i
	}
	return t
}()

// F has a bit of everything.
func F(s []int) (sum int) {
outer:
	for i, x := range s {
		switch {
		case x > (1 + i):
			sum += x
		default:
			continue outer
		}
		func() {
			sum++
		}()
	}
	return (sum)
}
`

func sameNodes[N interface {
	ast.Node
	comparable
}](t *testing.T, p *Pass, root ast.Node) {
	t.Helper()
	if got, want := Nodes[N](p, root), walk[N](root); !slices.Equal(got, want) {
		t.Errorf("below %T: %v, want %v", root, got, want)
	}
}

// TestIndex checks that the index says the same of each node of a file as a walk does.
func TestIndex(t *testing.T) {
	p := pass(t, indexed)
	count := 0
	for _, root := range walk[ast.Node](p.File) {
		count++
		sameNodes[ast.Node](t, p, root)
		sameNodes[ast.Stmt](t, p, root)
		sameNodes[ast.Expr](t, p, root)
		sameNodes[*ast.Ident](t, p, root)
		sameNodes[*ast.BlockStmt](t, p, root)
		sameNodes[*ast.FuncLit](t, p, root)
		sameNodes[*ast.GoStmt](t, p, root)
	}
	if all := Nodes[ast.Node](p, nil); len(all) != count || count < 50 {
		t.Errorf("%d nodes in the file, a walk finds %d", len(all), count)
	}
}

// TestIndexOfMadeNodes checks a node that a rule made. It stands in no file, and yet Nodes finds
// what lies below it.
func TestIndexOfMadeNodes(t *testing.T) {
	p := pass(t, indexed)
	e, err := parser.ParseExpr("a + b*c")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(Nodes[*ast.Ident](p, e)); n != 3 {
		t.Errorf("%d names in a+b*c", n)
	}
	if up := p.Parent(e); up != nil {
		t.Errorf("around it is %T", up)
	}
	if list, i := p.Siblings(&ast.EmptyStmt{Semicolon: p.Func.Body.Pos() + 1}); list != nil || i != -1 {
		t.Errorf("it stands at %d of %d", i, len(list))
	}
}

func TestAround(t *testing.T) {
	p := pass(t, indexed)
	ret := one[*ast.ReturnStmt](t, Nodes[*ast.ReturnStmt](p, p.Func))
	sum := ast.Unparen(ret.Results[0])
	if p.Parent(sum) != ast.Node(ret) {
		t.Errorf("around the result is %T", p.Parent(sum))
	}
	path := p.Path(sum)
	if len(path) != 6 || path[0] != ast.Node(sum) || path[5] != ast.Node(p.File) {
		t.Errorf("the path is %v", path)
	}
	if list, i := p.Siblings(ret); len(list) != 2 || i != 1 {
		t.Errorf("return is %d of %d", i, len(list))
	}
	loop := one[*ast.RangeStmt](t, Nodes[*ast.RangeStmt](p, p.Func))
	if list, i := p.Siblings(loop); list != nil || i != -1 {
		t.Errorf("a statement behind a label stands in no list, not at %d of %d", i, len(list))
	}
	lists := p.Lists()
	if len(lists) != 6 || len(lists[0]) != 2 {
		t.Errorf("%d lists of statements, want F's body, the loop's, the switch's, its cases', the literal's",
			len(lists))
	}
}

func one[N any](t *testing.T, list []N) N {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%d of them", len(list))
	}
	return list[0]
}

// TestOffset checks that offsets are those of the file set, also for positions in no file.
func TestOffset(t *testing.T) {
	p := pass(t, indexed)
	for _, n := range Nodes[ast.Node](p, nil) {
		for _, pos := range []int{p.Offset(n.Pos()) - p.Fset.Position(n.Pos()).Offset,
			p.Offset(n.End()) - p.Fset.Position(n.End()).Offset} {
			if pos != 0 {
				t.Fatalf("%T is %d bytes off", n, pos)
			}
		}
	}
	if at := p.Offset(0); at != 0 {
		t.Errorf("no position is at %d", at)
	}
}
