package ledger

import (
	"math"
	"strings"
	"testing"
)

const lines = `
{"id":"b","service":"web","function":"p.G","cores":50,"shipped":"2026-02-01","predicted":{"estimate":0.01,"low":0.008,"high":0.012}}
{"id":"a","service":"web","function":"p.F","cores":100,"shipped":"2026-01-01","predicted":{"estimate":0.02,"low":0.018,"high":0.022}}
{"id":"a","service":"web","function":"p.F","cores":100,"shipped":"2026-01-01","predicted":{"estimate":0.02,"low":0.018,"high":0.022},"proven":{"estimate":0.019,"low":0.01,"high":0.028}}
{"id":"c","service":"api","function":"q.H","cores":10,"shipped":"2026-03-01","predicted":{"estimate":0.05,"low":0.04,"high":0.06},"proven":{"estimate":-0.01,"low":-0.02,"high":0},"reverted":"2026-03-02","why":"errors"}
`

func TestSummarise(t *testing.T) {
	all, err := Read(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || all[0].ID != "a" || all[0].Proven == nil || all[2].ID != "c" {
		t.Fatalf("%+v", all)
	}
	s := Summarise(all)
	if len(s.Services) != 2 || s.Services[0] != (ServiceSum{Service: "api", Changes: 1, Reverted: 1}) {
		t.Errorf("%+v", s.Services)
	}
	web := s.Services[1]
	if web.Changes != 2 || math.Abs(web.Predicted-2.5) > 1e-12 || math.Abs(web.Proven-1.9) > 1e-12 {
		t.Errorf("%+v", web)
	}
	e := s.Error
	if e.Changes != 2 || e.Inside != 1 || math.Abs(e.Median-0.625) > 1e-9 || math.Abs(e.Bias-(0.009/0.07-1)) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if e := Summarise(nil).Error; e != (PredictionError{}) {
		t.Errorf("an empty ledger has an error: %+v", e)
	}
}

func TestBadLines(t *testing.T) {
	for cause, line := range map[string]string{
		"unknown field":   `{"ID":"a","savings":1}`,
		"needs id":        `{"id":"a"}`,
		"as in 2026":      `{"id":"a","service":"s","function":"f"}`,
		"is not a saving": `{"id":"a","service":"s","function":"f","shipped":"2026-01-01","predicted":{"estimate":2,"low":1,"high":3}}`,
		"cores":           `{"id":"a","service":"s","function":"f","shipped":"2026-01-01","cores":-1}`,
		"before it was":   `{"id":"a","service":"s","function":"f","shipped":"2026-01-02","reverted":"2026-01-01"}`,
		"more than one":   `{"id":"a","service":"s","function":"f","shipped":"2026-01-01"} {}`,
		"unexpected":      `{"id":`,
	} {
		_, err := Read(strings.NewReader("\n" + line))
		if err == nil || !strings.Contains(err.Error(), cause) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", cause, err)
		}
	}
}
