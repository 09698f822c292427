package expose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// Samples calls emit with every sample of the states, for outputs that are not text. emit must not
// keep the labels. It returns how many series were left out because another one has their name and
// labels.
func Samples(states []aggregate.State, emit func(name string, labels []Label, value float64)) (collisions int) {
	var n names
	w := walk{names: &n, header: func(string, string) {}, sample: emit}
	w.states(states)
	return n.collisions
}

// names are the names that families have claimed.
type names struct {
	claimed    map[string]struct{}
	collisions int
}

// claim takes names for one family, all or none.
func (n *names) claim(wanted ...string) bool {
	if n.claimed == nil {
		n.claimed = make(map[string]struct{})
	}
	for _, name := range wanted {
		if _, taken := n.claimed[name]; taken {
			return false
		}
	}
	for _, name := range wanted {
		n.claimed[name] = struct{}{}
	}
	return true
}

// walk goes over states family by family.
type walk struct {
	*names
	header func(name, kind string)
	sample func(name string, labels []Label, value float64)
}

// member is a state with its name and labels.
type member struct {
	name   string
	labels []Label
	*aggregate.State
}

func (w *walk) states(states []aggregate.State) {
	members := make([]member, len(states))
	for i := range states {
		s := &states[i]
		members[i] = member{metricName(s.Name), labels(&s.Context), s}
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.Type, b.Type),
			slices.CompareFunc(a.labels, b.labels, compareLabels), strings.Compare(a.Name, b.Name))
	})
	for len(members) > 0 {
		n := slices.IndexFunc(members, func(m member) bool {
			return m.name != members[0].name || m.Type != members[0].Type
		})
		if n < 0 {
			n = len(members)
		}
		w.family(members[:n])
		members = members[n:]
	}
}

// family writes the series of one name and type.
func (w *walk) family(members []member) {
	name, t := members[0].name, members[0].Type
	if !w.claim(sampleNames(name, t)...) {
		name += "_" + t.String()
		if !w.claim(sampleNames(name, t)...) {
			w.collisions += len(members)
			return
		}
	}
	names := sampleNames(name, t)
	w.header(names[0], kinds[t])
	for i, m := range members {
		if i > 0 && slices.Equal(m.labels, members[i-1].labels) {
			w.collisions++
			continue
		}
		w.series(names, m)
	}
}

var kinds = map[dogstatsd.Type]string{
	dogstatsd.Count: "counter", dogstatsd.Gauge: "gauge", dogstatsd.Set: "gauge",
	dogstatsd.Timing: "summary", dogstatsd.Histogram: "summary", dogstatsd.Distribution: "summary",
}

// sampleNames returns the names of a family's samples; the first is the family's own.
func sampleNames(name string, t dogstatsd.Type) []string {
	switch {
	case kinds[t] == "summary":
		return []string{name, name + "_sum", name + "_count"}
	case t == dogstatsd.Count && !strings.HasSuffix(name, "_total"):
		return []string{name + "_total"}
	}
	return []string{name}
}

func (w *walk) series(names []string, m member) {
	if len(names) == 1 {
		w.sample(names[0], m.labels, m.Value)
		return
	}
	if m.Last != nil {
		w.quantiles(names[0], m.labels, m.Last)
	}
	w.sample(names[1], m.labels, m.Sum)
	w.sample(names[2], m.labels, m.Count)
}

var quantiles = []float64{0.5, 0.9, 0.95, 0.99}

func (w *walk) quantiles(name string, labels []Label, s *aggregate.Summary) {
	values, err := s.Sketch.GetValuesAtQuantiles(quantiles)
	if err != nil { // only an empty sketch has none
		return
	}
	at := func(q, v float64) {
		quantile := Label{"quantile", strconv.FormatFloat(q, 'g', -1, 64)}
		// A sketch is exact to 0.8 %; its minimum and maximum are exact.
		w.sample(name, append(slices.Clip(labels), quantile), min(max(v, s.Min), s.Max))
	}
	at(0, s.Min)
	for i, q := range quantiles {
		at(q, values[i])
	}
	at(1, s.Max)
}
