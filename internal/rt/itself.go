package rt

import (
	"encoding/binary"
	"hash/maphash"
	"time"
)

// Some originals do not agree with themselves: one that sorts the keys of a map by something else
// leaves equal ones in the map's order, which is drawn anew in each call. Two keys of a small map
// change places in one call of eight only, so the original is run against itself often.
const (
	minItself  = 4                      // runs of the original, however long they take
	maxItself  = 256                    // and however short
	itselfTime = 200 * time.Millisecond // of processor time
	manyOf     = 8                      // with fewer runs an outcome, there are too many outcomes to know all

	briefItself = 64 // runs of a look, once fruitless ones have taken itselfTime
	vainLooks   = 4  // times itselfTime, after which the looks end
)

// A selfDifference says what the original is known to do on an input when it does not agree with
// itself.
type selfDifference struct {
	differs  bool
	outcomes map[uint64]bool
	holds    map[uint64]bool // what the outcomes hold, in any order
	runs     int
}

// few reports whether the outcomes, or what they hold, are so few that all of them are likely to be
// known.
func (o *selfDifference) few(of map[uint64]bool) bool { return len(of)*manyOf <= o.runs }

// selfDiffers reports whether the original does not even agree with itself.
func (c *checker[A, R]) selfDiffers(id int, src *A) bool {
	return c.repeatOriginal(id, src, maxItself, false).differs
}

// repeatOriginal runs the original again and again. It ends at the first difference, unless all
// outcomes are wanted.
func (c *checker[A, R]) repeatOriginal(id int, src *A, most int, all bool) (o selfDifference) {
	// The candidate's outcome is put aside, because differ compares what lies in its place.
	a, r, p := c.a[1], c.r[1], c.p[1]
	defer func() { c.a[1], c.r[1], c.p[1] = a, r, p }()
	c.limit.Store(int64(originalLimit))
	defer func() { c.limit.Store(int64(hangLimit + hangFactor*c.took)) }()
	o.outcomes, o.holds = map[uint64]bool{}, map[uint64]bool{}
	var first func()
	// The first run takes that place, and each later one is compared with it.
	c.repeatWhile(most, func(n int) bool {
		c.run(0, id, src)
		if n == 0 {
			a, r, p := c.a[0], c.r[0], c.p[0]
			first = func() { c.a[1], c.r[1], c.p[1] = a, r, p }
		}
		first()
		o.differs = o.differs || c.differ() != ""
		if all {
			o.outcomes[c.hash(0)] = true
			o.holds[c.holds(0)] = true
			o.runs++
		}
		return all || !o.differs
	})
	return o
}

// repeatWhile calls run up to so often, while there is time to look at the original, and while run
// wants more. A look that takes all of that time is one at a candidate that differs, after which no
// other input comes.
func (c *checker[A, R]) repeatWhile(most int, run func(n int) bool) {
	began := ProcessCPU()
	for n := 0; n < minItself || n < most && !c.minimising && ProcessCPU()-began < itselfTime; n++ {
		if !run(n) {
			return
		}
	}
}

// mayDo reports whether the original may have the candidate's last outcome on an input: it has the
// same in some run, or it has too many to know all. If all of these hold the same elements in
// different orders, the candidate's outcome must hold them, too. The more inputs an original
// differs from itself on, the shorter it is run, and in the end not at all.
func (c *checker[A, R]) mayDo(id int, src *A) bool {
	// The more time such inputs have taken, the fewer runs each gets.
	most := maxItself
	switch {
	case c.lookedFor > vainLooks*itselfTime:
		return true
	case c.lookedFor > itselfTime:
		most = briefItself
	}
	began, found := ProcessCPU(), false
	// Does the original ever do what the candidate did?
	c.repeatWhile(most, func(int) bool {
		c.run(0, id, src)
		found = c.differ() == ""
		return !found
	})
	if found {
		return true
	}
	// If not, see how many things it does. With few outcomes the candidate's is not among them, so
	// it is wrong. With many, at least what holds in all orders must hold.
	o := c.repeatOriginal(id, src, most, true)
	c.lookedFor += ProcessCPU() - began
	if o.outcomes[c.hash(1)] {
		return true
	}
	return !o.few(o.outcomes) && (!o.few(o.holds) || o.holds[c.holds(1)])
}

// CheckItself names the comparison with an original that does not agree with itself.
const CheckItself = "the original does one of some things here, in no order, and never this one"

var hashSeed = maphash.MakeSeed()

// hash hashes what a side did last into 64 bits; 0 stands for what has no form.
func (c *checker[A, R]) hash(side int) uint64 {
	if c.p[side] != nil {
		return maphash.String(hashSeed, c.p[side].text) | 1
	}
	var err error
	if c.snap[side], err = SnapshotCall(c.snap[side][:0], &c.a[side], &c.r[side]); err != nil {
		return 0
	}
	return maphash.Bytes(hashSeed, c.snap[side]) | 1
}

// holds hashes what the outcome of a side's last call holds, whatever its order: how often its form
// has each byte. Elements that change places leave that as it is.
func (c *checker[A, R]) holds(side int) uint64 {
	// A panic has no form whose bytes could change places.
	if hash := c.hash(side); hash == 0 || c.p[side] != nil {
		return hash
	}
	var times [256]uint32
	for _, b := range c.snap[side] {
		times[b]++
	}
	var all []byte
	for _, n := range times {
		all = binary.LittleEndian.AppendUint32(all, n)
	}
	return maphash.Bytes(hashSeed, all) | 1
}
