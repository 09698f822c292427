package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/probe/wire"
)

// Records are captured calls of one target, as records of a Corpus.
type Records struct {
	List    []beagle.Record
	Seen    corpus.Observations
	MadeUp  int // calls with text that stands for a shape, for redacted text, or for the rest of a cut text
	Dropped map[string]int

	Answered int      // calls that are kept with their results
	Mute     []string // why calls are kept without the results that the capture has

	repetitions repetition
	shape       *rt.Shape // of the arguments
	leave       []int     // parameters that records leave out
	results     *corpus.Results
	mute        map[string]int
}

// Convert makes records of the processes' captures at the target's site. It counts calls that
// cannot be replayed, by reason. A site with another signature is a *beagle.UsageError. Parameters
// to leave out are zero in all records.
func Convert(u *source.Unit, all []Pulled, leave ...int) (*Records, error) {
	out := &Records{Dropped: map[string]int{}, results: corpus.ResultsOf(u), mute: map[string]int{}, leave: leave}
	out.shape, _ = corpus.ArgsShape(u)
	found := false
	// Take the calls of each process whose site has the signature of the source.
	for _, p := range all {
		for _, s := range p.Status.Sites {
			if s.Name != u.Target.Spec() {
				continue
			}
			found = true
			if err := sameSignature(u, s, p.Address); err != nil {
				return nil, err
			}
			if s.Armed {
				out.add(p, s, siteIndex(p.Status, s.Name))
			}
		}
	}
	if !found {
		return nil, &beagle.UsageError{What: fmt.Sprintf("no process has the site %s", u.Target.Spec()),
			Remedy: "build the service with beagle build --probe " + u.Target.Spec() +
				"; capture status lists its sites"}
	}
	// Say why calls are missing, and why those in the list have no results.
	out.Seen.Repetitions = out.repetitions.facets()
	for _, why := range inorder.Keys(out.Dropped) {
		out.Seen.Why = append(out.Seen.Why, fmt.Sprintf("%d calls: %s", out.Dropped[why], why))
	}
	for _, why := range inorder.Keys(out.mute) {
		out.Mute = append(out.Mute, fmt.Sprintf("of %d calls: %s", out.mute[why], why))
	}
	return out, nil
}

// Fits refuses a process whose site of the target has another signature.
func Fits(u *source.Unit, sites []wire.Site, address string) error {
	for _, s := range sites {
		if s.Name == u.Target.Spec() {
			return sameSignature(u, s, address)
		}
	}
	return nil
}

// siteIndex returns the site's number within the session, which events refer to.
func siteIndex(st wire.Status, name string) int {
	if st.Session == nil {
		return -1
	}
	return slices.Index(st.Session.Armed, name)
}

// sameSignature refuses a process that runs another version of the function.
func sameSignature(u *source.Unit, s wire.Site, address string) error {
	shape, _ := corpus.ArgsShape(u)
	var here, there []string
	for _, f := range shape.Fields {
		here = append(here, f.Shape.Type)
	}
	for _, p := range s.Params {
		there = append(there, p.Type)
	}
	same := slices.EqualFunc(here, there, func(a, b string) bool {
		return a == b || strings.ContainsAny(a+b, "{(") // types without a name are spelled in two ways
	})
	if same {
		return nil
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("%s runs another version of %s: it takes (%s) there and (%s) here", address, s.Name,
			strings.Join(there, ", "), strings.Join(here, ", ")),
		Remedy: "check out the commit that the process was built from, or build and start it anew",
	}
}

// add converts the calls of one process. Each stands for as many calls as its site saw per call
// that was captured.
func (r *Records) add(p Pulled, s wire.Site, index int) {
	// A record stands for as many calls as were made for each that was taken.
	weight := 1.0
	if s.Counts != nil && s.Counts.Taken > 0 {
		weight = max(1, s.Counts.Calls/float64(s.Counts.Taken))
		r.Seen.Together = r.Seen.Together || s.Counts.Together
		r.Seen.InFlight = addInFlight(r.Seen.InFlight, s.Counts.InFlight)
	}
	// Add the records and outcomes of the calls.
	events, kept := 0, 0
	r.repetitions.see(p, index, weight)
	for _, e := range p.Events {
		if e.Site != index {
			continue
		}
		events++
		r.Seen.Calls += weight
		if args, made := r.args(e); args != nil {
			kept++
			r.List = append(r.List, beagle.Record{Args: args, Weight: weight, Source: "production",
				Results: r.answer(e, made)})
		}
		r.outcome(e, weight)
	}
	// Add the losses and the source.
	if d := p.Status.Session; d != nil && d.Dropped.Total() > 0 {
		r.Dropped["dropped in the process: "+dropReasons(d.Dropped)] += int(d.Dropped.Total())
		r.Seen.Dropped += int(d.Dropped.Total())
	}
	build := p.Status.Process.Build
	r.Seen.Sources = append(r.Seen.Sources, fmt.Sprintf(
		"%d calls, %d usable, of about %.0f by %s%s, process %d on %s%s",
		events, kept, weight*float64(events), p.Status.Process.Program, captureWay(p.Status.Process),
		p.Status.Process.PID, p.Status.Process.Host,
		prefixed(", build ", build)))
}

// addInFlight adds a process to the counts in flight of the others: each weighs by its captured
// calls. The most is that of any process.
func addInFlight(all *beagle.InFlight, one *wire.InFlight) *beagle.InFlight {
	if one == nil || one.Calls == 0 {
		return all
	}
	if all == nil {
		all = new(beagle.InFlight)
	}
	n := float64(one.Calls)
	share := n / (all.Calls + n)
	mix := func(into *float64, v float64) { *into += share * (v - *into) }
	mix(&all.Mean, one.Mean)
	mix(&all.Median, one.Median)
	mix(&all.P95, one.P95)
	mix(&all.P99, one.P99)
	all.Calls, all.Most = all.Calls+n, max(all.Most, one.Most)
	all.Beside = addBeside(all.Beside, one.Beside)
	return all
}

// addBeside adds the calls that were followed in a process: each counts as much as in the others.
func addBeside(all *beagle.Overlap, one *wire.Overlap) *beagle.Overlap {
	if one == nil {
		return all
	}
	if all == nil {
		all = new(beagle.Overlap)
	}
	n := float64(one.None + one.One + one.Few + one.Many)
	if n == 0 {
		return all
	}
	all.Calls += n
	mix := func(into *float64, count uint64) { *into += (float64(count) - n**into) / all.Calls }
	mix(&all.None, one.None)
	mix(&all.One, one.One)
	mix(&all.Few, one.Few)
	mix(&all.Many, one.Many)
	return all
}

// captureWay names the way in which a process was captured, unless it is the usual one.
func captureWay(p wire.Process) string {
	if p.Way == "" {
		return ""
	}
	return " through " + p.Way + "s"
}

// prefixed returns s after a prefix, or "" for an empty s.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// A dropCount is a counter of the calls that a probe dropped for one reason.
type dropCount struct {
	n   uint64
	why string
}

// dropCounts returns the counters of a probe that are not zero.
func dropCounts(d wire.Dropped) []dropCount {
	return slices.DeleteFunc([]dropCount{
		{d.Full, "no free slot"}, {d.Bytes, "over the bytes a second"}, {d.Large, "larger than a slot"},
		{d.Torn, "changed while read"}, {d.Fault, "could not be read"}, {d.Late, "after the end"},
	}, func(c dropCount) bool { return c.n == 0 })
}

// DescribeDrops returns the counters of a probe that are not zero, each with its reason.
func DescribeDrops(d wire.Dropped) string {
	var all []string
	for _, c := range dropCounts(d) {
		all = append(all, fmt.Sprintf("%d %s", c.n, c.why))
	}
	return strings.Join(all, ", ")
}

// dropReasons returns the reasons alone, which are the same for many processes.
func dropReasons(d wire.Dropped) string {
	var all []string
	for _, c := range dropCounts(d) {
		all = append(all, c.why)
	}
	return strings.Join(all, ", ")
}

// outcome counts how the call ended.
func (r *Records) outcome(e wire.Event, weight float64) {
	if e.Flags&(wire.HasResults|wire.NoReturn) == 0 {
		return
	}
	r.Seen.Ended += weight
	if e.Flags&wire.NoReturn != 0 {
		r.Seen.Panics += weight
	}
}

// args returns the arguments as a record has them, or nil and counts why not. made means that a
// part of them is made up.
func (r *Records) args(e wire.Event) (args []byte, made bool) {
	drop := func(why string) ([]byte, bool) {
		r.Dropped[why]++
		r.Seen.Dropped++
		return nil, false
	}
	if e.Flags&wire.Shared != 0 {
		return drop("arguments share memory, which the probe does not keep")
	}
	var missing error
	args, err := wire.Fill(nil, e.Args, func(h wire.Hole, part []byte) ([]byte, error) {
		if b := fill(h, part); b != nil {
			made = true
			return b, nil
		}
		missing = errors.New("a value was not recorded: " + wire.ReasonName(h.Reason))
		return unrecorded, nil
	})
	if err != nil {
		return drop(err.Error())
	}
	v, err := rt.ParseValue(args)
	if err != nil {
		return drop(err.Error())
	}
	if len(r.leave) > 0 {
		for _, i := range r.leave {
			v.Elems[i] = r.shape.Fields[i].Shape.Zero()
		}
		args = v.Append(nil)
	}
	if missing != nil && bytes.Contains(args, unrecorded) {
		return drop(missing.Error())
	}
	if made {
		r.MadeUp++
	}
	return args, made
}

// answer returns the results as a record has them, or nil and counts why not, if there are any.
func (r *Records) answer(e wire.Event, made bool) []byte {
	if e.Flags&wire.HasResults == 0 || r.results.None() {
		return nil
	}
	mute := func(why string) []byte {
		r.mute[why]++
		return nil
	}
	if len(r.leave) > 0 {
		return mute("they depend on arguments that are left out")
	}
	if made {
		return mute("their arguments are made up in part, and other arguments have other results")
	}
	results, err := wire.Fill(nil, e.Results, func(h wire.Hole, _ []byte) ([]byte, error) {
		return nil, errors.New("a value was not recorded: " + wire.ReasonName(h.Reason))
	})
	if err == nil {
		results, err = r.results.Keep(results)
	}
	if err != nil {
		return mute(err.Error())
	}
	r.Answered++
	return results
}

// unrecorded stands for a value that was not recorded, until it is known whose it is.
var unrecorded = (&rt.Value{Kind: rt.KindString, Str: "\x00beagle: not recorded\x00"}).Append(nil)

// maxMadeUp bounds a text that is made up.
const maxMadeUp = 1 << 20

// fill makes a value up for a hole: text of the same length and characters. It returns nil where
// nothing sensible can be made up.
func fill(h wire.Hole, part []byte) []byte {
	if h.Kind != wire.TagString && h.Kind != wire.TagBytes && (h.Kind != wire.TagArray || h.Reason != wire.Shape) ||
		h.Len > maxMadeUp {
		return nil
	}
	// Make the text up by its shape, or repeat the part that is known.
	var text []byte
	switch h.Reason {
	case wire.Shape, wire.Redacted:
		text = fakeText(h)
	case wire.Cut:
		v, err := rt.ParseValue(part)
		if err != nil || v.Str == "" {
			return nil
		}
		for uint64(len(text)) < h.Len {
			text = append(text, v.Str[:min(uint64(len(v.Str)), h.Len-uint64(len(text)))]...)
		}
	default:
		return nil
	}
	// Encode it.
	if h.Kind == wire.TagArray {
		b := binary.AppendUvarint([]byte{wire.TagArray}, h.Len)
		for _, c := range text {
			b = binary.AppendUvarint(append(b, wire.TagUint), uint64(c))
		}
		return b
	}
	b := binary.AppendUvarint([]byte{h.Kind}, h.Len)
	if h.Kind == wire.TagBytes {
		b = binary.AppendUvarint(b, h.Spare)
	}
	return append(b, text...)
}
