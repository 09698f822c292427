package main

import (
	"slices"
	"testing"
)

func TestTogether(t *testing.T) {
	for _, c := range []struct {
		args   []string
		target string
		rest   []string
	}{
		{[]string{"./p.F"}, "./p.F", nil},
		{[]string{"./p.F", "v.go"}, "./p.F", []string{"v.go"}},
		{[]string{"./p.Fa", "./p.Fb"}, "./p.{Fa,Fb}", nil},
		{[]string{"./p.T", "./p.T.M", "v.go", "w.go"}, "./p.{T,T.M}", []string{"v.go", "w.go"}},
		{[]string{"m.org/p.F", "m.org/p.T.M"}, "m.org/p.{F,T.M}", nil},
		{[]string{"./p.F", "./q.F"}, "./p.F", []string{"./q.F"}},
		{[]string{"./p.F", "missing"}, "./p.F", []string{"missing"}},
		{[]string{"F", "G"}, "F", []string{"G"}},
	} {
		target, rest := splitTarget(c.args)
		if target != c.target || !slices.Equal(rest, c.rest) {
			t.Errorf("%q: %q %q, want %q %q", c.args, target, rest, c.target, c.rest)
		}
	}
}
