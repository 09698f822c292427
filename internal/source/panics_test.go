package source

import "testing"

// TestCanPanic: indexes that cannot be out of range are distinguished from those that may be.
func TestCanPanic(t *testing.T) {
	for body, want := range map[string]bool{
		`for i := range b { b[i]++ }; return 0`:                            false,
		`for i := 0; i < len(b); i++ { n += int(b[i]) }; return n`:         false,
		`for i := range len(s) { n += int(s[i]) }; return n`:               false,
		`for i := range s { n += len(s[i:]) + len(s[:i]) }; return n`:      false,
		`var t [256]int; for _, c := range b { n += t[c] }; return n / 10`: false,
		`b = append(b[:0], s...); return len(b)`:                           false,
		`m := map[int]int{}; return m[n]`:                                  false,
		`return int(b[n])`:                                                 true,
		`for i := range b { b = b[:0]; b[i] = 1 }; return 0`:               true,
		`for i := 0; i < len(b); i++ { i++; n += int(b[i]) }; return n`:    true,
		`for i := range b { n += int(s[i]) }; return n`:                    true,
		`for i := -1; i < len(b); i++ { n += int(b[i]) }; return n`:        true,
		`return 10 / n`:     true,
		`return len(s[n:])`: true,
		`panic("x")`:        true,
	} {
		u := load(t, module(t, "\n-- p.go --\npackage p\n\nfunc F(b []byte, s string, n int) int { "+body+" }\n"),
			"./.F")
		if got := u.Target.Facts.CanPanic; got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}
