package rt

import (
	"reflect"
	"testing"
)

// A relative is a node of a tree whose nodes know each other.
type relative struct {
	Name           string
	Up, Down, Next *relative
	List           []*relative
}

// family makes a tree of a root and children with names.
func family(names ...string) *relative {
	root := &relative{Name: "root"}
	at := &root.Down
	for _, n := range names {
		c := &relative{Name: n, Up: root}
		*at, at = c, &c.Next
		root.List = append(root.List, c)
	}
	return root
}

var packageNode = family("of", "the", "package")

// TestCopyInto fills memory with a value that leads back to itself, which must end, keep the memory
// that there is, and have the form of the value.
func TestCopyInto(t *testing.T) {
	for _, c := range []struct{ had, gets int }{{3, 3}, {3, 2}, {2, 3}, {0, 3}, {3, 0}} {
		names := []string{"a", "b", "c"}
		mine, src := family(names[:c.had]...), family([]string{"x", "y", "z"}[:c.gets]...)
		root, first := mine, mine.Down
		copyInto(reflect.ValueOf(&mine).Elem(), reflect.ValueOf(&src).Elem())
		if mine != root || c.had > 0 && c.gets > 0 && mine.Down != first {
			t.Errorf("%d to %d: the value is not in the caller's memory", c.had, c.gets)
		}
		if !reflect.DeepEqual(mine, family([]string{"x", "y", "z"}[:c.gets]...)) {
			t.Errorf("%d to %d: another value", c.had, c.gets)
		}
		n := 0
		for at := mine.Down; at != nil; at = at.Next {
			if at.Up != mine || mine.List[n] != at {
				t.Errorf("%d to %d: the nodes do not know each other", c.had, c.gets)
			}
			n++
		}
	}
	// Two pointers that met part, and two that were apart meet.
	one, other := new(int), new(int)
	dst, src := [2]*int{one, one}, [2]*int{new(int), new(int)}
	*src[0], *src[1] = 1, 2
	copyInto(reflect.ValueOf(&dst).Elem(), reflect.ValueOf(&src).Elem())
	if dst[0] != one || dst[1] == one || *dst[0] != 1 || *dst[1] != 2 {
		t.Errorf("pointers that part: %d, %d", *dst[0], *dst[1])
	}
	dst, src = [2]*int{one, other}, [2]*int{src[1], src[1]}
	copyInto(reflect.ValueOf(&dst).Elem(), reflect.ValueOf(&src).Elem())
	if dst[0] != one || dst[1] != one || *one != 2 {
		t.Error("pointers that meet are apart")
	}
}

// TestCopyIntoVariables leaves the variables of packages as they are.
func TestCopyIntoVariables(t *testing.T) {
	RegisterGlobal("rt.packageNode", packageNode)
	mine, src := packageNode, family("x")
	copyInto(reflect.ValueOf(&mine).Elem(), reflect.ValueOf(&src).Elem())
	if mine == packageNode || packageNode.Down.Name != "of" {
		t.Error("a variable of the package has the content of an argument")
	}
	copyInto(reflect.ValueOf(&mine).Elem(), reflect.ValueOf(&packageNode).Elem())
	if mine != packageNode {
		t.Error("a copy of a variable is another variable")
	}
}

// A ringNode is one of several that lead to each other.
type ringNode struct {
	n      int
	next   *ringNode
	others []*ringNode
}

// ring makes nodes that lead to each other in a circle, and to all of them.
func ring(numbers ...int) *ringNode {
	nodes := make([]*ringNode, len(numbers))
	for i, n := range numbers {
		nodes[i] = &ringNode{n: n}
	}
	for i, node := range nodes {
		node.next, node.others = nodes[(i+1)%len(nodes)], nodes
	}
	return nodes[0]
}

// TestCopyIntoRing checks that content that leads back to itself is copied, into memory that does,
// too.
func TestCopyIntoRing(t *testing.T) {
	for _, c := range []struct{ into, from []int }{{[]int{1, 2, 3}, []int{7, 8}}, {[]int{1}, []int{7, 8, 9}},
		{[]int{1, 2}, []int{7, 8}}} {
		mine := ring(c.into...)
		first := mine
		copyInto(reflect.ValueOf(&mine).Elem(), reflect.ValueOf(ring(c.from...)))
		if mine != first {
			t.Errorf("%v into %v: the value is not in the old memory", c.from, c.into)
		}
		at := mine
		for i := range 2 * len(c.from) {
			if want := c.from[i%len(c.from)]; at.n != want || at.others[i%len(c.from)].n != want {
				t.Fatalf("%v into %v: node %d holds %d", c.from, c.into, i, at.n)
			}
			at = at.next
		}
	}
}
