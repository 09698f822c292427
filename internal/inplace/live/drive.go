//go:build go1.21

package live

import (
	"fmt"
	"reflect"

	"github.com/beagle-go/beagle/internal/rt"
)

// A result that is a function is compared by what it does: both versions are called once more on
// copies, and their functions are called in the same way. The user's test keeps its own.

// Functions notes that results of the target are functions.
func (c *Call) Functions() { c.functions = true }

// maxDriven bounds the values of an iterator that are looked at.
const maxDriven = 100

// Iterated lists what an iterator yields: twice to the end, then until yield says stop. yields
// runs it.
func Iterated(yields func(yield func(values ...any) bool)) (seen []any) {
	for _, most := range []int{maxDriven, maxDriven, 1, 2} {
		n, stopped := 0, false
		end := caught(func() []any {
			yields(func(values ...any) bool {
				if stopped {
					seen = append(seen, "goes on after the loop stopped it")
					return false
				}
				seen = append(seen, copyOf(values))
				n++
				stopped = n >= most
				return !stopped
			})
			return []any{"ends"}
		})
		seen = append(seen, end)
	}
	return seen
}

// Repeated lists what a function returns in some calls; call makes the one of a number.
func Repeated(call func(i int) []any) (seen []any) {
	for i := 0; i < 5; i++ {
		seen = append(seen, caught(func() []any { return call(i) }))
	}
	return seen
}

// caught is what f returns, or the value with which it panics.
func caught(f func() []any) (out []any) {
	defer func() {
		if v := recover(); v != nil {
			out = []any{fmt.Sprintf("panics with a %T: %v", v, v)}
		}
	}()
	return copyOf(f())
}

// copyOf copies values as they are now: an iterator may use memory again.
func copyOf(values []any) []any { return *rt.Clone(&values) }

// picks are arguments for functions.
var (
	numberPicks = []int64{0, 1, 2, 7, 100}
	textPicks   = []string{"", "a", "b c", "é", "abc"}
)

// Pick is an argument of a basic type for a call of [Repeated].
func Pick[T any](i int) (out T) {
	switch v := reflect.ValueOf(&out).Elem(); {
	case v.CanInt():
		v.SetInt(numberPicks[i%len(numberPicks)])
	case v.CanUint():
		v.SetUint(uint64(numberPicks[i%len(numberPicks)]))
	case v.CanFloat():
		v.SetFloat(float64(numberPicks[i%len(numberPicks)]) / 2)
	case v.Kind() == reflect.String:
		v.SetString(textPicks[i%len(textPicks)])
	case v.Kind() == reflect.Bool:
		v.SetBool(i%2 == 1)
	}
	return out
}
