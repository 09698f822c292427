package wire

import "strings"

// A Request is a controller's request, as one line of JSON over a socket or as the body of an HTTP
// request. It carries out exactly one verb.
type Request struct {
	Token string `json:"token"`
	Verb  string `json:"verb"` // see Verbs

	Lease   string   `json:"lease,omitempty"`   // beat, ask, stop: the session meant
	Start   *Start   `json:"start,omitempty"`   // start
	Site    string   `json:"site,omitempty"`    // ask
	Program *Program `json:"program,omitempty"` // ask
	ID      int      `json:"id,omitempty"`      // unask
	Max     int      `json:"max,omitempty"`     // pull: bytes at most; 0 means MaxPull

	Rollout *RolloutOrders `json:"rollout,omitempty"` // rollout-start, rollout-beat
}

// Verbs of a request.
const (
	VerbStatus = "status" // sites, session, counters
	VerbStart  = "start"  // arms sites
	VerbBeat   = "beat"   // renews the lease
	VerbAsk    = "ask"    // counts a predicate from now on
	VerbUnask  = "unask"  // ends a question
	VerbPull   = "pull"   // takes captured calls out of the ring
	VerbStop   = "stop"   // disarms
)

// Bounds of the protocol.
const (
	MaxRequest = 64 << 10
	MaxPull    = 4 << 20
	MaxReply   = 16 << 20
)

// Start names the sites to arm, and the bounds. A zero field means its default.
type Start struct {
	Sites    []string `json:"sites"`              // names; a name may end with *
	Rate     int      `json:"rate,omitempty"`     // calls a second at a site: 10, at most 1000
	Hits     int      `json:"hits,omitempty"`     // calls in all; 0 means no bound but the time
	Bytes    int      `json:"bytes,omitempty"`    // bytes a second in the process: 256 KiB
	TTL      float64  `json:"ttl,omitempty"`      // seconds: 600, at most 86400
	Lease    float64  `json:"lease,omitempty"`    // seconds between heartbeats at most: 8, at most 8
	Text     int      `json:"text,omitempty"`     // bytes of a text: 256
	Elements int      `json:"elements,omitempty"` // of a list: 64
	Depth    int      `json:"depth,omitempty"`    // nested references: 3
	Event    int      `json:"event,omitempty"`    // bytes of a call: 2048, at most 64 KiB
	Events   int      `json:"events,omitempty"`   // slots of the ring: 512, at most 4096

	Raw      bool     `json:"raw,omitempty"`      // record text itself; the process must allow it as well
	Follow   bool     `json:"follow,omitempty"`   // read behind pointers
	Maps     bool     `json:"maps,omitempty"`     // read maps: a concurrent write to one ends the process
	Names    []string `json:"names,omitempty"`    // further secret names, in lower case
	Types    []string `json:"types,omitempty"`    // secret types, as pkg/path.Name
	Patterns []string `json:"patterns,omitempty"` // further regular expressions of secret text
	Results  bool     `json:"results,omitempty"`  // uprobe: read results too, by a second trap at each return
	Count    bool     `json:"count,omitempty"`    // questions only: record nothing
}

// A Reply answers a request, as one line of JSON; Payload bytes follow it.
type Reply struct {
	Error   string  `json:"error,omitempty"`
	Status  *Status `json:"status,omitempty"`
	Lease   string  `json:"lease,omitempty"`  // start
	ID      int     `json:"id,omitempty"`     // ask
	Answer  *Answer `json:"answer,omitempty"` // unask
	Payload int     `json:"payload,omitempty"`
	More    bool    `json:"more,omitempty"` // pull: more calls wait

	Rollout *RolloutReply `json:"rollout,omitempty"`
}

// Status is the state of a probe.
type Status struct {
	Process  Process  `json:"process"`
	Sites    []Site   `json:"sites"`
	Session  *Session `json:"session,omitempty"`
	Disarmed string   `json:"disarmed,omitempty"` // why the last session ended
}

// Process describes the process.
type Process struct {
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Program string `json:"program"` // base name of the executable
	Main    string `json:"main"`    // import path and version of the main package
	Build   string `json:"build"`   // VCS revision, with + when it was modified
	Go      string `json:"go"`
	Raw     bool   `json:"raw"`           // the process allows the recording of text
	Way     string `json:"way,omitempty"` // uprobe: from outside, without a probe in the process
}

// A Site is a place in the program that can capture.
type Site struct {
	Name    string   `json:"name"` // pkg/path.Func or pkg/path.Type.Method
	Params  []Type   `json:"params"`
	Results []Type   `json:"results,omitempty"`
	Returns bool     `json:"returns"` // results and panics are seen
	Note    string   `json:"note,omitempty"`
	Unseen  []string `json:"unseen,omitempty"` // what this way of capturing does not show, whatever the options
	Armed   bool     `json:"armed"`
	Counts  *Counts  `json:"counts,omitempty"` // of the session
}

// A Type describes a parameter, a field or an element. It is cut below six levels.
type Type struct {
	Name   string `json:"name,omitempty"` // of the parameter or field
	Type   string `json:"type"`           // import path and name, or Go syntax
	Kind   string `json:"kind"`           // reflect.Kind
	Elem   *Type  `json:"elem,omitempty"`
	Fields []Type `json:"fields,omitempty"`
}

// A Session lists the armed sites.
type Session struct {
	Age     float64  `json:"age"`   // seconds
	Left    float64  `json:"left"`  // seconds until it ends by itself
	Lease   float64  `json:"lease"` // seconds until it ends without a heartbeat
	Start   Start    `json:"start"` // as carried out, with defaults
	Dropped Dropped  `json:"dropped"`
	Waiting int      `json:"waiting"` // captured calls that wait for a pull
	Armed   []string `json:"armed"`   // names of the sites; events refer to them by index
	Asked   []Answer `json:"asked,omitempty"`
}

// Counts of a site in a session.
type Counts struct {
	Rate     float64 `json:"rate"`     // calls a second, from windows in which each call is counted; 0 when unknown
	Calls    float64 `json:"calls"`    // estimate of all calls since the start
	Taken    uint64  `json:"taken"`    // calls that the gate chose
	Recorded uint64  `json:"recorded"` // of these, those that went into the ring
	Panicked uint64  `json:"panicked"`
	Together bool    `json:"together"`       // several goroutines called at once
	Nanos    float64 `json:"nanos"`          // median time to record the arguments of a call
	Hit      float64 `json:"hit,omitempty"`  // uprobe: nanoseconds that each call pays, recorded or not
	Seen     float64 `json:"seen,omitempty"` // uprobe in turns: share of the calls that pay Hit
	// how many calls are under way at once; where it is seen how long a call takes, and the rate is
	// known
	InFlight *InFlight `json:"in_flight,omitempty"`
}

// InFlight counts how many other calls of a site are under way in the process while one is.
type InFlight struct {
	Calls  uint64  `json:"calls"` // captured calls whose duration was seen
	Mean   float64 `json:"mean"`  // the rate times the mean duration
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Most   float64 `json:"most"` // of the longest captured call

	Beside *Overlap `json:"beside,omitempty"` // once calls were followed
}

// Overlap counts calls by how many others of the site were under way in the process when they
// began.
type Overlap struct {
	None uint64 `json:"none"`
	One  uint64 `json:"one"`
	Few  uint64 `json:"few"`  // 2 or 3
	Many uint64 `json:"many"` // 4 or more
}

// Dropped counts calls that were chosen and not recorded, by reason.
type Dropped struct {
	Full  uint64 `json:"full"`  // no free slot in the ring
	Bytes uint64 `json:"bytes"` // over the bytes a second
	Large uint64 `json:"large"` // larger than a slot
	Torn  uint64 `json:"torn"`  // changed while it was read
	Fault uint64 `json:"fault"` // reading it failed
	Late  uint64 `json:"late"`  // the session ended before
}

// Total returns the sum.
func (d *Dropped) Total() uint64 { return d.Full + d.Bytes + d.Large + d.Torn + d.Fault + d.Late }

// An Answer counts how a predicate held.
type Answer struct {
	ID        int    `json:"id"`
	Site      string `json:"site"`
	Text      string `json:"text"`
	Yes       uint64 `json:"yes"`
	No        uint64 `json:"no"`
	Undecided uint64 `json:"undecided"` // out of bounds, a nil pointer, or too many steps
}

// Matches reports whether a name means a site: its full name, the end of it after a slash, or its
// beginning before a star.
func Matches(want, site string) bool {
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(site, prefix)
	}
	return site == want || strings.HasSuffix(site, "/"+want)
}
