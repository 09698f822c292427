//go:build !linux

package simdtest

import "errors"

type guards struct{ used int }

func newGuards(int) (*guards, error)    { return nil, errors.New("no guard pages on this system") }
func (g *guards) next(int, bool) []byte { return nil }
func (g *guards) close()                {}
