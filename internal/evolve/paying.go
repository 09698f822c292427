package evolve

import (
	"math"
	"strings"

	"github.com/beagle-go/beagle"
)

// surelySlower is the bound of a slower input class: the upper end of its ratio's interval must lie
// below it. A 95 % bound alone would misjudge 1 in 20 candidates, since each has several classes.
const surelySlower = 0.97

// Pays reports whether a class of inputs is surely slower with a candidate.
func Pays(c beagle.InputClassRatio) bool { return c.Ratio.High > 0 && c.Ratio.High < surelySlower }

// pays returns the classes of inputs on which a candidate is surely slower.
func pays(v *beagle.Verdict) (names []string, worst float64) {
	worst = 1
	for _, c := range v.InputClasses {
		if Pays(c) {
			names, worst = append(names, c.Name), min(worst, c.Ratio.High)
		}
	}
	return names, worst
}

// score returns the worth of a verdict: a tenth faster is about 0.1, whatever the speed. If one
// class of inputs pays for the others, that class sets the score: a candidate that no class pays
// for dominates it.
func score(v *beagle.Verdict) float64 {
	if v.Screen == nil || v.Screen.Low <= 0 {
		return 0
	}
	if names, worst := pays(v); len(names) > 0 {
		return min(math.Log(v.Screen.Low), math.Log(worst))
	}
	return math.Log(v.Screen.Low)
}

// payers returns the part of a cell that separates candidates with slower input classes from the
// others. Such candidates may be stepping stones, but never take the place of an elite.
func payers(v *beagle.Verdict) string {
	names, _ := pays(v)
	if len(names) == 0 {
		return ""
	}
	return "|slower: " + strings.Join(names, ", ")
}
