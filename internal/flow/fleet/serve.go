package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A Session holds the parameters for opening a [Backend].
type Session struct {
	Store   *store.Store
	Server  Server
	Watch   flow.Watcher
	Process int // of the beagle that asks
}

// Serve reads a request, has a backend do it and writes the messages. It is the main function of
// beagle-temporal, and returns its exit status. It stops the backend when in or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, open func(Session) Backend) int {
	says := &sayer{to: json.NewEncoder(out)}
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		err = &beagle.UsageError{
			What:   "beagle-temporal works for 'beagle' alone, which asks it for runs on a Temporal server",
			Remedy: "run 'beagle evolve --temporal host:port' or 'beagle worker --temporal host:port' (docs/fleet.md)",
		}
		says.say(message{End: endOf(nil, err)})
		return 2
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, lines) // the reader has gone
		stop()
	}()
	result, err := answer(ctx, line, says, open)
	says.say(message{End: endOf(result, err)})
	if err != nil {
		return 1
	}
	return 0
}

// answer carries out a request.
func answer(ctx context.Context, line []byte, says *sayer, open func(Session) Backend) (any, error) {
	// Read the request. Both programs must speak the same protocol.
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("the request of beagle cannot be read: %w", err)
	}
	if r.Protocol != protocol {
		return nil, mismatch(r.Protocol)
	}
	// Open the backend, which reports to beagle.
	s, err := store.Open(r.Home)
	if err != nil {
		return nil, err
	}
	e := open(Session{
		Store:   s,
		Server:  r.Server,
		Process: r.Process,
		Watch:   func(e flow.Event) { says.say(message{Event: &e}) },
	})
	// Do what the verb says.
	switch r.Verb {
	case start:
		if r.Spec == nil {
			return nil, errors.New("the request of beagle has no spec")
		}
		return e.Start(ctx, r.Run, *r.Spec)
	case resume:
		return e.Resume(ctx, r.Run)
	case cancel:
		return nil, e.Cancel(ctx, r.Run, r.Enough)
	case campaign:
		return nil, e.Campaign(ctx, r.Run)
	case rollout:
		return nil, e.Rollout(ctx, r.Run)
	case rolloutStatus:
		return e.RolloutStatus(ctx, r.Run)
	case stopRollout:
		return nil, e.StopRollout(ctx, r.Run)
	case work:
		return nil, e.Work(ctx, r.Kinds)
	}
	return nil, fmt.Errorf("beagle asks for %q, which beagle-temporal does not know", r.Verb)
}

// A sayer writes lines for one reader, from any goroutine.
type sayer struct {
	mu sync.Mutex
	to *json.Encoder
}

func (s *sayer) say(r message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.to.Encode(r) // a reader that is gone has closed the input too
}
