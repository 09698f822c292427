package mutate

import (
	"cmp"
	"strings"

	"github.com/beagle-go/beagle"
)

// Favourable returns facets under which rules that ask about the inputs are likely to apply: many
// inputs, most of them ASCII, sorted, short and returned unchanged. A rule that finds no place with
// them will hardly find one with recorded inputs.
func Favourable(t *beagle.Target) *beagle.Facets {
	f := &beagle.Facets{Records: 1000, Identity: 0.95, Mined: favourableMined()}
	for _, p := range t.Params {
		bytes := make([]float64, 256)
		for c := 'a'; c <= 'z'; c++ {
			bytes[c] = 1.0 / 26
		}
		f.Params = append(f.Params, beagle.ParamFacet{
			Name: p.Name, Distinct: 1000, Len: [5]int{0, 12, 40, 60, 100}, ASCII: 0.99, Bytes: bytes,
			Sorted: 0.98, Unique: 0.98, Min: 0, Max: 1000, Top: favourableTop(p),
		})
	}
	return f
}

// favourableMined are the fixed points of a function that returns every text of lower-case letters
// as it is.
func favourableMined() *beagle.Mined {
	m := &beagle.Mined{Fixed2: make([][]byte, 256)}
	letters := make([]byte, 32)
	for c := byte('a'); c <= 'z'; c++ {
		m.Fixed1 = append(m.Fixed1, c)
		letters[c/8] |= 1 << (c % 8)
	}
	for a := range m.Fixed2 {
		m.Fixed2[a] = make([]byte, 32)
	}
	for _, c := range m.Fixed1 {
		m.Fixed2[c] = letters
	}
	return m
}

// favourableTop returns the value that most calls pass for a parameter: a plain value of its
// kind, if it has one.
func favourableTop(p beagle.Param) []beagle.TopValue {
	value := ""
	switch kind := cmp.Or(p.Kind, p.Type); {
	case kind == "bool":
		value = "true"
	case strings.HasPrefix(kind, "int") && kind != "interface", strings.HasPrefix(kind, "uint"):
		value = "8"
	default:
		return nil
	}
	return []beagle.TopValue{{Value: value, Share: 0.6}}
}
