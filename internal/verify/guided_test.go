package verify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// functionsDrawn is the number of the plantings' functions that a test tries, and conditionsDrawn
// the number of conditions of each.
const functionsDrawn, conditionsDrawn = 2, 2

// unfound are conditions that the search is known to miss.
var unfound = map[string]bool{`parts == 7 && n == 19`: true}

// A hunt records one search for a planted difference.
type hunt struct {
	found  *Rejection
	inputs int
	note   string
	search float64 // seconds of processor time of the search itself
	build  float64 // seconds to build its program
}

// job returns the job of a candidate that was compiled.
func (c *catalogue) job(t testing.TB, source string) *Job {
	t.Helper()
	j := &Job{
		Env:       c.env,
		Candidate: beagle.NewCandidate(source, nil, nil),
		Corpus:    c.corpus,
		Budget:    Budget{}.orDefaults(),
	}
	j.verdict = &beagle.Verdict{}
	if err := j.prepare(); err != nil {
		t.Fatal(err)
	}
	for _, check := range []func(context.Context, *Job) (*Rejection, error){parse, compile} {
		if f, err := check(t.Context(), j); f != nil || err != nil {
			t.Fatal(f, err)
		}
	}
	t.Cleanup(func() { j.bin.Remove() })
	return j
}

// guidedHunt searches in a planted version, for so much processor time at most.
func (c *catalogue) guidedHunt(t testing.TB, source string, most time.Duration) (h hunt) {
	j := c.job(t, source)
	j.Budget.Fuzz = most
	start := time.Now()
	traced, err := j.trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Remove()
	h.build = time.Since(start).Seconds()
	g := &guidance{j, traced}
	q, err := g.guideRequest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reply := new(rt.GuideReply)
	exit, err := g.guide(t.Context(), q, reply)
	if err != nil || exit != nil {
		t.Fatal(exit, err)
	}
	h.inputs, h.search = reply.Inputs, reply.Millis/1000
	h.note = fmt.Sprintf("kept %d, last %d, saturated %v", reply.Kept, reply.Last, reply.Saturated)
	if reply.Diff != nil {
		if h.found, err = g.guidedTo(t.Context(), reply.Diff); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// TestPlanted checks that the guided search finds planted differences, and none between an original
// and itself. A run tries a few functions, drawn anew each time, and prints the cost of each. A
// difference that is not found in the time of a user's check gets five times as much, since on a
// crowded machine an input takes several times as much processor time. One miss is forgiven. The
// standard fuzzer, with two workers for 5 s, found 5 of 36. It took 4.0 s of processor time for
// each, on a machine that granted no more.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of seconds")
	}
	most := Budget{}.orDefaults().Fuzz
	found, all, total := 0, 0, 0.0
	var missed []string
	for _, p := range sampletest.Of(t, plantings, functionsDrawn) {
		c := p.load(t)
		h := c.guidedHunt(t, p.source, most)
		if h.found != nil {
			t.Errorf("%s: the original differs from itself: %+v", p.name, h.found)
		}
		t.Logf("%-8s %5.2f s + build %.2f s %8d inputs, %s", p.name, h.search, h.build, h.inputs, h.note)
		for _, condition := range sampletest.Of(t, p.conditions, conditionsDrawn) {
			h := c.guidedHunt(t, p.plant(condition), most)
			if h.found == nil && !unfound[condition] {
				t.Logf("  %5.2f s %8d inputs  %s: once more, for longer", h.search, h.inputs, condition)
				h = c.guidedHunt(t, p.plant(condition), 5*most)
			}
			all++
			total += h.search
			what := "MISSED"
			if h.found != nil {
				found++
				what = fmt.Sprint(h.found.Diff.Call)
			} else if !unfound[condition] {
				missed = append(missed, p.name+": "+condition)
			}
			t.Logf("  %5.2f s %8d inputs  %-60s %.60s  %s", h.search, h.inputs, condition, what, h.note)
		}
	}
	t.Logf("found %d of %d, %.2f s of processor time each", found, all, total/float64(all))
	if len(missed) > 1 {
		t.Errorf("the search misses %q", missed)
	}
}
