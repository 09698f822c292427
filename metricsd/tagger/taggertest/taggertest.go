// Package taggertest runs a source of tags in a test, and shows the tags that messages get from it.
package taggertest

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/tag"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// NewStore makes a store that reports changes at once, and soon forgets dropped entities.
func NewStore() *tagger.Store {
	return tagger.NewStore(tagger.StoreOptions{Settle: time.Millisecond, Keep: 200 * time.Millisecond})
}

// Watched holds the latest report of a store.
type Watched struct {
	t   *testing.T
	mu  sync.Mutex
	all map[string]tagger.Entity
}

// Watch runs a source and the store that it feeds, until the test ends.
func Watch(t *testing.T, store *tagger.Store, source func(context.Context)) *Watched {
	t.Helper()
	w := &Watched{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { source(ctx) })
	running.Go(func() {
		store.Run(ctx, func(all map[string]tagger.Entity) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.all = all
		})
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

// Tags returns the tags of a message through a Joiner, as in the agent.
func (w *Watched) Tags(s dogstatsd.Source, own ...string) string {
	w.mu.Lock()
	all := maps.Clone(w.all)
	w.mu.Unlock()
	made, err := tagger.New("low", all)
	if err != nil {
		w.t.Fatal(err)
	}
	joined, _ := tagger.NewJoiner(7).Join(made, own, make([]uint64, len(own)), &s, "")
	return strings.Join(tag.MergeTags(joined, nil), " ")
}

// Eventually waits until a message gets the tags that are wanted.
func (w *Watched) Eventually(s dogstatsd.Source, want string, own ...string) {
	w.t.Helper()
	last := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if last = w.Tags(s, own...); last == want {
			return
		}
	}
	w.t.Fatalf("%+v gets %q, want %q", s, last, want)
}

// Wait waits until something is so.
func Wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within a minute", what)
		}
	}
}

// Stream answers with lines as they come; one that is empty ends the answer.
func Stream(w http.ResponseWriter, r *http.Request, lines <-chan string) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line := <-lines:
			if line == "" {
				return
			}
			w.Write([]byte(line))
			w.(http.Flusher).Flush()
		}
	}
}
