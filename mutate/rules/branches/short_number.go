package branches

import (
	_ "embed"
	"go/ast"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed short_number.go
var shortNumberSource string

// shortNumber (part of catalogue C8) matches calls of strconv.ParseFloat for 64 bits. They become
// calls of a helper that reads short decimal numbers itself.
var shortNumber = example.Rule{
	Name: "short-number",
	Doc: "Read a decimal number of up to 15 characters, digits with at most one point, digit by digit, and leave all " +
		"others to strconv.ParseFloat, which looks for signs, exponents, hexadecimal digits and underscores first. " +
		"Exact: the digits and the power of ten both fit a float64, so one division rounds as ParseFloat does.",
	Class:  beagle.E0,
	Gain:   1.5,
	Source: shortNumberSource,
	Pairs: []example.Pair{{
		Before: func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		After:  func(s string) (float64, error) { return kit.ParseShort(s) },
	}},
	// The constant may differ between systems.
	Guard:    func(m *example.Match) bool { return facts.WrittenOut(m.Pass, m.Node.(*ast.CallExpr).Args[1]) },
	Together: true,
	Label:    func(*example.Match) string { return "numbers that are parsed" },
}.Mutator()
