package rollout

import (
	"sync/atomic"
	"time"
)

// A Request is one under way. The program that answers it tells of it, so that failed and slow
// requests count.
type Request struct {
	arm   Arm
	began time.Duration
}

// requests are counted for the process: only one rollout runs in it.
var requests struct {
	told atomic.Bool
	arm  atomic.Uint32
	slow atomic.Int64 // nanoseconds above which a request is slow; 0 for none
	of   [arms]struct {
		all, failed, slow atomic.Uint64
		_                 [40]byte
	}
}

// Begin tells of a request that arrived.
func Begin() Request {
	if !requests.told.Load() {
		requests.told.Store(true)
	}
	return Request{Arm(requests.arm.Load()), time.Since(epoch)}
}

// End tells that it was answered, and whether it failed.
func (r Request) End(failed bool) {
	of := &requests.of[r.arm]
	of.all.Add(1)
	if failed {
		of.failed.Add(1)
	}
	if most := requests.slow.Load(); most > 0 && int64(time.Since(epoch)-r.began) > most {
		of.slow.Add(1)
	}
}
