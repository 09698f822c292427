package slo

import (
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestText: what is printed for beagle.yaml is read there as it was, whatever texts it holds.
func TestText(t *testing.T) {
	odd := []string{"plain", "up == 0", `http_requests_total{code=~"5..", path!='/x'}[5m] # no comment`, "a: b",
		"ends:", "yes", "Null", "12", "0.5", "", "- x", "'", `"`, `back\slash`, "two\nlines", "tab\t", "größe", "{a}", "[a]",
		"*a", "&a", "!a", "%a", "@a", "a ", " a", "~", "2026-01-01", "a#b", "a:b", "\x01", "\u2028", "e1", "1e3"}
	g := &Guardrails{Alerts: map[string]string{}}
	for _, text := range odd {
		g.Alerts["label "+text], g.Rules = text, append(g.Rules, text)
		g.Guardrails = append(g.Guardrails, Guardrail{Name: text, Bad: text, Total: text, Query: text, Above: 1e-7,
			Then: text})
	}
	for _, want := range []*Guardrails{g, {Rules: []string{"Down"}}, {}} {
		var got Guardrails
		if err := yaml.Unmarshal([]byte(want.Text()), &got); err != nil {
			t.Fatalf("%v:\n%s", err, want.Text())
		}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("got %+v of\n%s", got, want.Text())
		}
	}
}
