package text

import (
	"bytes"
	_ "embed"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed trim_convert.go
var trimConvertSource string

// trimConvert (catalogue S12) matches a conversion of bytes to a string that code then trims or
// slices. It trims or slices the bytes first, so that only the rest is copied. An upper bound
// between length and capacity panics for the string, but not for the slice.
var trimConvert = example.Rule{
	Name: "trim-then-convert",
	Doc: "Trim or slice bytes before converting them to a string, so that only what is kept is copied. Legal " +
		"because trimming by package bytes and by package strings keeps the same bytes.",
	Class:  beagle.E0,
	Gain:   1.15,
	Source: trimConvertSource,
	Pairs: []example.Pair{{
		Before: func(b []byte) string { return strings.TrimSpace(string(b)) },
		After:  func(b []byte) string { return string(bytes.TrimSpace(b)) },
	}, {
		Before: func(b []byte, set string) string { return strings.Trim(string(b), set) },
		After:  func(b []byte, set string) string { return string(bytes.Trim(b, set)) },
	}, {
		Before: func(b []byte, set string) string { return strings.TrimLeft(string(b), set) },
		After:  func(b []byte, set string) string { return string(bytes.TrimLeft(b, set)) },
	}, {
		Before: func(b []byte, set string) string { return strings.TrimRight(string(b), set) },
		After:  func(b []byte, set string) string { return string(bytes.TrimRight(b, set)) },
	}, {
		Before: func(b []byte, head string) string { return strings.TrimPrefix(string(b), head) },
		After:  func(b []byte, head string) string { return string(bytes.TrimPrefix(b, []byte(head))) },
		When:   func(head string) bool { return true }, // else the conversion would only move
	}, {
		Before: func(b []byte, tail string) string { return strings.TrimSuffix(string(b), tail) },
		After:  func(b []byte, tail string) string { return string(bytes.TrimSuffix(b, []byte(tail))) },
		When:   func(tail string) bool { return true },
	}, {
		Before: func(b []byte, low int) string { return string(b)[low:] },
		After:  func(b []byte, low int) string { return string(b[low:]) },
	}},
}.Mutator()
