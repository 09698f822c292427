package aggregate

// Handle leads to a context without its key: to its entry in an aggregator. The zero Handle leads
// nowhere. A handle keeps its entry in memory, also when the context has expired since: who keeps
// handles lets go of those that are [Aggregator.Gone].
type Handle struct{ entry *entry }

// Leads reports whether there is a context behind the handle, or was.
func (h Handle) Leads() bool { return h.entry != nil }

// Gone reports whether the handle's context has expired.
func (a *Aggregator) Gone(h Handle) bool {
	sh := a.shards[h.entry.shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return h.entry.gone
}

// Known is a sample without a timestamp of a context that is known by its handle.
type Known struct {
	Handle   Handle
	Rate     float64
	Values   []float64
	SetValue string
	// Line is for the caller alone, see [Batch.Take].
	Line []byte
}

// Batch gathers samples of known contexts, so that one lock serves for many, and so that waits for
// the memory of one context and the next overlap. It is for one goroutine.
type Batch struct {
	aggregator *Aggregator
	shards     [][]Known
	size       int
}

// Batch makes an empty batch.
func (a *Aggregator) Batch() *Batch {
	return &Batch{aggregator: a, shards: make([][]Known, len(a.shards))}
}

// Len returns how many samples there are.
func (b *Batch) Len() int { return b.size }

// Put enters a sample. The batch keeps its slices until it is taken.
func (b *Batch) Put(k Known) {
	shard := k.Handle.entry.shard
	b.shards[shard] = append(b.shards[shard], k)
	b.size++
}

// Take adds all samples, which arrived at now, to the aggregator and empties the batch. It returns
// how many it added. The others are of contexts that have gone: gone is called for each, without a
// lock and in its turn, so that samples of one context keep their order whatever it does with them.
func (b *Batch) Take(now int64, gone func(*Known)) (added int) {
	for i, known := range b.shards {
		for len(known) > 0 {
			n := b.aggregator.addKnown(i, known, now)
			added += n
			if known = known[n:]; len(known) > 0 {
				gone(&known[0])
				known = known[1:]
			}
		}
		clear(b.shards[i])
		b.shards[i] = b.shards[i][:0]
	}
	b.size = 0
	return added
}

func (a *Aggregator) addKnown(shard int, known []Known, now int64) int {
	sh := a.shards[shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.sampler.addKnown(known, now)
}
