package rt

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// A checker compares variant 1 of a pair with the original, one input at a
// time. Arguments are cloned for each call, so that neither sees what the
// other does to them.
type checker[A, R any] struct {
	*guard[A, R]
	v      int    // the candidate
	panics string // how panics compare

	flat bool // arguments and results lead to no memory that could be written: comparing is cheap
	a    [2]A
	r    [2]R
	p    [2]*thrown
	snap [2][]byte

	fresh map[string]bool // kinds of errors that the original makes anew in each call

	minimising bool          // a difference is made smaller: there is no time to look often
	lookedFor  time.Duration // processor time of fruitless looks at an original's other outcomes
	checkCounts
}

// checkCounts are the counts of a checker.
type checkCounts struct {
	took     time.Duration // by the original, last
	unstable int           // inputs on which the original differs from itself
	opaque   int           // inputs whose outcome cannot be compared
	excluded int           // inputs that the contract excludes
}

func newChecker[A, R any](g *guard[A, R], v int, panics string) *checker[A, R] {
	return &checker[A, R]{guard: g, v: v, panics: panics,
		flat: plainType(reflect.TypeOf((*A)(nil)).Elem()) && plainType(reflect.TypeOf((*R)(nil)).Elem())}
}

// plainType reports whether values of t are compared by their own bytes and
// the content of their strings.
func plainType(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan,
		reflect.UnsafePointer:
		return false
	case reflect.Array:
		return plainType(t.Elem())
	case reflect.Struct:
		// A type with a form of its own is compared by that form.
		if special(t) != nil {
			return false
		}
		for i := 0; i < t.NumField(); i++ {
			if !plainType(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// run calls one side (0 the original, 1 the candidate) on a copy of src.
func (c *checker[A, R]) run(side, id int, src *A) {
	var zero R
	c.r[side] = zero
	c.copyTo(&c.a[side], src)
	v := 0
	if side == 1 {
		v = c.v
	}
	c.p[side] = c.call(v, id, &c.a[side], &c.r[side])
}

// original calls the original alone, with the limit of time that it has.
func (c *checker[A, R]) original(id int, src *A) {
	c.input.Store(src)
	c.limit.Store(int64(originalLimit))
	c.run(0, id, src)
}

func (c *checker[A, R]) copyTo(dst, src *A) {
	if c.flat {
		*dst = *src
		return
	}
	cloneTo(dst, src)
}

// compare runs both on an input and returns their difference, or nil. Every
// phase comes through here, so that what the contract excludes is left out here.
func (c *checker[A, R]) compare(id int, src *A) *Diff {
	// Inputs outside of the contract are counted, and not run at all.
	if !c.h.keeps(src) {
		c.excluded++
		c.took = 0
		return nil
	}
	// The watchdog knows the input and the limit. The original may take long; the candidate's limit
	// follows from what the original took.
	c.input.Store(src)
	c.limit.Store(int64(originalLimit))
	start := time.Now()
	c.run(0, id, src)
	c.took = time.Since(start)
	c.limit.Store(int64(hangLimit + hangFactor*c.took))
	c.run(1, id, src)
	// A call may have written where nothing looks, even if the answers agree.
	if d := c.strayed(id, src); d != nil {
		return d
	}
	// Without a difference only the room behind slices is left to look at.
	kind := c.differ()
	if kind == "" {
		if !c.flat && !ignored.scratch && c.wrote(src) {
			return c.diff(id, src, "argument", CheckRoom)
		}
		if c.otherErrors(id, src) {
			return c.diff(id, src, "result", CheckSentinel)
		}
		return nil
	}
	// An original that differs from itself is no measure, but the candidate must still do something
	// that the original may do.
	if c.selfDiffers(id, src) {
		if !c.mayDo(id, src) {
			return c.diff(id, src, kind, CheckItself)
		}
		c.unstable++
		return nil
	}
	c.run(1, id, src) // once more, to show it; a result that changed is a kind of its own
	if c.differ() == "" {
		kind = "state"
		return c.diff(id, src, kind, CheckFirst)
	}
	return c.diff(id, src, kind, "")
}

// differ compares what the two sides did last.
func (c *checker[A, R]) differ() string {
	// Panics have rules of their own, and values without memory are compared in place.
	if c.p[0] != nil || c.p[1] != nil {
		return c.differPanics()
	}
	if c.flat {
		if flatEqual(coderFor[R](), unsafe.Pointer(&c.r[0]), unsafe.Pointer(&c.r[1])) &&
			flatEqual(coderFor[A](), unsafe.Pointer(&c.a[0]), unsafe.Pointer(&c.a[1])) {
			return ""
		}
		return "result"
	}
	// Snapshots contain all that a caller can see, shared memory included.
	var err [2]error
	for i := range c.snap {
		c.snap[i], err[i] = SnapshotCall(c.snap[i][:0], &c.a[i], &c.r[i])
	}
	// Find out where they differ, from what matters most on. If results and arguments are equal
	// each by itself, only the sharing between them differs.
	switch {
	case err[0] != nil:
		return c.differApart(err[1] == nil)
	case err[1] != nil:
		return "alias"
	case bytes.Equal(c.snap[0], c.snap[1]):
		return ""
	case !sameState(&c.r[0], &c.r[1]):
		return "result"
	case !sameState(&c.a[0], &c.a[1]):
		return "argument"
	}
	return "alias"
}

// differApart compares results and arguments each by itself: the original's share
// memory in a way that has no form, as a slice of words does with the bytes that
// it was made of. known tells that the candidate's have one: then it shares less.
func (c *checker[A, R]) differApart(known bool) string {
	// A side whose memory cannot be written even alone is not comparable, which is counted and not
	// taken for a difference.
	for _, ptr := range []any{&c.r[0], &c.a[0]} {
		if _, err := Snapshot(nil, ptr); err != nil {
			c.opaque++
			return ""
		}
	}
	switch {
	case !sameState(&c.r[0], &c.r[1]):
		return "result"
	case !sameState(&c.a[0], &c.a[1]):
		return "argument"
	// Equal each by itself, and only the original shares memory.
	case known:
		return "alias"
	}
	return ""
}

func (c *checker[A, R]) differPanics() string {
	if !c.p[0].equal(c.p[1], c.panics) {
		return "panic"
	}
	if c.panics == PanicsExact && !c.flat && !sameState(&c.a[0], &c.a[1]) {
		return "argument"
	}
	return ""
}

func sameState[T any](a, b *T) bool {
	x, err := Snapshot(nil, a)
	y, err2 := Snapshot(nil, b)
	return (err == nil) == (err2 == nil) && bytes.Equal(x, y)
}

// diff describes what the two sides did last on src.
func (c *checker[A, R]) diff(id int, src *A, kind, check string) *Diff {
	d := &Diff{Case: id, Kind: kind, Check: check}
	// Take the input and both outcomes as Go code, so that the difference can become a test.
	d.Args, _ = Encode(src)
	d.Call, d.Imports = spellCall(src)
	setup, more := sharedMemory(src, d.Call)
	d.Setup, d.Imports = setup, append(d.Imports, more...)
	d.Want, d.Got = c.describe(0, kind), c.describe(1, kind)
	d.WantPanic = c.p[0] != nil
	if !d.WantPanic {
		var more []string
		d.WantGo, more = spellBriefly(&c.r[0])
		d.WantTexts, d.WantFields = errorTexts(&c.r[0]), errorFields(&c.r[0])
		d.WantTypes = errorTypes(&c.r[0], &c.r[1])
		d.Imports = append(d.Imports, more...)
	}
	// For an argument and for shared memory, a test needs more: what the argument should hold, or
	// statements that bring the sharing to light.
	switch {
	case kind == "argument":
		var more []string
		d.WantArgs, more = spellBriefly(&c.a[0])
		d.Imports = append(d.Imports, more...)
	case kind == "alias" && check == "":
		c.overwriteArgs(d, src)
	}
	return d
}

func (c *checker[A, R]) describe(side int, kind string) string {
	if c.p[side] != nil {
		return c.p[side].String()
	}
	switch kind {
	case "argument":
		return c.describeChanges(side)
	case "alias":
		return "returns " + render(&c.r[side]) + " (which memory the arguments and results share differs)"
	}
	return "returns " + render(&c.r[side])
}

// describeChanges names the arguments that a side changed otherwise than the other one.
func (c *checker[A, R]) describeChanges(side int) string {
	var told [2][]string
	for i := range told {
		// Spell each argument as a text, and name only those whose texts differ.
		told[i] = tell(&c.a[i])
	}
	var parts []string
	for i, e := range told[side] {
		if e != told[1-side][i] && i < len(c.h.Params) {
			parts = append(parts, c.h.Params[i]+" = "+cutTo(e, maxShown))
		}
	}
	if len(parts) == 0 { // a difference that values do not show, such as capacity
		return "leaves the arguments as " + render(&c.a[side])
	}
	return "leaves " + strings.Join(parts, ", ")
}

// flatEqual compares two values that hold no references: floats by bits,
// strings by content.
func flatEqual(c *coder, p, q unsafe.Pointer) bool {
	switch c.typ.Kind() {
	case reflect.String:
		return *(*string)(p) == *(*string)(q)
	case reflect.Float32, reflect.Complex64, reflect.Float64, reflect.Complex128:
		return bytes.Equal(unsafe.Slice((*byte)(p), c.size), unsafe.Slice((*byte)(q), c.size))
	// Padding between fields holds anything, so fields are compared one by one.
	case reflect.Struct:
		for i := range c.fields {
			f := &c.fields[i]
			if !flatEqual(f.c, unsafe.Add(p, f.off), unsafe.Add(q, f.off)) {
				return false
			}
		}
		return true
	case reflect.Array:
		for i := 0; i < c.n; i++ {
			if !flatEqual(c.elem, c.elem.at(p, i), c.elem.at(q, i)) {
				return false
			}
		}
		return true
	}
	// The rest are numbers of four sizes.
	switch c.size {
	case 8:
		return *(*uint64)(p) == *(*uint64)(q)
	case 4:
		return *(*uint32)(p) == *(*uint32)(q)
	case 2:
		return *(*uint16)(p) == *(*uint16)(q)
	case 1:
		return *(*byte)(p) == *(*byte)(q)
	}
	return bytes.Equal(unsafe.Slice((*byte)(p), c.size), unsafe.Slice((*byte)(q), c.size))
}

// overwriteArgs finds out whether writing into the arguments after the call
// tells the two sides apart: that is what a test can show of shared memory.
// Capacity beyond the lengths is written to when the elements show nothing.
func (c *checker[A, R]) overwriteArgs(d *Diff, src *A) {
	for _, room := range []bool{false, true} {
		// Call each version anew, write into the arguments, and look at the result afterwards.
		var after [2][]string
		for side := range after {
			c.run(side, d.Case, src)
			if c.p[side] != nil {
				return
			}
			d.After = overwriteAll(reflect.ValueOf(&c.a[side]).Elem(), room)
			var more []string
			after[side], more = spellBriefly(&c.r[side])
			d.Imports = append(d.Imports, more...)
		}
		if !slices.Equal(after[0], after[1]) {
			d.WantGo = after[0]
			return
		}
		d.After = nil
	}
}

// overwriteAll writes into the slices and maps among the arguments and what
// they point to, and returns the statements that do the same in a test, where
// the arguments are called arg0, arg1 and so on. room has it write to the capacity
// beyond the lengths too.
func overwriteAll(args reflect.Value, room bool) (statements []string) {
	// Follow each slot from the arguments along its fields, with the expression that a test would
	// use.
	for _, s := range slotsOf(args.Type(), args.Type().PkgPath()) {
		if k := s.t.Kind(); k != reflect.Slice && k != reflect.Map {
			continue
		}
		v, name := args, "arg"
		for i, f := range s.path {
			if v.Kind() == reflect.Pointer {
				if v.IsNil() {
					break
				}
				v = v.Elem()
			}
			if i == 0 {
				name += strconv.Itoa(f)
			} else {
				name += "." + v.Type().Field(f).Name
			}
			v = reachable(v.Field(f))
		}
		if room && v.Type() == s.t && v.Kind() == reflect.Slice && v.Cap() > v.Len() {
			v, name = v.Slice(0, v.Cap()), name+"[:cap("+name+")]"
		}
		if v.Type() == s.t && v.Len() > 0 {
			statements = append(statements, overwrite(v, name))
		}
	}
	return statements
}

// overwrite changes every element and returns the statement for it.
func overwrite(v reflect.Value, name string) string {
	how := ""
	// Numbers and texts change, so that even equal elements differ from what they were. Others
	// become zero.
	for i := 0; v.Kind() == reflect.Slice && i < v.Len(); i++ {
		switch e := v.Index(i); {
		case e.Kind() == reflect.String:
			e.SetString(e.String() + "?")
			how = `+= "?"`
		case e.CanInt():
			e.SetInt(e.Int() + 1)
			how = "++"
		case e.CanUint():
			e.SetUint(e.Uint() + 1)
			how = "++"
		default:
			e.Set(reflect.New(e.Type()).Elem()) // zero in a form that the race detector sees being written
		}
	}
	if v.Kind() == reflect.Map {
		v.Clear()
	}
	if how == "" {
		return "clear(" + name + ")"
	}
	return fmt.Sprintf("for i := range %s {\n%s[i] %s\n}", name, name, how)
}
