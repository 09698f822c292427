package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/beagle-go/beagle/metricsd/intake/history"
)

// A point is an item of the queue's messages: a metric's name and its number in the back end. It
// has the size of Datadog's.
type point struct {
	name  string
	id    int
	value float64
	time  int64
	host  int
}

// intake compares the ways of the third post: a map of names or of numbers holds what is known, and
// goroutines hand on points or whole messages. One goroutine reads the queue, one looks names up
// and enters new ones, one counts in the cache.
func intake(o *options, args []string) error {
	names := o.flags.Int("names", 100_000, "names of metrics")
	each := o.flags.Int("message", 128, "points of a message")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	messages := pointMessages(*names, *each)
	t := &table{
		Name: fmt.Sprintf("The intake: ns a point, %d names, messages of %d points", *names, *each),
		Columns: []string{"known by, handed on", "ns", "times as fast as names, points",
			"as its neighbour above"},
	}
	// Keep a sink over the turns, as the intake does: all but the first turn have known names.
	var failed error
	run := func(single bool, fresh func() pointSink) func(int) {
		sink := fresh()
		all := 0
		return func(n int) {
			count := (n + *each - 1) / *each
			before := sink.counted()
			if single {
				singly(messages, all, count, sink)
			} else {
				wholly(messages, all, count, sink)
			}
			all += count
			// Every point must arrive: otherwise a way that loses points between goroutines would
			// win.
			if got := sink.counted() - before; got != count**each {
				failed = fmt.Errorf("%d points of %d were counted", got, count**each)
			}
		}
	}
	byName := func() pointSink { return &nameSink{known: map[string]struct{}{}, cache: map[string]*cached{}} }
	byNumber := func() pointSink { return &numberSink{known: map[int]*cached{}, cache: map[int]*cached{}} }
	kept := func() pointSink {
		return &historySink{known: history.New(4 * *names), cache: map[uint64]*cached{}}
	}
	// Each way changes one thing, from the first post's way to metricsd's. The last column shows
	// the effect of that change.
	ways := []way{
		{name: "names, points", run: run(true, byName)},
		{name: "numbers, points", run: run(true, byNumber)},
		{name: "names, messages", run: run(false, byName)},
		{name: "numbers, messages", run: run(false, byNumber)},
		{name: "metricsd: hashes of names with stamps, messages", run: run(false, kept)},
	}
	all := o.times(ways...)
	for i, w := range append(ways, way{name: again}) {
		t.add(w.name, median(all[i]), ratioOf(all[0], all[i]), ratioOf(all[max(0, i-1)], all[i]))
	}
	return errors.Join(failed, o.print(t))
}

func pointMessages(names, each int) [][]point {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := hierarchical(names)
	messages := make([][]point, max(64, 2*names/each))
	for i := range messages {
		messages[i] = make([]point, each)
		for j := range messages[i] {
			id := rng.IntN(names)
			messages[i][j] = point{texts[id], id, 1, int64(i), id % 40}
		}
	}
	return messages
}

// singly hands on points one by one.
func singly(messages [][]point, from, n int, sink pointSink) {
	read, known := make(chan point, 256), make(chan point, 256)
	var done sync.WaitGroup
	done.Go(func() {
		for p := range read {
			sink.know(&p)
			known <- p
		}
		close(known)
	})
	done.Go(func() {
		for p := range known {
			sink.count(&p)
		}
	})
	for i := range n {
		for _, p := range messages[(from+i)%len(messages)] {
			read <- p
		}
	}
	close(read)
	done.Wait()
}

// wholly hands on messages.
func wholly(messages [][]point, from, n int, sink pointSink) {
	read, known := make(chan []point, 16), make(chan []point, 16)
	var done sync.WaitGroup
	done.Go(func() {
		for m := range read {
			for i := range m {
				sink.know(&m[i])
			}
			known <- m
		}
		close(known)
	})
	done.Go(func() {
		for m := range known {
			for i := range m {
				sink.count(&m[i])
			}
		}
	})
	for i := range n {
		read <- messages[(from+i)%len(messages)]
	}
	close(read)
	done.Wait()
}

// A pointSink knows metrics and counts their points. Each of the two is for one goroutine.
type pointSink interface {
	know(*point)
	count(*point)
	counted() int
}

// cached is the count of a metric.
type cached struct {
	name   string
	points int
}

type nameSink struct {
	known map[string]struct{}
	cache map[string]*cached
	n     int
}

func (s *nameSink) know(p *point) { s.known[p.name] = struct{}{} }
func (s *nameSink) count(p *point) {
	s.n++
	c := s.cache[p.name]
	if c == nil {
		c = &cached{name: p.name}
		s.cache[p.name] = c
	}
	c.points++
}
func (s *nameSink) counted() int { return s.n }

type numberSink struct {
	known, cache map[int]*cached
	n            int
}

func (s *numberSink) know(p *point) {
	if s.known[p.id] == nil {
		s.known[p.id] = &cached{name: p.name}
	}
}
func (s *numberSink) count(p *point) {
	s.n++
	c := s.cache[p.id]
	if c == nil {
		c = &cached{name: p.name}
		s.cache[p.id] = c
	}
	c.points++
}
func (s *numberSink) counted() int { return s.n }

// historySink has no numbers from a back end, and makes them of the names.
type historySink struct {
	known *history.Set
	cache map[uint64]*cached
	n     int
}

func (s *historySink) know(p *point) {
	key := s.known.Key(0, p.name)
	s.known.See(key, 1)
	p.id = int(key)
}
func (s *historySink) count(p *point) {
	s.n++
	c := s.cache[uint64(p.id)]
	if c == nil {
		c = &cached{name: p.name}
		s.cache[uint64(p.id)] = c
	}
	c.points++
}
func (s *historySink) counted() int { return s.n }
