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
		l := Lead{ID: id, Steps: m.Steps, Loose: len(m.loose()), Short: tr.short(m)}
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

// Singles returns the forms of a lead that leave out one step.
func (l *Lead) Singles() []Part {
	one := func(p Part) bool { return len(p.Without) != 1 }
	return slices.DeleteFunc(slices.Clone(l.Parts), one)
}

// Spare returns the steps of a lead to leave out. gains compare each of its Singles with the lead
// in the same layouts. A step should surely gain something, since a maintainer has to read it:
// unshown holds the steps for which that is not sure, useless those that do not seem to gain. If a
// form could not be timed, its step stays.
func Spare(singles []Part, gains []beagle.Ratio) (unshown, useless []int) {
	for i, p := range singles {
		if gains[i].Low <= 0 {
			continue
		}
		if gains[i].High >= 1 {
			unshown = append(unshown, p.Without[0])
		}
		if gains[i].Point >= 1-perStep {
			useless = append(useless, p.Without[0])
		}
	}
	inorder.Sort(unshown)
	inorder.Sort(useless)
	return unshown, useless
}

// Loosened returns a loose step of a lead, by index.
func (l *Lead) Loosened(step int) beagle.Step { return l.Steps[len(l.Steps)-l.Loose+step] }

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
