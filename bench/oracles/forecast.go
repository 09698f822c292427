package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/beagle-go/beagle/internal/forecast"
)

// A series has a name and a season.
type series struct {
	Name    string    `json:"name"`
	Season  int       `json:"season"`
	Horizon int       `json:"horizon"`
	Values  []float64 `json:"series"`
	Origins []int     `json:"origins"`
}

// forecasts tries all models from the same places of each series' past.
func forecasts(ctx context.Context, o options) error {
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
	var theirs []map[string][][]float64
	if err := ask(ctx, o, "forecasts", all, &theirs); err != nil {
		return err
	}
	var rows [][]string
	logs, n := [2]float64{}, 0
	for i, s := range all {
		row, ratios, err := compare(s, theirs[i])
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		rows = append(rows, row)
		for m := range ratios {
			logs[m] += math.Log(ratios[m])
		}
		n++
	}
	table([]string{"series", "values", "season", "damped Holt-Winters", "AutoETS", "shown"}, rows)
	fmt.Printf("\nGeometric mean over %d series: Holt-Winters %.3f, AutoETS %.3f.\n", n,
		math.Exp(logs[0]/float64(n)), math.Exp(logs[1]/float64(n)))
	return nil
}

// compare returns a row: errors over those of the seasonal naive model, in which both programs
// agree.
func compare(s series, theirs map[string][][]float64) (row []string, ratios [2]float64, err error) {
	r, err := forecast.Choose(s.Values, s.Season, s.Horizon, forecast.HoltWinters{Season: s.Season})
	if err != nil {
		return nil, ratios, err
	}
	naive := meanError(s, theirs["seasonal_naive"])
	if ours := r.Scores[0].MAE; math.Abs(ours-naive) > 1e-9*naive {
		return nil, ratios, fmt.Errorf("the seasonal naive error is %g here and %g in statsforecast", ours, naive)
	}
	ratios = [2]float64{r.Scores[1].MASE, meanError(s, theirs["auto_ets"]) / naive}
	shown := "no"
	if r.Shown {
		shown = "yes"
	}
	return []string{s.Name, fmt.Sprint(len(s.Values)), fmt.Sprint(s.Season), fmt.Sprintf("%.3f", ratios[0]),
		fmt.Sprintf("%.3f", ratios[1]), shown}, ratios, nil
}

// meanError is the mean absolute error of forecasts from all origins.
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
