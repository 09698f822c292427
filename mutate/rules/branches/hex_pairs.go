package branches

import (
	_ "embed"
	"encoding/hex"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed hex_pairs.go
var hexPairsSource string

// hexPairs (catalogue N3) matches encoding/hex at work on bytes. It looks up both digits of a byte
// at once.
var hexPairs = example.Rule{
	Name: "hex-pairs",
	Doc: "Write hexadecimal digits from a table of pairs, two bytes at a time, instead of one digit after the other. " +
		"The helper is short enough to be inlined. Exact unless the destination is too short, where both panic, " +
		"after more or fewer digits.",
	Class:  beagle.E1,
	Gain:   1.3,
	Source: hexPairsSource,
	Pairs: []example.Pair{{
		Before: func(dst, src []byte) { hex.Encode(dst, src) },
		After:  func(dst, src []byte) { kit.EncodeHex(dst, src) },
		Given:  func(dst, src []byte) bool { return len(dst) >= 2*len(src) },
	}, {
		Before: func(src []byte) string { return hex.EncodeToString(src) },
		After:  func(src []byte) string { return kit.HexText(src) },
	}},
	Guard:    func(m *example.Match) bool { return facts.TakesTime(m.Pass, m.Node) },
	Together: true,
	Label:    func(*example.Match) string { return "hexadecimal digits" },
}.Mutator()
