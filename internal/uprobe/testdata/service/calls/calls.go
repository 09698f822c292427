// Package calls holds functions of many signatures.
package calls

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/probe"
)

// A Pair is an element of a list behind a pointer.
type Pair struct {
	Key string
	_   int32
	N   uint32
}

// A Set refers to itself.
type Set struct {
	ID    int
	Tags  []string
	Level int8
	Ratio float64
	Pairs []Pair
	Next  *Set
	token string
}

// Big takes more registers than are left.
type Big struct {
	A    int
	B    string
	C    []int
	D    string
	E, F int
}

type (
	textArgs struct{ s string }
	manyArgs struct {
		i    int
		list []string
		ok   bool
		b    []byte
		r    rune
		u    uint8
		n    int16
	}
	mergeArgs struct {
		s    *Set
		i    int
		text string
	}
	stackArgs struct {
		i    int
		a    [3]int32
		big  Big
		last string
	}
	longArgs struct {
		i    int
		list []string
		text string
	}
)

var textSite, manySite, mergeSite, stackSite, longSite probe.Site

func init() {
	probe.Register[textArgs, struct{}](&textSite, "example.com/service/calls.Text")
	probe.Register[manyArgs, struct{}](&manySite, "example.com/service/calls.Many")
	probe.Register[mergeArgs, struct{}](&mergeSite, "example.com/service/calls.Set.Merge")
	probe.Register[stackArgs, struct{}](&stackSite, "example.com/service/calls.Stack")
	probe.Register[longArgs, struct{}](&longSite, "example.com/service/calls.Long")
}

// Word is a different text for each number.
func Word(i int) string { return fmt.Sprintf("word %d of many", i) }

//go:noinline
func Text(s string) string {
	if textSite.Gate() {
		c := probe.Enter(&textSite, &textArgs{s})
		c.End()
	}
	return strings.ToUpper(s)
}

//go:noinline
func Many(i int, list []string, ok bool, b []byte, r rune, u uint8, n int16) (string, int) {
	if manySite.Gate() {
		c := probe.Enter(&manySite, &manyArgs{i, list, ok, b, r, u, n})
		c.End()
	}
	if ok {
		return string(b), i
	}
	return strings.Join(list, ","), -i
}

//go:noinline
func (s *Set) Merge(i int, text string) int {
	if mergeSite.Gate() {
		c := probe.Enter(&mergeSite, &mergeArgs{s, i, text})
		c.End()
	}
	s.Tags = append(s.Tags, text)
	return len(s.Tags)
}

//go:noinline
func Stack(i int, a [3]int32, big Big, last string) int {
	if stackSite.Gate() {
		c := probe.Enter(&stackSite, &stackArgs{i, a, big, last})
		c.End()
	}
	return i + int(a[1]) + big.A + len(last)
}

//go:noinline
func Long(i int, list []string, text string) int {
	if longSite.Gate() {
		c := probe.Enter(&longSite, &longArgs{i, list, text})
		c.End()
	}
	return len(list) + len(text)
}

// Sum has no frame.
//
//go:noinline
func Sum(b []byte) (n uint64) {
	for _, c := range b {
		n = n*31 + uint64(c)
	}
	return n
}

//go:noinline
func Mixed(i int, f float64, s string) float64 {
	return f + float64(len(strings.ToUpper(s))) + float64(i)
}

//go:noinline
func Login(i int, user, password, header string) bool { return strings.Contains(user+header, password) }

//go:noinline
func Box(i int, err error, none any, m map[string]int, f func()) string {
	return fmt.Sprint(i, err, none, len(m))
}

// First is generic.
//
//go:noinline
func First[T any](list []T) T { return list[0] }

// Small is inlined.
func Small(s string) (n int) {
	for i := range len(s) {
		if s[i] == 'x' {
			n++
		}
	}
	return n
}

// Risky panics on even numbers.
//
//go:noinline
func Risky(n int) int {
	if n%2 == 0 {
		panic(n)
	}
	return n
}

// Attempt calls Risky, and recovers.
//
//go:noinline
func Attempt(n int) {
	defer func() { _ = recover() }()
	Risky(n)
}

// Deep lets the stack grow.
//
//go:noinline
func Deep(n, i int) int {
	var room [64]int
	room[n%64] = i
	if n == 0 {
		return room[0]
	}
	return Deep(n-1, i) + room[n%64]
}
