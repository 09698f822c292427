package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// An Env is a place to measure in. One timing runs at a time: two at once would measure each
// other.
type Env struct {
	Box     *sandbox.Sandbox
	Builder *harness.Builder
	Dir     string       // scratch directory, made when needed, the caller's to remove
	CPU     int          // processor to pin timed processes to; -1 for none
	Score   beagle.Score // that [Screen] compares; zero is the time

	files atomic.Int64
	clock sync.Mutex // held while a process is timed
	mu    sync.Mutex
	known map[listed]string // files of records that were written
}

// A process gets this wall time: a part for loading and calibrating, and for each set several times
// its budget, as package rt may overdraw it, or the patience with a slow function and a round more.
const (
	grace        = 60 * time.Second
	maxOverdraft = 20
	patience     = 40 * time.Second
)

// run times a request in a fresh process.
func (e *Env) run(
	ctx context.Context, bin *harness.Binary, q *rt.Time, files map[string]string,
) (*rt.TimeReply, string, error) {
	e.clock.Lock()
	defer e.clock.Unlock()
	return e.process(ctx, bin, q, harness.RunOptions{Files: files})
}

// runBoth times two requests in processes of their own, which take turns.
func (e *Env) runBoth(
	ctx context.Context, bin *harness.Binary, qs [2]*rt.Time, files map[string]string,
) (replies [2]*rt.TimeReply, failure string, err error) {
	// The clock is for one measurement at a time: two would disturb each other.
	e.clock.Lock()
	defer e.clock.Unlock()
	// The processes meet in a file that both have mapped, where they take turns.
	meeting := e.path("meeting")
	if err := os.WriteFile(meeting, make([]byte, 8), 0o600); err != nil {
		return replies, "", err
	}
	defer os.Remove(meeting)
	var failures [2]string
	g, ctx := errgroup.WithContext(ctx)
	for i, q := range qs {
		q.Turns.Meet = filepath.Base(meeting)
		g.Go(func() (err error) {
			replies[i], failures[i], err = e.process(ctx, bin, q, harness.RunOptions{
				Files:  files,
				Shared: map[string]string{q.Turns.Meet: meeting},
			})
			return err
		})
	}
	// Return the original's failure first, because it explains the other.
	if err = g.Wait(); failures[0] != "" {
		return replies, "the original: " + failures[0], err
	}
	return replies, failures[1], err
}

// process runs a process to its end. The caller holds the clock.
func (e *Env) process(
	ctx context.Context, bin *harness.Binary, q *rt.Time, o harness.RunOptions,
) (*rt.TimeReply, string, error) {
	o.Wall, o.CPU = grace+time.Duration(q.Profile), e.CPU
	for _, s := range q.Sets {
		o.Wall += max(time.Duration(maxOverdraft*s.Budget), patience)
	}
	var reply rt.TimeReply
	exit, err := bin.Run(ctx, e.Box, &rt.Request{Time: q}, &reply, o)
	if err != nil {
		return nil, "", fmt.Errorf("timing: %w", err)
	}
	if exit != nil {
		return nil, cmp.Or(exit.Kind, "died") + ": " + exit.Detail, nil
	}
	return &reply, "", nil
}

// path returns a new name in the scratch directory.
func (e *Env) path(name string) string {
	return filepath.Join(e.Dir, strconv.FormatInt(e.files.Add(1), 10)+"-"+name)
}

// records writes a record file for the harness.
func (e *Env) records(rs []beagle.Record) (string, error) {
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		return "", err
	}
	path := e.path("records")
	return path, harness.WriteRecords(path, rs)
}

// timed returns the records that stand for the target's work.
func timed(c *beagle.Corpus) []beagle.Record {
	if len(c.Train) == 0 {
		return c.Generated
	}
	return c.Train
}

// inputs returns a request over sets of records, with their files. The same records always get
// the same file.
func (e *Env) inputs(c *beagle.Corpus, sets ...[]beagle.Record) (q rt.Time, files map[string]string, err error) {
	q = rt.Time{Seed: 1, Mutates: len(c.Facets.Mutates) > 0, SkipPanics: c.Facets.Panics > 0}
	files = map[string]string{}
	for i, records := range sets {
		name := "set" + strconv.Itoa(i)
		if files[name], err = e.recordsFile(records); err != nil {
			return q, nil, err
		}
		q.Sets = append(q.Sets, rt.TimeSet{Records: name})
	}
	return q, files, nil
}

// recordsFile returns the file of records that stay as they are.
func (e *Env) recordsFile(rs []beagle.Record) (string, error) {
	if len(rs) == 0 {
		return e.records(rs)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Records that were written before have their file.
	key := listed{&rs[0], len(rs)}
	if path := e.known[key]; path != "" {
		return path, nil
	}
	path, err := e.records(rs)
	if err != nil {
		return "", err
	}
	if e.known == nil {
		e.known = map[listed]string{}
	}
	e.known[key] = path
	return path, nil
}

// listed identifies a list of records in this process.
type listed struct {
	first *beagle.Record
	n     int
}

// Screen compares the variants idx of a binary with its variant 0, quickly. The result has an
// entry for each of idx; the zero Ratio stands for a variant that killed the process. The
// intervals are those of this binary alone; another layout may give other ratios.
func Screen(
	ctx context.Context, e *Env, bin *harness.Binary, idx []int, c *beagle.Corpus, budget time.Duration,
) ([]beagle.Ratio, error) {
	if len(idx) == 0 {
		return nil, nil
	}
	q, files, err := e.inputs(c, timed(c))
	if err != nil {
		return nil, err
	}
	return screen(ctx, e.runs(bin, files), idx, q, budget, e.Score)
}

// ScreenSets does what Screen does on each of some sets of a corpus's inputs, in one process. The
// budget is that of a set, and the result has an entry for each: nil for a set on all of whose
// inputs the original panics.
func ScreenSets(
	ctx context.Context, e *Env, bin *harness.Binary, idx []int, c *beagle.Corpus, sets [][]beagle.Record,
	budget time.Duration,
) ([][]beagle.Ratio, error) {
	if len(idx) == 0 || len(sets) == 0 {
		return nil, nil
	}
	q, files, err := e.inputs(c, sets...)
	if err != nil {
		return nil, err
	}
	for i := range q.Sets {
		q.Sets[i].Budget, q.Sets[i].Optional = int64(budget), true
	}
	return screenSets(ctx, e.runs(bin, files), idx, q, e.Score)
}

// runs times requests in a binary.
func (e *Env) runs(bin *harness.Binary, files map[string]string) timeFunc {
	return func(ctx context.Context, q *rt.Time) (*rt.TimeReply, string, error) {
		return e.run(ctx, bin, q, files)
	}
}

// profileTime is long enough for some hundred samples on common kernels.
const profileTime = 400 * time.Millisecond

// TakeProfile takes a CPU profile of variant 0.
func TakeProfile(ctx context.Context, e *Env, bin *harness.Binary, c *beagle.Corpus) (*Profile, error) {
	q, files, err := e.inputs(c, timed(c))
	if err != nil {
		return nil, err
	}
	q.Variants, q.Profile = []int{0}, int64(profileTime)
	reply, failure, err := e.run(ctx, bin, &q, files)
	if err != nil {
		return nil, err
	}
	if failure != "" {
		return nil, fmt.Errorf("the original cannot be profiled: %s", failure)
	}
	return ReadProfile(reply.Profile)
}
