package rt

import (
	"reflect"
	"runtime"
	"unsafe"
)

// A version that remembers answers passes repeated calls with the same inputs. These checks start a
// process that has seen no input, and give it each input once.

// The values of Replay.Cold.
const (
	ColdRefill  = "refill"  // one caller's memory gets other content between calls
	ColdKept    = "kept"    // equal inputs in other memory, while the first result is kept
	ColdThreads = "threads" // several goroutines at once, before any single call
	ColdCount   = "count"   // one cheap call some ten thousand times
)

// More values of Diff.Check.
const (
	CheckRefilled = "the caller filled the same memory with other content and called again"
	CheckPlace    = "an equal call with arguments in other memory returns the memory of the first one's result"
	checkCount    = "the same call many times"
	CheckCold     = "several goroutines at once, with inputs that no call had before"
)

// cold runs the check of state that the request names.
func (p *replayer[A, R]) cold() {
	// Threads have checkers of their own.
	if p.q.Cold != ColdThreads {
		p.check = newChecker(startWatchdog(p.h), p.q.Variant, p.q.Panics)
	}
	switch p.q.Cold {
	case ColdRefill:
		p.refilled()
	case ColdKept:
		p.keepTwice()
	case ColdThreads:
		p.coldThreads()
	case ColdCount:
		p.countCalls()
	}
	if p.check != nil {
		p.out.Unstable, p.out.Opaque = p.check.unstable, p.check.opaque
	}
}

// refilled makes a call for each record, and then more with the same memory:
// with the content of the next record, with one element changed, and with the
// first content again.
func (p *replayer[A, R]) refilled() {
	// Without memory there is nothing to fill again.
	if !leadsToMemory(reflect.TypeOf((*A)(nil)).Elem()) {
		return
	}
	for n, i := range p.picks {
		if n > 4 && p.late() {
			return
		}
		// The candidate gets one value throughout, so that a result that it keeps by its address
		// becomes wrong.
		first, next := &p.records[i], &p.records[p.picks[(n+1)%len(p.picks)]]
		mine := new(A)
		cloneTo(mine, first)
		before := Clone(mine)
		// The four turns: as recorded, with the next record's content, with one change, and as
		// recorded again.
		for turn := range 4 {
			switch live := reflect.ValueOf(mine).Elem(); turn {
			case 1:
				copyInto(live, reflect.ValueOf(Clone(next)).Elem())
			case 2:
				changeMiddle(live, false)
			case 3:
				copyInto(live, reflect.ValueOf(Clone(first)).Elem())
			}
			// A copy goes to the original, so that it sees the same content in memory of its own.
			now := Clone(mine)
			p.out.Cases++
			if p.out.Diff = p.inPlace(i, mine, now, before, turn > 0); p.out.Diff != nil {
				return
			}
			before = now
		}
	}
}

// inPlace calls the candidate with the caller's own memory and compares it with the original's
// call on the same content in memory of its own.
func (p *replayer[A, R]) inPlace(i int, mine, now, before *A, again bool) *Diff {
	c := p.check
	// The original sees the content in fresh memory, and sets the limit for the candidate.
	c.input.Store(now)
	c.limit.Store(int64(originalLimit))
	start := ProcessCPU()
	c.run(0, i, now)
	c.limit.Store(int64(hangLimit + hangFactor*(ProcessCPU()-start)))
	// own calls a version with the caller's memory, and leaves its outcome for differ.
	own := func(v int) {
		c.r[1] = *new(R)
		c.a[1] = *mine
		c.p[1] = c.call(v, i, &c.a[1], &c.r[1])
	}
	own(c.v)
	if c.differ() == "" || c.selfDiffers(i, now) {
		return nil
	}
	// An answer that is wrong in fresh memory too has nothing to do with the caller's.
	c.run(1, i, now)
	if kind := c.differ(); kind != "" {
		return c.diff(i, now, kind, "") // it is wrong in any memory
	}
	check := CheckFirst
	if again {
		check = CheckRefilled
	}
	// Call once more, so that the reported difference is that of the caller's memory.
	own(c.v)
	d := c.diff(i, now, "state", check)
	d.Other, _ = spell(before)
	return d
}

// copyInto copies the content of src, which no other code has, into the memory behind dst, where
// there is room. Pointers that meet in src, or lead back to where they come from, do so in dst.
func copyInto(dst, src reflect.Value) { (&refill{map[pointee]reflect.Value{}}).copy(dst, src) }

// A refill fills memory with other content.
type refill struct {
	// where the values behind pointers of src went, by their old and by their new places
	went map[pointee]reflect.Value
}

// A pointee is a value behind a pointer. A struct and its first field have the same address.
type pointee struct {
	at  unsafe.Pointer
	typ reflect.Type
}

func pointeeOf(v reflect.Value) pointee { return pointee{v.UnsafePointer(), v.Type()} }

// copy copies src into the memory behind dst. If both are the same memory, only its pointers
// change: they follow the values that went elsewhere.
func (r *refill) copy(dst, src reflect.Value) {
	// A value without memory of its own is replaced.
	if special(dst.Type()) != nil || !leadsToMemory(dst.Type()) {
		dst.Set(src)
		return
	}
	switch dst.Kind() {
	// A slice keeps its array if the new content fits.
	case reflect.Slice:
		n := src.Len()
		if src.IsNil() || n == 0 || n > dst.Cap() {
			dst.Set(src)
		} else {
			dst.Set(dst.Slice(0, n))
		}
		for k := range n {
			r.copy(dst.Index(k), src.Index(k))
		}
	case reflect.Pointer:
		r.follow(dst, src)
	// A map is emptied first.
	case reflect.Map:
		if dst.IsNil() || src.IsNil() || dst.UnsafePointer() == src.UnsafePointer() {
			dst.Set(src)
			return
		}
		dst.Clear()
		for it := src.MapRange(); it.Next(); {
			dst.SetMapIndex(it.Key(), it.Value())
		}
	case reflect.Struct:
		for k := range dst.NumField() {
			r.copy(reachable(dst.Field(k)), reachable(src.Field(k)))
		}
	case reflect.Array:
		for k := range dst.Len() {
			r.copy(dst.Index(k), src.Index(k))
		}
	default:
		dst.Set(src)
	}
}

// follow lets dst point to the value behind src. A value that went somewhere already is there. Any
// other goes into the memory behind dst, unless there is none or another value went there.
func (r *refill) follow(dst, src reflect.Value) {
	from := pointeeOf(src)
	// The address of a package's variable means something, and its content is not the caller's.
	if src.IsNil() || special(src.Type().Elem()) != nil || globalName(from.at) != "" {
		dst.Set(src)
		return
	}
	if there, went := r.went[from]; went {
		dst.Set(there)
		return
	}
	_, taken := r.went[pointeeOf(dst)]
	if dst.IsNil() || taken || globalName(dst.UnsafePointer()) != "" {
		dst.Set(src)
	}
	there := reflect.New(dst.Type()).Elem() // dst itself may change
	there.Set(dst)
	r.went[from], r.went[pointeeOf(dst)] = there, there
	r.copy(there.Elem(), src.Elem())
}

// changeMiddle changes the middle element of each sequence that a value leads to. The variable
// itself stays.
func changeMiddle(v reflect.Value, inside bool) {
	if special(v.Type()) != nil {
		return
	}
	switch v.Kind() {
	// Behind a slice the memory is not the variable's own any more, so from here on what is met is
	// changed.
	case reflect.Slice:
		if v.Len() > 0 {
			changeMiddle(v.Index(v.Len()/2), true)
		}
	case reflect.Array:
		if v.Len() > 0 && (inside || leadsToMemory(v.Type())) {
			changeMiddle(v.Index(v.Len()/2), inside)
		}
	case reflect.Pointer:
		if e := v.Type().Elem(); !inside && !v.IsNil() && e.Kind() != reflect.Pointer { // a list of nodes may be a ring
			changeMiddle(v.Elem(), true)
		}
	case reflect.Struct:
		for k := range v.NumField() {
			changeMiddle(reachable(v.Field(k)), inside)
		}
	default:
		if inside {
			new(scribbler).scalar(v)
		}
	}
}

// keepTwice makes two equal calls in different memory for each record, and
// keeps the first result. The second one may not lie where the first one does,
// and writing into both may not change the third answer.
func (p *replayer[A, R]) keepTwice() {
	suspects := 0
	// A few records are compared however slow they are.
	for n, i := range p.picks {
		if n > 4 && p.late() {
			break
		}
		p.out.Cases++
		if p.out.Diff = p.compareCold(n, i, &suspects); p.out.Diff != nil {
			return
		}
	}
	for n := len(p.picks) - 1; n >= 0 && !p.late(); n-- { // the other way round: another history
		p.out.Cases++
		if p.out.Diff = p.check.compare(p.picks[n], &p.records[p.picks[n]]); p.out.Diff != nil {
			return
		}
	}
}

// enoughSuspects is the number of inputs that must show a shared place. One alone may be the first
// call of something in the standard library that keeps memory.
const enoughSuspects = 3

// compareCold compares one call in which the candidate may have kept something from before. It
// looks for two faults that equal answers hide: results that depend on where a value lies, and
// memory that the candidate still uses after it has returned it.
func (p *replayer[A, R]) compareCold(n, i int, suspects *int) *Diff {
	// Call the candidate first, so that the original cannot have warmed anything up.
	c, src := p.check, &p.records[i]
	c.input.Store(src)
	c.limit.Store(int64(originalLimit))
	made := p.allocating(i, src)
	a, r := c.a[1], c.r[1]
	if c.p[1] != nil {
		return c.compare(i, src)
	}
	// A second call with a new copy that allocates less, and whose result lies in the memory of the
	// first one, got it from a table. Several such cases are enough, since a single one is noise.
	again := p.allocating(i, src)
	if n >= 2 && c.p[1] == nil && made > again && p.samePlace(src, &a, &r) {
		if *suspects++; *suspects >= enoughSuspects {
			c.run(0, i, src)
			return c.diff(i, src, "state", CheckPlace)
		}
	}
	// Without memory in the result, or with a result that is written anyway, the comparison is all.
	if c.flat || c.p[1] != nil || p.writtenResults(0, i) {
		return c.compare(i, src)
	}
	// Write over both results, and compare again. A candidate that keeps what it returned now
	// answers with the scribbles.
	var s scribbler
	s.walkFrom(reflect.ValueOf(&r).Elem())
	s.walkFrom(reflect.ValueOf(&c.r[1]).Elem())
	d := c.compare(i, src)
	// If the difference goes away with the scribbles, they are its cause.
	if d != nil && d.Check == "" {
		s.undo()
		if c.compare(i, src) == nil {
			d.Check = CheckResult
		}
		return d
	}
	s.undo()
	return d
}

// allocating calls the candidate with a copy of src and returns how many
// objects the call allocated.
func (p *replayer[A, R]) allocating(i int, src *A) uint64 {
	c := p.check
	c.r[1] = *new(R)
	c.copyTo(&c.a[1], src)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.p[1] = c.call(c.v, i, &c.a[1], &c.r[1])
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
