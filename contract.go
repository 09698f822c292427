package beagle

// A Contract says on which inputs, and in which respects, a candidate must behave like the
// original. The zero Contract covers all inputs, in every respect that a caller can see.
type Contract struct {
	// Requires is a Go expression over the parameters and the receiver, as in
	// "n >= 0 && len(s) < 1<<16". Inputs for which it is false are never tried.
	Requires string `json:"requires,omitempty"`
	// Ignore lists what may differ: some of Ignorable.
	Ignore []string `json:"ignore,omitempty"`
}

// Ignorable are the differences that a Contract may allow.
var Ignorable = []string{"error-text", "panic-value", "nil-empty", "capacity", "scratch", IgnoreIO}

// IgnoreIO allows a target that does input or output, which no check compares.
const IgnoreIO = "io"

// IsZero reports whether the contract demands strict equivalence.
func (c Contract) IsZero() bool { return c.Requires == "" && len(c.Ignore) == 0 }

// A NearMiss is a contract under which a rejected candidate would have been
// right: the candidate differs only on inputs that the contract excludes.
type NearMiss struct {
	Contract Contract `json:"contract"`
	Records  [2]int   `json:"records"` // recorded calls that keep to it, and all
	Sites    [2]int   `json:"sites"`   // call sites in the module that provably keep to it, and all
	Gain     *Ratio   `json:"gain,omitempty"`
	Flag     string   `json:"flag"` // the flag that accepts it: --requires 'len(s) < 1<<16'
	Guarded  *Guarded `json:"guarded,omitempty"`
}

// Guarded is a near miss behind a guard: where the contract's condition does not hold, it calls the
// original. It was judged without the contract.
type Guarded struct {
	Source  string       `json:"source"`            // a candidate file
	Status  Status       `json:"status"`            // accepted, or the status that refuses it
	Reason  string       `json:"reason,omitempty"`  // why it is not accepted
	Measure *Measurement `json:"measure,omitempty"` // when it behaves
}
