package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/beagle-go/beagle/internal/forecast"
	"github.com/beagle-go/beagle/internal/forecast/toto"
)

// A series has a name and a season.
type series struct {
	Name    string    `json:"name"`
	Season  int       `json:"season"`
	Horizon int       `json:"horizon"`
	Values  []float64 `json:"series"`
	Origins []int     `json:"origins"`
}

// models returns our models: the built-in one, and Toto 2.0 when its weights are named.
func models(o options, season int) ([]forecast.Model, error) {
	out := []forecast.Model{forecast.HoltWinters{Season: season}}
	if o.toto == "" {
		return out, nil
	}
	m, err := toto.Open(o.toto)
	return append(out, m), err
}

// forecasts tries all models from the same points of each series' past.
func forecasts(ctx context.Context, o options) error {
	// Collect the series.
	var all []series
	if err := ask(ctx, o, "published", nil, &all); err != nil {
		return err
	}
	own, err := recorded(ctx, o)
	if err != nil {
		return err
	}
	all = append(all, own...)
	for i := range all {
		s := &all[i]
		s.Horizon = max(s.Season, 6)
		s.Origins = forecast.Origins(len(s.Values), s.Horizon)
	}
	// Forecast them by AutoETS.
	var theirs []map[string][][]float64
	if err := ask(ctx, o, "forecasts", all, &theirs); err != nil {
		return err
	}
	// Name the columns.
	names := []string{"AutoETS", "damped Holt-Winters", "Toto 2.0"}
	if o.toto == "" {
		names = names[:2]
	}
	names = append(names, "what Beagle would show")
	// Compare each series with our models.
	logs := make([]float64, len(names))
	var rows [][]string
	for i, s := range all {
		ratios, shown, err := compare(o, s, theirs[i])
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		row := []string{s.Name, fmt.Sprint(len(s.Values)), fmt.Sprint(s.Season)}
		for m, x := range ratios {
			row = append(row, fmt.Sprintf("%.3f", x))
			logs[m] += math.Log(x)
		}
		rows = append(rows, append(row, shown))
	}
	// Print the table with the means.
	mean := []string{"geometric mean", "", ""}
	for _, x := range logs {
		mean = append(mean, fmt.Sprintf("%.3f", math.Exp(x/float64(len(all)))))
	}
	table(slices.Concat([]string{"series", "values", "season"}, names, []string{"shown"}),
		append(rows, append(mean, "")))
	return nil
}

// compare returns errors relative to the seasonal naive model, in which both programs agree: of
// AutoETS, of our models, and of the forecast that Beagle would show, which is the seasonal naive
// model where none is better.
func compare(o options, s series, theirs map[string][][]float64) (ratios []float64, shown string, err error) {
	all, err := models(o, s.Season)
	if err != nil {
		return nil, "", err
	}
	r, err := forecast.Choose(s.Values, s.Season, s.Horizon, all...)
	if err != nil {
		return nil, "", err
	}
	if len(r.Scores) != 1+len(all) {
		return nil, "", fmt.Errorf("%d values are too few for one of %d models", len(s.Values), len(all))
	}
	naive := meanError(s, theirs["seasonal_naive"])
	if ours := r.Scores[0].MAE; math.Abs(ours-naive) > 1e-9*naive {
		return nil, "", fmt.Errorf("the seasonal naive error is %g here and %g in statsforecast", ours, naive)
	}
	ratios = []float64{meanError(s, theirs["auto_ets"]) / naive}
	would, shown := 1.0, "none"
	for _, score := range r.Scores[1:] {
		ratios = append(ratios, score.MASE)
		if r.Shown && score.Model == r.Model {
			would, shown = score.MASE, score.Model
		}
	}
	return append(ratios, would), shown, nil
}

// meanError returns the mean absolute error of forecasts from all origins.
func meanError(s series, values [][]float64) float64 {
	total, n := 0.0, 0
	for i, at := range s.Origins {
		for h, v := range values[i] {
			total += math.Abs(s.Values[at+h] - v)
			n++
		}
	}
	return total / float64(n)
}

// recorded reads series of metricsd, or records them.
func recorded(ctx context.Context, o options) (all []series, err error) {
	if o.record != "" {
		text, err := os.ReadFile(o.record)
		if err == nil {
			return all, json.Unmarshal(text, &all)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if o.metricsd == "" {
		fmt.Fprintln(os.Stderr, "oracles: no series of metricsd: name its program with -metricsd")
		return nil, nil
	}
	if all, err = record(ctx, o); err != nil || o.record == "" {
		return all, err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(o.record, text, 0o644)
}
