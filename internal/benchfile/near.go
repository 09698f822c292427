package benchfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Services read into a large buffer, and pass pieces of it on: slices whose capacity reaches to the
// buffer's end. Written as Go code each would have a buffer of its own, on other pages than the
// others, and caches would hold less of them than in production. So they can lie side by side.

// farAbove is a capacity that puts slices of small things on pages of their own.
const farAbove = 4096

// spaciousBytes are slices of bytes with a capacity, as inputs are written.
var spaciousBytes = regexp.MustCompile(`append\(make\(\[\]byte, 0, (\d+)\), ("(?:[^"\\]|\\.)*")\.\.\.\)`)

// side rewrites such slices as pieces of one block. It returns how many there are, and how many
// bytes the block needs: each piece keeps its capacity.
func side(text string) (out string, pieces, block int) {
	widest := 0
	out = spaciousBytes.ReplaceAllStringFunc(text, func(slice string) string {
		m := spaciousBytes.FindStringSubmatch(slice)
		room, err := strconv.Atoi(m[1])
		piece, unquoted := strconv.Unquote(m[2])
		if err != nil || unquoted != nil || room < farAbove {
			return slice
		}
		pieces++
		block += len(piece)
		widest = max(widest, room)
		return fmt.Sprintf("near(%d, %s)", room, m[2])
	})
	return out, pieces, block + widest
}

// state names where calls find their inputs.
func (p *Plan) state() string {
	if p.Near {
		return "near"
	}
	return state(p.Cold)
}

// CanBeNear reports whether there are such slices, of a target that does not change its arguments.
func (p *Plan) CanBeNear() bool {
	if len(p.Corpus.Facets.Mutates) > 0 {
		return false
	}
	setup, body := p.inputs(p.times())
	_, pieces, _ := side(setup + body)
	return pieces > 1
}

// writeNear declares the block, and the function that lays a piece into it.
func (p *Plan) writeNear(b *strings.Builder, room int) {
	fmt.Fprintf(b, "\t// Production's slices have a capacity far above their length, as pieces of one buffer have.\n"+
		"\t// They lie side by side here too, so that caches hold as many of them.\n"+
		"\t%[1]sBlock = make([]byte, %[2]d)\n\tused := 0\n"+
		"\tnear := func(capacity int, text string) []byte {\n"+
		"\t\tpiece := %[1]sBlock[used : used+len(text) : used+capacity]\n\t\tused += copy(piece, text)\n"+
		"\t\treturn piece\n\t}\n", p.lower(), room)
}

// keptNear has the benchmark fail when a call wrote beyond its input, into the next one.
func (p *Plan) keptNear() string {
	return fmt.Sprintf("\tif string(%[1]sBlock) != %[1]sText {\n"+
		"\t\tb.Fatal(\"a call wrote behind its input, into the next one\")\n\t}\n", p.lower())
}
