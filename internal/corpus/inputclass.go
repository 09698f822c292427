package corpus

import (
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// An InputClass is the part of the recorded inputs that has something in common.
type InputClass struct {
	Name    string  // "tag: non-ASCII"
	Share   float64 // of the calls, 0 to 1
	Records []beagle.Record
}

const (
	classShare   = leastStratum // of the calls; a smaller class is not looked at
	classRecords = 8            // distinct inputs; fewer say little
	longer       = 4            // times the median that a long input has
)

// A trait sorts an input by the argument for one parameter: into the first class, into the
// second, or into neither.
type trait struct {
	yes, no  string
	classify func(v *rt.Value, elems []rt.Value, median int) (is, known bool)
}

var traits = []trait{
	{"ASCII", "non-ASCII", func(v *rt.Value, elems []rt.Value, _ int) (bool, bool) {
		ascii, text := true, false
		look := func(v *rt.Value) {
			if v.Kind == rt.KindString || v.Kind == rt.KindBytes {
				text = true
				for i := range len(v.Str) {
					ascii = ascii && v.Str[i] < 0x80
				}
			}
		}
		look(v)
		for i := range elems {
			look(&elems[i])
		}
		return ascii, text
	}},
	{"invalid UTF-8", "", func(v *rt.Value, elems []rt.Value, _ int) (bool, bool) {
		valid, text := true, false
		look := func(v *rt.Value) {
			if v.Kind == rt.KindString || v.Kind == rt.KindBytes {
				text, valid = true, valid && utf8.ValidString(v.Str)
			}
		}
		look(v)
		for i := range elems {
			look(&elems[i])
		}
		return !valid, text
	}},
	{"empty", "", func(v *rt.Value, elems []rt.Value, _ int) (bool, bool) { return size(v, elems) == 0, sized(v) }},
	{"long", "short", func(v *rt.Value, elems []rt.Value, median int) (bool, bool) {
		return size(v, elems) >= longer*max(median, 8), sized(v)
	}},
	{"sorted", "unsorted", func(v *rt.Value, elems []rt.Value, _ int) (bool, bool) {
		for i := 1; i < len(elems); i++ {
			if !(compare(&elems[i-1], &elems[i]) <= 0) {
				return false, true
			}
		}
		return true, v.Kind == rt.KindList || v.Kind == rt.KindSliceRef
	}},
}

func sized(v *rt.Value) bool {
	switch v.Kind {
	case rt.KindString, rt.KindBytes, rt.KindMap, rt.KindList, rt.KindSliceRef:
		return true
	}
	return false
}

func size(v *rt.Value, elems []rt.Value) int {
	switch v.Kind {
	case rt.KindString, rt.KindBytes:
		return len(v.Str)
	case rt.KindMap:
		return len(v.Elems) / 2
	}
	return len(elems)
}

// InputClasses sorts the training inputs by each argument: ASCII or not, empty, long, sorted. A
// trait that nearly all inputs share, or nearly none, makes no class. One input may be of
// several.
func InputClasses(c *beagle.Corpus) ([]InputClass, error) {
	total := 0.0
	for _, r := range c.Train {
		total += r.Weight
	}
	var out []InputClass
	// Divide the inputs by each trait of each parameter.
	for p, facet := range c.Facets.Params {
		for _, t := range traits {
			yes, no := InputClass{Name: facet.Name + ": " + t.yes}, InputClass{Name: facet.Name + ": " + t.no}
			for _, r := range c.Train {
				is, known, err := t.sort(r, p, facet.Len[1])
				if err != nil {
					return nil, err
				}
				switch {
				case !known:
				case is:
					yes.add(r, total)
				default:
					no.add(r, total)
				}
			}
			// Keep a division if both sides have enough inputs.
			if !yes.counts() || !no.counts() {
				continue
			}
			if out = append(out, yes); t.no != "" {
				out = append(out, no)
			}
		}
	}
	return out, nil
}

func (t *trait) sort(r beagle.Record, param, median int) (is, known bool, err error) {
	v, err := rt.ParseValue(r.Args)
	if err != nil || param >= len(v.Elems) {
		return false, false, err
	}
	backs := map[int]*rt.Back{}
	collectBacks(&v, backs)
	at := target(&v.Elems[param], backs)
	if at == nil {
		return false, false, nil
	}
	var elems []rt.Value
	switch at.Kind {
	case rt.KindList, rt.KindArray, rt.KindSliceRef:
		elems = elements(at, backs)
	}
	is, known = t.classify(at, elems, median)
	return is, known, nil
}

func (c *InputClass) add(r beagle.Record, total float64) {
	c.Records = append(c.Records, r)
	c.Share += ratio(r.Weight, total)
}

func (c *InputClass) counts() bool { return c.Share >= classShare && len(c.Records) >= classRecords }
