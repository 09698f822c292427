package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// pair is an agent in both shapes, without sockets.
type pair struct {
	rng         *rand.Rand
	speech      *speech
	plain, fast *agent.Worker
	now         int64
	limits      func(seed uint64) aggregate.Limits
}

func newPair(seed uint64) *pair {
	rng := rand.New(rand.NewPCG(seed, 5))
	// Either few places, so that lines drive others out, or as many as there are lines.
	cache := []int{1, 40, 1000, 1000}[rng.IntN(4)]
	shards := 1 + rng.IntN(3)
	p := &pair{rng: rng, speech: newSpeech(rng), now: 1000}
	p.limits = func(seed uint64) aggregate.Limits {
		l := limits(rand.New(rand.NewPCG(seed, 6)))
		if shards > 1 { // the order among shards decides whose bins get the last bytes
			l.Bytes = 0
		}
		return l
	}
	worker := func(cache int) *agent.Worker {
		in := agent.NewIntake(aggregate.New(shards, p.limits(seed)), "here", 7)
		in.Cache = cache
		return in.Worker()
	}
	p.plain, p.fast = worker(0), worker(cache)
	return p
}

func limits(rng *rand.Rand) aggregate.Limits {
	return aggregate.Limits{
		Contexts: 20 + rng.IntN(200), PerOrigin: 20 + rng.IntN(100), Bytes: 1 << (15 + rng.IntN(6)),
		Timestamped: 50, SetExact: 4, Expiry: 1 + rng.IntN(3),
	}
}

// both does something with both shapes.
func (p *pair) both(do func(*agent.Worker)) {
	do(p.plain)
	do(p.fast)
}

// run sends datagrams, and compares the results now and then.
func (p *pair) run(datagrams int) error {
	for sent := 0; sent < datagrams; {
		p.event()
		batch := [][]byte{p.speech.datagram()}
		for p.rng.IntN(3) > 0 {
			batch = append(batch, p.speech.datagram())
		}
		sent += len(batch)
		if err := p.send(batch); err != nil {
			return fmt.Errorf("after %d datagrams: %w", sent, err)
		}
	}
	p.both(func(w *agent.Worker) { w.SetTagger(nil) })
	return p.flush()
}

// send gives both shapes the datagrams as one batch of the kernel's would.
func (p *pair) send(batch [][]byte) error {
	truncated := p.rng.IntN(50) == 0
	p.both(func(w *agent.Worker) {
		for _, d := range batch {
			w.Read(d, truncated, p.now)
		}
		w.Settle(p.now)
	})
	if p.rng.IntN(200) == 0 {
		return p.flush()
	}
	return nil
}

// event makes one of the changes that happen beside traffic.
func (p *pair) event() {
	switch p.rng.IntN(100) {
	case 0:
		p.now += p.rng.Int64N(12)
	case 1:
		seed := p.rng.Uint64()
		p.both(func(w *agent.Worker) { w.Aggregator.SetLimits(p.limits(seed)) })
	case 2:
		t := p.speech.tagger()
		p.both(func(w *agent.Worker) { w.SetTagger(t) })
	case 3, 4, 5:
		origin, detected := p.speech.sender()
		p.both(func(w *agent.Worker) { w.From(origin, detected, p.now) })
	}
}

// flush closes the bucket in both shapes and compares them.
func (p *pair) flush() error {
	p.now += aggregate.BucketSeconds
	plain, fast := reflect.ValueOf(outcome(p.plain, p.now)), reflect.ValueOf(outcome(p.fast, p.now))
	for i := range plain.NumField() {
		if err := compare(plain.Field(i), fast.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", plain.Type().Field(i).Name, err)
		}
	}
	return nil
}

// compare names the first place where two values differ.
func compare(plain, fast reflect.Value) error {
	if reflect.DeepEqual(plain.Interface(), fast.Interface()) {
		return nil
	}
	if plain.Kind() == reflect.Slice && plain.Len() == fast.Len() {
		for i := range plain.Len() {
			if err := compare(plain.Index(i), fast.Index(i)); err != nil {
				return fmt.Errorf("the one at %d: %w", i, err)
			}
		}
	}
	return fmt.Errorf("plain %+v, fast %+v", plain, fast)
}

// all returns everything that an agent puts out.
type all struct {
	Points   []aggregate.Point
	States   map[string]aggregate.State
	Stats    aggregate.Stats
	Origins  []aggregate.Origin
	Counters []uint64
	Refused  []string
	Events   []string
}

func outcome(w *agent.Worker, now int64) (a all) {
	a.Points = w.Aggregator.Flush(now)
	a.States = make(map[string]aggregate.State)
	for _, s := range w.Aggregator.States() {
		a.States[fmt.Sprintf("%q", s.Context)] = s
	}
	a.Stats = w.Aggregator.Stats()
	a.Origins = w.Aggregator.TopOrigins(100)
	c := &w.Counters
	a.Counters = []uint64{c.Datagrams.Load(), c.Bytes.Load(), c.Truncated.Load(), c.Metrics.Load(), c.Events.Load(),
		c.Checks.Load(), c.Malformed.Load(), c.Warnings.Load()}
	for _, item := range w.Malformed.List() {
		a.Refused = append(a.Refused, item.Item.Error())
	}
	for _, item := range w.Events.List() {
		a.Events = append(a.Events, fmt.Sprintf("%+v", item.Item))
	}
	for _, item := range w.Checks.List() {
		a.Events = append(a.Events, fmt.Sprintf("%+v", item.Item))
	}
	return a
}

// tagger makes tags for the containers that messages name.
func (s *speech) tagger() *tagger.Tagger {
	if s.rng.IntN(4) == 0 {
		return nil
	}
	entities := map[string]tagger.Entity{}
	for _, id := range []string{"c1", "c2", "in-7", "u1"} {
		if s.rng.IntN(2) == 0 {
			entities[id] = tagger.Entity{Low: []string{s.pick(tags)}, High: []string{s.pick(tags), "task:" + id}}
		}
	}
	t, err := tagger.New(s.pick([]string{"none", "low", "high"}), entities)
	if err != nil {
		panic(err) // no tag is empty
	}
	return t
}
