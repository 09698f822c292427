package benchfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// A service reads an input, does other work, and then makes the call. So the call finds its input
// in the nearest caches, but not its own instructions there, and branches of others lie between. In
// a loop over the calls alone it is the other way round. A benchmark whose calls are handed over
// reads each input and does pieces of other work before the call. Neither counts in the comparison
// with production, which begins at the target.

// maxWork bounds the pieces of other work, about 40 KB of code: as much as nearest caches hold.
const maxWork = 64

// state names where calls find their inputs, and how many there are.
func (p *Plan) state() string {
	switch {
	case p.Scale != 0:
		plain := *p
		plain.Scale = 0
		if p.Scale < 0 {
			return fmt.Sprintf("%s, a %dth of the inputs until they repeat", plain.state(), -p.Scale)
		}
		return fmt.Sprintf("%s, %d times as many inputs until they repeat", plain.state(), p.Scale)
	case p.Pause > 0:
		plain := *p
		plain.Pause = 0
		return fmt.Sprintf("%s, a pause after each %d calls, in which others take the caches", plain.state(), p.Pause)
	case p.Handed && p.Work > 0:
		return fmt.Sprintf("handed over%s, with %d pieces of other work before each call", p.farAway(), p.Work)
	case p.Handed:
		return "handed over" + p.farAway()
	case p.isCold():
		return "cold"
	}
	return "warm" + p.farAway()
}

// writeHanded declares the functions that are called between two calls.
func (p *Plan) writeHanded(b *strings.Builder) {
	comment(b, fmt.Sprintf("%sRead reads the input of a call. Production's callers have just read it, so that it lies "+
		"in the nearest cache.", p.lower()))
	fmt.Fprintf(b, "func %[1]sRead(c *%[1]sCall) (n int) {\n", p.lower())
	for _, i := range p.recorded() {
		if !slices.Contains(p.Far, i) {
			b.WriteString(read(p.Unit.Target.Params[i], fmt.Sprintf("c.arg%d", i)))
		}
	}
	fmt.Fprintf(b, "\treturn n\n}\n\nvar %sDone uint64 // what is done between calls\n\n", p.lower())
	if p.Work > 0 {
		p.writeWork(b)
	}
}

// read returns the statements that read a text or a list of plain values, and the place behind the
// list, where the call may add to it. Other arguments are not read.
func read(q beagle.Param, name string) string {
	const text = "for k := 0; k < len(%[1]s); k += 16 {\n\t\tn += int(%[1]s[k])\n\t}\n"
	typ := valueType(q.Type)
	switch {
	case typ == "string":
		return fmt.Sprintf("\t"+text, name)
	case !flat(typ):
		return ""
	case typ == "[]string":
		return fmt.Sprintf("\tfor _, s := range %s {\n\t%s\t}\n", name, fmt.Sprintf(text, "s"))
	case typ == "[]bool":
		return fmt.Sprintf("\tfor _, v := range %s {\n\t\tif v {\n\t\t\tn++\n\t\t}\n\t}\n", name)
	}
	return fmt.Sprintf("\tfor k := 0; k <= len(%[1]s) && k < cap(%[1]s); k++ { // and the place behind it\n"+
		"\t\tn += int(%[1]s[:cap(%[1]s)][k])\n\t}\n", name)
}

// writeWork declares the pieces of other work. Each is the instance of one function for a type of
// its own, since the compiler then makes other instructions for it.
func (p *Plan) writeWork(b *strings.Builder) {
	comment(b, fmt.Sprintf("%[1]sWork is other work, as a service does between two calls of %[2]s. It takes caches "+
		"and branch predictors from the call: each piece has some 600 bytes of code of its own, which Go makes for "+
		"each type, and reads 64 bytes. More pieces take more. It counts in ns/op.", p.lower(), p.Unit.Target.Name))
	// List the pieces: arrays of different lengths give the function instances with code of their
	// own.
	var pieces strings.Builder
	for k := range p.Work {
		if k%4 == 0 {
			pieces.WriteString("\n\t")
		}
		fmt.Fprintf(&pieces, "%sPiece[[%d]byte], ", p.lower(), k+1)
	}
	taken := ""
	if p.open {
		taken = "[:" + p.number(piecesName, p.Work) + "]"
	}
	fmt.Fprintf(b, `var %[1]sWork = []func(uint64) uint64{%[2]s
}%[3]s

var (
	%[1]sBlock = make([]byte, 1<<20)
	%[1]sAt    int
)

//go:noinline
func %[1]sPiece[T any](x uint64) uint64 {
	x = %[1]sSteps(%[1]sSteps(x, 1), 5)
	if %[1]sAt += 64; %[1]sAt == len(%[1]sBlock) {
		%[1]sAt = 0
	}
	x += uint64(%[1]sBlock[%[1]sAt])
	return %[1]sSteps(%[1]sSteps(x, 9), 13)
}

func %[1]sSteps(x, n uint64) uint64 {
	return %[1]sStep(%[1]sStep(%[1]sStep(%[1]sStep(x, n), n+1), n+2), n+3)
}

func %[1]sStep(x, n uint64) uint64 {
	if x>>60 == n&15 { // one of 16 times
		x += n
	}
	return x*6364136223846793005 + n
}

`, p.lower(), pieces.String(), taken)
}

// setupText returns the statements before each call.
func (p *Plan) setupText() string {
	text := ""
	if p.Pause > 0 {
		text = fmt.Sprintf("\t\t%sPause()\n", p.lower())
	}
	if !p.Handed {
		return text
	}
	text += fmt.Sprintf("\t\t%[1]sDone += uint64(%[1]sRead(c))\n", p.lower())
	if p.Work > 0 {
		text += fmt.Sprintf("\t\tfor _, piece := range %[1]sWork {\n\t\t\t%[1]sDone = piece(%[1]sDone)\n\t\t}\n",
			p.lower())
	}
	return text
}
