package aggregate

// Handle leads to a context without its key: to its entry in an aggregator. The zero Handle leads
// nowhere. A handle keeps its entry in memory, even after the context has expired: owners of
// handles drop those that are [Aggregator.Gone].
type Handle struct{ entry *entry }

// Leads reports whether the handle leads to a context, alive or expired.
func (h Handle) Leads() bool { return h.entry != nil }

// Gone reports whether the handle's context has expired.
func (a *Aggregator) Gone(h Handle) bool {
	sh := a.shards[h.entry.shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return h.entry.gone
}

// KnownSample is a sample without a timestamp, whose context is known by its handle.
type KnownSample struct {
	Handle   Handle
	Rate     float64
	Values   []float64
	SetValue string
	// Line is for the caller alone: see [Batch.Take].
	Line []byte
}

// Batch gathers samples of known contexts, so that one lock serves many samples, and so that the
// processor waits for the memory of several contexts at a time. It is for one goroutine.
type Batch struct {
	aggregator *Aggregator
	known      []KnownSample
	shards     []uint16  // of known
	turns      [][]int32 // by shard: the indexes of its samples in known
}

// Batch makes an empty batch.
func (a *Aggregator) Batch() *Batch {
	return &Batch{aggregator: a, turns: make([][]int32, len(a.shards))}
}

// Len returns how many samples there are.
func (b *Batch) Len() int { return len(b.known) }

// Put enters a sample that is zero, for the caller to fill in before the next call. The batch keeps
// its slices until it is taken.
func (b *Batch) Put() *KnownSample {
	if n := len(b.known); n < cap(b.known) {
		b.known = b.known[:n+1]
	} else {
		b.known = append(b.known, KnownSample{})
	}
	return &b.known[len(b.known)-1]
}

// Take adds all samples, which arrived at now, to the aggregator and empties the batch. It returns
// how many it added. The contexts of the others have expired. For each of these it calls gone,
// without a lock and in the sample's turn, so that samples of one context keep their order.
func (b *Batch) Take(now int64, gone func(*KnownSample)) (added int) {
	b.deal()
	for i, turns := range b.turns {
		for len(turns) > 0 {
			n := b.aggregator.addKnown(i, b.known, turns, now)
			added += n
			if turns = turns[n:]; len(turns) > 0 {
				gone(&b.known[turns[0]])
				turns = turns[1:]
			}
		}
		b.turns[i] = b.turns[i][:0]
	}
	clear(b.known) // its entries may go
	b.known = b.known[:0]
	return added
}

// deal gives each shard its samples. The first loop only waits for memory, for all entries at the
// same time.
func (b *Batch) deal() {
	b.shards = b.shards[:0]
	for i := range b.known {
		b.shards = append(b.shards, b.known[i].Handle.entry.shard)
	}
	for i, shard := range b.shards {
		b.turns[shard] = append(b.turns[shard], int32(i))
	}
}

func (a *Aggregator) addKnown(shard int, known []KnownSample, turns []int32, now int64) int {
	sh := a.shards[shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.sampler.addKnown(known, turns, now)
}
