package benchfile

import (
	"math"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// A cause is what may make a difference between the profiles of production and of a benchmark.
type cause int

const (
	byChance cause = iota
	byCollector
	byBuild
	byInlining
	byRecording
	byAbsence
	byGrowth
	byRuntime
	byState
	byInputs
)

// whys are the causes in words.
var whys = [...]string{
	byChance:    "not more than chance makes",
	byCollector: "it depends on the heap of the whole service, which a benchmark of one function does not have",
	byBuild: "the benchmark's program has no such function: production is another build, of another version of " +
		"Go or of a module, or with other tags or --pgo",
	byInlining: "inlined in one of them and called in the other: production was built in another way (--pgo)",
	byRecording: "the benchmark never spends time there: no recorded input leads there (capture for longer, or at " +
		"the hours when it happens), or it is inlined and its time counts for the code around it",
	byAbsence: "production spends no time there: the inputs hold what its calls do not, or it was built in another " +
		"way (--pgo)",
	byGrowth: "production takes new memory there more often: its state begins anew from time to time, as after a " +
		"flush, and the benchmark's goes on",
	byRuntime: "Go's runtime takes longer in a large heap with many goroutines",
	byState: "no group of recorded inputs spends as much or as little time there, so no shares of them match: what " +
		"production's caches and branch predictors hold, or inputs that were not recorded",
	byInputs: "other inputs, or what production's caches and branch predictors hold",
}

// An explainer knows what a difference is explained by.
type explainer struct {
	production *hotspots.Subtree
	run        *Run
	groups     []*hotspots.Subtree // profiles of single groups of inputs
}

// cause guesses what makes the difference of a part.
func (x explainer) cause(kind string, p beagle.SimilarPart) cause {
	callee := kind == "callee"
	switch {
	case p.Name == hotspots.Collector:
		return byCollector
	case callee && p.Benchmark == 0 && slices.Contains(x.run.lacking, p.Name):
		return byBuild
	case p.Benchmark == 0:
		return byRecording
	case p.Production == 0:
		return byAbsence
	case callee && math.Abs(inlined(x.production, p.Name)-inlined(x.run.Subtree, p.Name)) > 0.8:
		return byInlining
	case callee && slices.Contains(growing, p.Name) && p.Production > 2*p.Benchmark:
		return byGrowth
	case callee && strings.HasPrefix(p.Name, "runtime.") && p.Production > p.Benchmark:
		return byRuntime
	case x.outside(callee, p):
		return byState
	}
	return byInputs
}

// growing are the functions of the runtime that code calls where its data grows.
var growing = []string{
	"runtime.growslice", "runtime.makeslice", "runtime.newobject", "runtime.makemap", "runtime.mapassign",
	"runtime.mapassign_fast32", "runtime.mapassign_fast64", "runtime.mapassign_faststr",
}

// inlined returns the share of a callee's time in which it is inlined.
func inlined(s *hotspots.Subtree, name string) float64 {
	if s.Callees[name] == 0 {
		return 0
	}
	return s.Inlined[name] / s.Callees[name]
}

// outside reports whether all groups spend clearly less time at a place than production, or more.
func (x explainer) outside(callee bool, p beagle.SimilarPart) bool {
	less, more := len(x.groups) > 0, len(x.groups) > 0
	for _, g := range x.groups {
		parts, total := g.Lines, 0.0
		if callee {
			parts = g.Callees
		}
		for _, v := range parts {
			total += v
		}
		share := parts[p.Name] / total
		noise := 2 * math.Sqrt(p.Production*(1-p.Production)*(1/x.production.Effective+1/g.Effective))
		less = less && share < p.Production-noise
		more = more && share > p.Production+noise
	}
	return less || more
}
