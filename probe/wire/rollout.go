package wire

import "time"

// Verbs of a rollout.
const (
	VerbRolloutStatus = "rollout-status" // the switches of the process
	VerbRolloutStart  = "rollout-start"  // lets arms take turns
	VerbRolloutBeat   = "rollout-beat"   // renews the lease, changes the share, takes the blocks out
	VerbRolloutStop   = "rollout-stop"   // the original from now on
)

// Names of the arms.
const (
	Original  = "original"
	Candidate = "candidate"
	Placebo   = "placebo"
)

// Units of randomisation.
const (
	UnitSlice   = "slice"   // the process runs one arm at a time
	UnitRequest = "request" // each request draws its arm
)

// RolloutOrders say which arms take turns, and within which bounds. A zero field means its default.
type RolloutOrders struct {
	Function string     `json:"function"`        // of the switch
	Build    string     `json:"build"`           // ID of the versions: another one is refused
	Arms     [][]string `json:"arms"`            // kinds of turns, one after the other
	Base     string     `json:"base,omitempty"`  // the arm between turns: the original
	Unit     string     `json:"unit,omitempty"`  // what chance assigns to an arm: slice, the default, or request
	Share    float64    `json:"share"`           // of the time, or of the requests, that the candidate runs
	Slice    float64    `json:"slice,omitempty"` // milliseconds of an arm's stretch: 20
	Guard    float64    `json:"guard,omitempty"` // milliseconds after a switch that do not count: 1
	Turns    int        `json:"turns,omitempty"` // that are summed into a block: 10
	TTL      float64    `json:"ttl,omitempty"`   // seconds until it ends by itself: 86400
	Lease    float64    `json:"lease,omitempty"` // seconds between heartbeats at most: 10, at most 10

	// MostErrors bounds by how much the share of errors may exceed the original's: 0.02.
	MostErrors float64 `json:"most_errors,omitempty"`
	// MostHeap bounds the growth of the live heap since the start, as a factor: 3.
	MostHeap float64 `json:"most_heap,omitempty"`
	// Stuck is the number of seconds after which a call that has not returned counts as hung: 3.
	Stuck float64 `json:"stuck,omitempty"`
	Slow  float64 `json:"slow,omitempty"` // milliseconds above which a request is slow; 0 counts none
}

// RolloutReply is a process's answer.
type RolloutReply struct {
	Lease    string          `json:"lease,omitempty"` // start
	Stream   string          `json:"stream,omitempty"`
	Switches []RolloutSwitch `json:"switches"`
	Blocks   []RolloutBlock  `json:"blocks,omitempty"` // beat, stop
	Dropped  int             `json:"dropped,omitempty"`
	NoArm    int             `json:"no_arm,omitempty"` // requests since the last beat that got none: they ran the original
	NoArmWhy string          `json:"no_arm_why,omitempty"`
}

// A RolloutSwitch is a function with two versions in a process.
type RolloutSwitch struct {
	Function string `json:"function"`
	Build    string `json:"build"`
	Running  bool   `json:"running"`
	Requests bool   `json:"requests"`          // the program tells of its requests
	Contexts bool   `json:"contexts"`          // its calls can get the arm of their request
	Carried  bool   `json:"carried"`           // the program hands the contexts of its requests on
	Errors   bool   `json:"errors"`            // the function returns an error, whose share is seen
	Times    bool   `json:"times"`             // the times of its calls come by size
	Checks   bool   `json:"checks"`            // some calls run both versions, and results are compared
	Tripped  string `json:"tripped,omitempty"` // why the original runs for good
	Ended    string `json:"ended,omitempty"`   // why the last rollout ended
}

// A RolloutBlock sums up some turns of the arms.
type RolloutBlock struct {
	ID      string         `json:"id"`
	Seq     int64          `json:"seq"`
	Planned []string       `json:"planned"`
	Slices  []RolloutSlice `json:"slices"`
}

// A RolloutSlice sums up an arm's slices of a block.
type RolloutSlice struct {
	Arm        string        `json:"arm"`
	Pod        string        `json:"pod"`
	Build      string        `json:"build"`
	Start      time.Time     `json:"start"`
	End        time.Time     `json:"end"`
	Counts     RolloutCounts `json:"counts"`
	Panics     int           `json:"panics,omitempty"`
	Mismatches int           `json:"mismatches,omitempty"`
	Tripped    string        `json:"tripped,omitempty"`
}

// RolloutCounts are the work and the cost of an arm in a slice.
type RolloutCounts struct {
	Requests      float64 `json:"requests"`
	Errors        float64 `json:"errors,omitempty"`
	Slow          float64 `json:"slow,omitempty"`
	RequestNanos  float64 `json:"request_nanos,omitempty"`
	CPUNanos      float64 `json:"cpu_nanos,omitempty"`
	GCNanos       float64 `json:"gc_nanos,omitempty"`
	AllocBytes    float64 `json:"alloc_bytes,omitempty"`
	Calls         float64 `json:"calls,omitempty"`          // calls that were timed
	FunctionNanos float64 `json:"function_nanos,omitempty"` // their time
	HeapBytes     float64 `json:"heap_bytes,omitempty"`
	HeapGrowth    float64 `json:"heap_growth,omitempty"`
	Slices        float64 `json:"slices,omitempty"`

	Times []RolloutTimes `json:"times,omitempty"` // the timed calls by size, the smallest first
}

// RolloutTimes are timed calls of one size: those below a time, and not below the size before.
type RolloutTimes struct {
	Below float64 `json:"below"` // nanoseconds
	Calls float64 `json:"calls"`
	Nanos float64 `json:"nanos"` // their time, summed
}
