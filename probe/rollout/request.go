package rollout

import (
	"context"
	"sync/atomic"
	"time"
)

// A Request is one under way. The program that answers it tells of it, so that failed and slow
// requests count. It is also the token of the request's arm, see [Switch.EnterRequest].
type Request struct {
	arm   Arm
	began time.Duration
	in    *tallies // nil when it is not counted
	drew  *draw    // that gave it the arm; nil when none did
}

// tallies count the requests of each arm.
type tallies struct {
	of [arms]struct {
		all, failed, slow, nanos atomic.Uint64
		_                        [32]byte
	}
}

// requests are counted for the process: only one rollout runs in it.
var requests struct {
	told    atomic.Bool   // the program tells of its requests
	carried atomic.Bool   // it hands their contexts on
	arm     atomic.Uint32 // of slices
	slow    atomic.Int64  // nanoseconds above which a request is slow; 0 for none
	tallies
	draw    atomic.Pointer[draw] // nil unless requests draw their arms
	chooser atomic.Pointer[Chooser]
}

// Begin tells of a request that arrived. A request has no arm of its own then: by requests it runs
// the original and does not count. [BeginContext] gives it one.
func Begin() Request {
	if !requests.told.Load() {
		requests.told.Store(true)
	}
	r := Request{arm: Arm(requests.arm.Load()), began: time.Since(epoch), in: &requests.tallies}
	if requests.draw.Load() != nil {
		r.arm, r.in = Original, nil
	}
	return r
}

// requestKey finds the Request in a context.
type requestKey struct{}

// BeginContext tells of a request that arrived. While a rollout by requests runs, the request draws
// its arm here, once, and the context that it returns hands the arm on to [Switch.EnterContext].
func BeginContext(ctx context.Context) (context.Context, Request) {
	if !requests.carried.Load() {
		requests.carried.Store(true)
	}
	d := requests.draw.Load()
	if d == nil {
		return ctx, Begin()
	}
	r := d.request(ctx)
	return context.WithValue(ctx, requestKey{}, r), r
}

// End tells that it was answered, and whether it failed.
func (r Request) End(failed bool) {
	if r.in == nil {
		return
	}
	of := &r.in.of[r.arm]
	took := time.Since(epoch) - r.began
	of.all.Add(1)
	of.nanos.Add(uint64(max(0, took)))
	if failed {
		of.failed.Add(1)
	}
	if most := requests.slow.Load(); most > 0 && int64(took) > most {
		of.slow.Add(1)
	}
}

// EnterContext is [Switch.Enter] for a function that has the context of its request: by requests it
// gets the arm that the request drew. Without one it runs the original.
func (s *Switch) EnterContext(ctx context.Context) Call {
	w := s.word.Load()
	if w&armBits != perRequest || ctx == nil {
		return s.enter(w, Request{})
	}
	r, _ := ctx.Value(requestKey{}).(Request)
	return s.enter(w, r)
}

// EnterRequest is [Switch.EnterContext] for a function that has the request itself.
func (s *Switch) EnterRequest(r Request) Call { return s.enter(s.word.Load(), r) }
