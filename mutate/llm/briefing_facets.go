package llm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// FacetsInWords describes a target's typical inputs: one line for each parameter, and one for each
// property that calls share. With redact it holds no captured value.
func FacetsInWords(t *beagle.Target, f *beagle.Facets, redact bool) string {
	if f == nil || f.Records == 0 {
		return ""
	}
	var hide *redactor
	if redact {
		hide = newRedactor(t)
	}
	lines := []string{fmt.Sprintf("%d distinct inputs were recorded.", f.Records)}
	for i, p := range f.Params {
		lines = append(lines, paramInWords(paramOf(t, i), &p, f.Records, hide)...)
	}
	lines = append(lines, callsInWords(f)...)
	if m := f.Mined; m != nil {
		lines = append(lines, minedInWords(m))
	}
	return strings.Join(lines, "\n") + "\n"
}

func paramOf(t *beagle.Target, i int) beagle.Param {
	if t == nil || i >= len(t.Params) {
		return beagle.Param{}
	}
	return t.Params[i]
}

// paramInWords describes the recorded arguments of a parameter. With hide it shows shapes and no
// values.
func paramInWords(p beagle.Param, f *beagle.ParamFacet, records int, hide *redactor) []string {
	var says []string
	say := func(when bool, format string, args ...any) {
		if when {
			says = append(says, fmt.Sprintf(format, args...))
		}
	}
	say(true, "%d distinct values", f.Distinct)
	say(f.Len[4] > 0, "length %d to %d, median %d, 95 %% at most %d, 99 %% at most %d", f.Len[0], f.Len[4], f.Len[1],
		f.Len[2], f.Len[3])
	say(f.Nil > 0, "%s nil", percent(f.Nil))
	say(f.Empty > 0, "%s empty", percent(f.Empty))
	texts := len(f.Bytes) == 256
	say(texts, "%s all ASCII", percent(f.ASCII))
	lists := p.Kind == "slice" || p.Kind == "array"
	say(lists && f.Len[4] > 1, "%s in ascending order", percent(f.Sorted))
	say(lists && f.Len[4] > 1, "%s without two equal elements", percent(f.Unique))
	say(isNumber(p.Kind) && hide == nil, "from %v to %v", f.Min, f.Max)
	say(isNumber(p.Kind) && hide != nil, "%s", magnitude(f.Min, f.Max))
	lines := []string{fmt.Sprintf("- %s %s: %s.", OneLine(f.Name), OneLine(p.Type), strings.Join(says, "; "))}
	if texts {
		lines = append(lines, "  Bytes: "+bytesInWords(f.Bytes, hide != nil)+".")
	}
	if len(f.Top) > 0 && f.Distinct > 0 && f.Top[0].Share > 1.5/float64(max(records, 1)) {
		lines = append(lines, "  Most frequent: "+topInWords(f.Top, hide)+".")
	}
	return lines
}

func isNumber(kind string) bool {
	return strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint") || strings.HasPrefix(kind, "float")
}

// magnitude describes a range without its ends.
func magnitude(low, high float64) string {
	sign := "of both signs"
	switch {
	case low >= 0:
		sign = "never negative"
	case high < 0:
		sign = "always negative"
	}
	digits := len(fmt.Sprintf("%.0f", math.Max(math.Abs(low), math.Abs(high))))
	return fmt.Sprintf("%s, up to %d digits", sign, digits)
}

// bytesInWords groups the bytes by kind. It lists punctuation byte by byte unless that would reveal
// too much.
func bytesInWords(shares []float64, redact bool) string {
	type group struct {
		name  string
		share float64
	}
	groups := map[string]float64{}
	for b, share := range shares {
		groups[byteKind(byte(b), redact)] += share
	}
	var list []group
	for name, share := range groups {
		if share >= 0.0005 {
			list = append(list, group{name, share})
		}
	}
	inorder.By(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, g := range list[:min(len(list), 14)] {
		out = append(out, g.name+" "+percent(g.share))
	}
	return strings.Join(out, ", ")
}

func byteKind(b byte, redact bool) string {
	for _, k := range charKinds {
		if b < 0x80 && k.in(rune(b)) {
			if k.name == "punctuation" && !redact {
				return fmt.Sprintf("%q", rune(b))
			}
			return k.name
		}
	}
	return "not ASCII"
}

func topInWords(top []beagle.TopValue, hide *redactor) string {
	var out []string
	for _, v := range top {
		out = append(out, OneLine(hide.value(v.Value))+" "+percent(v.Share))
	}
	return strings.Join(out, ", ")
}

func callsInWords(f *beagle.Facets) []string {
	var lines []string
	say := func(share float64, format string) {
		if share > 0 {
			lines = append(lines, "- "+fmt.Sprintf(format, percent(share)))
		}
	}
	say(f.Identity, "%s of the calls give a result equal to their first argument.")
	say(f.Errors, "%s of the calls return an error.")
	if len(f.Mutates) > 0 {
		lines = append(lines, "- The calls change what these parameters hold: "+
			OneLine(strings.Join(f.Mutates, ", "))+".")
	}
	return lines
}

// minedInWords describes the fixed points of the function, which are a property of the function and
// not of its inputs.
func minedInWords(m *beagle.Mined) string {
	if len(m.Fixed1) == 0 {
		return "- No text of one byte comes back as it is."
	}
	return "- Texts of one byte that come back as they are: " + byteRanges(m.Fixed1) + "."
}

// byteRanges writes a set of bytes as 'a'-'z', '0'-'9', ':'.
func byteRanges(set []byte) string {
	set = slices.Clone(set)
	inorder.Sort(set)
	var out []string
	for i := 0; i < len(set); {
		j := i
		for j+1 < len(set) && set[j+1] == set[j]+1 {
			j++
		}
		if j-i < 2 {
			for ; i <= j; i++ {
				out = append(out, quoteByte(set[i]))
			}
			continue
		}
		out = append(out, quoteByte(set[i])+"-"+quoteByte(set[j]))
		i = j + 1
	}
	return strings.Join(out, ", ")
}

func quoteByte(b byte) string {
	if b < 0x80 {
		return fmt.Sprintf("%q", rune(b))
	}
	return fmt.Sprintf(`'\x%02x'`, b)
}

// percent rounds a share. A rare thing does not become "none", nor a frequent one "all".
func percent(share float64) string {
	p := 100 * share
	switch {
	case p <= 0:
		return "0 %"
	case p < 0.1:
		return "under 0.1 %"
	case p > 99.9 && p < 100:
		return "over 99.9 %"
	case p < 10 || p > 99 && p < 100:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}
