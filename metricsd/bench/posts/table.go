package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A table is what a command prints.
type table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Notes list further checks.
	Notes []string `json:"notes,omitempty"`
}

func (t *table) add(cells ...any) { t.Rows = append(t.Rows, cells) }

// print writes the table as Markdown, or as JSON with all digits.
func (o *options) print(tables ...*table) error {
	if o.json {
		e := json.NewEncoder(o.out)
		e.SetIndent("", "\t")
		return e.Encode(tables)
	}
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(o.out)
		}
		t.markdown(o.out)
	}
	return nil
}

func (t *table) markdown(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n| %s |\n|%s\n", t.Name, strings.Join(t.Columns, " | "),
		strings.Repeat("---|", len(t.Columns)))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = shown(c)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, n := range t.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
}

func shown(cell any) string {
	switch v := cell.(type) {
	case float64:
		return digits(v)
	case ratio:
		return fmt.Sprintf("%.2f [%.2f to %.2f]", v.Median, v.Low, v.High)
	}
	return fmt.Sprint(cell)
}

// digits shows three digits of a number.
func digits(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// A ratio is a median with its interval.
type ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// ratioOf divides the times of one way by those of another, turn by turn.
func ratioOf(of, by []float64) ratio {
	r := make([]float64, len(of))
	for i := range r {
		r[i] = of[i] / by[i]
	}
	return interval(r)
}

// interval returns the median, and the middle 95 % of the medians of as many values drawn anew.
func interval(values []float64) ratio {
	const draws = 2000
	medians := make([]float64, draws)
	drawn := make([]float64, len(values))
	next := uint64(1)
	for i := range medians {
		for j := range drawn {
			next = next*6364136223846793005 + 1442695040888963407
			drawn[j] = values[next>>33%uint64(len(values))]
		}
		medians[i] = median(drawn)
	}
	slices.Sort(medians)
	return ratio{median(values), medians[draws/40], medians[draws-1-draws/40]}
}

// median of a copy.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
