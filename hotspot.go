package beagle

// Hotspots ranks the functions of a service's own code by cost.
type Hotspots struct {
	Service   string  `json:"service,omitempty"`
	Kind      string  `json:"kind"`  // cpu, alloc, block or mutex
	Unit      string  `json:"unit"`  // of Total: cores, seconds or bytes a second, seconds or bytes
	Total     float64 `json:"total"` // cost of the whole service
	Samples   int64   `json:"samples"`
	Effective float64 `json:"effective_samples"` // fewer than Samples when instances weigh differently
	// profiles whose spread is in the intervals; 0 when these come from the number of samples alone
	Spread int `json:"spread,omitempty"`
	// processor cores that the service keeps busy; 0 when unknown
	Cores       float64     `json:"cores,omitempty"`
	Price       *CorePrice  `json:"price,omitempty"`
	Autoscaling Autoscaling `json:"autoscaling"`
	// divides the collector's time: allocated bytes, or time in the allocator
	GCBy     string    `json:"gc_by,omitempty"`
	Least    float64   `json:"least"` // share of the whole under which a function gets no entry
	Hotspots []Hotspot `json:"hotspots"`
	More     int       `json:"more,omitempty"` // hot spots beyond the limit of the list
	// costs beside all hot spots; with them it is the whole
	Rest         []CostShare       `json:"rest"`
	Dropped      []DroppedFunction `json:"dropped"`
	DroppedCount int               `json:"dropped_count"` // all functions without an entry; Dropped holds the most expensive
	Advice       []ProfileAdvice   `json:"advice,omitempty"`
	Profiles     []ProfileUsed     `json:"profiles"`
	Warnings     []string          `json:"warnings,omitempty"`
	Diff         *HotspotDiff      `json:"diff,omitempty"`
}

// A Hotspot is a function with an entry of its own in the ranking. Shares are
// of the whole service, from 0 to 1.
type Hotspot struct {
	Target    string   `json:"target"` // as evolve and bench take it
	Symbols   []string `json:"symbols"`
	File      string   `json:"file,omitempty"` // relative to the module's directory
	Line      int      `json:"line,omitempty"` // the line that costs most
	Flat      float64  `json:"flat"`           // its own instructions
	Cum       float64  `json:"cum"`            // with all callees
	Reach     float64  `json:"reach"`          // with those of its package, and the library's: what a search of it can change
	Net       float64  `json:"net"`            // with all callees that have no entry of their own, and with GC
	NetLow    float64  `json:"net_low"`
	NetHigh   float64  `json:"net_high"`
	GC        float64  `json:"gc"`                // the part of Net that the collector spends on its allocations
	Runtime   float64  `json:"runtime"`           // the part of Net in Go's runtime, GC left out
	Samples   int64    `json:"samples"`           // behind Net
	Effective float64  `json:"effective_samples"` // of equal weight, that would tell Net as well
	Cores     float64  `json:"cores,omitempty"`
	CostYear  float64  `json:"cost_year,omitempty"`
	SaveYear  float64  `json:"save_year"` // saving if it cost nothing
	SaveNote  string   `json:"save_note,omitempty"`
	Calls     float64  `json:"calls_per_second,omitempty"` // of the whole service
	NanosCall float64  `json:"ns_per_call,omitempty"`
	Callees   []string `json:"callees,omitempty"` // callees whose cost counts here, the most expensive first
}

// CorePrice is the price of an hour of one processor core.
type CorePrice struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
	Source   string  `json:"source"`          // given, or the cloud and family
	AsOf     string  `json:"as_of,omitempty"` // when the table's row was read
}

// Autoscaling says whether saved processor time becomes fewer machines.
type Autoscaling struct {
	Follows  string  `json:"follows"`  // yes, no, partly or unknown
	Fraction float64 `json:"fraction"` // of a saving that becomes fewer machines
	Reason   string  `json:"reason"`
}

// A CostShare is a part of the whole that no hot spot accounts for.
type CostShare struct {
	What  string  `json:"what"`
	Share float64 `json:"share"`
}

// A DroppedFunction costs something and has no entry in the ranking.
type DroppedFunction struct {
	Function string  `json:"function"` // as the linker names it
	Target   string  `json:"target,omitempty"`
	Flat     float64 `json:"flat"`
	Cum      float64 `json:"cum"`
	Net      float64 `json:"net,omitempty"` // before its cost went to its callers
	Reason   string  `json:"reason"`
	// CountsFor are the hot spots whose cost contains this one's.
	CountsFor []CostShare `json:"counts_for,omitempty"`
}

// ProfileAdvice is advice from a profile that no rewrite of one function can follow.
type ProfileAdvice struct {
	Kind     string  `json:"kind"` // contention, channels, logging or syscalls
	Function string  `json:"function"`
	Share    float64 `json:"share"` // of the profile that Of names
	Of       string  `json:"of"`
	Text     string  `json:"text"`
}

// ProfileUsed is one profile that went into a ranking.
type ProfileUsed struct {
	Source    string  `json:"source"`
	Kind      string  `json:"kind"`
	Instance  string  `json:"instance,omitempty"`
	Start     string  `json:"start,omitempty"` // RFC 3339
	Seconds   float64 `json:"seconds"`
	Samples   int64   `json:"samples"`
	Total     float64 `json:"total"` // nanoseconds or bytes, as measured
	Build     string  `json:"build,omitempty"`
	StandsFor float64 `json:"stands_for"` // instances
}

// HotspotDiff says which functions moved between two sets of profiles.
type HotspotDiff struct {
	Samples    int64         `json:"samples"`
	OldSamples int64         `json:"old_samples"`
	Old        []ProfileUsed `json:"old"`
	Moves      []HotspotMove `json:"moves"` // those that moved, the largest first
	Unclear    int           `json:"unclear"`
}

// A HotspotMove is a change of a function's share between two profiles.
type HotspotMove struct {
	Target string  `json:"target"`
	Old    float64 `json:"old"` // net share before
	New    float64 `json:"new"`
	Change float64 `json:"change"`
	Low    float64 `json:"low"` // 95 % interval of Change
	High   float64 `json:"high"`
	P      float64 `json:"p"` // that chance alone makes such a change
	Moved  bool    `json:"moved"`
	OldCum float64 `json:"old_cum"`
	NewCum float64 `json:"new_cum"`
	Note   string  `json:"note,omitempty"`
}

// HotspotWhy answers why functions are or are not among the hot spots.
type HotspotWhy struct {
	Hotspots []Hotspot         `json:"hotspots,omitempty"`
	Dropped  []DroppedFunction `json:"dropped,omitempty"`
}
