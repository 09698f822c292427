package slo

import (
	"math"
	"strings"
	"testing"
)

const slothText = `
version: "prometheus/v1"
service: "intake"
labels: {owner: "team"}
slos:
  - name: "requests"
    objective: 99.9
    sli:
      events:
        error_query: sum(rate(http_requests_total{code=~"(5..|429)"}[{{.window}}]))
        total_query: sum(rate(http_requests_total[{{ .window }}]))
    alerting: {name: High, page_alert: {labels: {severity: page}}}
  - name: "raw"
    objective: 99
    sli: {raw: {error_ratio_query: "1 - avg_over_time(up[{{.window}}])"}}
`

const slothKubernetes = `
apiVersion: sloth.slok.dev/v1
kind: PrometheusServiceLevel
metadata: {name: x}
spec:
  service: "intake"
  slos:
    - name: "requests"
      objective: 99.9
      sli: {events: {errorQuery: "sum(rate(a[{{.window}}]))", totalQuery: "sum(rate(b[{{.window}}]))"}}
`

const open = `
apiVersion: openslo/v1
kind: Service
metadata: {name: intake}
---
apiVersion: openslo/v1
kind: SLI
metadata: {name: good}
spec:
  ratioMetric:
    counter: true
    good: {metricSource: {type: Prometheus, spec: {query: 'http_requests_total{code="200"}'}}}
    total: {metricSource: {type: Prometheus, spec: {query: http_requests_total}}}
---
apiVersion: openslo/v1
kind: SLO
metadata: {name: availability}
spec:
  service: intake
  indicatorRef: good
  budgetingMethod: Occurrences
  objectives: [{target: 0.98}]
`

const rules = `
groups:
  - name: a
    interval: 30s
    rules:
      - record: job:up
        expr: sum(up)
      - alert: Down
        expr: up == 0
        for: 1m
      - alert: Slow
        expr: histogram_quantile(0.99, sum(rate(x_bucket[5m])) by (le)) > 1
`

func TestDerive(t *testing.T) {
	g, err := Derive([]byte(slothText))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Guardrails) != 4 || g.Alerts["sloth_service"] != "intake" {
		t.Fatalf("%+v", g)
	}
	fast, raw := g.Guardrails[0], g.Guardrails[3]
	if fast.Total != "sum(rate(http_requests_total[5m]))" || math.Abs(fast.Above-0.0144) > 1e-12 ||
		fast.Then != "roll-back" || !strings.Contains(fast.Bad, `"(5..|429)"}[5m]`) {
		t.Errorf("%+v", fast)
	}
	if raw.Query != "1 - avg_over_time(up[30m])" || math.Abs(raw.Above-0.06) > 1e-12 || raw.Then != "hold" {
		t.Errorf("%+v", raw)
	}
	if g, err = Derive([]byte(slothKubernetes)); err != nil || g.Guardrails[1].Bad != "sum(rate(a[30m]))" {
		t.Errorf("%+v, %v", g, err)
	}
	g, err = Derive([]byte(open))
	if err != nil {
		t.Fatal(err)
	}
	const total = "sum(increase(http_requests_total[5m]))"
	if f := g.Guardrails[0]; f.Total != total || math.Abs(f.Above-0.288) > 1e-12 ||
		f.Bad != "("+total+`) - ((sum(increase(http_requests_total{code="200"}[5m]))) or 0 * (`+total+`))` {
		t.Errorf("%+v", f)
	}
	if g, err = Derive([]byte(rules)); err != nil || strings.Join(g.Rules, " ") != "Down Slow" {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestRefused: what is not understood is an error. A guardrail that is left out would not be
// missed.
func TestRefused(t *testing.T) {
	replace := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	for _, row := range []struct{ text, want string }{
		{"", "no SLO"}, {"a: [", "did not find"}, {"a: 1", "no SLO"}, {"groups: []", "no SLO"},
		{replace(slothText, "objective: 99.9", "objective: 0.999e4"), "objective 9990"},
		{replace(slothText, "objective: 99.9", "objective: .nan"), "objective NaN"},
		{replace(slothText, `service: "intake"`, ""), "names no service"},
		{replace(slothText, "events:", "plugin:"), "neither events nor"},
		{replace(open, "query: http_requests_total", "query: sum(http_requests_total)"), "not a plain series"},
		{replace(open, "type: Prometheus", "type: Datadog"), `type "Datadog"`},
		{replace(open, "indicatorRef: good", "indicatorRef: other"), "no ratio"},
		{replace(open, "[{target: 0.98}]", "[{target: 0.98}, {target: 0.9}]"), "2 objectives"},
		{replace(open, "target: 0.98", "target: 98"), "objective 9800"},
		{"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\n", "not read"},
	} {
		if g, err := Derive([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("want %q, got %+v, %v\n%s", row.want, g, err, row.text)
		}
	}
}

// FuzzDerive: no text makes it panic, and what it takes has bounds.
func FuzzDerive(f *testing.F) {
	for _, text := range []string{slothText, slothKubernetes, open, rules, "", "- a", "---\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := Derive(text)
		if err != nil {
			return
		}
		for _, r := range g.Guardrails {
			if !(r.Above > 0 && r.Above < 1) || r.Query == "" && (r.Bad == "" || r.Total == "") {
				t.Errorf("%+v of %q", r, text)
			}
		}
	})
}
