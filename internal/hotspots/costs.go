package hotspots

import (
	"math"

	"github.com/google/pprof/profile"
)

// Costs returns the ranked profile with money in the place of time: hundredths of the currency a
// year, in all instances. Without a price it holds thousandths of the table's unit. The collector's
// time stands below the functions that pay for it.
func (t *Table) Costs() (p *profile.Profile, unit string, scale float64) {
	unit, scale = " "+t.Unit, 1e-3
	per := 1 / scale
	if t.Price != nil && t.Cores > 0 && t.Kind == CPU {
		unit, scale = " "+t.Price.Currency+" a year", 1e-2
		per = t.options.Service.year(t.Cores) / t.ranking.m.total / scale
	}
	b := &builder{p: &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cost", Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "cost", Unit: "count"}, Period: 1,
		Mapping: []*profile.Mapping{{ID: 1, Start: 1, Limit: 1 << 40, File: "service", HasFunctions: true,
			HasLineNumbers: true, HasFilenames: true}},
	}, locations: map[frame]*profile.Location{}, functions: map[*function]*profile.Function{}}
	if t.options.Service.Name != "" {
		b.p.Mapping[0].File = t.options.Service.Name
	}
	paid := 0.0
	for i, s := range t.ranking.m.stacks {
		if s.gc > 0 && t.ranking.payer[i] != nil {
			paid += s.gc
		}
	}
	collector := 0.0
	for _, s := range t.ranking.m.stacks {
		if s.collects() {
			collector += s.weight
		}
	}
	gc := frame{fn: &function{key: "[garbage collection caused here]"}}
	for i, s := range t.ranking.m.stacks {
		weight := s.weight
		if s.collects() && collector > 0 {
			weight *= max(0, 1-paid/collector) // the payers take the rest
		}
		b.add(s.frames, weight*per)
		if s.gc > 0 && t.ranking.payer[i] != nil {
			b.add(append([]frame{gc}, s.frames...), s.gc*per)
		}
	}
	return b.p, unit, scale
}

// A builder makes a profile of stacks.
type builder struct {
	p         *profile.Profile
	locations map[frame]*profile.Location
	functions map[*function]*profile.Function
}

func (b *builder) add(frames []frame, value float64) {
	v := int64(math.Round(value))
	if v <= 0 {
		return
	}
	s := &profile.Sample{Value: []int64{v}}
	for _, f := range frames {
		s.Location = append(s.Location, b.location(f))
	}
	b.p.Sample = append(b.p.Sample, s)
}

func (b *builder) location(f frame) *profile.Location {
	if l := b.locations[f]; l != nil {
		return l
	}
	fn := b.functions[f.fn]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.fn.key, SystemName: f.fn.key,
			Filename: f.fn.file}
		b.functions[f.fn] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	id := uint64(len(b.p.Location) + 1)
	l := &profile.Location{ID: id, Address: id, Mapping: b.p.Mapping[0],
		Line: []profile.Line{{Function: fn, Line: f.line}}}
	b.locations[f] = l
	b.p.Location = append(b.p.Location, l)
	return l
}
