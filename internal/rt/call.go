package rt

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// A Diff is an input on which the candidate and the original differ.
type Diff struct {
	Case int    `json:"case"` // index of the record or number of the generated case, see Begin
	Args []byte `json:"args"`
	// "result", "panic", "argument", "alias", "state", "goroutine", "hang", "memory"; "slow" when
	// it is the original
	Kind  string   `json:"kind"`
	Call  []string `json:"call"`            // the arguments as Go expressions
	Setup []string `json:"setup,omitempty"` // statements before the call: memory that the arguments share
	Want  string   `json:"want"`            // the original's outcome, for people
	Got   string   `json:"got"`             // the candidate's outcome
	Check string   `json:"check"`           // how the difference shows, if one call does not show it

	WantGo    []string `json:"want_go,omitempty"`    // the original's results as Go expressions; empty when it panics
	WantTexts []string `json:"want_texts,omitempty"` // the texts of the errors among them
	WantTypes []string `json:"want_types,omitempty"` // their types where the candidate's differ, as %T spells them
	WantArgs  []string `json:"want_args,omitempty"`  // the arguments after the original's call, if Kind is "argument"
	WantPanic bool     `json:"want_panic,omitempty"`
	// statements after the call that show what is shared; WantGo is then what the results are
	After   []string `json:"after,omitempty"`
	Other   []string `json:"other,omitempty"`   // the arguments of a later call that shows the difference
	Imports []string `json:"imports,omitempty"` // imports of the expressions
	Shrunk  int      `json:"shrunk"`            // steps that made Args smaller

	// of each result, if it is an error: the fields that it shows, as %#v spells them
	WantFields []map[string]string `json:"want_fields,omitempty"`
}

// A thrown is a panic of a variant.
type thrown struct {
	kind string // "runtime" or "value"
	text string
}

// How much of a panic is compared. The legality class of a candidate decides.
const (
	PanicsExact = "exact" // same kind of runtime error, or same type and text of value; same final arguments
	PanicsKind  = "kind"  // a runtime error each, or the same type and text of value
	PanicsAny   = "any"   // both panic
)

func (p *thrown) equal(q *thrown, level string) bool {
	if p == nil || q == nil || level == PanicsAny || ignored.panicValue {
		return (p == nil) == (q == nil)
	}
	if level == PanicsKind && p.kind == "runtime" {
		return q.kind == "runtime"
	}
	return *p == *q
}

func (p *thrown) String() string { return "panic: " + p.text }

// catch makes a thrown of a recovered value. It drops the numbers in runtime errors (which index,
// which length): they depend on the form of the access, not on the memory that is accessed.
func catch(v any) *thrown {
	switch e := v.(type) {
	case *runtime.TypeAssertionError:
		return &thrown{"runtime", "interface conversion"}
	case runtime.Error:
		text := strings.TrimPrefix(e.Error(), "runtime error: ")
		if i := strings.IndexByte(text, '['); i >= 0 {
			text = strings.TrimSpace(text[:i])
		}
		return &thrown{"runtime", text}
	}
	return &thrown{"value", fmt.Sprintf("%T: %s", v, panicText(v))}
}

// panicText formats a panic value, whose own methods may panic again.
func panicText(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = "(its text panics)"
		}
	}()
	if reflect.ValueOf(v).Kind() == reflect.Pointer {
		if _, ok := v.(error); !ok {
			return "a pointer" // %v would show addresses
		}
	}
	text = fmt.Sprint(v)
	// A panic may carry all of its input.
	if len(text) > 1000 {
		text = text[:1000]
	}
	return text
}

// A guard calls variants under the eyes of a watchdog.
type guard[A, R any] struct {
	h     *Harness[A, R]
	input atomic.Pointer[A] // the input of the current call; never handed to a variant itself
	calls atomic.Int64      // odd while a call is under way
	limit atomic.Int64      // processor time that the current call may take, in nanoseconds
	stray *stray            // the first goroutines that outlived their call
}

// Limits of a call, in processor time. A loaded machine does not turn a slow call into a hanging
// one; wall time counts only when a call sleeps.
const (
	originalLimit = time.Second
	hangLimit     = 250 * time.Millisecond // plus hangFactor times what the original took
	hangFactor    = 100
	wallFactor    = 20
	awake         = 50 // a process that gets more than one part in this number of the time does not sleep
)

// overdue reports whether a call takes too long, given the processor time that it used. watched is
// the time in which a watchdog could run: if its process waits for a processor, it sees few of its
// ticks. A call that sleeps lets it see all.
func overdue(used, watched, limit time.Duration) bool {
	return used > limit || watched > wallFactor*limit && used < watched/awake
}

// startWatchdog starts the watchdog.
func startWatchdog[A, R any](h *Harness[A, R]) *guard[A, R] {
	g := &guard[A, R]{h: h}
	go g.watch()
	return g
}

// call runs variant v on a and returns its panic, if any.
func (g *guard[A, R]) call(v, id int, a *A, r *R) (p *thrown) {
	Begin(v, id)
	g.calls.Add(1)
	base := runtime.NumGoroutine()
	done := false
	// A panic, and runtime.Goexit too, comes by here without done.
	defer func() {
		if !done {
			p = catch(recover())
		}
		g.calls.Add(1)
		Idle()
		// Goroutines that the call leaves are awaited, so that they do not run into the next one.
		g.waitLeftBehind(v, base)
	}()
	g.h.Variants[v].Eval(a, r)
	done = true
	return nil
}

// watch ends the process when a call takes too long.
func (g *guard[A, R]) watch() {
	const tick = 20 * time.Millisecond
	var last int64
	var watched, spent time.Duration
	for range time.Tick(tick) {
		// An even number of calls means that none is running.
		now := g.calls.Load()
		if now != last || now%2 == 0 {
			last, watched, spent = now, 0, ProcessCPU()
			continue
		}
		watched += tick
		limit := time.Duration(g.limit.Load())
		// Only processor time counts, since the machine may be busy. Memory is looked at earlier,
		// before the system kills the process.
		switch used, heap := ProcessCPU()-spent, heapSize(); {
		case heap > hungryHeap:
			g.bark("memory", fmt.Sprintf("allocates %d MB in one call and goes on", heap>>20))
		case used > limit && heap > hungryHeap/4:
			g.bark("memory", fmt.Sprintf("allocates %d MB in %v of processor time and goes on", heap>>20, used))
		case overdue(used, watched, limit):
			g.bark("hang", fmt.Sprintf("does not return within %v of processor time", limit.Round(time.Millisecond)))
		}
	}
}

// hungryHeap is more than any call on a recorded input should need.
const hungryHeap = 640 << 20

func heapSize() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// bark reports the call that does not end and exits.
func (g *guard[A, R]) bark(kind, got string) {
	d := Diff{Kind: kind, Want: "returns", Got: got}
	// The original's own call is no fault of the candidate: it is slow.
	var variant int
	if variant, d.Case = Place(progress.Load()); variant <= 0 {
		d.Kind = "slow"
	}
	if a := g.input.Load(); a != nil {
		d.Args, _ = Encode(a)
		d.Call, d.Imports = spellBriefly(a)
	}
	out, _ := json.Marshal(d)
	diffLine(BarkPrefix, out)
	os.Exit(StallStatus)
}

// BarkPrefix begins the line on standard error that carries the Diff of a call
// that did not return.
const BarkPrefix = "harness diff: "

// FoundPrefix begins the line on standard error that carries a Diff before it is made smaller. It
// stands if the process ends meanwhile, whichever version ran: neither need survive the smaller
// inputs.
const FoundPrefix = "harness found: "

func diffLine(prefix string, diff []byte) {
	fmt.Fprintf(os.Stderr, "\n%s%s\n", prefix, diff)
}
