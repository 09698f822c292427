package audit

import (
	"slices"
	"strings"
	"testing"
)

func TestCompareInputs(t *testing.T) {
	production := Inputs{Distinct: 5000, Bytes: 2 << 20, Groups: map[string]float64{"ASCII": 0.9, "other": 0.1}}
	alike := Inputs{Distinct: 200, Bytes: 80 << 10, Groups: map[string]float64{"ASCII": 0.85, "other": 0.15}}
	for _, row := range []struct {
		name   string
		change func(b, p *Inputs)
		want   []string
	}{
		{"alike", func(b, p *Inputs) {}, nil},
		{"one value", func(b, p *Inputs) { b.Distinct = 1 }, []string{"single-value"}},
		{"few values", func(b, p *Inputs) { b.Distinct = 7 }, []string{"few-inputs"}},
		{"few in production too", func(b, p *Inputs) { b.Distinct, p.Distinct = 7, 9 }, nil},
		{"one in production too", func(b, p *Inputs) { b.Distinct, p.Distinct = 1, 1 }, nil},
		{"small", func(b, p *Inputs) { b.Bytes = 9000 }, []string{"warm-only"}},
		{"small in production too", func(b, p *Inputs) { b.Bytes, p.Bytes = 9000, 20_000 }, nil},
		{"other kinds", func(b, p *Inputs) { b.Groups = map[string]float64{"ASCII": 0.2, "long": 0.8} },
			[]string{"unlike-corpus"}},
	} {
		b, p := alike, production
		row.change(&b, &p)
		var got []string
		for _, f := range CompareInputs(Mistake{Benchmark: "BenchmarkX", File: "x_test.go", Line: 3}, b, p) {
			got = append(got, f.Rule)
			if f.Line != 3 || f.Remedy == "" || f.Reason == "" {
				t.Errorf("%s: %+v", row.name, f)
			}
			if f.Rule == "unlike-corpus" && !strings.Contains(f.Reason, "long: 80 % here, 0 % there") {
				t.Errorf("%s: %s", row.name, f.Reason)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
