package forecast

import (
	"fmt"
	"math"

	"github.com/beagle-go/beagle/internal/special"
)

// A Model forecasts a series.
type Model interface {
	// Name says which model it is.
	Name() string
	// Forecast returns the next horizon values of a series.
	Forecast(series []float64, horizon int) ([]float64, error)
}

// seasonalNaive repeats the last season.
type seasonalNaive struct {
	Season int `json:"season"`
}

// Name implements [Model].
func (seasonalNaive) Name() string { return "seasonal-naive" }

// Forecast implements [Model].
func (m seasonalNaive) Forecast(series []float64, horizon int) ([]float64, error) {
	if err := checkLength(series, max(1, m.Season)); err != nil {
		return nil, err
	}
	out := make([]float64, horizon)
	last := series[len(series)-max(1, m.Season):]
	for i := range out {
		out[i] = last[i%len(last)]
	}
	return out, nil
}

// HoltWinters is exponential smoothing with a damped additive trend and an
// additive season (Gardner and McKenzie, Forecasting trends in time series,
// Management Science 31, 1985; Hyndman and Athanasopoulos, Forecasting:
// principles and practice, 8.3). Parameters of zero are fitted to the series.
type HoltWinters struct {
	Season int     `json:"season"` // 1 or less means none
	Alpha  float64 `json:"alpha"`  // weight of the newest value in the level
	Beta   float64 `json:"beta"`   // of the newest step in the trend, times alpha
	Gamma  float64 `json:"gamma"`  // of the newest value in the season, times 1-alpha
	Phi    float64 `json:"phi"`    // damping of the trend by step
}

// Name implements [Model].
func (HoltWinters) Name() string { return "damped-holt-winters" }

// Forecast implements [Model].
func (m HoltWinters) Forecast(series []float64, horizon int) ([]float64, error) {
	if err := checkLength(series, 2*max(2, m.Season)); err != nil {
		return nil, err
	}
	if m.Alpha == 0 {
		m = m.fit(series)
	}
	s, _ := m.smooth(series)
	out := make([]float64, horizon)
	damped := 0.0
	for h := range out {
		damped += math.Pow(m.Phi, float64(h+1))
		out[h] = s.level + damped*s.trend + s.season[(len(series)+h)%len(s.season)]
	}
	return out, nil
}

// A state is the state of smoothing.
type state struct {
	level, trend float64
	season       []float64
}

// firstState takes the first season as it is, and the step to the second one as
// the trend.
func (m HoltWinters) firstState(series []float64) state {
	n := max(1, m.Season)
	s := state{season: make([]float64, n)}
	s.level = special.Mean(series[:n])
	s.trend = (special.Mean(series[n:2*n]) - s.level) / float64(n)
	for i := range s.season {
		s.season[i] = series[i] - s.level
	}
	return s
}

// smooth goes through a series and returns the state at its end and the sum of
// squared errors of the forecasts one step ahead.
func (m HoltWinters) smooth(series []float64) (state, float64) {
	s := m.firstState(series)
	squares := 0.0
	for i, value := range series {
		k := i % len(s.season)
		expected := s.level + m.Phi*s.trend
		miss := value - expected - s.season[k]
		squares += miss * miss
		level := m.Alpha*(value-s.season[k]) + (1-m.Alpha)*expected
		if m.Season > 1 {
			s.season[k] = m.Gamma*(value-expected) + (1-m.Gamma)*s.season[k]
		}
		s.trend = m.Beta*(level-s.level) + (1-m.Beta)*m.Phi*s.trend
		s.level = level
	}
	return s, squares
}

// fit tries a grid of parameters and then halves its steps around the best.
func (m HoltWinters) fit(series []float64) HoltWinters {
	best, least := m, math.Inf(1)
	try := func(a, b, g, phi float64) {
		c := HoltWinters{m.Season, clamp(a), clamp(b), clamp(g), min(0.98, max(0.8, phi))}
		if _, squares := c.smooth(series); squares < least {
			best, least = c, squares
		}
	}
	for _, a := range []float64{0.05, 0.2, 0.5, 0.8} {
		for _, b := range []float64{0.01, 0.1, 0.3} {
			for _, g := range []float64{0.01, 0.1, 0.3} {
				try(a, b, g, 0.9)
			}
		}
	}
	for step := 0.1; step > 0.005; step /= 2 {
		for range 3 {
			b := best
			for _, d := range []float64{-step, step} {
				try(b.Alpha+d, b.Beta, b.Gamma, b.Phi)
				try(b.Alpha, b.Beta+d/2, b.Gamma, b.Phi)
				try(b.Alpha, b.Beta, b.Gamma+d/2, b.Phi)
				try(b.Alpha, b.Beta, b.Gamma, b.Phi+d/2)
			}
		}
	}
	return best
}

func clamp(x float64) float64 { return min(0.99, max(0.001, x)) }

// A ShortError says that a model cannot forecast a series yet.
type ShortError struct {
	Values int // that the series has
	Needs  int // that the model needs
}

// Error implements error.
func (e *ShortError) Error() string {
	return fmt.Sprintf("%d values are too few: this model needs %d", e.Values, e.Needs)
}

func checkLength(series []float64, least int) error {
	if len(series) < least {
		return &ShortError{len(series), least}
	}
	for i, v := range series {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("value %d is %g: fill gaps before you forecast", i, v)
		}
	}
	return nil
}
