package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// A Score is the error of a model on a series' own past.
type Score struct {
	Model string  `json:"model"`
	MAE   float64 `json:"mae"`  // mean absolute error
	MASE  float64 `json:"mase"` // over that of the seasonal naive model in the same places
}

// A Value is one step of a forecast with its 90 % interval.
type Value struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A Result is a series' forecast, or the reason for none.
type Result struct {
	Shown  bool    `json:"shown"` // a model beats the seasonal naive one
	Why    string  `json:"why"`
	Model  string  `json:"model"`
	Values []Value `json:"values,omitempty"` // none when it is not shown
	Scores []Score `json:"scores"`
}

// origins is the number of places in the past from which a model is tried. gain bounds its error,
// as a share of the seasonal naive model's. Errors up to rounding, as a share of the largest value,
// count as zero.
const (
	origins  = 12
	gain     = 0.98
	rounding = 1e-9
)

// backTestErrors holds the errors of a model's forecasts from places in the past, by place and
// distance.
type backTestErrors [][]float64

// Origins returns the places of a series from which models are tried, spread over its last half.
// A series that is too short has none.
func Origins(n, horizon int) (all []int) {
	first := n / 2
	span := n - horizon - first
	if span < origins {
		return nil
	}
	for i := range origins {
		all = append(all, first+i*span/(origins-1))
	}
	return all
}

// backTest tries a model from the origins of a series.
func backTest(m Model, series []float64, horizon int) (backTestErrors, error) {
	places := Origins(len(series), horizon)
	if places == nil {
		return nil, errors.New("the series is too short to try a forecast on its own past")
	}
	var out backTestErrors
	for _, at := range places {
		values, err := forecast(m, series[:at], horizon)
		if err != nil {
			return nil, err
		}
		misses := make([]float64, horizon)
		for h, v := range values {
			misses[h] = series[at+h] - v
		}
		out = append(out, misses)
	}
	return out, nil
}

func (t backTestErrors) mae() float64 {
	total, n := 0.0, 0
	for _, place := range t {
		for _, miss := range place {
			total += math.Abs(miss)
			n++
		}
	}
	return total / float64(n)
}

// Choose tries the models on the series' own past, and forecasts with the best
// one if that beats the seasonal naive model. A model that the series is too
// short for has no score; when none has one, the series is too short. A model
// that fails for another reason has no score either, and the result says why.
func Choose(series []float64, season, horizon int, models ...Model) (Result, error) {
	// The naive model sets the mark.
	naive := seasonalNaive{season}
	base, err := backTest(naive, series, horizon)
	if err != nil {
		return Result{}, err
	}
	out := Result{Model: naive.Name(), Scores: []Score{{naive.Name(), base.mae(), 1}}}
	most := gain*base.mae() - rounding*largest(series)
	// Try all models on the past.
	var better []contender
	var failed []string
	var short *ShortError
	for _, m := range models {
		t, err := backTest(m, series, horizon)
		if errors.As(err, &short) {
			continue
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s has no score: %v", m.Name(), err))
			continue
		}
		out.Scores = append(out.Scores, t.score(m, base))
		if t.mae() < most {
			better = append(better, contender{m, t})
		}
	}
	if short != nil && len(out.Scores) == 1 && failed == nil {
		return Result{}, short
	}
	// The best one that beats the mark, and can still forecast, wins.
	inorder.By(better, func(a, b contender) int { return cmp.Compare(a.errors.mae(), b.errors.mae()) })
	out.Why = "no model beats the seasonal naive one on this series' own past"
	for _, b := range better {
		values, err := forecast(b.model, series, horizon)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s did well on it, and fails now: %v", b.model.Name(), err))
			continue
		}
		out.Shown, out.Model = true, b.model.Name()
		out.Why = "it beats the seasonal naive model on this series' own past"
		out.Values = b.errors.addIntervals(values)
		break
	}
	out.Why = strings.Join(append([]string{out.Why}, failed...), "; ")
	return out, nil
}

// A contender is a model with its errors on the past.
type contender struct {
	model  Model
	errors backTestErrors
}

// forecast calls a model, and accepts numbers only: an infinite one has no error that can be
// compared.
func forecast(m Model, series []float64, horizon int) ([]float64, error) {
	values, err := m.Forecast(series, horizon)
	if err != nil {
		return nil, err
	}
	for h, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("its forecast of step %d after %d values is %g", h+1, len(series), v)
		}
	}
	return values, nil
}

// score compares a model's errors with those of the seasonal naive one.
func (t backTestErrors) score(m Model, base backTestErrors) Score {
	if base.mae() > 0 {
		return Score{m.Name(), t.mae(), t.mae() / base.mae()}
	}
	return Score{m.Name(), t.mae(), 1}
}

// addIntervals adds the 5 % and 95 % quantiles of the errors at about the same
// distance to the values.
func (t backTestErrors) addIntervals(values []float64) []Value {
	out := make([]Value, len(values))
	for h, v := range values {
		var misses []float64
		for _, place := range t {
			misses = append(misses, place[max(0, h-2):min(len(place), h+3)]...)
		}
		inorder.Sort(misses)
		out[h] = Value{v, v + special.Quantile(misses, 0.05), v + special.Quantile(misses, 0.95)}
	}
	return out
}

func largest(series []float64) float64 {
	most := 0.0
	for _, v := range series {
		most = max(most, math.Abs(v))
	}
	return most
}
