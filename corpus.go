package beagle

// A Record is one call that the target received.
type Record struct {
	Args   []byte  `json:"args"`             // the arguments, receiver first, in the encoding of internal/rt
	Weight float64 `json:"weight"`           // how many calls it stands for
	Source string  `json:"source,omitempty"` // "test", "bench", "file", "production", "generated", "counterexample"

	// Results are those of the call in production, in the encoding of Args; nil where they are not
	// known.
	Results []byte `json:"results,omitempty"`
	// Varies means that production gave several results for these arguments. Results are one of
	// them.
	Varies bool `json:"varies,omitempty"`
}

// ID is the content hash that also decides between train and holdout.
func (r Record) ID() string { return HashOf("record", r.Args) }

// A Corpus holds the calls that the target really receives. Mutators and the search see Train.
// Only verification and the final measurement see Holdout. Generated records serve verification
// only, unless fewer than two inputs were recorded (GeneratedOnly).
type Corpus struct {
	Target        string   `json:"target"` // Target.ID
	Train         []Record `json:"train"`
	Holdout       []Record `json:"holdout"`
	Generated     []Record `json:"generated,omitempty"`
	GeneratedOnly bool     `json:"generated_only"`
	Concurrent    bool     `json:"concurrent"` // the target was seen in several goroutines at once
	Calls         float64  `json:"calls"`      // calls seen, before deduplication
	Dropped       int      `json:"dropped"`    // calls that could not be encoded or did not fit
	DroppedWhy    string   `json:"dropped_why,omitempty"`
	Sources       []string `json:"sources"`           // "12,345 calls from go test ./tags", for the report
	Facets        Facets   `json:"facets"`            // of Train; of a capture, of all calls
	Answers       *Answers `json:"answers,omitempty"` // of the records with results; nil if there are none
}

// Answers compare the results that production gave with those of the checkout's original for the
// same arguments. Other results mean another build, or state or time that the arguments do not
// hold.
type Answers struct {
	Compared  int     `json:"compared"`          // records
	Otherwise int     `json:"otherwise"`         // of them, those that the original answers otherwise
	Share     float64 `json:"share"`             // of the calls that the compared records stand for
	Varied    int     `json:"varied,omitempty"`  // records that production answered in several ways; not compared
	Unread    int     `json:"unread,omitempty"`  // records with results that could not be made again
	Example   string  `json:"example,omitempty"` // a call with both results
}

// ID hashes the records.
func (c *Corpus) ID() string {
	return HashOf("corpus", c.Target, c.Train, c.Holdout, c.Generated)
}

// Facets describe the typical inputs of a corpus. They are computed from Train alone, except for a
// capture's.
type Facets struct {
	Records  int          `json:"records"`
	Params   []ParamFacet `json:"params"`   // as Target.Params
	Identity float64      `json:"identity"` // weighted share of calls whose only result equals the first argument
	Errors   float64      `json:"errors"`   // share of calls that return a non-nil error
	Panics   float64      `json:"panics"`   // share of calls that panic
	Mutates  []string     `json:"mutates"`  // parameters whose final state differs from the initial one
	Mined    *Mined       `json:"mined,omitempty"`
	// how often a call had the arguments of an earlier one, by the distance; of captured calls only
	Again []Repetition `json:"again,omitempty"`
	// how many other calls are under way in a process while one is; of captured calls only
	InFlight *InFlight `json:"in_flight,omitempty"`
}

// InFlight says how many other calls of the target are under way in a process while one is. The
// mean is that at any time (Little's law). A quantile counts the calls that begin, at an even rate,
// while a call of that length is under way: bursts are not seen. Beside counts them.
type InFlight struct {
	Calls  float64 `json:"calls"` // captured calls whose duration was seen
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Most   float64 `json:"most"`

	Beside *Overlap `json:"beside,omitempty"` // of calls that were followed to their ends
}

// Overlap divides calls by how many others of the target were under way in the process when they
// began. The shares add up to 1.
type Overlap struct {
	Calls float64 `json:"calls"` // that were followed
	None  float64 `json:"none"`
	One   float64 `json:"one"`
	Few   float64 `json:"few"`  // 2 or 3
	Many  float64 `json:"many"` // 4 or more
}

// A Repetition tells how often a call repeats the arguments of one of the last calls before it,
// beside how often two calls at any distance do. A rate far above chance is temporal locality: a
// small cache would hit.
type Repetition struct {
	Calls  float64 `json:"calls"` // distance
	Share  float64 `json:"share"`
	Low    float64 `json:"low"` // 95 % interval
	High   float64 `json:"high"`
	Chance float64 `json:"chance"`
	Pairs  int     `json:"pairs"` // of calls that were compared
}

// A ParamFacet describes what one parameter receives. Shares are weighted and
// between 0 and 1.
type ParamFacet struct {
	Name     string     `json:"name"`
	Distinct int        `json:"distinct"`
	Nil      float64    `json:"nil"`                    // share nil (pointers, slices, maps, interfaces)
	Empty    float64    `json:"empty"`                  // share of length 0
	Len      [5]int     `json:"len"`                    // length: minimum, median, 95th and 99th percentile, maximum
	ASCII    float64    `json:"ascii"`                  // share of strings and byte slices that are all ASCII
	Invalid  float64    `json:"invalid_utf8,omitempty"` // share of them that are no valid UTF-8
	Bytes    []float64  `json:"bytes"`                  // 256 shares: which bytes occur in strings and byte slices
	Sorted   float64    `json:"sorted"`                 // share of slices in ascending order
	Unique   float64    `json:"unique"`                 // share of slices without duplicates
	Top      []TopValue `json:"top"`                    // most frequent values, at most 8
	Min      float64    `json:"min"`                    // numbers
	Max      float64    `json:"max"`
}

// A TopValue is a frequent value in Go syntax with its share of the calls.
type TopValue struct {
	Value string  `json:"value"`
	Share float64 `json:"share"`
}

// Mined holds the original's outcome on every short input, for targets that map a string or a
// byte slice to the same type. The fixed points of the function are the guard of an identity fast
// path.
type Mined struct {
	Fixed1 []byte   `json:"fixed1"` // the bytes b for which f(b) == b
	Fixed2 [][]byte `json:"fixed2"` // for each first byte, a 32-byte bit set of the second bytes for which f(ab) == ab
}

// A Finding is a remark of the audit on a corpus and its benchmark.
type Finding struct {
	// "few-distinct", "one-class", "dead-result", "constant-foldable", "mutates-input",
	// "non-deterministic", "generated-only", "other-answers"
	Code   string `json:"code"`
	Refuse bool   `json:"refuse"` // a warning otherwise
	Figure string `json:"figure"` // the number that was found: "3 distinct inputs"
	Remedy string `json:"remedy"`
}

// Spread returns n records of a list, at even distances, or all if there are no more.
func Spread(list []Record, n int) []Record {
	if len(list) <= n {
		return list
	}
	out := make([]Record, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}
