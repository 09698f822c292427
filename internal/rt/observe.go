package rt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// Observe is the request of the observe mode: run the original on these records. It calls every
// record twice in a row and, after all others, a third time in the opposite order.
type Observe struct {
	Records string `json:"records,omitempty"` // record file
	// record file of the results that production gave, one for each record
	Answers string `json:"answers,omitempty"`
	// time for all of it; 0 means 10 s. Records that it does not reach are left out
	Budget int64 `json:"budget_ns"`
	// look for records on which the original differs from itself: call each again and again
	Steady bool `json:"steady,omitempty"`
	// try all inputs of one and two bytes, if the target maps a text to the same type
	Mine     bool      `json:"mine"`
	Generate int       `json:"generate,omitempty"` // the number of small inputs to make; nothing is called with them
	Alphabet *Alphabet `json:"alphabet,omitempty"` // for Generate; nil means the default
}

// An Observation is the answer. Shares are weighted.
type Observation struct {
	Records  int      `json:"records"`  // how many were observed: the first ones
	Identity float64  `json:"identity"` // share whose only result equals the first parameter of its type
	Errors   float64  `json:"errors"`   // share with an error among the results
	Panics   float64  `json:"panics"`
	Outcomes int      `json:"outcomes"`           // distinct outcomes
	Mutates  []string `json:"mutates,omitempty"`  // parameters that a call changed
	Aliases  []string `json:"aliases,omitempty"`  // parameters that share memory with a result
	Unstable []int    `json:"unstable,omitempty"` // records whose next call in a row did something else
	Stateful []int    `json:"stateful,omitempty"` // records that did something else after other calls
	// records of Unstable with few outcomes, as where the order of a map decides between equal ones
	Tied     []int     `json:"tied,omitempty"`
	Panicked []int     `json:"panicked,omitempty"`
	Digests  []byte    `json:"digests,omitempty"` // 8 bytes a record: the outcome of the first call
	Classes  []string  `json:"classes,omitempty"` // one a record: the kind of outcome, see outcomeClass
	Refused  []Refusal `json:"refused,omitempty"`
	Left     int       `json:"left,omitempty"` // records at the end that were not read: those before fill the memory
	Mined    *Mined    `json:"mined,omitempty"`
	Made     [][]byte  `json:"made,omitempty"`
	Answers  *Answers  `json:"answers,omitempty"`
}

// A Refusal is a record that could not be used.
type Refusal struct {
	Record int    `json:"record"`
	Why    string `json:"why"`
}

// Mined holds the original's outcome on every short text: see beagle.Mined, which has the same
// form.
type Mined struct {
	Fixed1 []byte   `json:"fixed1"`
	Fixed2 [][]byte `json:"fixed2"`
}

// minedPlace is the place of mined inputs in the progress word.
const minedPlace = 1 << 30

// observe runs the original on the records, and finds out what the search should know of it.
func (h *Harness[A, R]) observe(q *Observe) (any, error) {
	o := newObserver(h, q)
	if q.Records != "" {
		if err := o.load(q.Records); err != nil {
			return nil, err
		}
		if q.Answers != "" {
			if err := o.answersOf(q.Answers); err != nil {
				return nil, err
			}
		}
		o.observeAll(q)
	}
	if q.Mine {
		o.tryShortTexts()
	}
	Idle()
	if q.Generate > 0 {
		o.generate(q)
	}
	return &o.out, nil
}

type observer[A, R any] struct {
	h        *Harness[A, R]
	eval     func(a *A, r *R)
	args     []A
	weights  []float64
	index    []int    // of args in the file
	given    [][]byte // results that production gave, by the index in the file
	in, res  *coder
	same     int // field of A with the type of the only result; -1
	deadline time.Time
	total    float64
	mutates  []bool
	aliases  []bool
	outcomes map[uint64]bool
	out      Observation
}

func newObserver[A, R any](h *Harness[A, R], q *Observe) *observer[A, R] {
	budget := time.Duration(q.Budget)
	if budget == 0 {
		budget = 10 * time.Second
	}
	o := &observer[A, R]{h: h, eval: h.Variants[0].Eval, in: coderFor[A](), res: coderFor[R](), same: -1,
		deadline: time.Now().Add(budget), outcomes: map[uint64]bool{}}
	o.mutates, o.aliases = make([]bool, len(o.in.fields)), make([]bool, len(o.in.fields))
	// Only with one result is it clear which parameter the result may be handed on from.
	if len(o.res.fields) == 1 {
		o.same = slices.IndexFunc(o.in.fields, func(f field) bool { return f.c.typ == o.res.fields[0].c.typ })
	}
	return o
}

// recordRoom is the memory in bytes that the records of a corpus may take once they are read.
// Timing holds several copies of them, in a process that has 1 GB.
const recordRoom = 32 << 20

// madeRoom is the size in bytes that made inputs may have together, encoded.
const madeRoom = 4 << 20

// load reads the records; those that do not fit the types are refused, not the file. It stops when
// they fill their room: the state of a receiver can make a short record a large value.
func (o *observer[A, R]) load(path string) error {
	records, err := ReadRecords(path)
	if err != nil {
		return err
	}
	room := recordRoom
	for i, r := range records {
		var a A
		if err := Decode(r.Args, &a, o.h.Types); err != nil {
			o.refuse(i, err)
			// Report a record that does not fit to the caller, with its number.
			continue
		}
		// The room counts what the value takes in memory. The first record is always taken.
		if room -= len(r.Args) + o.footprint(&a); room < 0 && len(o.args) > 0 {
			o.out.Left = len(records) - i
			break
		}
		o.args, o.weights, o.index = append(o.args, a), append(o.weights, r.Weight), append(o.index, i)
	}
	return nil
}

// footprint returns the memory in bytes that a value leads to, texts left aside.
func (o *observer[A, R]) footprint(a *A) int {
	s := &scanner{}
	for _, f := range o.in.fields {
		if f.c.scan != nil {
			f.c.scan(s, unsafe.Add(unsafe.Pointer(a), f.off))
		}
	}
	n := 0
	for _, r := range s.regions {
		n += int(r.hi - r.lo)
	}
	return n
}

func (o *observer[A, R]) refuse(i int, err error) {
	if len(o.out.Refused) < 1000 {
		o.out.Refused = append(o.out.Refused, Refusal{i, err.Error()})
	}
}

// observeAll observes each record as long as the time allows: first forwards, and then again
// backwards to find outcomes that depend on what was called before.
func (o *observer[A, R]) observeAll(q *Observe) {
	var digests []uint64
	// The first outcomes. At least one record is observed, however long it takes.
	for i := range o.args {
		if time.Now().After(o.deadline) && i > 0 {
			break
		}
		digests = append(digests, o.first(i))
	}
	if q.Steady {
		o.steady(digests)
	}
	// The second round goes backwards, so that each call has other calls before it. A record whose
	// outcome differs either wavers by itself, or depends on state.
	for i := len(digests) - 1; i >= 0 && time.Now().Before(o.deadline); i-- {
		d, _ := o.outcome(i, Clone(&o.args[i]))
		if d == digests[i] || slices.Contains(slices.Concat(o.out.Unstable, o.out.Stateful), o.index[i]) {
			continue
		}
		wavers := false
		if q.Steady {
			_, wavers = o.wavers(i, itselfTime)
		}
		if wavers {
			o.out.Unstable = append(o.out.Unstable, o.index[i])
		} else {
			o.out.Stateful = append(o.out.Stateful, o.index[i])
		}
	}
	sortInts(o.out.Unstable)
	sortInts(o.out.Stateful)
	if q.Steady {
		o.tie()
	}
	// Distinct outcomes are counted by their digests.
	o.out.Records = len(digests)
	for _, d := range digests {
		o.out.Digests = binary.LittleEndian.AppendUint64(o.out.Digests, d)
		o.outcomes[d] = true
	}
	o.out.Outcomes = len(o.outcomes)
	// Turn the sums into shares of all calls.
	if o.total > 0 {
		o.out.Identity /= o.total
		o.out.Errors /= o.total
		o.out.Panics /= o.total
	}
	// Name the parameters that the function changes, and those that its result shares memory with.
	for i, f := range o.in.fields {
		if o.mutates[i] {
			o.out.Mutates = append(o.out.Mutates, o.name(i, f))
		}
		if o.aliases[i] {
			o.out.Aliases = append(o.out.Aliases, o.name(i, f))
		}
	}
}

// steadyTime is the processor time for calls of all records again and again.
const steadyTime = 150 * time.Millisecond

// steady calls each record as often as there is time, and notes those whose outcome changes, or is
// another one than before.
func (o *observer[A, R]) steady(digests []uint64) {
	for i, before := range digests {
		if slices.Contains(o.out.Unstable, o.index[i]) {
			continue
		}
		switch d, wavers := o.wavers(i, steadyTime/time.Duration(len(digests))); {
		case wavers:
			o.out.Unstable = append(o.out.Unstable, o.index[i])
		case d != before:
			o.out.Stateful = append(o.out.Stateful, o.index[i])
		}
	}
}

// wavers reports whether repeated calls of a record have several outcomes. last is the outcome of
// the last call.
func (o *observer[A, R]) wavers(i int, budget time.Duration) (last uint64, wavers bool) {
	began := ProcessCPU()
	first, _ := o.outcome(i, Clone(&o.args[i]))
	for n := 0; n < maxItself && ProcessCPU()-began < budget && time.Now().Before(o.deadline); n++ {
		if last, _ = o.outcome(i, Clone(&o.args[i])); last != first {
			return last, true
		}
	}
	return first, false
}

// tie marks the unstable records that have few outcomes.
func (o *observer[A, R]) tie() {
	for i, index := range o.index {
		if !slices.Contains(o.out.Unstable, index) {
			continue
		}
		known := selfDifference{outcomes: map[uint64]bool{}}
		for range maxItself / 4 {
			if time.Now().After(o.deadline) {
				return
			}
			d, _ := o.outcome(i, Clone(&o.args[i]))
			known.outcomes[d] = true
			known.runs++
		}
		if known.few(known.outcomes) && len(known.outcomes) > 1 {
			o.out.Tied = append(o.out.Tied, index)
		}
	}
}

func (o *observer[A, R]) name(i int, f field) string {
	if i < len(o.h.Params) {
		return o.h.Params[i]
	}
	return f.name
}

// observed is the outcome of one call of the original.
type observed[R any] struct {
	result   R
	panicked bool
	text     string
}

// outcome calls the original with a and hashes all that the caller can see.
func (o *observer[A, R]) outcome(i int, a *A) (uint64, *observed[R]) {
	Begin(0, o.index[i])
	c := o.call(a)
	Idle()
	hash := fnv.New64a()
	snap, err := SnapshotCall(nil, a, &c.result)
	if err != nil {
		o.refuse(o.index[i], err)
	}
	hash.Write(snap)
	fmt.Fprintf(hash, "%v %s", c.panicked, c.text)
	return hash.Sum64(), c
}

func (o *observer[A, R]) call(a *A) (c *observed[R]) {
	c = new(observed[R])
	defer func() {
		if v := recover(); v != nil {
			c.panicked, c.text = true, fmt.Sprintf("%T %v", v, v)
			c.result = *new(R)
		}
	}()
	c.panicked = true // runtime.Goexit and panic(nil) do not come back here
	// Between these two lines, the only way out is one that did not return.
	o.eval(a, &c.result)
	c.panicked = false
	return c
}

// first observes a record for the first time, calls it again at once to see whether the outcome
// wavers, and returns the digest.
func (o *observer[A, R]) first(i int) uint64 {
	a := Clone(&o.args[i])
	digest, c := o.outcome(i, a)
	again, _ := o.outcome(i, Clone(&o.args[i]))
	// Two runs in a row with different outcomes: no candidate can be compared on this record.
	if again != digest {
		o.out.Unstable = append(o.out.Unstable, o.index[i])
	} else {
		o.answer(i, c)
	}
	w := o.weights[i]
	o.total += w
	o.out.Classes = append(o.out.Classes, o.outcomeClass(c))
	if c.panicked {
		o.out.Panics += w
		o.out.Panicked = append(o.out.Panicked, o.index[i])
	}
	o.compare(&o.args[i], a, c, w)
	return digest
}

// outcomeClass names the kind of an outcome in a letter for each result: an
// error or none, true or false, zero or not, empty or not. Inputs whose outcomes
// fall into other classes take other paths through the function.
func (o *observer[A, R]) outcomeClass(c *observed[R]) string {
	if c.panicked {
		return "panic"
	}
	v := reflect.ValueOf(&c.result).Elem()
	class := make([]byte, v.NumField())
	for i := range class {
		f := v.Field(i)
		switch {
		case f.Type() == errorType && !f.IsNil():
			// A result gets one letter: an error, empty or not, zero or anything else.
			class[i] = 'e'
		case f.Kind() == reflect.String || f.Kind() == reflect.Slice || f.Kind() == reflect.Map:
			class[i] = "0+"[min(f.Len(), 1)]
		case f.IsZero():
			class[i] = '0'
		default:
			class[i] = '+'
		}
	}
	return string(class)
}

// compare looks at the parameters before and after the call.
func (o *observer[A, R]) compare(before, after *A, c *observed[R], w float64) {
	// A parameter without memory can be neither changed nor shared.
	r := unsafe.Pointer(&c.result)
	for i, f := range o.in.fields {
		if f.c.fix == nil {
			continue
		}
		// Compare what it leads to before and after, and look for memory that the result leads to
		// as well.
		was, now := unsafe.Add(unsafe.Pointer(before), f.off), unsafe.Add(unsafe.Pointer(after), f.off)
		o.mutates[i] = o.mutates[i] || !sameParts(variable{f.c, was}, variable{f.c, now})
		o.aliases[i] = o.aliases[i] || !c.panicked && shares(variable{f.c, now}, variable{o.res, r})
	}
	if c.panicked {
		return
	}
	// A function from one type to the same may return its argument as it is.
	if o.same >= 0 {
		f, g := o.in.fields[o.same], o.res.fields[0]
		if sameParts(variable{f.c, unsafe.Add(unsafe.Pointer(before), f.off)}, variable{g.c, unsafe.Add(r, g.off)}) {
			o.out.Identity += w
		}
	}
	// One error counts a call as failed.
	for _, g := range o.res.fields {
		if g.c.typ == errorType && *(*error)(unsafe.Add(r, g.off)) != nil {
			o.out.Errors += w
			return
		}
	}
}

func sameParts(a, b variable) bool {
	x, err1 := encodeParts(nil, snapshotLimit, true, a)
	y, err2 := encodeParts(nil, snapshotLimit, true, b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// shares reports whether two variables lead to the same memory.
func shares(a, b variable) bool {
	if a.c.scan == nil || b.c.scan == nil {
		return false
	}
	sa, sb := &scanner{}, &scanner{}
	a.c.scan(sa, a.p)
	b.c.scan(sb, b.p)
	for _, x := range sa.regions {
		for _, y := range sb.regions {
			if x.lo < y.hi && y.lo < x.hi {
				return true
			}
		}
	}
	return false
}

// tryShortTexts tries all texts of one and two bytes.
func (o *observer[A, R]) tryShortTexts() {
	// Only a function from a text to a text of the same type can have fixed points.
	if len(o.in.fields) != 1 || o.same != 0 {
		return
	}
	t := o.in.fields[0].c.typ
	isText := t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if !isText {
		return
	}
	// A bit for each second byte says that the pair stays.
	m := &Mined{Fixed2: make([][]byte, 256)}
	for x := range 256 {
		if o.fixed(t, []byte{byte(x)}) {
			m.Fixed1 = append(m.Fixed1, byte(x))
		}
		set := make([]byte, 32)
		for y := range 256 {
			if o.fixed(t, []byte{byte(x), byte(y)}) {
				set[y/8] |= 1 << (y % 8)
			}
		}
		m.Fixed2[x] = set
		if time.Now().After(o.deadline) {
			return // an incomplete answer is useless
		}
	}
	o.out.Mined = m
}

// fixed reports whether the function returns a text as it is.
func (o *observer[A, R]) fixed(t reflect.Type, text []byte) bool {
	Begin(0, minedPlace|int(text[0])<<8|int(text[len(text)-1]))
	var a A
	put := func(p unsafe.Pointer) {
		if t.Kind() == reflect.String {
			*(*string)(p) = string(text)
		} else {
			*(*[]byte)(p) = slices.Clone(text)
		}
	}
	put(unsafe.Pointer(&a))
	c := o.call(&a)
	if c.panicked {
		return false
	}
	if p := unsafe.Pointer(&c.result); t.Kind() == reflect.String {
		return *(*string)(p) == string(text)
	} else {
		return bytes.Equal(*(*[]byte)(p), text)
	}
}

// generate writes small inputs as records.
func (o *observer[A, R]) generate(q *Observe) {
	// The alphabet is that of the code, if the request has one.
	alpha := DefaultAlphabet()
	if q.Alphabet != nil {
		alpha = *q.Alphabet
	}
	w := NewWords[A](alpha, q.Generate, o.h.Types)
	room := madeRoom
	for i := range w.Len() {
		var a A
		w.At(i, &a)
		// Inputs outside of the contract make no records, and the room bounds all of them together.
		if !o.h.keeps(&a) {
			continue
		}
		if b, err := Encode(&a); err == nil {
			if room -= len(b); room < 0 {
				return
			}
			o.out.Made = append(o.out.Made, b)
		}
	}
}
