package rollout

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A Chooser gives a request its arm in place of chance, such as a provider of feature flags. It is
// asked once for each request, while a rollout by requests runs. After an error the request runs
// the original and does not count.
//
// A chooser must assign each request anew, by chance: an arm that belongs to a user compares users.
type Chooser func(ctx context.Context) (Arm, error)

// Choose has c give requests their arms from now on; nil goes back to chance. The arms must get the
// shares that Beagle's OFREP endpoint gives them: the candidate its share of the traffic, the
// placebo as much where that is left, and the original the rest.
func Choose(c Chooser) {
	if c == nil {
		requests.chooser.Store(nil)
		return
	}
	requests.chooser.Store(&c)
}

// A draw gives requests their arms. With every change of the shares a new one begins, so that
// requests of different shares are not added up.
type draw struct {
	tallies
	kind    []Arm
	share   [arms]float64 // of the traffic
	counted float64       // share of the traffic that each arm counts: the smallest of them
	run     *run          // its rollout
}

// misses are the requests of a rollout for which the chooser had no arm.
type misses struct {
	mu  sync.Mutex
	n   int    // since they were taken
	why string // of the last of them
}

// add enters a request without an arm.
func (m *misses) add(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	m.why = err.Error()
}

// take returns the number of misses since the last call, and the latest reason.
func (m *misses) take() (n int, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, m.n = m.n, 0
	return n, m.why
}

// newDraw gives the candidate its share, the placebo as much where that is left, and the original
// the rest.
func newDraw(o wire.RolloutOrders, r *run) *draw {
	d := &draw{run: r}
	d.kind, _ = armsOf(o.Arms[0])
	others := float64(len(d.kind) - 1)
	part := min(o.Share, (1-o.Share)/others)
	d.share[Candidate], d.share[Original] = o.Share, 1-o.Share
	d.counted = part
	switch {
	case !slices.Contains(d.kind, Placebo):
	case !slices.Contains(d.kind, Original):
		d.share[Placebo], d.share[Original] = 1-o.Share, 0
	default:
		d.share[Placebo], d.share[Original] = part, 1-o.Share-part
	}
	return d
}

// fits reports whether orders mean the same shares.
func (d *draw) fits(o wire.RolloutOrders) bool {
	other := newDraw(o, nil)
	return slices.Equal(d.kind, other.kind) && d.share == other.share
}

// request draws an arm, and whether the request counts: every arm counts the same share of the
// traffic, so that chance treats them alike.
func (d *draw) request(ctx context.Context) Request {
	arm, err := d.choose(ctx)
	r := Request{arm: arm, began: time.Since(epoch), drew: d}
	if err != nil {
		d.run.misses.add(err)
		return r
	}
	if share := d.share[arm]; slices.Contains(d.kind, arm) && rand.Float64()*share < d.counted {
		r.in = &d.tallies
	}
	return r
}

func (d *draw) choose(ctx context.Context) (Arm, error) {
	if c := requests.chooser.Load(); c != nil {
		arm, err := (*c)(ctx)
		if err != nil || arm >= arms {
			arm = Original
		}
		return arm, err
	}
	at := rand.Float64()
	for _, arm := range d.kind {
		if at -= d.share[arm]; at < 0 {
			return arm, nil
		}
	}
	return Original, nil
}

// armIn returns the arm of the request's calls while its draw is the current one, and whether they
// count. When the shares change, a request keeps its arm and stops counting: it was drawn by other
// shares. A request of another rollout, or of none, drew between other versions and runs the
// original.
func (r Request) armIn(d *draw) (arm Arm, counts bool) {
	if d == nil || r.drew == nil || r.drew.run != d.run {
		return Original, false
	}
	return r.arm, r.in == &d.tallies
}

// Bounds of a block of requests.
const (
	leastRequests = 100 // of each arm
	longestBlock  = 30 * time.Second
)

// draws lets requests draw their arms until the rollout is over.
func (r *run) draws() {
	var d *draw
	for {
		r.process.mu.Lock()
		o := r.orders
		r.process.mu.Unlock()
		if d == nil || !d.fits(o) {
			if d = newDraw(o, r); !r.deal(d) {
				return
			}
		}
		if !r.block(o, d) {
			return
		}
	}
}

// deal begins a draw. It returns false when the rollout is over.
func (r *run) deal(d *draw) bool {
	r.process.mu.Lock()
	defer r.process.mu.Unlock()
	if r.process.run != r {
		return false
	}
	requests.draw.Store(d)
	return r.open(perRequest)
}

// block lets the arms serve requests side by side for a while, and publishes the result. It gives
// up a block whose shares changed.
func (r *run) block(o wire.RolloutOrders, d *draw) bool {
	// Read the counters at the start.
	start, before := time.Now(), d.read(r.function)
	// Wait until the block has enough calls of each version.
	least := time.Duration(o.Slice * float64(o.Turns*len(d.kind)) * float64(time.Millisecond))
	for {
		if !r.wait(least) {
			return false
		}
		r.process.mu.Lock()
		changed := !d.fits(r.orders)
		r.process.mu.Unlock()
		if changed {
			return true
		}
		if since := time.Since(start); since >= longestBlock || d.hasEnough(&before) {
			break
		}
	}
	// Publish the differences.
	b, end, after := &wire.RolloutBlock{ID: r.stream}, time.Now(), d.read(r.function)
	for _, arm := range d.kind {
		s := wire.RolloutSlice{Arm: armNames[arm], Pod: r.pod, Build: r.function.build, Start: start, End: end}
		byRequest(&s, before[arm], after[arm])
		b.Planned, b.Slices = append(b.Planned, armNames[arm]), append(b.Slices, s)
	}
	r.publish(b)
	return r.function.faults.Load() == nil
}

// read reads the requests of all arms at one moment, and then what belongs to no ratio of arms.
func (d *draw) read(s *Switch) (now [arms]reading) {
	atOnce(func() {
		for arm := range now {
			of := &d.of[arm]
			now[arm].all, now[arm].failed = of.all.Load(), of.failed.Load()
			now[arm].slow, now[arm].nanos = of.slow.Load(), of.nanos.Load()
		}
	})
	for arm := range now {
		now[arm].arm, now[arm].times = s.compared(Arm(arm)), s.timesOf(Arm(arm))
	}
	return now
}

// A moment is longer than a look at the counters takes that was not interrupted.
const moment = 10 * time.Microsecond

// atOnce looks once more after a look that was interrupted, up to ten times. Requests go on
// meanwhile, so the arm that is read last would seem to have too many of them: a mismatch of
// samples.
func atOnce(look func()) {
	for range 10 {
		began := time.Now()
		if look(); time.Since(began) < moment {
			return
		}
	}
}

// hasEnough reports whether each arm has had its least number of requests.
func (d *draw) hasEnough(before *[arms]reading) bool {
	for _, arm := range d.kind {
		if d.of[arm].all.Load()-before[arm].all < leastRequests {
			return false
		}
	}
	return true
}

// byRequest enters what happened between two readings. Figures of the whole process belong to no
// arm.
func byRequest(out *wire.RolloutSlice, a, b reading) {
	out.Counts = wire.RolloutCounts{Slices: 1}
	enterRequests(&out.Counts, &a, &b)
	enterTimes(&out.Counts, &a.times, &b.times)
	out.Panics = int(b.arm.panics - a.arm.panics)
	out.Mismatches = int(b.arm.mismatches - a.arm.mismatches)
}
