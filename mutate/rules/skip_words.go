package rules

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/mutate"
)

// A byteRange is a range of ASCII, or all bytes above it.
type byteRange struct{ low, high int }

// wordRanges writes a set of bytes as at most four ranges that arithmetic on a
// word can test; nil when there are more, or when the bytes above 127 are not
// alike.
func wordRanges(set [256]bool) []byteRange {
	var out []byteRange
	for c := 0; c < 256; c++ {
		if !set[c] {
			continue
		}
		r := byteRange{c, c}
		for r.high+1 < 256 && set[r.high+1] && r.high != 0x7f {
			r.high++
		}
		if r.low >= 0x80 && r != (byteRange{0x80, 0xff}) || len(out) == 4 {
			return nil
		}
		out = append(out, r)
		c = r.high
	}
	return out
}

// skipWords steps over a run of accepted bytes eight at a time.
func skipWords(p *mutate.Pass, s skipSite, ranges []byteRange) []mutate.Edit {
	seq, i := s.loop.Seq.Name(), s.loop.Index.Name()
	load, edits := loadWord(p, s.loop.Stmt, s.loop.Seq, fmt.Sprintf("%s[%s+1:]", seq, i))
	all := p.Fresh("allAccepted", "wordAccepted")
	return append(edits,
		p.Insert(s.at, fmt.Sprintf("for %s+8 < %s && %s(%s) {\n%s += 8\n}\n", i, p.Text(s.loop.Bound), all, load, i)),
		p.Declare(s.loop.Stmt, wordTestOf(all, ranges)))
}

// wordTestOf declares the test of eight bytes at once. With the top bit of each
// byte taken off, no sum carries into the next byte: adding 0x80-low sets the
// top bit from low on, adding 0x7f-high above high.
func wordTestOf(name string, ranges []byteRange) string {
	above := "in &^= w // none is above ASCII"
	var tests []string
	for _, r := range ranges {
		if r.low >= 0x80 {
			above = "in |= w // nor is any above ASCII refused"
			continue
		}
		tests = append(tests, fmt.Sprintf("in |= (x + %#x*each) &^ (x + %#x*each) // %s to %s", 0x80-r.low, 0x7f-r.high, byteText(r.low), byteText(r.high)))
	}
	return fmt.Sprintf(`// %s reports whether the loop accepts all eight bytes of w.
func %s(w uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	x, in := w&^top, uint64(0)
	%s
	%s
	return in&top == top
}`, name, name, strings.Join(tests, "\n"), above)
}
