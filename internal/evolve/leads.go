package evolve

import (
	"cmp"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// maxLeads is the number of members that are compared over layouts. The screen measured them all in
// one layout, so luck had a part in their ranks.
const maxLeads = 6

// A Lead is one of the best members of a search, with its forms that leave out some steps and
// behave.
type Lead struct {
	ID    string        `json:"id"`
	Steps []beagle.Step `json:"steps"`
	Loose int           `json:"loose"` // the number of last steps that may be left out
	Short Finalist      `json:"short"` // the form to measure in full, by the screen
	Parts []Part        `json:"parts,omitempty"`
}

// A Part is a form of a lead.
type Part struct {
	Finalist
	Without []int `json:"without"` // of the lead's loose steps, by index
}

// Leads returns the best members that took different ways: those that were trimmed first, and then
// the joint version.
func (tr *trims) Leads() []Lead {
	var out []Lead
	for _, id := range tr.leading() {
		m := tr.population.index[id]
		l := Lead{ID: id, Steps: m.Steps, Loose: len(m.stepsAfterBase()), Short: tr.simplestForm(m)}
		for _, t := range tr.Trims {
			if t.Of == id && t.As != "" && t.As != tr.population.Root {
				l.Parts = append(l.Parts, Part{Finalist{ID: t.ID, Steps: t.Steps}, t.Without})
			}
		}
		out = append(out, l)
	}
	return out
}

// leading returns the IDs of the finals, of the joint version whatever its own screening says, and
// of the next best members that took other ways.
func (tr *trims) leading() []string {
	out := slices.Clone(tr.Finals)
	if id := tr.joint(); id != "" && !slices.Contains(out, id) {
		out = append(out, id)
	}
	for _, m := range tr.population.Ranked() {
		if len(out) >= maxLeads {
			break
		}
		trim := func(t Trim) bool { return t.As == m.ID }
		known := func(id string) bool {
			return id == m.ID || m.extends(tr.population.index[id]) && !tr.mayBeat(m, tr.population.index[id])
		}
		if m.ID != tr.population.Root && m.Point >= worthATry && !slices.ContainsFunc(tr.Trims, trim) &&
			!slices.ContainsFunc(out, known) {
			out = append(out, m.ID)
		}
	}
	return out
}

// Rank returns the leads that may gain something, by index, the surest gain first. ratios compare
// them with the original over several layouts. A ratio with the low end 0 is unknown, and its lead
// comes last. A lead without trimmed forms comes after the first lead with them, unless it is
// surely faster than that one looks.
func Rank(leads []Lead, ratios []beagle.Ratio) []int {
	var order []int
	for i := range leads {
		if ratios[i].High >= worthATry {
			order = append(order, i)
		}
	}
	inorder.By(order, func(a, b int) int { return cmp.Compare(ratios[b].Low, ratios[a].Low) })
	for k, i := range order {
		if len(leads[i].Parts) > 0 && ratios[i].Low > 0 {
			behind := func(j int) bool { return ratios[j].Low <= ratios[i].Point }
			for at := range k {
				if behind(order[at]) {
					copy(order[at+1:k+1], order[at:k])
					order[at] = i
					break
				}
			}
			break
		}
	}
	return order[:min(len(order), maxFinalists)]
}

// Compared returns the forms that a sifting compares with the lead: first those that leave out a
// bundle, and then those that leave out one step.
func (l *Lead) Compared() (out []Part) {
	for _, b := range bundles(l.removableSteps()) {
		whole := func(p Part) bool { return slices.Equal(p.Without, b) }
		if at := slices.IndexFunc(l.Parts, whole); at >= 0 {
			out = append(out, l.Parts[at])
		}
	}
	for _, p := range l.Parts {
		if len(p.Without) == 1 {
			out = append(out, p)
		}
	}
	return out
}

// bundles returns the steps of each rewrite that has several, by index.
func bundles(steps []beagle.Step) (out [][]int) {
	of := map[string][]int{}
	for i, st := range steps {
		of[st.Mutator] = append(of[st.Mutator], i)
	}
	for i, st := range steps {
		if b := of[st.Mutator]; len(b) > 1 && b[0] == i {
			out = append(out, b)
		}
	}
	return out
}

// Spare returns the steps of a lead to leave out. found compares each of its Compared forms with
// the lead in the same layouts, and whole the lead with the original. A step should surely gain
// something, since a maintainer has to read it: unshown holds the steps for which that is not sure,
// useless those that do not seem to gain. If a form could not be timed, its step stays.
//
// What one rewrite gains at each of several places may be too little to show, and at all of them
// together is not. So the steps of a bundle that is shown to gain go only if those that stay hold
// its gain.
func (l *Lead) Spare(found []beagle.Ratio, whole beagle.Ratio) (unshown, useless []int) {
	// Weigh the single steps, and then the bundles.
	single, bundle := map[int]beagle.Ratio{}, map[int]beagle.Ratio{}
	for i, p := range l.Compared() {
		switch {
		case found[i].Low <= 0:
		case len(p.Without) == 1:
			single[p.Without[0]] = found[i]
		default:
			bundle[p.Without[0]] = found[i]
		}
	}
	for _, step := range inorder.Keys(single) {
		if single[step].High >= 1 {
			unshown = append(unshown, step)
		}
		if single[step].Point >= 1-perStep {
			useless = append(useless, step)
		}
	}
	for _, b := range bundles(l.removableSteps()) {
		without := bundle[b[0]]
		if len(b) == len(l.Steps) && whole.Low > 0 { // the original is the form without it
			without = beagle.Ratio{Point: 1 / whole.Point, Low: 1 / whole.High, High: 1 / whole.Low}
		}
		if without.Low <= 0 || without.High >= 1 {
			continue
		}
		// The bundle's first cut that leaves its gain there holds for both lists.
		if !holds(b, unshown, single, without.Point) {
			unshown = swap(b, unshown, useless)
		}
		if !holds(b, unshown, single, without.Point) {
			unshown = swap(b, unshown, nil)
		}
		if !holds(b, useless, single, without.Point) {
			useless = swap(b, useless, nil)
		}
	}
	return unshown, useless
}

// holds reports whether a bundle keeps its gain without the steps of a cut, as far as single steps
// tell. without is the ratio of the form that lacks the whole bundle.
func holds(bundle, cut []int, single map[int]beagle.Ratio, without float64) bool {
	kept := 1.0
	for _, step := range bundle {
		r, known := single[step]
		switch {
		case slices.Contains(cut, step):
		case !known:
			return true
		default:
			kept /= r.Point
		}
	}
	return kept >= AsGoodAs(1/without, false)
}

// swap replaces the steps of a bundle in a cut by those that another cut has of it.
func swap(bundle, cut, by []int) (out []int) {
	for _, step := range cut {
		if !slices.Contains(bundle, step) {
			out = append(out, step)
		}
	}
	for _, step := range by {
		if slices.Contains(bundle, step) {
			out = append(out, step)
		}
	}
	inorder.Sort(out)
	return out
}

// removableSteps returns the steps of a lead that may be left out.
func (l *Lead) removableSteps() []beagle.Step { return l.Steps[len(l.Steps)-l.Loose:] }

// Loosened returns a loose step of a lead, by index.
func (l *Lead) Loosened(step int) beagle.Step { return l.removableSteps()[step] }

// Less returns the steps of a lead without some of the loose ones.
func (l *Lead) Less(cut []int) []beagle.Step { return leaveOut(l.Steps, len(l.Steps)-l.Loose, cut) }

// Nearest returns the form of a lead that leaves out most steps of a cut, and no other steps; nil
// if there is none. exact reports whether it leaves out the whole cut.
func (l *Lead) Nearest(cut []int) (best *Part, exact bool) {
	for i := range l.Parts {
		p := &l.Parts[i]
		foreign := func(step int) bool { return !slices.Contains(cut, step) }
		if !slices.ContainsFunc(p.Without, foreign) && (best == nil || len(p.Without) > len(best.Without)) {
			best = p
		}
	}
	return best, best != nil && len(best.Without) == len(cut)
}
