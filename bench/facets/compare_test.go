package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestIntervals draws captures from a trace. About 95 % of the figures must be inside, and a
// capture that prefers one kind of call must be seen.
func TestIntervals(t *testing.T) {
	const all, captured, draws = 20_000, 1500, 400
	rng := rand.New(rand.NewPCG(1, 2))
	counts := map[string]float64{}
	var kinds []string
	for range all {
		kind := fmt.Sprint(int(rng.ExpFloat64() * 300))
		kinds = append(kinds, kind)
		counts[kind]++
	}
	for _, prefers := range []bool{false, true} {
		inside, n := map[string]int{}, map[string]int{}
		for range draws {
			rng.Shuffle(all, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			seen, short := map[string]bool{}, 0.0
			taken := 0
			for _, k := range kinds {
				if taken == captured {
					break
				}
				if prefers && len(k) < 3 && rng.IntN(5) == 0 { // a fifth of the short ones is overlooked
					continue
				}
				taken++
				seen[k] = true
				if len(k) < 3 {
					short++
				}
			}
			c := &comparer{t: &trace{calls: make([]call, all)}, n: captured / (1 - float64(captured)/all),
				facets: &beagle.Facets{Params: []beagle.ParamFacet{{Name: "k", Distinct: len(seen)}}}}
			truth := 0.0
			for k, n := range counts {
				if len(k) < 3 {
					truth += n / all
				}
			}
			c.share("share", "", truth, short/captured, c.n)
			c.distinct(0, &values{counts: counts}, captured)
			for _, x := range c.list {
				n[x.facet]++
				if x.inside() {
					inside[x.facet]++
				}
			}
		}
		for _, facet := range []string{"share", "cardinality"} {
			share := float64(inside[facet]) / float64(n[facet])
			if n[facet] != draws || !prefers && share < 0.92 {
				t.Errorf("%s: %.3f of %d captures are inside, want 0.95", facet, share, n[facet])
			}
			if facet == "share" && prefers && share > 0.2 {
				t.Errorf("%s: %.3f of the captures that overlook calls are inside", facet, share)
			}
		}
	}
}

// TestInsert checks where the trace goes.
func TestInsert(t *testing.T) {
	f := traced{fun: "Sum128", args: "data, seed"}
	got, err := f.insert([]byte("package m\n\nfunc Sum128(data []byte, seed uint64) int {\n\treturn 1\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"package m; import", "var tracedSum128 = traced.New(\"Sum128\")",
		"if _, is := any(data).([]byte); is { defer tracedSum128.Enter(data, seed).Leave() };"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if _, err := (traced{fun: "None"}).insert([]byte("package m\n")); err == nil {
		t.Error("a function that is not there is no error")
	}
}
