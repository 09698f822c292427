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
		for i, o := range p.offers(m) {
			weight := max(p.Weight(o.site.Node), 0.01) * max(1-1/m.Gain, 0.01)
			for j := range o.params {
				out = append(out, beagle.Move{Mutator: m.Name, Site: i, Param: j, Weight: weight})
			}
		}
	}
	return out
}

// An offer is a place where a mutator applies, and how it may: one empty
// parameter where there is no choice.
type offer struct {
	site   Site
	params []Param
}

// offers asks a mutator once for each version: it is asked for again when one of
// its moves is taken.
func (p *Pass) offers(m *Mutator) []offer {
	k := &p.known
	k.mu.Lock()
	out, ok := k.offers[m]
	k.mu.Unlock()
	if ok {
		return out
	}
	for _, site := range m.Find(p) {
		params := []Param{{}}
		if m.Params != nil {
			params = m.Params(p, site)
		}
		out = append(out, offer{site, params})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.offers == nil {
		k.offers = map[*Mutator][]offer{}
	}
	k.offers[m] = out
	return out
}

// A Choice is a way to take a step: a site and a parameter of a mutator, by
// index and by label.
type Choice struct {
	Site, Param       int
	SiteName, Setting string
}

// Choices lists all ways in which a mutator can take a step.
func Choices(p *Pass, m *Mutator) []Choice {
	var out []Choice
	for i, o := range p.offers(m) {
		for j, param := range o.params {
			out = append(out, Choice{i, j, o.site.Label, param.Label})
		}
	}
	return out
}

// Take makes one step: it applies mutator m at a site with a parameter, both
// by index, and returns the new source, without what the step made useless. It
// still is to be formatted. The error says why the step is refused; the
// candidate is as good as before.
func Take(p *Pass, m *Mutator, site, param int) (string, beagle.Step, error) {
	step := beagle.Step{Mutator: m.Name, Class: m.Class}
	offers := p.offers(m)
	if site >= len(offers) {
		return "", step, fmt.Errorf("%s: no site %d", m.Name, site)
	}
	s, params := offers[site].site, offers[site].params
	step.Site = s.Label
	if param >= len(params) {
		return "", step, fmt.Errorf("%s: no parameter %d at %s", m.Name, param, s.Label)
	}
	step.Param = params[param].Label
	edits, err := m.Rewrite(p, s, params[param])
	if err != nil {
		return "", step, fmt.Errorf("%s: %w", m.Name, err)
	}
	src, err := splice(p.Src, edits)
	if err == nil {
		src, err = tidy(p, src)
	}
	if err != nil {
		return "", step, fmt.Errorf("%s at %s: %w", m.Name, s.Label, err)
	}
	return string(src), step, nil
}
