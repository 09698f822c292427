package rt

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"
)

// Replay is the request of the replay mode: the original and one candidate
// receive the recorded calls, and everything that a caller could see is
// compared.
type Replay struct {
	Variant int      `json:"variant"`
	Records []string `json:"records"`        // record files
	Max     int      `json:"max,omitempty"`  // records to use, spread evenly; 0 means all
	Seed    uint64   `json:"seed,omitempty"` // of the order of the second pass
	Panics  string   `json:"panics,omitempty"`
	Deep    int      `json:"deep,omitempty"`   // calls that also get the checks on memory and order; 0 means 64
	Budget  int64    `json:"budget,omitempty"` // nanoseconds; 0 means no limit
	// above 1: calls from this number of goroutines at once, without comparison with the original
	Threads int `json:"threads,omitempty"`

	// another look, in a process that has seen nothing yet: one of the Cold constants
	Cold string `json:"cold,omitempty"`

	Grow bool `json:"grow,omitempty"` // compare how the times grow with the length of inputs

	Collect int   `json:"collect,omitempty"` // bytes of results of the original to return; then nothing is compared
	Skip    []int `json:"skip,omitempty"`    // records to leave out: the original takes too long on them

	Then *Exhaust `json:"then,omitempty"` // do this too if the replay finds nothing: one process less

	Show *int `json:"show,omitempty"` // only show this record, and run the original on it
}

// A ReplayReply says how far the replay got and what it found.
type ReplayReply struct {
	Cases    int      `json:"cases"`
	Records  int      `json:"records"`            // available
	Deep     int      `json:"deep"`               // cases with the checks on memory and order
	Unstable int      `json:"unstable,omitempty"` // inputs on which the original differs from itself
	Opaque   int      `json:"opaque,omitempty"`   // inputs whose outcome cannot be compared
	Outside  int      `json:"outside,omitempty"`  // records that the contract excludes
	Unfit    int      `json:"unfit,omitempty"`    // records left out since an int has fewer bits here
	Millis   float64  `json:"millis"`
	Results  [][]byte `json:"results,omitempty"`
	Diff     *Diff    `json:"diff,omitempty"`
	Growth   *Growth  `json:"growth,omitempty"`

	Then  *ExhaustReply `json:"then,omitempty"`
	Shown *Diff         `json:"shown,omitempty"` // for Show
}

// series carries out replays, whatever each finds.
func (h *Harness[A, R]) series(list []Replay) (any, error) {
	var out []*ReplayReply
	for i := range list {
		r, err := h.replay(&list[i])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// replay runs the phase that the request names on the recorded calls, and the exhaustive phases
// after it if asked.
func (h *Harness[A, R]) replay(q *Replay) (*ReplayReply, error) {
	if q.Variant < 0 || q.Variant >= len(h.Variants) {
		return nil, fmt.Errorf("replay: there is no variant %d", q.Variant)
	}
	p := &replayer[A, R]{h: h, q: q, start: time.Now(), used: ProcessCPU()}
	// Records that the types no longer fit are counted, and left out.
	for _, path := range q.Records {
		list, _, unfit, err := loadFitting[A](path, h.Types)
		if err != nil {
			return nil, err
		}
		p.records = append(p.records, list...)
		p.out.Unfit += unfit
	}
	p.out.Records = len(p.records)
	p.choose()
	switch {
	case q.Show != nil:
		p.show(*q.Show)
	case q.Collect > 0:
		p.collect()
	case q.Grow:
		if err := p.grow(); err != nil {
			return nil, err
		}
	case q.Cold != "":
		p.cold()
	case q.Threads > 1:
		p.concurrently()
	default:
		p.run()
	}
	p.out.Millis = float64(time.Since(p.start).Microseconds()) / 1000
	// The next phase follows in the same process, which saves loading the records again.
	if q.Then != nil && q.Show == nil && p.out.Diff == nil {
		x, _, err := h.exhauster(q.Then)
		if err != nil {
			return nil, err
		}
		x.run()
		p.out.Then = x.reply()
	}
	return &p.out, nil
}

type replayer[A, R any] struct {
	h       *Harness[A, R]
	q       *Replay
	start   time.Time
	used    time.Duration // processor time of the process, at the start
	records []A
	picks   []int
	check   *checker[A, R]
	hashes  []uint64 // of the candidate's outcomes, by pick
	kept    []keptCall[A, R]
	pages   []byte // for sealed
	noPages bool
	out     ReplayReply
}

// show describes one record.
func (p *replayer[A, R]) show(i int) {
	if i < 0 || i >= len(p.records) {
		return
	}
	c := newChecker(startWatchdog(p.h), p.q.Variant, p.q.Panics)
	c.input.Store(&p.records[i])
	c.limit.Store(int64(originalLimit))
	c.run(0, i, &p.records[i])
	p.out.Shown = c.diff(i, &p.records[i], "result", "")
}

// choose picks the records, spread evenly over the file.
func (p *replayer[A, R]) choose() {
	skip := make(map[int]bool)
	for _, i := range p.q.Skip {
		skip[i] = true
	}
	n := len(p.records)
	if p.q.Max > 0 {
		n = min(n, p.q.Max)
	}
	// Choose records evenly: neighbours were recorded together and may be alike.
	for i := range n {
		switch k := i * len(p.records) / n; {
		case skip[k]:
		case !p.h.keeps(&p.records[k]):
			p.out.Outside++
		default:
			p.picks = append(p.picks, k)
		}
	}
}

// late reports whether the time is over. A process that was kept from its processor has more of it,
// within a bound: a loaded machine makes the comparison slower, not blinder.
func (p *replayer[A, R]) late() bool {
	budget, wall := time.Duration(p.q.Budget), time.Since(p.start)
	return budget > 0 && wall > budget && hadItsTime(ProcessCPU()-p.used, wall, budget)
}

// hadItsTime reports whether a process that ran beyond its budget has used most of it, or has
// waited for too long.
func hadItsTime(used, wall, budget time.Duration) bool {
	return used > budget*3/4 || wall > 3*budget
}

// run makes two passes: in order, compared with the original; and shuffled,
// compared with the candidate's own first answers. Between them and at the
// end, results that were kept are read again.
func (p *replayer[A, R]) run() {
	p.check = newChecker(startWatchdog(p.h), p.q.Variant, p.q.Panics)
	// The costly checks run on 64 of the calls, or on as many as the request says.
	deep := p.q.Deep
	if deep == 0 {
		deep = 64
	}
	every := max(1, len(p.picks)/deep)
	for n, i := range p.picks {
		if n > 16 && p.late() {
			p.picks = p.picks[:n]
			break
		}
		// The first difference ends the pass, and is made smaller.
		if p.out.Diff = p.compareCall(n, i, n%every == 0); p.out.Diff != nil {
			p.shrink()
			break
		}
		p.out.Cases++
	}
	if p.out.Diff == nil {
		p.secondPass()
	}
	if p.out.Diff == nil {
		p.out.Diff = p.reread(len(p.kept))
	}
	if n := len(p.picks); p.out.Diff == nil && n > 0 { // left behind by one of the calls in between
		p.out.Diff = p.check.strayed(p.picks[n-1], &p.records[p.picks[n-1]])
	}
	p.out.Unstable, p.out.Opaque = p.check.unstable, p.check.opaque
}

// compareCall compares a call. deep has the checks of state, of writes to arguments and of shared
// memory follow.
func (p *replayer[A, R]) compareCall(n, i int, deep bool) *Diff {
	c, src := p.check, &p.records[i]
	unstable := c.unstable
	if d := c.compare(i, src); d != nil {
		return d
	}
	// An unstable original has no answer that a later call could be compared with.
	if c.unstable > unstable {
		p.hashes = append(p.hashes, 0)
		return nil
	}
	p.hashes = append(p.hashes, p.hash())
	if !deep {
		return nil
	}
	p.out.Deep++
	if d := p.callAgain(n, i); d != nil {
		return d
	}
	if d := p.sealed(i); d != nil {
		return d
	}
	return p.memory(i)
}

// hash hashes the outcome of the candidate's last call into 64 bits; 0 stands for what has no form.
func (p *replayer[A, R]) hash() uint64 { return p.check.hash(1) }

// callAgain calls the candidate with the same input again.
func (p *replayer[A, R]) callAgain(n, i int) *Diff {
	p.check.run(1, i, &p.records[i])
	return p.sameAsBefore(n, i, CheckAgain)
}

func (p *replayer[A, R]) sameAsBefore(n, i int, how string) *Diff {
	c := p.check
	if p.hashes[n] == 0 || p.hash() == p.hashes[n] {
		return nil
	}
	// The original is called for comparison. The candidate's answer, which it must not overwrite,
	// is kept meanwhile.
	r, a, t := c.r[1], c.a[1], c.p[1]
	c.run(0, i, &p.records[i])
	c.r[1], c.a[1], c.p[1] = r, a, t
	if kind := c.differ(); kind == "" || c.selfDiffers(i, &p.records[i]) {
		return nil // it was the panic's text, or the original does so too
	}
	return c.diff(i, &p.records[i], "state", how)
}

// secondPass makes the second pass, in another order.
func (p *replayer[A, R]) secondPass() {
	// The order is drawn from a seed, so that a difference can be shown again.
	order := rand.New(rand.NewPCG(p.q.Seed, 1)).Perm(len(p.picks))
	for done, n := range order {
		if done > 16 && p.late() {
			return
		}
		i := p.picks[n]
		p.check.input.Store(&p.records[i])
		p.check.run(1, i, &p.records[i])
		if p.out.Diff = p.sameAsBefore(n, i, CheckOrder); p.out.Diff != nil {
			return
		}
	}
}

// concurrently calls the candidate from several goroutines at once. Each
// answer must be that of a single call; the race detector watches the rest.
func (p *replayer[A, R]) concurrently() {
	c := newChecker(startWatchdog(p.h), p.q.Variant, p.q.Panics)
	p.check = c
	// Answers of single calls come first: they are what each thread's answers must be.
	for n, i := range p.picks {
		if n > 16 && p.late() {
			p.picks = p.picks[:n]
			break
		}
		c.input.Store(&p.records[i])
		c.limit.Store(int64(10 * originalLimit)) // the race detector slows everything
		c.run(1, i, &p.records[i])
		p.hashes = append(p.hashes, p.hash())
	}
	Idle()
	var wg sync.WaitGroup
	diffs := make([]*Diff, p.q.Threads)
	for t := range p.q.Threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			diffs[t] = p.thread(t)
		}()
	}
	wg.Wait()
	for _, d := range diffs {
		if d != nil {
			p.out.Diff = d
		}
	}
	p.out.Cases = len(p.picks) * p.q.Threads
}

// thread runs one goroutine of the concurrent check. Neighbouring goroutines walk the records in
// the same order, half a step apart, so that equal inputs meet.
func (p *replayer[A, R]) thread(t int) *Diff {
	c := newChecker(&guard[A, R]{h: p.h}, p.q.Variant, p.q.Panics)
	mine := &replayer[A, R]{h: p.h, q: p.q, records: p.records, check: c}
	for k := range p.picks {
		n := (k + t/2) % len(p.picks)
		i := p.picks[n]
		var zero R
		c.r[1] = zero
		c.copyTo(&c.a[1], &p.records[i])
		c.p[1] = p.callUnguarded(&c.a[1], &c.r[1])
		if h := mine.hash(); p.hashes[n] != 0 && h != p.hashes[n] {
			d := &Diff{
				Case:  i,
				Kind:  "race",
				Check: "the same call from several goroutines at once",
				Got:   c.describe(1, "result"),
			}
			d.Args, _ = Encode(&p.records[i])
			d.Call, d.Imports = spellBriefly(&p.records[i])
			d.Want = "the answer of a single call"
			return d
		}
		// The caller owns the arguments again: a leaked goroutine must not read them.
		overwriteAll(reflect.ValueOf(&c.a[1]).Elem(), false)
	}
	return nil
}

// callUnguarded calls the candidate without the guard, which is for one goroutine.
func (p *replayer[A, R]) callUnguarded(a *A, r *R) (t *thrown) {
	done := false
	defer func() {
		if !done {
			t = catch(recover())
		}
	}()
	p.h.Variants[p.q.Variant].Eval(a, r)
	done = true
	return nil
}

// collect returns results of the original, and its time.
func (p *replayer[A, R]) collect() {
	c := newChecker(startWatchdog(p.h), 0, "")
	size := 0
	for _, i := range p.picks {
		// Enough results, or no time left.
		if size > p.q.Collect || p.late() {
			return
		}
		c.input.Store(&p.records[i])
		c.limit.Store(int64(originalLimit))
		c.run(0, i, &p.records[i])
		p.out.Cases++
		if c.p[0] != nil {
			continue
		}
		if b, err := Snapshot(nil, &c.r[0]); err == nil {
			p.out.Results = append(p.out.Results, b)
			size += len(b)
		}
	}
}
