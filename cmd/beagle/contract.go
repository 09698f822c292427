package main

import (
	"github.com/beagle-go/beagle/internal/flow"
)

// contractFlags are the flags that say what is demanded of a version.
func contractFlags(f *flagSet, s *flow.Spec) {
	f.StringVar(&s.Requires, "requires", "", "a Go `condition` on the parameters: only inputs that keep to it count (docs/contracts.md)")
	f.Var(listFlag{&s.Ignore}, "ignore", "`differences` that do not count: error-text, panic-value, nil-empty, capacity, scratch")
}
