package mutate

import (
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Moves lists all steps that the mutators offer from a candidate, in the order of the slice, its
// sites and their parameters. It leaves out advice (E5). A move's weight is the site's share of the
// profile times the saving that the rule promises. A site that the profile does not know keeps a
// small weight, so every move stays reachable, except those in code that takes no time.
func Moves(p *Pass, ms []*Mutator) []beagle.Move {
	ms = slices.DeleteFunc(slices.Clone(ms), func(m *Mutator) bool { return m.Class == beagle.E5 }) // advice
	var out []beagle.Move
	for k, offers := range p.offers(ms) {
		m := ms[k]
		for i, o := range offers {
			if p.Cold != nil && p.Cold(o.site.Node) {
				continue
			}
			weight := p.share(o.site) * max(1-1/m.Gain, 0.01)
			for j := range o.params {
				out = append(out, beagle.Move{Mutator: m.Name, Site: i, Param: j, Weight: weight})
			}
		}
	}
	return out
}

// share returns the share of the time that a site takes, or a little if the profile does not know.
func (p *Pass) share(s Site) float64 { return max(p.Weight(s.Node), 0.01) }

// An offer is a place where a mutator applies, and the ways in which it can. Without a choice,
// there is one empty parameter.
type offer struct {
	site   Site
	params []Param
}

// offers returns what each mutator offers. It asks the mutators once for each version, although the
// search needs the offers again when it takes a move. A mutator that fails offers nothing.
func (p *Pass) offers(ms []*Mutator) [][]offer {
	out := make([][]offer, len(ms))
	var unasked []*Mutator
	var places []int
	k := &p.known
	k.mu.Lock()
	for i, m := range ms {
		known, ok := k.offers[m]
		if out[i] = known; !ok {
			unasked, places = append(unasked, m), append(places, i)
		}
	}
	k.mu.Unlock()
	p.carryOut(unasked, func(p *Pass, task int) func() {
		offers := p.ask(unasked[task])
		return func() { out[places[task]] = offers }
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.offers == nil {
		k.offers = map[*Mutator][]offer{}
	}
	for task, m := range unasked {
		k.offers[m] = out[places[task]]
	}
	return out
}

// ask calls a mutator's functions for its sites and their parameters.
func (p *Pass) ask(m *Mutator) []offer {
	p.enter("Find")
	sites := m.Find(p)
	p.enter("Params")
	out := make([]offer, len(sites))
	for i, site := range sites {
		out[i] = offer{site, []Param{{}}}
		if m.Params != nil {
			out[i].params = m.Params(p, site)
		}
	}
	return out
}

// Find returns the sites of a mutator, or none if the mutator fails.
func Find(p *Pass, m *Mutator) (sites []Site) {
	p.carryOut([]*Mutator{m}, func(p *Pass, _ int) func() {
		p.enter("Find")
		found := m.Find(p)
		return func() { sites = found }
	})
	return sites
}

// A Choice is a way to take a step: a site and a parameter of a mutator, by index and by label.
type Choice struct {
	Site, Param       int
	SiteName, Setting string
	Share             float64 // of the time; 0 in code that takes none
}

// Choices lists all ways in which a mutator can take a step.
func Choices(p *Pass, m *Mutator) []Choice {
	var out []Choice
	for i, o := range p.offers([]*Mutator{m})[0] {
		share := p.share(o.site)
		if p.Cold != nil && p.Cold(o.site.Node) {
			share = 0
		}
		for j, param := range o.params {
			out = append(out, Choice{i, j, o.site.Label, param.Label, share})
		}
	}
	return out
}

// Take makes one step: it applies mutator m at a site with a parameter, both by index. It returns
// the new source, unformatted, without declarations that the step made useless. The error says why
// the step is refused; the candidate stays usable.
func Take(p *Pass, m *Mutator, site, param int) (*syntax.Text, beagle.Step, error) {
	step := beagle.Step{Mutator: m.Name, Class: m.Class}
	offers := p.offers([]*Mutator{m})[0]
	if site >= len(offers) {
		return nil, step, fmt.Errorf("%s: no site %d", m.Name, site)
	}
	s, params := offers[site].site, offers[site].params
	step.Site = s.Label
	if param >= len(params) {
		return nil, step, fmt.Errorf("%s: no parameter %d at %s", m.Name, param, s.Label)
	}
	step.Param = params[param].Label
	edits, err := rewrite(p, m, s, params[param])
	if err != nil {
		return nil, step, fmt.Errorf("%s: %w", m.Name, err)
	}
	var text *syntax.Text
	src, err := splice(p.Src, edits)
	if err == nil {
		err = p.ownWords(edits)
	}
	if err == nil {
		text, err = tidy(p, src)
	}
	if err != nil {
		return nil, step, fmt.Errorf("%s at %s: %w", m.Name, s.Label, err)
	}
	return text, step, nil
}

// rewrite returns a mutator's edits, its refusal, or its fault.
func rewrite(p *Pass, m *Mutator, s Site, param Param) (edits []Edit, err error) {
	faults := p.carryOut([]*Mutator{m}, func(p *Pass, _ int) func() {
		p.enter("Rewrite")
		made, refused := m.Rewrite(p, s, param)
		return func() { edits, err = made, refused }
	})
	if faults[0] != nil {
		return nil, faults[0]
	}
	return edits, err
}
