package beagle

// A Similarity says how alike the profile of a benchmark is to that of production, over parts of
// one function's time: 1 minus the total variation distance.
type Similarity struct {
	Estimate     float64 `json:"estimate"`      // without the distance that chance makes
	Low          float64 `json:"low"`           // 95 % interval
	High         float64 `json:"high"`          //
	Plain        float64 `json:"plain"`         // of the samples as they are
	Noise        float64 `json:"noise"`         // what two profiles of the same program would show in the mean
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
