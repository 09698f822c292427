package inplace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/inplace/live"
)

// groupSlice is the length of a slice in which one of several processes runs. Its data has left the
// processor's caches when its next slice begins, so a slice must be long.
const groupSlice = time.Millisecond

// alternate times versions in processes of their own, which take turns in one benchmark.
func (c *clock) alternate(ctx context.Context, t timing) (*sliceResult, error) {
	versions := t.versions
	dir, err := os.MkdirTemp(c.dir, "turns")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// Each process waits at a pipe of its own for its turn.
	for i := range versions {
		if err := makePipe(filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	ends, cancel := context.WithCancel(ctx)
	defer cancel()
	runs, errs := make([]*ran, len(versions)), make([]error, len(versions))
	var wg sync.WaitGroup
	// Start all processes. One that ends early ends all.
	for i, v := range versions {
		j := c.job(t, live.Plan{
			Mode: live.Alternate, Version: v, Slice: int64(groupSlice),
			Turns: &live.Turns{Dir: dir, Own: i, Of: len(versions)},
		})
		j.share = dir
		wg.Go(func() {
			if runs[i], errs[i] = c.run(ends, t.program, j); errs[i] != nil || !timeUp(runs[i]) {
				cancel() // the others would wait for its baton
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return joinTurns(t.bench, t.budget, runs, errs)
}

// timeUp reports whether a process ended because the time was up.
func timeUp(r *ran) bool {
	return len(r.lines) > 0 && r.lines[len(r.lines)-1].Done
}

// joinTurns joins the reports of the processes. If one ended early, all end.
func joinTurns(b timedBenchmark, budget time.Duration, runs []*ran, errs []error) (*sliceResult, error) {
	out := newSliceResult(len(runs))
	for v, r := range runs {
		if r == nil {
			continue // it was canceled
		}
		if !timeUp(r) && out.failure == "" {
			out.failure = fmt.Sprintf("%s gives no slices in %v: %s", b.name, budget, describeEnd(r))
			out.early = r.OK()
		}
		reports := 0.0
		for _, l := range r.lines {
			if s := l.Slices; s != nil {
				reports++
				out.calls = s.Calls
				out.wall[v], out.cpu[v] = append(out.wall[v], s.Wall[0]...), append(out.cpu[v], s.CPU[0]...)
				out.allocs[v] += s.Allocs[0]
				out.bytes[v] += s.Bytes[0]
			}
		}
		out.allocs[v] /= math.Max(reports, 1)
		out.bytes[v] /= math.Max(reports, 1)
	}
	if out.failure != "" {
		return out, nil
	}
	for _, err := range errs { // the others were canceled because of it
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	for v, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("version %d in %s: %w", v, b.name, err)
		}
		if len(out.wall[v]) == 0 {
			out.failure, out.early = fmt.Sprintf("%s gives no slices in %v", b.name, budget), true
		}
	}
	return out, nil
}
