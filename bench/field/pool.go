package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// A pool does some things at a time. The first error ends all.
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

// wait waits for all. kept says whether the results stay for another run.
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

// A shelf holds results in a file of JSON lines, so that a run that was stopped
// goes on where it ended.
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
