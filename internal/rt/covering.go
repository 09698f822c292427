package rt

import (
	"math/rand/v2"
	"reflect"
	"strings"
)

// A search that changes one thing at a time never meets two rare things at once.
// Every slot has a few factors, each with a few levels: a text its beginning,
// body, insertion, end and case, a list its length, contents and nil, a number
// where it lies. All pairs of levels of all factors occur together, then
// tuples that are drawn.

// A factor is something about a case that can be chosen by itself.
type factor struct {
	slot   int
	levels int
}

// covering visits all pairs of levels, greedily in few cases, then draws.
func (x *exhauster) covering(yield func() bool) {
	parts := x.args.factors()
	if len(parts) < 2 {
		return
	}
	rng := rand.New(rand.NewPCG(x.q.Seed, 9))
	// The quick check draws its rows at random, for lack of time.
	var c *cover
	if !x.brief() {
		c = newCover(parts)
	}
	for row := 0; ; row++ {
		if row&15 == 15 && x.late() { // cases that are left out do not ask
			x.cut = true
			return
		}
		var levels []int
		if !x.brief() { // to cover all pairs takes more than the quick check has
			levels = c.next(rng)
		}
		if levels == nil {
			levels = drawRow(parts, rng)
		}
		x.args.base(row % x.args.bases)
		longest := x.args.build(parts, levels)
		if x.small() && !x.unless(!x.affords(longest), yield) {
			return
		}
	}
}

func drawRow(parts []factor, rng *rand.Rand) []int {
	levels := make([]int, len(parts))
	for i, p := range parts {
		levels[i] = rng.IntN(p.levels)
	}
	return levels
}

// maxFactors bounds the pairs.
const maxFactors = 24

// factors lists the factors of the slots, slot by slot.
func (a *arguments) factors() (list []factor) {
	for i, s := range a.slots {
		for _, n := range a.levelsOf(s.t) {
			list = append(list, factor{i, n})
		}
		if len(list) >= maxFactors {
			break
		}
	}
	return list
}

// levelsOf returns the number of levels of each factor of a type; level 0 of the first leaves the
// slot as it is.
func (a *arguments) levelsOf(t reflect.Type) []int {
	switch {
	case isText(t):
		return []int{len(textBodies), len(textEnds), len(textEnds), len(textEnds), len(textCases)}
	case t.Kind() == reflect.Slice:
		return []int{len(listLens), len(listPatterns), len(listEnds)}
	case t.Kind() == reflect.Struct && !closed(a.home, t):
		return nil // its fields are slots
	}
	return []int{len(a.values(t, coverValues, 0))}
}

// coverValues is the number of values of a type that count as its levels.
const coverValues = 40

// copyOf returns a telling value of a slot in memory of its own: other slots may lie in it.
func (a *arguments) copyOf(slot, level int) reflect.Value {
	t := a.slots[slot].t
	if a.kept == nil {
		a.kept = map[int][]reflect.Value{}
	}
	if a.kept[slot] == nil {
		a.kept[slot] = a.ownValues(t, coverValues)
	}
	src, dst := reflect.New(t), reflect.New(t)
	src.Elem().Set(a.kept[slot][level])
	clonePart(coderOf(t), src.UnsafePointer(), dst.UnsafePointer())
	return dst.Elem()
}

// build makes a case of chosen levels and returns the length of its longest
// sequence.
func (a *arguments) build(parts []factor, levels []int) (longest int) {
	// The factors of one slot stand in a row, and make one value together.
	for at := 0; at < len(parts); {
		i := parts[at].slot
		n := at
		for n < len(parts) && parts[n].slot == i {
			n++
		}
		t, f := a.slots[i].t, a.field(i)
		switch own := levels[at:n]; {
		case isText(t):
			a.coveredText(f, own)
		case t.Kind() == reflect.Slice:
			a.coveredList(f, own)
		case own[0] > 0:
			f.Set(a.copyOf(i, own[0]))
		}
		if isSequence(t) {
			longest = max(longest, f.Len())
		}
		at = n
	}
	return longest
}

// The levels of texts. An empty body is the record's own text.
var (
	textBodies = []string{"", "a", "0", "key=value", "a b c", "Mixed Case Words", "12345678",
		"00000000000000000000000000000000", "-1.5", "x-y_z.w/v",
		strings.Repeat("long ", 20), strings.Repeat("a", 70), strings.Repeat("word", 80), strings.Repeat("a", 5000)}
	textEnds = []string{"", " ", "\n", "_", "\u00a0", "\x00", "\xff", "É", "ſ", "\u2028", "-", "0", "\U0001f600", "__",
		"\t ", ",", "=", ":", "/", "."}
	textCases = []func(string) string{func(s string) string {
		return s
	}, strings.ToUpper, strings.ToLower, func(s string) string { return s + s }}
)

func (a *arguments) coveredText(f reflect.Value, own []int) {
	body := textBodies[own[0]]
	if body == "" {
		body = string(bytesOf(f))
	}
	half := len(body) / 2
	body = body[:half] + textEnds[own[2]] + body[half:]
	setText(f, []byte(textEnds[own[1]]+textCases[own[4]](body)+textEnds[own[3]]))
}

// The levels of lists. A length below zero leaves the record's list, or makes
// it nil.
var (
	listLens     = []int{-1, -2, 0, 1, 2, 3, 8, 65, 300, 1001}
	listPatterns = []pattern{patterns[0], patterns[1], patterns[3], patterns[4], patterns[5], patterns[6],
		{at: func(k, n int) int { return 0 }}}
	listEnds = []int{low - 8, low, high, 0, 1} // new values of its last element; the first leaves it
)

// coveredList makes a list of the chosen length and pattern, with the chosen last element. -1 keeps
// the record's own list, and -2 is nil.
func (a *arguments) coveredList(f reflect.Value, own []int) {
	t := f.Type()
	switch n := listLens[own[0]]; n {
	case -1:
	case -2:
		f.SetZero()
	default:
		s := reflect.MakeSlice(t, n, n)
		a.elems(s, listPatterns[own[1]])
		f.Set(s)
	}
	// The end of a list is where loops go wrong, so it is chosen apart from the pattern.
	if own[2] > 0 && f.Len() > 0 {
		a.element(f.Index(f.Len()-1), listEnds[own[2]], a.palette(t.Elem()))
	}
}

// A cover knows which pairs of levels are still to be met.
type cover struct {
	parts []factor
	met   map[[4]int]bool // factors and their levels
	left  [][4]int
}

func newCover(parts []factor) *cover {
	c := &cover{parts: parts, met: map[[4]int]bool{}}
	// Every pair of levels of every two factors is to come up at least once; few cases do for many
	// pairs.
	for i := range parts {
		for k := i + 1; k < len(parts); k++ {
			for a := range parts[i].levels {
				for b := range parts[k].levels {
					c.left = append(c.left, [4]int{i, k, a, b})
				}
			}
		}
	}
	return c
}

// coverTries is the number of levels tried for each factor of a row.
const coverTries = 4

// next makes a row around the first pair that is left, and chooses the other
// levels so that many more pairs are met; nil when all are.
func (c *cover) next(rng *rand.Rand) []int {
	// Drop the pairs that other rows have met meanwhile.
	for len(c.left) > 0 && c.met[c.left[0]] {
		c.left = c.left[1:]
	}
	if len(c.left) == 0 {
		return nil
	}
	// Start from the first pair that is left. -1 means that a part has no level yet.
	levels := make([]int, len(c.parts))
	for i := range levels {
		levels[i] = -1
	}
	first := c.left[0]
	levels[first[0]], levels[first[1]] = first[2], first[3]
	// Choose each other level from a few drawn ones, by how many pairs it would meet with the
	// levels chosen so far. The best of all levels would cost more than some more rows.
	for i, p := range c.parts {
		if levels[i] >= 0 {
			continue
		}
		best, gain := 0, -1
		for range coverTries {
			l := rng.IntN(p.levels)
			if g := c.gain(levels, i, l); g > gain {
				best, gain = l, g
			}
		}
		levels[i] = best
	}
	// Note the pairs that the row meets.
	for i := range levels {
		for k := i + 1; k < len(levels); k++ {
			c.met[[4]int{i, k, levels[i], levels[k]}] = true
		}
	}
	return levels
}

// gain returns how many new pairs a level of factor i makes with the chosen ones.
func (c *cover) gain(levels []int, i, level int) (n int) {
	for k, l := range levels {
		if l < 0 || k == i {
			continue
		}
		// A pair is kept with the smaller factor first.
		pair := [4]int{i, k, level, l}
		if k < i {
			pair = [4]int{k, i, l, level}
		}
		if !c.met[pair] {
			n++
		}
	}
	return n
}
