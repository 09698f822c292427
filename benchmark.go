package beagle

// A Similarity says how alike the profile of a benchmark is to that of production, over parts of
// one function's time: 1 minus the total variation distance.
type Similarity struct {
	Estimate     float64 `json:"estimate"`      // without the distance that chance makes
	Low          float64 `json:"low"`           // 95 % interval
	High         float64 `json:"high"`          //
	Plain        float64 `json:"plain"`         // of the samples as they are
	Noise        float64 `json:"noise"`         // expected difference of two profiles of the same program
	Chance       float64 `json:"chance"`        // the estimate is as low for one in 40 such pairs of profiles
	Samples      float64 `json:"samples"`       // of production, of equal weight
	BenchSamples float64 `json:"bench_samples"` // of the benchmark
	// Parts are all parts, the largest difference first.
	Parts []SimilarPart `json:"parts"`
}

// A SimilarPart is a callee or a line with its shares of the function's time.
type SimilarPart struct {
	Name       string  `json:"name"`
	Production float64 `json:"production"`
	Benchmark  float64 `json:"benchmark"`
	Clear      bool    `json:"clear"` // chance alone does not make this difference
	Why        string  `json:"why,omitempty"`
}

// A ProductionBenchmark is a Go benchmark that was made of a target's recorded calls.
type ProductionBenchmark struct {
	Target     TargetRef        `json:"target"`
	Through    string           `json:"through,omitempty"` // the caller of the target that the benchmark calls
	File       string           `json:"file,omitempty"`    // relative to the module when it lies there
	Benchmarks []string         `json:"benchmarks"`
	Sources    []string         `json:"sources"`  // where the calls come from
	Calls      float64          `json:"calls"`    // that the corpus stands for
	Distinct   int              `json:"distinct"` // inputs of the corpus
	Inputs     int              `json:"inputs"`   // distinct ones in the benchmark
	Rule       string           `json:"rule"`     // how the inputs stand for those of the corpus
	State      string           `json:"state"`    // of caches: warm, cold, or handed over, with how much other work
	Groups     []BenchmarkGroup `json:"groups"`
	Extremes   []string         `json:"extremes"`
	Corpus     string           `json:"corpus,omitempty"` // file of the same inputs, for evolve and verify
	Fit        *BenchmarkFit    `json:"fit,omitempty"`    // with a profile of production
	Notes      []string         `json:"notes,omitempty"`
}

// A BenchmarkGroup is a group of alike inputs in a benchmark.
type BenchmarkGroup struct {
	Name     string  `json:"name"`
	Share    float64 `json:"share"`  // of the recorded calls
	Weight   float64 `json:"weight"` // of the benchmark's calls
	Distinct int     `json:"distinct"`
	Inputs   int     `json:"inputs"`
}

// A BenchmarkFit says how alike a benchmark's profile is to production's.
type BenchmarkFit struct {
	Target  string         `json:"target"`
	Share   float64        `json:"share"`            // of production's time that is below the target
	Needed  float64        `json:"needed"`           // similarity
	Reached bool           `json:"reached"`          // the estimates of both are no less than needed
	Shown   bool           `json:"shown"`            // and so is the lower end of both intervals
	Enough  float64        `json:"enough,omitempty"` // samples of each that would show a likeness that is there
	Seconds float64        `json:"seconds"`          // of a processor for a profile of the benchmark, at most
	Callees Similarity     `json:"callees"`
	Lines   Similarity     `json:"lines"`
	Itself  *SelfFit       `json:"itself,omitempty"`  // production with itself
	Callers []CallerShare  `json:"callers,omitempty"` // the nearest ones that production's calls come through
	Tried   []BenchmarkTry `json:"tried"`
	Held    bool           `json:"held,omitempty"` // production's samples here had no part in the fit

	Lost     []LostSimilarity `json:"lost,omitempty"` // what the plain distance is made of, by cause
	Why      []string         `json:"why,omitempty"`  // the parts that differ, and why
	Warnings []string         `json:"warnings,omitempty"`
}

// A LostSimilarity is a share of the time that lies at other places in production, and its cause.
type LostSimilarity struct {
	By    string  `json:"by"` // callee or line
	Share float64 `json:"share"`
	Why   string  `json:"why"`
}

// A CallerShare is how much of the time below a function is below one that calls it, or calls its
// callers.
type CallerShare struct {
	Function string  `json:"function"`
	Share    float64 `json:"share"`
}

// A SelfFit compares two halves of production's samples: no benchmark can be more alike to
// production than production is to itself.
type SelfFit struct {
	ByTime  bool       `json:"by_time,omitempty"` // its earlier profiles with the later ones; otherwise by chance
	Callees Similarity `json:"callees"`
	Lines   Similarity `json:"lines"`
}

// A BenchmarkTry is one form of the benchmark that was compared.
type BenchmarkTry struct {
	What     string  `json:"what"`
	Callees  float64 `json:"callees"` // estimates
	Lines    float64 `json:"lines"`
	Nanos    float64 `json:"ns_per_call"`
	Moved    float64 `json:"moved,omitempty"` // by how much weights differ from the recorded ones: total variation
	Accepted bool    `json:"accepted"`
}
