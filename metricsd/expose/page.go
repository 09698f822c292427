package expose

import (
	"io"
	"strconv"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// ContentType is for the HTTP answer that carries a page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page is one answer to a scrape. The zero value is an empty page.
type Page struct {
	out   []byte
	names names
}

// WriteTo writes the page.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p.out)
	return int64(n), err
}

// Collisions counts the series that were left out because another one has their
// name and labels.
func (p *Page) Collisions() int { return p.names.collisions }

// Value is one sample of an own metric.
type Value struct {
	// Label and Is are the one label of the sample; Label may be empty.
	Label, Is string
	Value     float64
}

// OwnMetric writes a metric of the program itself; kind is "counter" or "gauge".
func (p *Page) OwnMetric(name, kind, help string, values ...Value) {
	p.names.claim(name)
	p.out = append(p.out, "# HELP "+name+" "+help+"\n"...)
	p.header(name, kind)
	for _, v := range values {
		var labels []Label
		if v.Label != "" {
			labels = []Label{{v.Label, v.Is}}
		}
		p.sample(name, labels, v.Value)
	}
}

// OwnCounter writes a counter of the program with one value.
func (p *Page) OwnCounter(name, help string, n uint64) {
	p.OwnMetric(name, "counter", help, Value{Value: float64(n)})
}

// OwnGauge writes a gauge of the program with one value.
func (p *Page) OwnGauge(name, help string, v float64) {
	p.OwnMetric(name, "gauge", help, Value{Value: v})
}

// Labelled returns a sample with a label.
func Labelled[N int | int64 | uint64](label, is string, n N) Value {
	return Value{Label: label, Is: is, Value: float64(n)}
}

// States writes the contexts. It sorts them, so that a page depends on its contents only.
func (p *Page) States(states []aggregate.State) {
	w := walk{names: &p.names, header: p.header, sample: p.sample}
	w.states(states)
}

func (p *Page) header(name, kind string) {
	p.out = append(p.out, "# TYPE "+name+" "+kind+"\n"...)
}

func (p *Page) sample(name string, labels []Label, value float64) {
	p.out = append(p.out, name...)
	p.out = append(appendLabels(p.out, labels), ' ')
	p.out = strconv.AppendFloat(p.out, value, 'g', -1, 64)
	p.out = append(p.out, '\n')
}
