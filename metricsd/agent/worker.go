package agent

import (
	"bytes"
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/contextkey"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// Counters are the joint counts of all workers.
type Counters struct {
	Datagrams, Bytes, Truncated    atomic.Uint64
	Metrics, Events, Checks        atomic.Uint64
	Malformed, Warnings, Frames    atomic.Uint64
	FramesRefused, ConnectionsFull atomic.Uint64
	InternerMisses                 atomic.Uint64
	// Known counts the metrics whose line the cache knew.
	Known atomic.Uint64
}

// Intake holds the state that workers share.
type Intake struct {
	Aggregator *aggregate.Aggregator
	// Host is for metrics that do not name one.
	Host string
	// Cache is the least number of lines that each worker's cache holds; 0 means none.
	Cache    int
	Counters Counters
	// Malformed holds lines that were dropped, and parts of lines that were.
	Malformed Recent[*dogstatsd.SyntaxError]
	Events    Recent[dogstatsd.Event]
	Checks    Recent[dogstatsd.Check]
	seed      uint64
	tagger    atomic.Pointer[tagger.Tagger] // nil when no tags are added
	waiting   *pendingItems                 // nil if no output takes events and checks
	idle      sync.Pool                     // of *Worker, see Frame
}

// NewIntake makes the shared part; seed is for the context keys.
func NewIntake(a *aggregate.Aggregator, host string, seed uint64) *Intake {
	return &Intake{Aggregator: a, Host: host, seed: seed}
}

// SetTagger sets the tags that containers add from now on; nil for none.
func (in *Intake) SetTagger(t *tagger.Tagger) { in.tagger.Store(t) }

// Worker reads datagrams. It is for one goroutine.
type Worker struct {
	*Intake
	parser    *dogstatsd.Parser
	generator *contextkey.Generator
	joiner    *tagger.Joiner
	metric    dogstatsd.Metric
	sample    aggregate.Sample
	// origin is the network that the datagram came by, detected the container of the process that
	// sent it, if that is known.
	origin, detected string
	misses           uint64 // of the parser's interner, those that are counted
	recall           *recall
}

// Worker makes a worker.
func (in *Intake) Worker() *Worker {
	w := &Worker{
		Intake:    in,
		parser:    dogstatsd.NewParser(0, in.seed),
		generator: contextkey.NewGenerator(in.seed),
		joiner:    tagger.NewJoiner(in.seed),
	}
	if in.Cache > 0 {
		w.recall = newRecall(w, in.Cache)
	}
	return w
}

// Frame takes one frame of a stream, from a process in the container detected, if that is known.
// Workers move from connection to connection. Otherwise each connection would hold the 270 KB of a
// parser's strings, and one worker for each processor is enough.
func (in *Intake) Frame(frame []byte, detected, origin string, now int64) {
	w, ok := in.idle.Get().(*Worker)
	if !ok {
		w = in.Worker()
	}
	defer in.idle.Put(w)
	w.From(origin, detected, now)
	w.Counters.Frames.Add(1)
	w.Read(frame, false, now)
	w.Settle(now)
}

// Datagram takes one datagram that came from origin at now, in Unix seconds.
func (w *Worker) Datagram(datagram []byte, truncated bool, origin string, now int64) {
	w.From(origin, w.detected, now)
	w.Read(datagram, truncated, now)
	w.Settle(now)
}

// From sets where the next datagrams come from: the network, and the container of the process that
// sent them, if that is known.
func (w *Worker) From(origin, detected string, now int64) {
	if origin == w.origin && detected == w.detected {
		return
	}
	w.Settle(now)
	w.origin, w.detected = origin, detected
	if w.recall != nil {
		w.recall.cache.salted(detected)
	}
}

// Read takes one datagram that arrived at now. Until Settle, some of it may wait in memory and in
// the datagram.
func (w *Worker) Read(datagram []byte, truncated bool, now int64) {
	w.Counters.Datagrams.Add(1)
	w.Counters.Bytes.Add(uint64(len(datagram)))
	if truncated {
		w.Counters.Truncated.Add(1)
		datagram = datagram[:bytes.LastIndexByte(datagram, '\n')+1]
	}
	if w.recall != nil {
		w.recall.read(datagram, now)
	} else {
		w.lines(datagram, now)
	}
	if misses := w.parser.Interner().Misses(); misses != w.misses {
		w.Counters.InternerMisses.Add(misses - w.misses)
		w.misses = misses
	}
}

// Settle finishes the work that Read left.
func (w *Worker) Settle(now int64) {
	if w.recall != nil {
		w.recall.settle(now)
	}
}

func (w *Worker) lines(datagram []byte, now int64) {
	for line := range dogstatsd.Lines(datagram) {
		w.line(line, now)
	}
}

func (w *Worker) line(line []byte, now int64) {
	var err error
	switch dogstatsd.KindOf(line) {
	case dogstatsd.KindEvent:
		err = w.event(line, now)
	case dogstatsd.KindCheck:
		err = w.check(line, now)
	default:
		err = w.metricLine(line, now)
	}
	if err != nil {
		w.Counters.Malformed.Add(1)
		w.Malformed.Add(err.(*dogstatsd.SyntaxError))
	}
}

// metricLine aggregates a line that no cache knew. It is the slow way, but all of it is in memory
// of the worker: a line costs no allocation once its strings are interned.
func (w *Worker) metricLine(line []byte, now int64) error {
	m := &w.metric
	if err := w.parser.Metric(line, m); err != nil {
		return err
	}
	w.Counters.Metrics.Add(1)
	w.warn(m.Warnings)
	// Tags of the container are part of the key, so they are joined first.
	host := w.host(&m.Source)
	tags, hashes := m.Tags, w.parser.TagHashes()
	if t := w.tagger.Load(); t != nil {
		tags, hashes = w.joiner.Join(t, tags, hashes, &m.Source, w.detected)
	}
	// The parser hashed each tag when it interned it, so that the key needs no byte of a tag again.
	key, tags := w.generator.KeyHashed(m.Name, host, tags, hashes)
	w.sample = aggregate.Sample{
		Key: key,
		Context: aggregate.Context{
			Name: m.Name, Host: host, Tags: tags, Type: m.Type,
			Origin: cmp.Or(m.Source.ContainerID, m.Source.PodUID, m.Source.EntityID, w.detected, w.origin),
		},
		Values: m.Values, SetValue: m.SetValue, Rate: m.Rate, Timestamp: m.Timestamp,
	}
	handle := w.Aggregator.Add(&w.sample, now)
	// A repeat of this line, other than in its value, finds the handle without being parsed.
	if w.recall != nil {
		w.recall.learn(handle, m)
	}
	return nil
}

// tagged merges the tags of an event or a check with those of its sender.
func (w *Worker) tagged(tags []string, s *dogstatsd.Source) []string {
	t := w.tagger.Load()
	if t == nil {
		return tags
	}
	return w.joiner.Merge(t, tags, s, w.detected)
}

// host returns the one that a message asks for, or the agent's.
func (w *Worker) host(s *dogstatsd.Source) string {
	if s.HostSet {
		return s.Host
	}
	return w.Host
}

func (w *Worker) event(line []byte, now int64) error {
	e, err := w.parser.Event(line)
	if err != nil {
		return err
	}
	w.Counters.Events.Add(1)
	w.warn(e.Warnings)
	e.Tags = w.tagged(e.Tags, &e.Source)
	w.Events.Add(e)
	if w.waiting != nil {
		e.Timestamp, e.Source.Host = cmp.Or(e.Timestamp, now), w.host(&e.Source)
		w.waiting.event(e, len(line))
	}
	return nil
}

func (w *Worker) check(line []byte, now int64) error {
	c, err := w.parser.Check(line)
	if err != nil {
		return err
	}
	w.Counters.Checks.Add(1)
	w.warn(c.Warnings)
	c.Tags = w.tagged(c.Tags, &c.Source)
	w.Checks.Add(c)
	if w.waiting != nil {
		c.Timestamp, c.Source.Host = cmp.Or(c.Timestamp, now), w.host(&c.Source)
		w.waiting.check(c, len(line))
	}
	return nil
}

func (w *Worker) warn(warnings []*dogstatsd.SyntaxError) {
	for _, warning := range warnings {
		w.Counters.Warnings.Add(1)
		w.Malformed.Add(warning)
	}
}
