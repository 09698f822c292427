// Package memory has one function for each way in which memory is written, kept, handed on or
// returned. The last line of each comment is what the analysis must find, in the form of the table.
package memory

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
)

type node struct {
	next *node
	list []int
	n    int
}

type writer interface{ Write(b []byte) int }

var (
	count  int
	kept   []byte
	chosen func(b []byte)
	table  = map[string]*node{}

	failure error = &fs.PathError{}
)

// Nothing of its own memory is anybody's business.
//
// effects:
func local(n int) int {
	a := make([]int, 4)
	a[n&3] = n
	p := &node{n: n}
	p.n++
	return a[0] + p.n
}

// effects: w:p0
func element(b []byte) { b[0] = 1 }

// effects: w:p0.2
func field(x *node) { x.n = 1 }

// effects: w:d0.0
func below(x *node) { x.next.n = 1 }

// effects: r0:p0
func copied(x node) node { x.n = 1; return x }

// effects:
func reads(x *node) int { return x.next.n + len(x.list) }

// effects: w:p0
func moves(to, from []byte) { copy(to, from) }

// effects: w:p0
func clears(m map[string]int) { clear(m) }

// effects: w:p0
func removes(m map[string]int, k string) { delete(m, k) }

// effects: w:*memory.count
func counts() { count++ }

// effects: k:*memory.kept<p0 w:*memory.kept
func keeps(b []byte) { kept = b }

// effects: k:p0.0<d1 k:p0.0<p1 w:p0.0
func links(x, y *node) { x.next = y }

// effects: k:*memory.table<d1 k:*memory.table<p1 k:p1<d1 w:*memory.table w:p1
func enters(k string, x *node) { table[k] = x }

// effects: k:p0<p1 w:p0
func sends(c chan []byte, b []byte) { c <- b }

// The value is gone from the channel.
//
// effects: w:p0
func receives(c chan int) int { return <-c }

// effects: k:p1<p2 r0:d0 w:p0 w:p1
func selects(in, out chan []byte, b []byte) []byte {
	select {
	case out <- b:
		return nil
	case b := <-in:
		return b
	}
}

// effects: r0:p0
func same(b []byte) []byte { return b }

// effects: r0:d0.1
func part(x *node) []int { return x.list[1:] }

// effects: r0:new
func fresh(b []byte) []byte { return append([]byte(nil), b...) }

// Its argument may have room.
//
// effects: r0:new r0:p0 w:p0
func appended(b []byte) []byte { return append(b, 0) }

// effects: r0/0:d0 r0/0:p0 r0:new
func wraps(x *node) *node { return &node{next: x} }

// effects: r0:p0 r0:p1
func either(x, y *node, first bool) *node {
	if first {
		return x
	}
	return y
}

// effects: r0:d0.0 r1:p1
func pair(x *node, b []byte) (*node, []byte) { return x.next, b[:0] }

// effects: r0:*memory.table
func shared(k string) *node { return table[k] }

// A string's memory cannot be written, so nobody shares it.
//
// effects:
func text(s string) string { return s[1:] }

// effects: r0:new
func bytesOf(s string) []byte { return []byte(s) }

// effects: c:p0!(p1)
func runs(f func([]byte), b []byte) { f(b) }

// effects: c:p0!Write(p1)
func method(w writer, b []byte) int { return w.Write(b) }

// effects: c:*memory.chosen!(p0)
func chooses(b []byte) { chosen(b) }

// A caller has its callee's effects on what it hands over. That the callee writes a package variable
// is in the callee's own line alone.
//
// effects: k:*memory.kept<p1 w:p0.2
func calls(x *node, b []byte) { field(x); keeps(b) }

// effects:
func callsOnOwn() int { x := new(node); field(x); return x.n }

// Functions that call each other are analysed up to a fixed point.
//
// effects: w:d0.0
func down(x *node, n int) {
	if n > 0 {
		up(x.next, n-1)
	}
}

// effects: w:d0.0 w:p0.2
func up(x *node, n int) { x.n = n; down(x, n-1) }

// effects: r0/:p0 r0:new w:p0
func closure(b []byte) func() { return func() { b[0]++ } }

// effects: w:p0
func closureCalled(b []byte) { f := func() { b[0]++ }; f() }

// effects: w:p0.2
func deferred(x *node) { defer field(x) }

// effects: w:p0.2
func started(x *node) { go field(x) }

// effects: x:d0 x:p0
func panics(x *node) { panic(x) }

// effects: w:d0.0 w:p0.2
func loops(x *node) {
	for x != nil {
		x, x.n = x.next, 0
	}
}

// effects: w:d0
func ranges(all []*node) {
	for _, x := range all {
		x.n = 0
	}
}

// effects:
func rangesCopy(all []node) {
	for _, x := range all {
		x.n = 0
	}
}

// effects: k:p0<d1 k:p0<p1 w:p0
func generic[T any](list []T, v T) { list[0] = v }

// effects: k:p0<d1 k:p0<p1 w:p0
func instance(list []*node, x *node) { generic(list, x) }

// effects: r0:p0
func boxed(x *node) any { return x }

// effects: r0:p0
func asserted(v any) *node { x, _ := v.(*node); return x }

// The table knows the library.
//
// effects:
func upper(s string) string { return strings.ToUpper(s) }

// effects: r0:p0
func trimmed(b []byte) []byte { return bytes.TrimSpace(b) }

// effects: r0/:d0 r0/:p0 r0:new
func wrapped(err error) error { return errors.Join(err) }

// An error leads nowhere, also one that others have.
//
// effects:
func failed() error { return failure }

// Its own type leads to its memory.
//
// effects: w:*memory.failure
func altered() { failure.(*fs.PathError).Op = "" }

// effects: r0:new
func withFailure() *fs.PathError { return &fs.PathError{Err: failure} }

// The writes of unknown code have its name.
//
// effects: k:*memory of memory.opaque<p0 w:p0@memory.opaque
func handsOver(b []byte) { opaque(b) }

// A body that is not Go may do anything to what it receives.
//
// effects: unknown
func opaque(b []byte) []byte
