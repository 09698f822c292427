package toto

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/forecast"
)

// tolerance bounds the distance of a value from the reference's, as a share of its size, or of the
// distance between the outer quantiles where a value is next to 0.
const tolerance = 1e-4

// TestReference compares with what Datadog's program computed from the same weights;
// testdata/reference says how. The three models take different turns: types of numbers, shared
// keys, norms, positions.
func TestReference(t *testing.T) {
	for _, name := range []string{"published", "grouped", "steep"} {
		t.Run(name, func(t *testing.T) { compare(t, filepath.Join("testdata", name)) })
	}
}

// TestFullSize compares the same way at the published size, where a person exported it:
// BEAGLE_TOTO_CASES names the directory.
func TestFullSize(t *testing.T) {
	dir := os.Getenv("BEAGLE_TOTO_CASES")
	if dir == "" {
		t.Skip("BEAGLE_TOTO_CASES names no directory of testdata/reference/export.py")
	}
	compare(t, dir)
}

func compare(t *testing.T, dir string) {
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name             string
		Values           [][]*float64
		Groups           []int
		Horizon, Context int
		Quantiles        [][][]float64 // by level, series and value
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 14 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	most := 0.0
	for _, c := range cases {
		var series []Series
		for i, values := range c.Values {
			s := Series{}
			if c.Groups != nil {
				s.Group = c.Groups[i]
			}
			for _, v := range values {
				if v == nil {
					s.Values = append(s.Values, math.NaN())
				} else {
					s.Values = append(s.Values, *v)
				}
			}
			series = append(series, s)
		}
		m.context = usualContext
		if c.Context > 0 {
			m.context = c.Context
		}
		got, err := m.Quantiles(series, c.Horizon)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for s := range series {
			for h := range c.Horizon {
				spread := c.Quantiles[8][s][h] - c.Quantiles[0][s][h]
				for q := range Levels {
					want := c.Quantiles[q][s][h]
					miss := math.Abs(got[s][q][h]-want) / max(math.Abs(want), spread)
					if most = max(most, miss); !(miss <= tolerance) {
						t.Fatalf("%s, series %d, step %d, level %g: %.8g, want %.8g", c.Name, s, h, Levels[q],
							got[s][q][h], want)
					}
				}
			}
		}
	}
	t.Logf("%d cases, the largest miss is %.1e", len(cases), most)
}

// noise returns a series that is best forecast by its mean.
func noise(n int) []float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	out := make([]float64, n)
	for i := range out {
		out[i] = 100 + rng.NormFloat64()
	}
	return out
}

func open(t *testing.T, name string) *Model {
	t.Helper()
	m, err := Open(filepath.Join("testdata", name, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestChosen: the model is chosen where it beats the seasonal naive one, and only there. The small
// random one answers with about the mean, which is better on noise, and worse on what repeats.
func TestChosen(t *testing.T) {
	m := open(t, "published")
	wave := make([]float64, 120)
	for i := range wave {
		wave[i] = 100 + 20*math.Sin(2*math.Pi*float64(i)/12)
	}
	for name, row := range map[string]struct {
		series []float64
		season int
		shown  bool
	}{"noise": {noise(120), 1, true}, "wave": {wave, 12, false}} {
		r, err := forecast.Choose(row.series, row.season, 8, m)
		if err != nil {
			t.Fatal(err)
		}
		if r.Shown != row.shown || len(r.Scores) != 2 || r.Scores[1].Model != m.Name() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// A series of less than a patch at its first origin is left to the others.
	others := forecast.HoltWinters{Season: 1}
	r, err := forecast.Choose(noise(14), 1, 1, m, others)
	if err == nil {
		t.Fatalf("14 values have no twelve origins: %+v", r)
	}
	m.net.Patch = 64
	if r, err = forecast.Choose(noise(100), 1, 1, m, others); err != nil || len(r.Scores) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	var short *forecast.ShortError
	if _, err = forecast.Choose(noise(100), 1, 1, m); !errors.As(err, &short) || short.Needs != 64 {
		t.Errorf("no model can forecast it: %v", err)
	}
}

// TestContext: values before the context do not count.
func TestContext(t *testing.T) {
	m := open(t, "published")
	m.context = 64
	all := noise(200)
	a, err := m.Forecast(all, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all[:200-56] {
		all[i] = -1e6
	}
	b, err := m.Forecast(all, 10) // two patches ahead leave seven of eight to look at
	if err != nil || !slices.Equal(a, b) {
		t.Errorf("%v, %v, %v", a, b, err)
	}
	all[200-56] = 90
	if b, err = m.Forecast(all, 10); err != nil || slices.Equal(a, b) {
		t.Errorf("the first value that counts changed nothing: %v, %v", b, err)
	}
}

// TestGroups: series of one group change each other's forecasts, and others do not.
func TestGroups(t *testing.T) {
	m := open(t, "published")
	first, second := noise(64), noise(128)[64:]
	alone, err := m.Forecast(first, 8)
	if err != nil {
		t.Fatal(err)
	}
	for group, same := range map[int]bool{0: false, 1: true} {
		all, err := m.Quantiles([]Series{{Values: first}, {Values: second, Group: group}}, 8)
		if err != nil || slices.Equal(all[0][median], alone) != same {
			t.Errorf("group %d: %v, %v, alone %v", group, all, err, alone)
		}
	}
}

func TestBadSeries(t *testing.T) {
	m := open(t, "published")
	long := noise(64)
	endless := slices.Concat(long, []float64{math.Inf(1)})
	for cause, ask := range map[string]func() ([]Quantiles, error){
		"7 values are too few":     func() ([]Quantiles, error) { return m.Quantiles([]Series{{Values: long[:7]}}, 8) },
		"value 63 is +Inf":         func() ([]Quantiles, error) { return m.Quantiles([]Series{{Values: endless[1:]}}, 8) },
		"0 values of 1 series":     func() ([]Quantiles, error) { return m.Quantiles([]Series{{Values: long}}, 0) },
		"50000 values of 1 series": func() ([]Quantiles, error) { return m.Quantiles([]Series{{Values: long}}, 50000) },
		"8 values of 0 series":     func() ([]Quantiles, error) { return m.Quantiles(nil, 8) },
		"series 1 has 63 values": func() ([]Quantiles, error) {
			return m.Quantiles([]Series{{Values: long}, {Values: long[1:]}}, 8)
		},
	} {
		if _, err := ask(); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("want %q: %v", cause, err)
		}
	}
}

// TestBadModel: a model of another program, or a broken one, is refused with what is wrong.
func TestBadModel(t *testing.T) {
	settings, err := os.ReadFile("testdata/published/config.json")
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile("testdata/published/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	other := func(from, to string) string {
		if !strings.Contains(string(settings), from) {
			t.Fatalf("config.json has no %s", from)
		}
		return strings.Replace(string(settings), from, to, 1)
	}
	nan := slices.Clone(weights)
	copy(nan[len(nan)-4:], []byte{0, 0, 0xc0, 0x7f})
	for cause, f := range map[string]struct {
		settings string
		weights  []byte
	}{
		"is not JSON":                       {string(settings), file(`{"a"`)},
		"unexpected end":                    {"{", weights},
		"patch_size is 0":                   {`{"model_type":"bert","d_model":16}`, weights},
		"d_model is -16":                    {other(`"d_model": 16`, `"d_model": -16`), weights},
		"has shape [64 16]":                 {other(`"patch_size": 8`, `"patch_size": 16`), weights},
		"no multiple of layer_group_size":   {other(`"num_layers": 4`, `"num_layers": 5`), weights},
		"no multiple of num_groups":         {other(`"num_groups": 2`, `"num_groups": 3`), weights},
		"multiple of 4":                     {other(`"qk_dim": 8`, `"qk_dim": 6`), weights},
		"num_output_patches is 2":           {other(`"num_output_patches": 1`, `"num_output_patches": 2`), weights},
		"num_variate_layers_per_group is 9": {other(`layers_per_group": 1`, `layers_per_group": 9`), weights},
		"norm_eps is -1":                    {other(`"norm_eps": 0.0001`, `"norm_eps": -1`), weights},
		"layers.4.ffn.fc1.weight":           {other(`"num_layers": 4`, `"num_layers": 8`), weights},
		"per_dim_scale\" has no place":      {other(`"per_dim_scale": true`, `"per_dim_scale": false`), weights},
		"is NaN":                            {string(settings), nan},
		"the file is cut":                   {string(settings), weights[:50_000]},
	} {
		_, err := readBoth([]byte(f.settings), f.weights)
		if err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("want %q: %v", cause, err)
		}
	}
}

func readBoth(settings, weights []byte) (*Model, error) {
	c, err := parseConfig(settings)
	if err != nil {
		return nil, err
	}
	return readModel(c, bytes.NewReader(weights), int64(len(weights)))
}

func file(header string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
}

// FuzzConfig: no config.json makes the reader panic, or take weights of other shapes.
func FuzzConfig(f *testing.F) {
	settings, err := os.ReadFile("testdata/published/config.json")
	if err != nil {
		f.Fatal(err)
	}
	weights, err := os.ReadFile("testdata/published/model.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(settings)
	f.Add([]byte(`{"num_heads":1,"layer_group_size":1}`))
	values := noise(40)
	f.Fuzz(func(t *testing.T, settings []byte) {
		m, err := readBoth(settings, weights)
		if err != nil {
			return
		}
		got, err := m.Forecast(values, 9)
		var short *forecast.ShortError
		if len(got) != 9 && !errors.As(err, &short) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestUnscale: what is too large for a number becomes the largest other value of its patch, as in
// the reference; then the bounds hold.
func TestUnscale(t *testing.T) {
	values := []float32{100, 2, -100, 1, 30}
	unscale(values, measure{10, 2}, -50, 1e20)
	two, one := float32(math.Sinh(2))*2+10, float32(math.Sinh(1))*2+10
	most := float32(math.Sinh(30))*2 + 10
	if want := []float32{most, two, one, one, most}; !slices.Equal(values, want) {
		t.Errorf("%v, want %v", values, want)
	}
	values = []float32{30, -30}
	if unscale(values, measure{10, 2}, -50, 1e10); !slices.Equal(values, []float32{1e10, -50}) {
		t.Errorf("%v", values)
	}
}
