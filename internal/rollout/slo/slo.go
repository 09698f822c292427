// Package slo derives guardrails of a rollout from a team's service levels: specifications of
// sloth, OpenSLO documents, and rule files of Prometheus.
package slo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/watch"
)

// Guardrails are the result of [Derive]. Their form is that of `rollout` in beagle.yaml.
type Guardrails struct {
	Alerts     map[string]string `yaml:"alerts,omitempty"`     // labels of the service's alerts
	Rules      []string          `yaml:"rules,omitempty"`      // names of alerts that must be there and quiet
	Guardrails []Guardrail       `yaml:"guardrails,omitempty"` // ratios of events
	Objectives []Objective       `yaml:"-"`                    // from which the guardrails come
}

// An Objective is a service level with the share of bad events that it allows.
type Objective struct {
	Name    string
	Allowed float64
	// Queries are the bad events and all events in a window, or the ratio itself.
	Queries func(window string) (bad, total, ratio string)
}

// A Guardrail is a ratio of bad events with its bound.
type Guardrail struct {
	Name  string  `yaml:"name"`
	Bad   string  `yaml:"bad,omitempty"`
	Total string  `yaml:"total,omitempty"`
	Query string  `yaml:"query,omitempty"` // the ratio itself, where no totals are given
	Above float64 `yaml:"above"`
	Then  string  `yaml:"then,omitempty"`
}

// maxText bounds a file.
const maxText = 4 << 20

// Derive reads a file of any of the forms, which may hold several documents. It refuses unknown
// parts: a guardrail that is left out would not be missed.
func Derive(text []byte) (*Guardrails, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(text), maxText)
	}
	// Read all documents.
	d := yaml.NewDecoder(bytes.NewReader(text))
	var all []document
	for {
		var doc document
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		all = append(all, doc)
	}
	out := &Guardrails{Alerts: map[string]string{}}
	// Collect the indicators, which other documents refer to by name.
	indicators := map[string]indicator{}
	for _, doc := range all {
		if doc.Kind == "SLI" {
			indicators[doc.Metadata.Name] = doc.Spec.indicator
		}
	}
	// Derive the guardrails and alerts of each.
	for i, doc := range all {
		if err := out.add(&doc, indicators); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	if len(out.Guardrails)+len(out.Rules) == 0 {
		return nil, errors.New("it has no SLO of sloth or OpenSLO, and no alerts of a rule file")
	}
	return out, nil
}

// Add joins the guardrails of another file. The labels of alerts must agree: they are of one
// service.
func (g *Guardrails) Add(other *Guardrails) error {
	for k, v := range other.Alerts {
		if had, ok := g.Alerts[k]; ok && had != v {
			return fmt.Errorf("its alerts have %s=%q, and those of another file %q", k, v, had)
		}
		if g.Alerts == nil {
			g.Alerts = map[string]string{}
		}
		g.Alerts[k] = v
	}
	g.Rules = append(g.Rules, other.Rules...)
	g.Guardrails = append(g.Guardrails, other.Guardrails...)
	g.Objectives = append(g.Objectives, other.Objectives...)
	return nil
}

// A document has the fields of all forms.
type document struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec spec `yaml:"spec"`

	sloth  `yaml:",inline"`
	Groups []struct {
		Rules []struct {
			Alert string `yaml:"alert"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// A spec is the specification of a document in Kubernetes' form.
type spec struct {
	sloth     `yaml:",inline"`
	indicator `yaml:",inline"`

	Indicator    *struct{ Spec indicator } `yaml:"indicator"`
	IndicatorRef string                    `yaml:"indicatorRef"`
	Objectives   []struct {
		Target        float64 `yaml:"target"`
		TargetPercent float64 `yaml:"targetPercent"`
	} `yaml:"objectives"`
}

// A sloth is a specification of sloth: of its own form, or in its Kubernetes resource.
type sloth struct {
	Version string `yaml:"version"`
	Service string `yaml:"service"`
	SLOs    []struct {
		Name      string  `yaml:"name"`
		Objective float64 `yaml:"objective"`
		SLI       struct {
			Events struct {
				Bad    string `yaml:"error_query"`
				Total  string `yaml:"total_query"`
				BadK   string `yaml:"errorQuery"`
				TotalK string `yaml:"totalQuery"`
			} `yaml:"events"`
			Raw struct {
				Ratio  string `yaml:"error_ratio_query"`
				RatioK string `yaml:"errorRatioQuery"`
			} `yaml:"raw"`
		} `yaml:"sli"`
	} `yaml:"slos"`
}

// An indicator is one of OpenSLO.
type indicator struct {
	Ratio *struct {
		Counter bool    `yaml:"counter"`
		Good    *metric `yaml:"good"`
		Bad     *metric `yaml:"bad"`
		Total   *metric `yaml:"total"`
	} `yaml:"ratioMetric"`
	Threshold any `yaml:"thresholdMetric"`
}

type metric struct {
	Source struct {
		Type string            `yaml:"type"`
		Spec map[string]string `yaml:"spec"`
	} `yaml:"metricSource"`
}

// add takes the guardrails of a document of OpenSLO, of Sloth, or of alerting rules.
func (g *Guardrails) add(d *document, indicators map[string]indicator) error {
	switch {
	case strings.HasPrefix(d.APIVersion, "openslo/"):
		if d.Kind == "SLO" {
			return g.openSLO(d, indicators)
		}
		return nil // services, alert policies and indicators are of no use by themselves
	case strings.HasPrefix(d.APIVersion, "sloth.slok.dev/"):
		return g.sloth(&d.Spec.sloth)
	case strings.HasPrefix(d.Version, "prometheus/"):
		return g.sloth(&d.sloth)
	case d.Kind == "PrometheusRule":
		return errors.New("a PrometheusRule is not read: give the rule file in it, its spec")
	}
	for _, group := range d.Groups {
		for _, r := range group.Rules {
			if r.Alert != "" && !slices.Contains(g.Rules, r.Alert) {
				g.Rules = append(g.Rules, r.Alert)
			}
		}
	}
	return nil
}

// budget returns the share of bad events that an objective in percent allows.
func budget(name string, percent float64) (float64, error) {
	if !(percent > 0 && percent < 100) {
		return 0, fmt.Errorf("SLO %s has the objective %g: give percents, above 0 and below 100", name, percent)
	}
	return 1 - percent/100, nil
}

// sloth adds the SLOs of a service.
func (g *Guardrails) sloth(s *sloth) error {
	if s.Service == "" {
		return errors.New("the specification of sloth names no service")
	}
	g.Alerts["sloth_service"] = s.Service
	for _, o := range s.SLOs {
		allowed, err := budget(o.Name, o.Objective)
		if err != nil {
			return err
		}
		e, raw := o.SLI.Events, first(o.SLI.Raw.Ratio, o.SLI.Raw.RatioK)
		bad, total := first(e.Bad, e.BadK), first(e.Total, e.TotalK)
		if raw == "" && (bad == "" || total == "") {
			return fmt.Errorf("SLO %s has neither events nor a raw ratio: SLI plugins are not read", o.Name)
		}
		g.burns(o.Name, allowed, func(w string) (string, string, string) {
			return window(bad, w), window(total, w), window(raw, w)
		})
	}
	return nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

var template = regexp.MustCompile(`\{\{\s*\.window\s*\}\}`)

func window(query, w string) string {
	return strings.TrimSpace(template.ReplaceAllString(query, w))
}

// burns adds a fast burn, which rolls back, and a slow one, which holds.
func (g *Guardrails) burns(name string, allowed float64, queries func(w string) (bad, total, ratio string)) {
	g.Objectives = append(g.Objectives, Objective{name, allowed, queries})
	for i, b := range []struct{ suffix, then string }{{"fast", "roll-back"}, {"slow", "hold"}} {
		burn := watch.Burns[i] // a step of a rollout is short: the short window says enough
		bad, total, ratio := queries(burn.Short)
		g.Guardrails = append(g.Guardrails, Guardrail{Name: name + "-" + b.suffix + "-burn", Bad: bad, Total: total,
			Query: ratio, Above: rounded(burn.Bound(allowed)), Then: b.then})
	}
}

// rounded takes the noise of 1-0.999 out of a number.
func rounded(x float64) float64 {
	const digits = 1e9
	return max(1, float64(int64(x*digits+0.5))) / digits
}

// openSLO adds the objectives of one SLO.
func (g *Guardrails) openSLO(d *document, indicators map[string]indicator) error {
	name := d.Metadata.Name
	in := indicators[d.Spec.IndicatorRef]
	if d.Spec.Indicator != nil {
		in = d.Spec.Indicator.Spec
	}
	if in.Ratio == nil || in.Ratio.Total == nil || in.Ratio.Bad == nil && in.Ratio.Good == nil {
		return fmt.Errorf("SLO %s has no ratio of good or bad events to all: other indicators are not read", name)
	}
	if len(d.Spec.Objectives) != 1 {
		return fmt.Errorf("SLO %s has %d objectives: give one", name, len(d.Spec.Objectives))
	}
	percent := d.Spec.Objectives[0].TargetPercent
	if percent == 0 {
		percent = 100 * d.Spec.Objectives[0].Target
	}
	allowed, err := budget(name, percent)
	if err != nil {
		return err
	}
	var failed error
	g.burns(name, allowed, func(w string) (string, string, string) {
		events := func(m *metric) string {
			q, err := m.events(in.Ratio.Counter, w)
			failed = errors.Join(failed, err)
			return q
		}
		total := events(in.Ratio.Total)
		if in.Ratio.Bad != nil {
			return events(in.Ratio.Bad), total, ""
		}
		// no good event at all has no series, and is the worst case
		good := "(" + events(in.Ratio.Good) + ") or 0 * (" + total + ")"
		return "(" + total + ") - (" + good + ")", total, ""
	})
	if failed != nil {
		return fmt.Errorf("SLO %s: %w", name, failed)
	}
	return nil
}

var selector = regexp.MustCompile(`^[A-Za-z_:][A-Za-z0-9_:]*(\{[^{}]*\})?$`)

// events returns the number of events in a window. A counter must be a selector: only of one can
// Prometheus tell when it was reset.
func (m *metric) events(counter bool, w string) (string, error) {
	if !strings.EqualFold(m.Source.Type, "prometheus") {
		return "", fmt.Errorf("a source is of type %q: only Prometheus is read", m.Source.Type)
	}
	query := m.Source.Spec["query"]
	for _, k := range inorder.Keys(m.Source.Spec) {
		if query == "" && strings.Contains(k, "query") {
			query = m.Source.Spec[k]
		}
	}
	query = window(query, w)
	switch {
	case query == "":
		return "", errors.New("a source of Prometheus has no query")
	case !counter:
		return query, nil
	case !selector.MatchString(query):
		return "",
			fmt.Errorf("the counter %q is not a plain series: write it as one, such as requests_total{code=\"500\"}",
				query)
	}
	return "sum(increase(" + query + "[" + w + "]))", nil
}
