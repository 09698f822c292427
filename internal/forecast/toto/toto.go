package toto

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/beagle-go/beagle/internal/forecast"
	"github.com/beagle-go/beagle/internal/forecast/safetensors"
	"github.com/beagle-go/beagle/internal/inorder"
)

// Home is the address at which Datadog publishes the model of 4 million parameters, under Apache
// 2.0. Read takes others of the family too.
const Home = "https://huggingface.co/Datadog/Toto-2.0-4m"

// Levels are the quantiles that the model answers with.
var Levels = [9]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

// median is the level of 0.5.
const median = 4

// usualContext is the number of values that the published results looked at: the forecast's values
// but those of its first patch count. maxPatches is the length of the reference's table of
// positions.
const (
	usualContext = 2048
	maxPatches   = 8192
)

// maxBytes is the size of a file of weights that is read: several times that of the model of 313
// million parameters.
const maxBytes = 4 << 30

// A Model is Toto 2.0 with weights. It implements [forecast.Model], and may be used from several
// goroutines.
type Model struct {
	net     *net
	context int
}

// Open reads a model: a directory with config.json and model.safetensors, or that second file, with
// config.json beside it.
func Open(name string) (*Model, error) {
	weights := name
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if info.IsDir() {
		weights = filepath.Join(name, "model.safetensors")
	}
	// Read the configuration beside the weights.
	settings := filepath.Join(filepath.Dir(weights), "config.json")
	text, err := os.ReadFile(settings)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", settings, err)
	}
	// Read the weights.
	f, err := os.Open(weights)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m, err := readModel(c, f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weights, err)
	}
	return m, nil
}

// readModel makes a model of a file of weights.
func readModel(c config, weights io.ReaderAt, size int64) (*Model, error) {
	if size > maxBytes {
		return nil, fmt.Errorf("it has %d bytes: models of up to %d are read", size, int64(maxBytes))
	}
	file, err := safetensors.Read(weights, size)
	if err != nil {
		return nil, err
	}
	n, err := load(file, c)
	if err != nil {
		return nil, err
	}
	return &Model{n, usualContext}, nil
}

// Name implements [forecast.Model].
func (*Model) Name() string { return "toto-2.0" }

// Forecast implements [forecast.Model] with the median.
func (m *Model) Forecast(series []float64, horizon int) ([]float64, error) {
	all, err := m.Quantiles([]Series{{Values: series}}, horizon)
	if err != nil {
		return nil, err
	}
	return all[0][median], nil
}

// A Series is a series to forecast. A missing value is NaN.
type Series struct {
	Values []float64
	Group  int // series of one group are forecast together; 0 or more
}

// Quantiles are the values to come, by level.
type Quantiles [len(Levels)][]float64

// Quantiles forecasts series of the same length.
func (m *Model) Quantiles(series []Series, horizon int) ([]Quantiles, error) {
	rows, err := m.rows(series, horizon)
	if err != nil {
		return nil, err
	}
	patch := m.net.Patch
	ahead := (horizon + patch - 1) / patch
	known := len(rows[0].values) / patch
	g := grid{series: len(rows), patches: known + ahead}
	tokens := make([]float32, g.series*g.patches*2*patch)
	all := make([][]measure, len(rows))
	for s, r := range rows {
		all[s] = r.measures()
		for p := range g.patches {
			group := series[s].Group
			t := tokens[(s*g.patches+p)*2*patch:][:2*patch]
			if p < known {
				r.token(p, all[s][p], t)
				if r.blank(p) {
					group = unseen
				}
			} else {
				fill(t[patch:], 1) // nothing of the future is known
			}
			g.groups = append(g.groups, group)
		}
	}
	answers := m.net.run(tokens, g)
	out := make([]Quantiles, len(rows))
	for s, r := range rows {
		first := s*g.patches + known - 1 // a token answers with the patch that follows it
		width := patch * len(Levels)
		out[s] = r.quantiles(answers[first*width:(first+ahead)*width], all[s][known-1], horizon)
	}
	return out, nil
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// quantiles turns answers by value and level into the next values by level.
func (r row) quantiles(answers []float32, m measure, horizon int) (out Quantiles) {
	low, high := r.bounds(m)
	width := r.patch * len(Levels)
	for ; len(answers) > 0; answers = answers[width:] {
		var levels [len(Levels)][]float32
		for q := range levels {
			for i := range r.patch {
				levels[q] = append(levels[q], answers[i*len(Levels)+q])
			}
			unscale(levels[q], m, low, high)
		}
		for i := range r.patch {
			var values [len(Levels)]float32
			for q := range levels {
				values[q] = levels[q][i]
			}
			inorder.Sort(values[:])
			for q, v := range values {
				if len(out[q]) < horizon {
					out[q] = append(out[q], float64(v))
				}
			}
		}
	}
	return out
}

// rows cuts series to the model's context, fills gaps with the values before them, and begins them
// with unseen values, so that they are whole patches.
func (m *Model) rows(series []Series, horizon int) ([]row, error) {
	patch := m.net.Patch
	if len(series) == 0 || horizon < 1 || horizon > patch*maxPatches/2 {
		return nil, fmt.Errorf("%d values of %d series cannot be forecast", horizon, len(series))
	}
	n := len(series[0].Values)
	if n < patch {
		return nil, &forecast.ShortError{Values: n, Needs: patch}
	}
	ahead := (horizon + patch - 1) / patch
	context := max(patch, (m.context-(ahead-1)*patch)/patch*patch)
	rows := make([]row, len(series))
	for s := range series {
		if len(series[s].Values) != n || series[s].Group < 0 {
			return nil, fmt.Errorf("series %d has %d values and group %d: it must have %d, and 0 or more", s,
				len(series[s].Values), series[s].Group, n)
		}
		r, err := newRow(series[s].Values, patch, context)
		if err != nil {
			return nil, fmt.Errorf("series %d: %w", s, err)
		}
		rows[s] = r
	}
	return rows, nil
}

// newRow returns the last context values as whole patches. A gap repeats the value before it.
func newRow(values []float64, patch, context int) (row, error) {
	before := float32(0)
	for _, v := range values[:max(0, len(values)-context)] {
		if x := float32(v); !math.IsNaN(v) && !math.IsInf(float64(x), 0) {
			before = x
		}
	}
	cut := max(0, len(values)-context)
	values = values[cut:]
	r := row{patch: patch}
	pad := (patch - len(values)%patch) % patch
	r.values, r.seen = make([]float32, pad), make([]bool, pad)
	for i, v := range values {
		// The model was never shown a last patch with gaps.
		seen, last := !math.IsNaN(v), i >= len(values)-patch
		if seen {
			before = float32(v)
		}
		if math.IsInf(float64(before), 0) {
			return r, fmt.Errorf("value %d is %g: leave it out, or fill it", cut+i, v)
		}
		r.values, r.seen = append(r.values, before), append(r.seen, seen || last)
	}
	return r, nil
}
