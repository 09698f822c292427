package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A pool does a few things at a time. The first error ends all.
type pool struct {
	ctx   context.Context
	stop  context.CancelCauseFunc
	free  chan struct{}
	group sync.WaitGroup
}

func newPool(ctx context.Context, jobs int) *pool {
	ctx, stop := context.WithCancelCause(ctx)
	return &pool{ctx: ctx, stop: stop, free: make(chan struct{}, jobs)}
}

// do waits for a free place and starts f there.
func (p *pool) do(f func(ctx context.Context) error) {
	select {
	case p.free <- struct{}{}:
	case <-p.ctx.Done():
		return
	}
	p.group.Go(func() {
		defer func() { <-p.free }()
		if err := f(p.ctx); err != nil {
			p.stop(err)
		}
	})
}

// wait waits for all, and returns the first error. kept says whether the results stay for another
// run.
func (p *pool) wait(kept bool) error {
	p.group.Wait()
	defer p.stop(nil)
	if p.ctx.Err() == nil {
		return nil
	}
	err := context.Cause(p.ctx)
	if errors.Is(err, context.Canceled) && kept {
		return errors.New("stopped; the same command goes on where this one ended")
	}
	return err
}

// A shelf holds results in a file of JSON lines, so that a stopped run can go on.
type shelf[T any] struct {
	path string
	mu   sync.Mutex
	kept map[string]*T
}

// openShelf reads the results that key finds a name for.
func openShelf[T any](path string, key func(*T) (name string, ok bool)) (*shelf[T], error) {
	s := &shelf[T]{path: path, kept: map[string]*T{}}
	return s, readLines(path, func(line []byte) error {
		v := new(T)
		if err := json.Unmarshal(line, v); err != nil {
			return err
		}
		if name, ok := key(v); ok {
			s.kept[name] = v
		}
		return nil
	})
}

// get returns the result of a name, or nil.
func (s *shelf[T]) get(name string) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[name]
}

// put keeps a result.
func (s *shelf[T]) put(name string, v *T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[name] = v
	return appendLine(s.path, v)
}

// A shelved result is a line of a shelf.
type shelved[T any] interface {
	*T
	fail(err error) // why nothing is known
	seal()          // removes what names the function of the sealed half
	words() string  // the outcome in a few words
}

// A runner makes the results that its shelf lacks, and reports each.
type runner[T any, R shelved[T]] struct {
	shelf    *shelf[T] // of this build and budget
	progress io.Writer
	sealed   bool   // no name may be printed
	most     string // " of at most 120", or nothing

	mu    sync.Mutex
	ended int
}

// fillIn fills in a result: from the shelf, or by make, whose error is a result too.
func (r *runner[T, R]) fillIn(ctx context.Context, key, name string, into R, make func() error) error {
	if old := r.shelf.get(key); old != nil {
		*into = *old
		r.tell(name, into)
		return nil
	}
	if err := make(); err != nil {
		if ctx.Err() != nil {
			return err
		}
		into.fail(err)
	}
	into.seal()
	r.tell(name, into)
	return r.shelf.put(key, into)
}

// tell reports that a function is done, by name in the development half only.
func (r *runner[T, R]) tell(name string, result R) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended++
	if r.sealed {
		fmt.Fprintf(r.progress, "%d%s\n", r.ended, r.most)
		return
	}
	fmt.Fprintf(r.progress, "%d%s: %s: %s\n", r.ended, r.most, name, result.words())
}

// A report is the output of a verb.
type report interface {
	sum()
	print(w io.Writer) error
}

// finish sums a report and prints it.
func (o *options) finish(r report, out io.Writer) error {
	r.sum()
	if o.json {
		return json.NewEncoder(out).Encode(r)
	}
	return r.print(out)
}
