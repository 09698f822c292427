package example

import "testing"

// Forget forgets the rules that a test makes, when the test ends.
func Forget(t *testing.T) {
	was := registered
	t.Cleanup(func() { registered = was })
}
