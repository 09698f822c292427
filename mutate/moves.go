package mutate

import (
	"fmt"

	"github.com/beagle-go/beagle"
)

// Moves lists all steps that the mutators offer from a candidate, in the order
// of the slice, its sites and their parameters. Advice (E5) is none. A move's
// weight is the site's share of the profile times what the rule promises to
// save of it; sites of which the profile knows nothing keep a small weight, so
// that nothing is unreachable.
func Moves(p *Pass, ms []*Mutator) []beagle.Move {
	var out []beagle.Move
	for _, m := range ms {
		if m.Class == beagle.E5 {
			continue // advice
		}
		for i, site := range m.Find(p) {
			weight := max(p.Weight(site.Node), 0.01) * max(1-1/m.Gain, 0.01)
			for j := range m.Choices(p, site) {
				out = append(out, beagle.Move{Mutator: m.Name, Site: i, Param: j, Weight: weight})
			}
		}
	}
	return out
}

// Choices is Params with one empty choice where there is none.
func (m *Mutator) Choices(p *Pass, site Site) []Param {
	if m.Params != nil {
		return m.Params(p, site)
	}
	return []Param{{}}
}

// Take makes one step: it applies mutator m at a site with a parameter, both
// by index, and returns the new source, formatted and without what the step
// made useless. The error says why the step is refused; the candidate is as
// good as before.
func Take(p *Pass, m *Mutator, site, param int) (string, beagle.Step, error) {
	step := beagle.Step{Mutator: m.Name, Class: m.Class}
	sites := m.Find(p)
	if site >= len(sites) {
		return "", step, fmt.Errorf("%s: no site %d", m.Name, site)
	}
	s := sites[site]
	step.Site = s.Label
	params := m.Choices(p, s)
	if param >= len(params) {
		return "", step, fmt.Errorf("%s: no parameter %d at %s", m.Name, param, s.Label)
	}
	step.Param = params[param].Label
	edits, err := m.Rewrite(p, s, params[param])
	if err != nil {
		return "", step, fmt.Errorf("%s: %w", m.Name, err)
	}
	src, err := Apply(p.Src, edits)
	if err != nil {
		return "", step, fmt.Errorf("%s at %s: %w", m.Name, s.Label, err)
	}
	if src, err = dropOrphans(p, src); err != nil {
		return "", step, fmt.Errorf("%s at %s: %w", m.Name, s.Label, err)
	}
	return string(src), step, nil
}
