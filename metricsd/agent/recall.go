package agent

import (
	"strings"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// recall is a worker's fast path: a repeated line goes from its value straight to its context.
// Other lines take the worker's slow path, which teaches the cache. Both paths end in the same
// aggregator, and the samples of a context keep their order.
type recall struct {
	worker *Worker
	cache  *cache
	doubt  doubt
	batch  *aggregate.Batch
	values []float64 // of the batch
	now    int64     // of the batch
	learnt cached    // of the last line read, if it may come again
	again  func(*aggregate.KnownSample)
	ahead  [ahead]scanned
	// tagger and expired identify the state for which the cache's handles are valid.
	tagger  *tagger.Tagger
	expired uint64
}

// ahead is how many lines are hashed before the first of them is looked up: independent look-ups
// wait for memory together.
const ahead = 32

// fullBatch bounds the waiting samples, so that they stay in the fastest cache.
const fullBatch = 64

// scanned is a line and its key in the cache.
type scanned struct {
	line, value []byte
	sum         uint64
	split       bool
}

func newRecall(w *Worker, lines int) *recall {
	r := &recall{worker: w, cache: newCache(lines), batch: w.Aggregator.Batch()}
	r.again = r.reread
	return r
}

// read processes the lines of a datagram.
func (r *recall) read(datagram []byte, now int64) {
	r.now = now
	r.renew()
	for len(datagram) > 0 {
		if r.doubt.passed > 0 {
			datagram = r.pass(datagram)
			continue
		}
		n := 0
		for n < len(r.ahead) && len(datagram) > 0 {
			if r.ahead[n].line, datagram = dogstatsd.NextLine(datagram); r.ahead[n].line != nil {
				r.scan(&r.ahead[n])
				n++
			}
		}
		r.take(r.ahead[:n])
	}
}

// renew drops stale entries: all, when containers have other tags, and otherwise those of expired
// contexts.
func (r *recall) renew() {
	if t := r.worker.tagger.Load(); t != r.tagger {
		r.tagger = t
		r.cache.clear()
	}
	if expired := r.worker.Aggregator.Expired(); expired != r.expired {
		r.expired = expired
		r.cache.remake(len(r.cache.sets), func(h aggregate.Handle) bool { return !r.worker.Aggregator.Gone(h) })
	}
}

// pass reads a line on the slow path and does not look it up.
func (r *recall) pass(datagram []byte) (rest []byte) {
	line, rest := dogstatsd.NextLine(datagram)
	if line != nil {
		r.settle(r.now)
		r.doubt.passed--
		r.worker.line(line, r.now)
	}
	return rest
}

func (r *recall) scan(s *scanned) {
	var head, tail []byte
	if head, s.value, tail, s.split = dogstatsd.Split(s.line); s.split {
		s.sum = r.cache.sum(head, tail)
	}
}

// take puts known lines into the batch and reads the others. It empties the batch before it reads
// one.
func (r *recall) take(lines []scanned) {
	found := 0
	for i := range lines {
		s := &lines[i]
		if s.split && r.find(s) {
			found++
			continue
		}
		r.settle(r.now)
		r.study(s)
	}
	r.doubt.note(len(lines), found)
	if r.batch.Len() >= fullBatch {
		r.settle(r.now)
	}
}

// find puts a line's sample into the batch, if the line is known and its value is valid.
func (r *recall) find(s *scanned) bool {
	known := r.cache.find(s.sum)
	if !known.handle.Leads() {
		return false
	}
	if known.rate == isSet {
		k := r.batch.Put()
		k.Handle, k.Line, k.SetValue = known.handle, s.line, strings.ToValidUTF8(string(s.value), "\uFFFD")
		return true
	}
	from := len(r.values)
	values, ok := dogstatsd.AppendValues(r.values, s.value)
	if ok {
		r.values = values
		k := r.batch.Put()
		k.Handle, k.Line, k.Values, k.Rate = known.handle, s.line, values[from:], known.rate
	}
	return ok
}

// study reads a line on the slow path and teaches it to the cache.
func (r *recall) study(s *scanned) {
	r.learnt = cached{}
	r.worker.line(s.line, r.now)
	if s.split && r.learnt.handle.Leads() {
		r.cache.put(s.sum, r.learnt)
	}
}

// learn stores the slow path's result, for later lines that differ only in their value. It skips a
// line with a timestamp, which does not come again, and one with warnings, which each such line
// must repeat.
func (r *recall) learn(h aggregate.Handle, m *dogstatsd.Metric) {
	if m.Timestamp != 0 || len(m.Warnings) > 0 {
		return
	}
	r.learnt = cached{handle: h, rate: m.Rate}
	if m.Type == dogstatsd.Set {
		r.learnt.rate = isSet
	}
}

// settle hands the waiting samples to the aggregator.
func (r *recall) settle(now int64) {
	if r.batch.Len() == 0 {
		return
	}
	added := uint64(r.batch.Take(now, r.again))
	r.worker.Counters.Metrics.Add(added)
	r.worker.Counters.Known.Add(added)
	r.values = r.values[:0]
}

// reread sends a line whose context has expired through the slow path, which makes the context
// anew.
func (r *recall) reread(k *aggregate.KnownSample) {
	s := scanned{line: k.Line}
	r.scan(&s)
	r.study(&s)
}
