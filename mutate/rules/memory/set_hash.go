package memory

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate/facts"
)

// hashFactor is 2^64 divided by the golden ratio, an odd number. It spreads numbers that lie close
// together.
const hashFactor = "0x9e3779b97f4a7c15"

// A part is one of the integers in a key.
type part struct {
	field string // with its dot; "" for the whole element
	text  string // the text of its value
	typ   types.Type
}

// packWord writes the parts of a key side by side in a word, the first one lowest, or returns "" if
// they do not fit. One step then hashes a key, and one load reads neighbouring fields.
//
//	struct{ kind uint8; port uint16 }    uint64(uint8(k.kind)) | uint64(uint16(k.port))<<8
func packWord(parts []part) string {
	bits := int64(0)
	var words []string
	for _, one := range parts {
		size := 8 * facts.Sizes64.Sizeof(one.typ)
		w := fmt.Sprintf("uint64(uint%d(%s))", size, one.text)
		if size == 64 {
			w = fmt.Sprintf("uint64(%s)", one.text)
		}
		if bits > 0 {
			w += "<<" + strconv.Itoa(int(bits))
		}
		words = append(words, w)
		// More than one word would need more than one step.
		if bits += size; bits > 64 {
			return ""
		}
	}
	return strings.Join(words, " | ")
}

// mixHash declares h, and mixes the parts of a key into it one after the other.
func mixHash(h string, parts []part) string {
	lines := []string{fmt.Sprintf("%s := uint64(%s) * %s", h, parts[0].text, hashFactor)}
	for _, one := range parts[1:] {
		lines = append(lines, fmt.Sprintf("%s = (%s ^ %s>>32 ^ uint64(%s)) * %s", h, h, h, one.text, hashFactor))
	}
	return strings.Join(lines, "\n")
}

// tableBits returns the size of a hash table for n keys, as a power of two.
func tableBits(n int) int {
	bits := 1
	for 1<<bits < 2*n {
		bits++
	}
	return bits
}
