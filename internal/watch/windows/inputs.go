package windows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle/internal/watch"
)

// sizes is the number of buckets of a facet: bucket b holds sizes with b bits, the last all above.
const sizes = 20

// Facets counts the calls of a corpus of JSON lines (docs/corpus.md) by how large each argument is:
// the bytes of a text, the elements of a list or an object, the magnitude of a number. Calls count
// by their weight. Captures of shapes and of text have the same facets.
func Facets(data []byte) (map[string][]float64, error) {
	out := map[string][]float64{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		// Read a call, which counts once if it says no weight.
		call := struct {
			Args   any     `json:"args"`
			Weight float64 `json:"weight"`
		}{Weight: 1}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		// Name its arguments. A plain list has none, so their places are their names.
		args, list := call.Args.(map[string]any)
		if !list {
			args = map[string]any{}
			all, _ := call.Args.([]any)
			for i, v := range all {
				args["arg"+strconv.Itoa(i)] = v
			}
		}
		// Count each by its size.
		for name, v := range args {
			if out[name] == nil {
				out[name] = make([]float64, sizes)
			}
			out[name][bucket(v)] += call.Weight
		}
	}
	return out, lines.Err()
}

func bucket(v any) int { return min(sizes-1, bits.Len64(size(v))) }

func size(v any) uint64 {
	switch v := v.(type) {
	case string:
		return uint64(len(v))
	case []any:
		return uint64(len(v))
	case map[string]any:
		for _, key := range []string{"value", "$base64"} { // a wrapped value
			if inner, ok := v[key]; ok {
				return size(inner)
			}
		}
		return uint64(len(v))
	case float64:
		return uint64(min(1<<sizes, max(v, -v)))
	}
	return 0
}

// Inputs has the next window hold a function's inputs, beside those of its corpus.
func (a *Archive) Inputs(function string, corpus, calls []byte) error {
	want, err := Facets(corpus)
	if err != nil {
		return fmt.Errorf("the corpus of %s: %w", function, err)
	}
	got, err := Facets(calls)
	if err != nil {
		return fmt.Errorf("the calls of %s: %w", function, err)
	}
	i := slices.IndexFunc(a.Watch.Targets, func(t watch.Target) bool { return t.Function == function })
	if i < 0 {
		i = len(a.Watch.Targets)
		a.Watch.Targets = append(a.Watch.Targets, watch.Target{Function: function})
	}
	a.Watch.Targets[i].Inputs = want
	if a.inputs == nil {
		a.inputs = map[string]map[string][]float64{}
	}
	a.inputs[function] = got
	return nil
}
