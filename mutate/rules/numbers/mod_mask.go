package numbers

import (
	_ "embed"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed mod_mask.go
var modMaskSource string

// modMask (catalogue N1) matches a remainder of unsigned numbers by a variable. It calls a helper
// that masks if the divisor is a power of two, and divides otherwise. The compiler does the same
// for constants.
var modMask = example.Rule{
	Name: "mod-mask",
	Doc: "Take a remainder by a mask when the divisor is a power of two, which sizes of tables usually are; any " +
		"other divisor takes the division as before. Legal because for an unsigned x and a power of two n, x % n is " +
		"x & (n-1).",
	Class:  beagle.E3,
	Gain:   1.2,
	Source: modMaskSource,
	Pairs:  []example.Pair{{Before: remainder[uint64], After: remainderByMask[uint64]}},
	Guard: func(m *example.Match) bool {
		return m.Pass.Info.Types[m.Expr("n")].Value == nil && !facts.MentionsTypeParam(m.Type("T"))
	},
	Label: func(m *example.Match) string { return "remainder " + m.Pass.Text(m.Node) },
}.Mutator()

func remainder[T kit.Unsigned](x, n T) T       { return x % n }
func remainderByMask[T kit.Unsigned](x, n T) T { return kit.Mod[T](x, n) }
