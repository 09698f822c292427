package expose

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// ContentType is for the HTTP answer that carries a page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page is one answer to a scrape. The zero value is an empty page.
type Page struct {
	out        []byte
	claimed    map[string]struct{}
	collisions int
}

// WriteTo writes the page.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p.out)
	return int64(n), err
}

// Collisions counts the series that were left out because another one has their
// name and labels.
func (p *Page) Collisions() int { return p.collisions }

// Value is one sample of an own metric.
type Value struct {
	// Label and Is are the one label of the sample; Label may be empty.
	Label, Is string
	Value     float64
}

// Own writes a metric of the program itself; kind is "counter" or "gauge".
func (p *Page) Own(name, kind, help string, values ...Value) {
	p.claim(name)
	p.out = append(p.out, "# HELP "+name+" "+help+"\n"...)
	p.header(name, kind)
	for _, v := range values {
		label := ""
		if v.Label != "" {
			label = string(appendLabel(nil, v.Label, v.Is))
		}
		p.sample(name, label, v.Value)
	}
}

// claim takes names for one family, all or none.
func (p *Page) claim(names ...string) bool {
	if p.claimed == nil {
		p.claimed = make(map[string]struct{})
	}
	for _, name := range names {
		if _, taken := p.claimed[name]; taken {
			return false
		}
	}
	for _, name := range names {
		p.claimed[name] = struct{}{}
	}
	return true
}

func (p *Page) header(name, kind string) {
	p.out = append(p.out, "# TYPE "+name+" "+kind+"\n"...)
}

func (p *Page) sample(name, labels string, value float64) {
	p.out = append(p.out, name...)
	if labels != "" {
		p.out = append(append(append(p.out, '{'), labels...), '}')
	}
	p.out = append(p.out, ' ')
	p.out = strconv.AppendFloat(p.out, value, 'g', -1, 64)
	p.out = append(p.out, '\n')
}

// member is a state with its names on the page.
type member struct {
	name, labels string
	*aggregate.State
}

// States writes the contexts. It sorts, so that a page depends on its contents
// only.
func (p *Page) States(states []aggregate.State) {
	members := make([]member, len(states))
	for i := range states {
		s := &states[i]
		members[i] = member{metricName(s.Name), labels(&s.Context), s}
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.Type, b.Type),
			strings.Compare(a.labels, b.labels), strings.Compare(a.Name, b.Name))
	})
	for len(members) > 0 {
		n := slices.IndexFunc(members, func(m member) bool {
			return m.name != members[0].name || m.Type != members[0].Type
		})
		if n < 0 {
			n = len(members)
		}
		p.family(members[:n])
		members = members[n:]
	}
}

// family writes the series of one name and type.
func (p *Page) family(members []member) {
	name, t := members[0].name, members[0].Type
	if !p.claim(sampleNames(name, t)...) {
		name += "_" + t.String()
		if !p.claim(sampleNames(name, t)...) {
			p.collisions += len(members)
			return
		}
	}
	names := sampleNames(name, t)
	p.header(names[0], kinds[t])
	for i, m := range members {
		if i > 0 && m.labels == members[i-1].labels {
			p.collisions++
			continue
		}
		p.series(names, m)
	}
}

var kinds = map[dogstatsd.Type]string{
	dogstatsd.Count: "counter", dogstatsd.Gauge: "gauge", dogstatsd.Set: "gauge",
	dogstatsd.Timing: "summary", dogstatsd.Histogram: "summary", dogstatsd.Distribution: "summary",
}

// sampleNames are the names that a family's samples have; the first is the
// family's own.
func sampleNames(name string, t dogstatsd.Type) []string {
	switch {
	case kinds[t] == "summary":
		return []string{name, name + "_sum", name + "_count"}
	case t == dogstatsd.Count && !strings.HasSuffix(name, "_total"):
		return []string{name + "_total"}
	}
	return []string{name}
}

func (p *Page) series(names []string, m member) {
	if len(names) == 1 {
		p.sample(names[0], m.labels, m.Value)
		return
	}
	if m.Last != nil {
		p.quantiles(names[0], m.labels, m.Last)
	}
	p.sample(names[1], m.labels, m.Sum)
	p.sample(names[2], m.labels, m.Count)
}

var quantiles = []float64{0.5, 0.9, 0.95, 0.99}

func (p *Page) quantiles(name, labels string, s *aggregate.Summary) {
	values, err := s.Sketch.GetValuesAtQuantiles(quantiles)
	if err != nil { // only an empty sketch has none
		return
	}
	at := func(q, v float64) {
		label := appendLabel([]byte(labels), "quantile", strconv.FormatFloat(q, 'g', -1, 64))
		// A sketch is exact to 1 %, its ends are exact.
		p.sample(name, string(label), min(max(v, s.Min), s.Max))
	}
	at(0, s.Min)
	for i, q := range quantiles {
		at(q, values[i])
	}
	at(1, s.Max)
}
