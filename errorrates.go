package beagle

// ErrorRates say how often the judge of speed errs, as measured on functions whose truth is
// known.
type ErrorRates struct {
	Machine   Machine `json:"machine"` // that measured them
	Rule      string  `json:"rule"`    // of decision
	Seconds   float64 `json:"seconds"` // of timing that a trial could take
	MinGain   float64 `json:"min_gain"`
	FalseWins Rate    `json:"false_wins"` // a function against itself, called faster
	FoundTwo  Rate    `json:"found_two"`  // a version that is truly 2 % faster, called faster
	FoundFive Rate    `json:"found_five"` // the same, 5 %
	Loaded    int     `json:"loaded"`     // trials, of all, that a load on all processors disturbed on purpose
	Elsewhere bool    `json:"elsewhere"`  // on another kind of machine or toolchain than the result beside it
}

// A Rate is the frequency of an event in independent trials, with the exact 95 % interval of
// Clopper and Pearson.
type Rate struct {
	Hits   int     `json:"hits"`
	Trials int     `json:"trials"`
	Low    float64 `json:"low"` // 0 to 1
	High   float64 `json:"high"`
}
