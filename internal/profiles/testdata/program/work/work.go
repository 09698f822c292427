// Package work spends time in every form of function that Go has.
package work

type Number interface{ ~int | ~float64 }

//go:noinline
func Sum[T Number](a []T, n int) (t T) {
	for range n {
		for _, v := range a {
			t += v
		}
	}
	return t
}

type Set[T comparable] struct{ m map[T]int }

func NewSet[T comparable]() *Set[T] { return &Set[T]{map[T]int{}} }

//go:noinline
func (s *Set[T]) Add(v T, n int) {
	for range n {
		s.m[v]++
	}
}

// Mixed is small enough to be inlined, and its literal goes with it.
func Mixed(n int) int {
	total := 0
	spin(func(i int) { total += total*3 ^ i }, n)
	return total
}

//go:noinline
func spin(f func(int), n int) {
	for i := range n {
		f(i)
	}
}

type Turner interface{ Turn(int) int }

type Point struct{ X int }

//go:noinline
func (p Point) Turn(n int) int {
	s := p.X
	for range n {
		s = s*31 + n
	}
	return s
}

type Ptr struct{ X int }

//go:noinline
func (p *Ptr) Move(n int) int {
	for range n {
		p.X = p.X*31 + n
	}
	return p.X
}

func small(n int) (s int) {
	for i := range n {
		s = s*13 + i
	}
	return s
}

//go:noinline
func Inlines(n int) int { return small(n) + 1 }

//go:noinline
func Alloc(n int) (out [][]byte) {
	for range n {
		out = append(out, make([]byte, 500))
	}
	return out
}

func Each(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
