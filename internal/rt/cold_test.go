package rt

import (
	"reflect"
	"testing"
)

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
