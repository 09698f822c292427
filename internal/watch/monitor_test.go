package watch

import (
	"math"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

func TestAgainst(t *testing.T) {
	rising := []Expected{{5, 4, 6}, {6, 5, 7}, {7, 6, 9}}
	for _, row := range []struct {
		name  string
		past  []float64
		ahead []Expected
		limit Limit
		kind  Kind
		value float64
		hours int // from the end to the finding
	}{
		{name: "below", past: []float64{4, 4, 4}, limit: Limit{Most: 6.5, Over: 1}},
		{name: "no values", limit: Limit{Most: 0, Over: 1}},
		{name: "now", past: []float64{4, 4, 7}, limit: Limit{Kind: Saturated, Most: 6.5, Over: 1}, kind: Saturated, value: 7},
		{name: "a spike in a mean", past: []float64{4, 4, 7}, limit: Limit{Kind: Saturated, Most: 6.5, Over: 3}},
		{name: "fewer values than the mean", past: []float64{8}, limit: Limit{Kind: OverBudget, Most: 6.5, Over: 30},
			kind: OverBudget, value: 8},
		{name: "ahead", past: []float64{4, 4}, ahead: rising, limit: Limit{Kind: Saturated, Most: 6.5, Over: 1},
			kind: BreachAhead, value: 7, hours: 3},
		{name: "ahead in a mean of both", past: []float64{4, 4}, ahead: rising, limit: Limit{Most: 5.4, Over: 4},
			kind: BreachAhead, value: 5.5, hours: 3},
		{name: "ahead but below", past: []float64{4, 4}, ahead: rising, limit: Limit{Most: 7, Over: 1}},
	} {
		f := Trend{Past: row.past, Ahead: row.ahead, End: noon, Step: time.Hour}.FindingAgainst(row.limit)
		if f == nil {
			if row.kind != "" {
				t.Errorf("%s: nothing found", row.name)
			}
			continue
		}
		if f.Kind != row.kind || math.Abs(f.After-row.value) > 1e-12 ||
			!f.Since.Equal(noon.Add(time.Duration(row.hours)*time.Hour)) {
			t.Errorf("%s: %+v", row.name, f)
		}
		if f.Change.Low > f.Change.Estimate || f.Change.Estimate > f.Change.High || f.Change.Estimate <= 0 {
			t.Errorf("%s: interval %+v", row.name, f.Change)
		}
	}
}

func TestBurning(t *testing.T) {
	for _, row := range []struct {
		name    string
		allowed float64
		bad     map[string]float64
		want    string
	}{
		{"quiet", 0.001, map[string]float64{"5m": 0.0001, "1h": 0.0001, "30m": 0.0001, "6h": 0.0001, "3d": 0.0001}, ""},
		{"fast", 0.001, map[string]float64{"5m": 0.02, "1h": 0.015}, "events of 1h"},
		{"over by now", 0.001, map[string]float64{"5m": 0, "1h": 0.015, "30m": 0, "6h": 0.003, "3d": 0.0005}, ""},
		{"slow", 0.001, map[string]float64{"5m": 0.007, "1h": 0.007, "30m": 0.007, "6h": 0.0065}, "events of 6h"},
		{"for days", 0.001, map[string]float64{"1h": 0.001, "6h": 0.0012, "3d": 0.0011, "30m": 0, "5m": 0}, "events of 3d"},
		{"a large budget", 0.2, map[string]float64{"5m": 0.7, "1h": 0.7}, "events of 1h"},
		{"no data", 0.001, nil, ""},
		{"half of the data", 0.001, map[string]float64{"1h": 1}, ""},
	} {
		f := SLO{Name: "a", Allowed: row.allowed, Bad: row.bad}.Burning(noon)
		if got := f != nil; got != (row.want != "") || got && !strings.Contains(f.Cause, row.want) {
			t.Errorf("%s: %+v", row.name, f)
		}
	}
}

func TestNews(t *testing.T) {
	w := New(Config{})
	w.Known["regression a.F"] = noon
	a := Finding{Kind: Saturated, Subject: "saturation", Since: noon}
	b := Finding{Kind: BurnRate, Subject: "slo x", Since: noon}
	for i, row := range []struct {
		standing []Finding
		fresh    int
	}{
		{[]Finding{a}, 1}, {[]Finding{a}, 0}, {[]Finding{a, b}, 1}, {[]Finding{b}, 0}, {[]Finding{a, b}, 1}, {nil, 0},
	} {
		if got := w.News(row.standing); len(got) != row.fresh {
			t.Errorf("look %d: %+v", i, got)
		}
	}
	if len(w.Known) != 1 {
		t.Errorf("known: %v", w.Known)
	}
}

func TestOrder(t *testing.T) {
	turns := []Turn{{Service: "cheap", Cost: 1}, {Service: "dear", Cost: 9},
		{Service: "was first", Cost: 2, First: "cost", Until: noon.Add(-time.Hour)},
		{Service: "first", Cost: 1, First: "cost", Until: noon.Add(time.Hour)}}
	Order(turns, noon)
	got := ""
	for _, x := range turns {
		got += x.Service + ","
	}
	if got != "first,dear,was first,cheap," {
		t.Error(got)
	}
}

func TestLeft(t *testing.T) {
	all := []Expense{{At: noon.Add(-31 * 24 * time.Hour), Amount: 100, Currency: "USD"},
		{At: noon.Add(-time.Hour), Amount: 4, Currency: "USD"},
		{At: noon, Amount: -1.5, Currency: "USD"}, {At: noon, Amount: 3, Currency: "EUR"}}
	if got := Left(10, "USD", all, noon); got != 7.5 {
		t.Error(got)
	}
	if got := Left(2, "USD", all, noon); got != 0 {
		t.Error(got)
	}
}

func TestUnanswered(t *testing.T) {
	limit := Finding{Kind: OverBudget, Subject: "cost", Since: noon}
	old := Finding{Kind: Regression, Function: "a.Old", Since: noon.Add(-8 * 24 * time.Hour)}
	f := Finding{Kind: Regression, Function: "a.F", Since: noon.Add(-2 * time.Hour)}
	g := Finding{Kind: Regression, Function: "a.G", Since: noon.Add(-time.Hour)}
	spent := func(of Finding, service string, ago time.Duration) Expense {
		return Expense{Service: service, Answers: of.Answer(), At: noon.Add(-ago)}
	}
	for _, row := range []struct {
		name  string
		spent []Expense
		want  string
	}{
		{"nothing spent", nil, "cost a.G a.F"},
		{"by another service", []Expense{spent(limit, "other", 0)}, "cost a.G a.F"},
		{"today", []Expense{spent(limit, "s", time.Hour), spent(g, "s", 0)}, "a.F"},
		{"two days ago", []Expense{spent(limit, "s", 48*time.Hour), spent(f, "s", 48*time.Hour)}, "cost a.G a.F"},
	} {
		var got []string
		for _, x := range Unanswered("s", []Finding{limit}, []Finding{old, f, g}, row.spent, noon) {
			got = append(got, x.Function+x.Subject)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
