//go:build go1.21

package live

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
)

// A Difference describes how a version differs from the original within one call.
type Difference struct {
	Kind string `json:"kind"` // as of beagle.Counterexample, or "trace": calls of callbacks and interfaces
	Call int64  `json:"call"` // the how manieth that was compared
	Test string `json:"test,omitempty"`
	Args string `json:"args,omitempty"`
	Want string `json:"want"`
	Got  string `json:"got"`
	When string `json:"when,omitempty"` // the fault with which the call was made again
}

// Compared says how many calls were compared so far, and why others were not.
type Compared struct {
	Calls   int64            `json:"calls"`
	Taped   int64            `json:"taped"`            // calls of callbacks and interfaces that were compared
	Faults  int64            `json:"faults,omitempty"` // repetitions of calls with a fault
	Skipped map[string]int64 `json:"skipped,omitempty"`
}

// end describes the end of a version's run.
type end int

const (
	left     end = iota // by runtime.Goexit
	returned            //
	panicked            //
)

type outcome struct {
	end   end
	value any // of the panic
}

// run calls f and notes how it ended. Goexit goes on.
func (o *outcome) run(f func()) {
	defer func() {
		if o.end == returned {
			return
		}
		if v := recover(); v != nil {
			o.end, o.value = panicked, v
		}
	}()
	f()
	o.end = returned
}

// A Call is one call of the target in which two versions are compared.
type Call struct {
	first, other outcome
	tapes        []*Tape
	unlike       *Difference // found by a tape

	same      bool    // the versions agreed
	again     bool    // the call is to be made again with faults
	contexts  bool    // there is a context among the arguments that is not over
	functions bool    // there are functions among the results
	faults    []fault // still to be tried

	fault string // with which this call is made again
	over  bool   // its contexts have ended
}

// judge is the one comparison of this process. A call that comes while another
// one is compared, in it or beside it, is not compared.
var judge struct {
	mu        sync.Mutex
	busy      bool
	owner     uint64 // goroutine
	version   int    // that the owner runs now
	begun     time.Time
	since     time.Time
	spent     time.Duration
	sum       Compared
	sentinels rt.Sentinels  // errors of the original's calls on copies
	kept      func() string // says how the last result of the version changed since
	beside    int           // calls of other goroutines that are not compared
	overlap   bool          // there was one while the compared call ran: memory may have changed
}

// patience is comparing time that may always be spent; more of it must not be
// more than the tests themselves took.
const patience = 50 * time.Millisecond

// Enter begins a comparison. It returns nil if the call is not compared, the version that runs
// then, and the function to call at its end.
func Enter() (c *Call, version int, done func()) {
	j := &judge
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	if j.begun.IsZero() {
		j.begun = now
	}
	// The look-up of the goroutine takes time in proportion to its stack, so few calls make it.
	switch {
	case j.busy && j.owner == rt.GoroutineID():
		return nil, j.version, passed
	case !j.busy && j.spent > time.Duration(plan.Budget): // no call is compared any more
		return nil, 0, passed
	case j.busy, j.beside > 0, j.spent > patience+now.Sub(j.begun)/2:
		j.beside++
		j.overlap = true
		return nil, 0, leftBeside
	}
	if j.sentinels == nil {
		j.sentinels = rt.Sentinels{}
	}
	j.busy, j.owner, j.version, j.since, j.overlap = true, rt.GoroutineID(), 0, now, false
	return new(Call), 0, nil
}

// leftBeside ends a call that was not compared.
func leftBeside() {
	judge.mu.Lock()
	judge.beside--
	judge.mu.Unlock()
}

// isAlone reports whether no other goroutine was in the target since Enter.
func isAlone() bool {
	judge.mu.Lock()
	defer judge.mu.Unlock()
	return !judge.overlap
}

// Taping reports whether callbacks and interfaces are to be wrapped.
func Taping() bool { return plan.Tape }

// Version returns the version that is compared with the original.
func Version() int { return plan.Version }

// Copy copies the arguments of a call before the original sees them.
func Copy[A any](a *A) *A { return rt.Clone(a) }

// First runs the original.
func (c *Call) First(f func()) {
	runs(0)
	c.first.run(f)
}

// runs notes the version that nested calls of the target run.
func runs(version int) {
	judge.mu.Lock()
	judge.version = version
	judge.mu.Unlock()
}

// Other runs the version that is compared.
func (c *Call) Other(f func()) {
	runs(plan.Version)
	for _, t := range c.tapes {
		t.answering, t.at = false, 0
	}
	defer c.stayed()
	c.other.run(f)
}

// stayed reports a version that ended the goroutine of its caller, as
// runtime.Goexit does.
func (c *Call) stayed() {
	if c.other.end == left {
		c.tell(&Difference{Kind: "panic", Want: c.first.String(), Got: c.other.String()})
	}
}

func (o *outcome) String() string {
	switch o.end {
	case panicked:
		return brief("panic: %v", o.value)
	case returned:
		return "returns"
	}
	return "ends its goroutine"
}

// Leave ends a comparison. A panic of the original's goes on to its caller.
func (c *Call) Leave() {
	for _, t := range c.tapes {
		t.closed.Store(true)
	}
	j := &judge
	j.mu.Lock()
	j.busy = false
	j.spent += time.Since(j.since)
	j.mu.Unlock()
	if c.first.end == panicked {
		panic(c.first.value)
	}
}

// skip notes why a call was not compared.
func (c *Call) skip(why string) {
	if c.fault == "" {
		skip(why)
	}
}

func skip(why string) {
	s := &judge.sum
	if s.Skipped == nil {
		s.Skipped = map[string]int64{}
	}
	if s.Skipped[why]++; s.Skipped[why] == 1 {
		report.add(&Line{Compared: s})
	}
}

// Judge compares what two versions made of their arguments. A comparison counts only if no other
// goroutine was in the target.
func Judge[A, R any](c *Call, a *A, r *R, otherA *A, otherR *R) {
	told := func(kind, want, got string) {
		if isAlone() {
			c.tell(&Difference{Kind: kind, Want: want, Got: got, Args: brief("%+v", *otherA)})
		}
	}
	if !isAlone() {
		c.skip("another goroutine is in it at the same time")
		return
	}
	// Differences that the calls themselves showed: answers of arguments, and calls that one
	// version left out.
	if c.unlike != nil {
		told(c.unlike.Kind, c.unlike.Want, c.unlike.Got)
	}
	for _, t := range c.tapes {
		if want := t.rest(); want != "" {
			told("trace", want, "no such call")
		}
	}
	// How the calls ended, their results, and their arguments.
	if !compareEnds(c, a, r, otherA, otherR, told) {
		return
	}
	if c.first.end != returned {
		r, otherR = new(R), new(R)
	}
	// Memory in common: the snapshots encode sharing.
	want, err := rt.SnapshotCall(nil, a, r)
	got, err2 := rt.SnapshotCall(nil, otherA, otherR)
	switch {
	case err != nil || err2 != nil:
		c.skip(fmt.Sprint(err, err2))
		return
	case !bytes.Equal(want, got):
		told("alias", "other memory in common", "")
	}
	if c.fault != "" {
		if text := rt.Other(judge.sentinels, r, otherR); text != "" {
			told("result", "the error that each call returns: "+text, "another one that looks like it")
		}
		judge.sum.Faults++
		return
	}
	// The result of an earlier call must have stayed as it was.
	if judge.kept != nil {
		if got := judge.kept(); got != "" {
			told("state", "the result stays as it was", got)
		}
	}
	keep(otherR)
	c.agreed()
}

// compareEnds compares how the calls ended, their results, and their arguments. It returns false if
// it skips the call.
func compareEnds[A, R any](c *Call, a *A, r *R, otherA *A, otherR *R, told func(kind, want, got string)) bool {
	switch {
	case c.first.end == left:
		c.skip("the original ends its goroutine")
		return false
	case c.first.end != c.other.end || c.first.end == panicked && !samePanic(c.first.value, c.other.value):
		told("panic", c.first.String(), c.other.String())
	}
	if c.first.end == returned {
		if unlike, err := compare(r, otherR); unlike {
			told("result", brief("%+v", *r), brief("%+v", *otherR))
		} else if err != nil {
			c.skip(err.Error())
			return false
		}
	}
	if unlike, err := compare(a, otherA); unlike {
		told("argument", brief("%+v", *a), brief("%+v", *otherA))
	} else if err != nil {
		c.skip(err.Error())
		return false
	}
	return true
}

// compare reports whether two values differ; an error says why they cannot be
// compared.
func compare[T any](a, b *T) (unlike bool, err error) {
	x, err := rt.Snapshot(nil, a)
	y, err2 := rt.Snapshot(nil, b)
	switch {
	case err != nil && err2 != nil:
		return false, err
	case err != nil || err2 != nil:
		return true, nil
	}
	return !bytes.Equal(x, y), nil
}

// samePanic compares values of panics: types and texts.
func samePanic(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && fmt.Sprint(a) == fmt.Sprint(b) ||
		rt.TypeName(reflect.TypeOf(a)) == rt.TypeName(reflect.TypeOf(b)) && fmt.Sprint(a) == fmt.Sprint(b)
}

// keep holds on to a result of the version until the next call.
func keep[R any](r *R) {
	was, err := rt.Snapshot(nil, r)
	if err != nil {
		judge.kept = nil
		return
	}
	judge.kept = func() string {
		if is, err := rt.Snapshot(nil, r); err != nil || !bytes.Equal(was, is) {
			return brief("a later call makes it %+v", *r)
		}
		return ""
	}
}

// agreed counts a call without a difference.
func (c *Call) agreed() {
	c.same = true
	s := &judge.sum
	s.Calls++
	for _, t := range c.tapes {
		s.Taped += int64(len(t.entries))
	}
	if s.Calls&(s.Calls-1) == 0 || s.Calls%1024 == 0 {
		report.add(&Line{Compared: s})
	}
}

// tell reports a difference and ends the process: what comes after it says nothing.
func (c *Call) tell(d *Difference) {
	d.Call, d.Test, d.When = judge.sum.Calls+1, callingTest(), c.fault
	if c.fault != "" { // the call itself has been counted
		d.Call--
	}
	report.add(&Line{Compared: &judge.sum})
	report.add(&Line{Difference: d})
	os.Exit(ExitDiffer)
}

// maxText bounds the values in a report.
const maxText = 400

func brief(format string, v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T", v)
		}
	}()
	if text = fmt.Sprintf(format, v); len(text) > maxText {
		text = text[:maxText] + "..."
	}
	return text
}

// Global names a variable of the target's package that holds a pointer, or errors.
func Global(name string, v any) { rt.RegisterGlobal(name, v) }

// Own names the target's package.
func Own(path string) { rt.SetOwnPackage(path) }
