package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/history"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// A processor reads the queue and updates the index. Its own state belongs to one goroutine; state
// for other readers is atomic or has its own lock.
type processor struct {
	options Options
	bounds  atomic.Pointer[Bounds] // may be changed
	bus     bus.Bus
	index   index.Index
	shelves *shelves
	history *history.Set
	tags    tagCleaner
	log     *slog.Logger

	repeats *repeats
	pending map[uint64]*index.Entry // counted since the last flush, by its key
	unsure  *index.Change           // a change that was not acknowledged: written or not
	news    []*index.Entry          // names that are not written yet
	read    map[int32]int64
	since   time.Time // of the last flush
	forgot  time.Time // when forget last ran

	messages chan bus.Message                    // from the queue to the decoder
	batches  chan batch                          // from the decoder to the processor
	ranks    atomic.Pointer[map[string]*ranking] // by customer
	counts   counts
}

// A batch is a message, decoded.
type batch struct {
	bus.Message
	parcels []wire.Parcel
}

// counts are the processor's counters for others.
type counts struct {
	messages, series, points, touches atomic.Uint64 // touches: writes if each name seen were written
	writes, flushes, failures         atomic.Uint64
	damaged, expired, forgotten       atomic.Uint64
	repeated                          atomic.Uint64 // parcels that had been counted before
	pending                           atomic.Int64
}

func newProcessor(o Options, b bus.Bus, x index.Index, log *slog.Logger) *processor {
	p := &processor{
		options: o, bus: b, index: x, log: log, history: history.New(4 * o.Names),
		tags:    newTagCleaner(o.Verbatim),
		pending: map[uint64]*index.Entry{}, messages: make(chan bus.Message, 64), batches: make(chan batch, 16),
	}
	p.shelves = newShelves(p.history, o.Names, o.CustomerNames)
	p.ranks.Store(&map[string]*ranking{})
	p.bounds.Store(&o.Bounds)
	return p
}

// prepare loads the index's names, and the place where to begin.
func (p *processor) prepare(ctx context.Context) (err error) {
	customers, err := p.index.Customers(ctx)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	for _, customer := range customers {
		for _, k := range index.Kinds {
			known, err := index.Names(ctx, p.index, customer, k)
			if err != nil {
				return fmt.Errorf("index: %w", err)
			}
			p.shelves.shelfOf(customer).names[k].Fill(known)
		}
	}
	if p.read, err = p.index.Read(ctx); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	written, err := p.index.Groups(ctx)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	p.repeats = newRepeats(maxRepeats, written)
	p.since = p.options.Now()
	p.forgot = p.since
	return nil
}

// run works until ctx is done, and then writes what it has counted.
func (p *processor) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	after := maps.Clone(p.read)
	go func() {
		defer close(p.messages)
		err := p.bus.Read(ctx, after, func(m bus.Message) error {
			select {
			case p.messages <- m:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if ctx.Err() == nil {
			cancel(err)
		}
	}()
	go p.decode()
	p.work(ctx)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// decode unpacks messages. It counts and skips damaged ones, which would block the queue for ever.
func (p *processor) decode() {
	defer close(p.batches)
	for m := range p.messages {
		parcels, err := wire.Decode(m.Data)
		if err != nil {
			p.counts.damaged.Add(1)
			p.log.Error("a message of the queue is skipped", "place", m.Place, "error", err)
		}
		p.batches <- batch{m, parcels}
	}
}

// work is the processor's loop.
func (p *processor) work(ctx context.Context) {
	// One goroutine does everything, so its counts need no lock. It handles batches when they come,
	// and four clocks.
	news, flush := time.NewTicker(p.options.News), time.NewTicker(p.options.Flush)
	rank, hourly := time.NewTicker(rankEvery), time.NewTicker(epochLength)
	defer news.Stop()
	defer flush.Stop()
	defer rank.Stop()
	defer hourly.Stop()
	for {
		select {
		case b, ok := <-p.batches:
			if !ok { // counts are kept although ctx is done
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
				p.flush(last)
				cancel()
				return
			}
			p.take(b)
			// Waiting counts have a bound. It holds back the queue's reader, and so in the end the
			// door.
			for (len(p.pending) >= p.bounds.Load().Pending || p.repeats.isFull()) && ctx.Err() == nil {
				p.flush(ctx) // until it succeeds: the queue has more room than memory
			}
		case <-news.C:
			p.tellNews(ctx)
		case <-flush.C:
			p.flush(ctx)
		case <-rank.C:
			p.rank(p.options.Now())
		case <-hourly.C:
			p.forget(ctx, p.options.Now())
		}
	}
}

// lastWords bounds the last write; the rest is still in the queue.
const lastWords = 10 * time.Second

// epochLength is the history's unit of time.
const epochLength = time.Hour

func epoch(t time.Time) uint32 { return uint32(t.Unix() / int64(epochLength/time.Second)) }

// take counts the parcels of a batch that were not counted before.
func (p *processor) take(b batch) {
	now := p.options.Now()
	for _, parcel := range b.parcels {
		if p.repeats.isRepeat(parcel.ID) {
			p.counts.repeated.Add(1)
			continue
		}
		whose := p.shelves.own
		if parcel.Customer != "" {
			whose = p.shelves.shelfOf(parcel.Customer)
		}
		for i := range parcel.Series {
			p.count(whose, &parcel.Series[i], now)
		}
		p.counts.series.Add(uint64(len(parcel.Series)))
	}
	b.Note(p.read)
	p.counts.messages.Add(1)
	p.showPending()
}

func (p *processor) showPending() {
	n := len(p.pending)
	if p.unsure != nil {
		n += len(p.unsure.Entries)
	}
	p.counts.pending.Store(int64(n))
}

// count counts the names of one series: the metric, its first part as an application, the host, and
// each tag. It counts points before it checks names, since points are as sent.
func (p *processor) count(whose *shelf, s *wire.Series, now time.Time) {
	seen := s.Last()
	if seen <= 0 || seen > now.Unix() { // a sender's clock may be wrong, but nothing was seen in the future
		seen = now.Unix()
	}
	points := uint64(s.Len())
	p.counts.points.Add(points)
	whose.points.Add(points)
	// A series with a name that cannot be shown is not kept at all.
	metric := metricName(s.Metric)
	if metric == "" {
		return
	}
	p.touch(whose, index.Metric, metric, seen, points, now)
	if app, _, ok := strings.Cut(metric, "."); ok {
		p.touch(whose, index.App, app, seen, points, now)
	}
	if host := hostName(s.Host); host != "" {
		p.touch(whose, index.Host, host, seen, points, now)
	}
	for _, t := range s.Tags {
		if t = p.tags.clean(t); t != "" {
			p.touch(whose, index.Tag, t, seen, points, now)
		}
	}
}

// touch counts points under a name of a customer.
func (p *processor) touch(whose *shelf, k index.Kind, name string, seen int64, points uint64, now time.Time) {
	p.counts.touches.Add(1)
	key := p.history.Key(byte(k), name) + whose.owner
	e := p.pending[key]
	for e != nil && e.Customer != whose.customer { // two names may share a key, two customers no entry
		key++
		e = p.pending[key]
	}
	if e == nil {
		e = &index.Entry{Customer: whose.customer, Kind: k, Name: strings.Clone(name), First: seen, Last: seen}
		p.pending[key] = e
		if p.history.See(key, epoch(now)) {
			p.news = append(p.news, e)
		}
	}
	e.First, e.Last, e.Points = min(e.First, seen), max(e.Last, seen), e.Points+points
}

// tellNews writes new names, without their counts.
func (p *processor) tellNews(ctx context.Context) {
	if len(p.news) == 0 {
		return
	}
	entries := make([]index.Entry, len(p.news))
	for i, e := range p.news {
		entries[i] = index.Entry{Customer: e.Customer, Kind: e.Kind, Name: e.Name, First: e.First, Last: e.Last}
	}
	if !p.apply(ctx, index.Change{Entries: entries}) {
		return
	}
	for _, e := range p.news {
		p.shelves.shelfOf(e.Customer).names[e.Kind].Add(e.Name)
	}
	clear(p.news)
	p.news = p.news[:0]
}

// flush writes all counts, with the place up to which they count. A failed write may have been
// written nevertheless: flush repeats it as it is, and keeps later counts apart.
func (p *processor) flush(ctx context.Context) {
	p.tellNews(ctx)
	if !p.settle(ctx) {
		return
	}
	now := p.options.Now()
	p.rank(now)
	elapsed := p.elapsed(now)
	entries := make([]index.Entry, 0, len(p.pending))
	for _, e := range p.pending {
		e.Rate, e.At = float64(e.Points)/elapsed, now.Unix()
		entries = append(entries, *e)
	}
	if len(entries) == 0 && len(p.read) == 0 {
		return
	}
	group, before := p.repeats.group()
	p.unsure = &index.Change{Entries: entries, Read: maps.Clone(p.read), Group: group, Before: before}
	p.pending, p.since = make(map[uint64]*index.Entry, len(p.pending)), now
	p.settle(ctx)
}

// settle writes the last unacknowledged change, if there is one.
func (p *processor) settle(ctx context.Context) bool {
	c := p.unsure
	if c == nil {
		return true
	}
	if !p.apply(ctx, *c) {
		return false
	}
	p.unsure = nil
	p.repeats.noteWritten(c.Group, c.Before)
	p.showPending()
	p.counts.flushes.Add(1)
	if err := p.bus.Done(ctx, c.Read); err != nil && ctx.Err() == nil {
		p.log.Warn("the queue did not record what was read; the next flush tries again", "error", err)
	}
	return true
}

// apply writes a change. It logs a failure and tries again after a pause, so that it does not ask a
// failed store in a tight loop.
func (p *processor) apply(ctx context.Context, c index.Change) bool {
	err := p.index.Apply(ctx, c)
	if err == nil {
		p.counts.writes.Add(uint64(len(c.Entries)))
		return true
	}
	p.counts.failures.Add(1)
	p.log.Error("the index was not written; trying again", "error", err)
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	return false
}

// elapsed returns the seconds that the pending counts cover. After the clock was set back it
// returns the usual number.
func (p *processor) elapsed(now time.Time) float64 {
	if now.Before(p.since) {
		return p.options.Flush.Seconds()
	}
	return max(now.Sub(p.since).Seconds(), 1e-3)
}

const (
	ranked    = 100 // names of a kind that are kept by their rate
	rankEvery = 5 * time.Second
)

// A ranking holds a customer's names with the highest rates, by kind, and the rate of all its
// points.
type ranking struct {
	top  [4][]index.Entry
	rate float64
}

// rank publishes the names with the highest rates since the last flush. Right after one there are
// too few points, and the old ranks stay.
func (p *processor) rank(now time.Time) {
	elapsed := p.elapsed(now)
	if elapsed < rankEvery.Seconds()/2 {
		return
	}
	ranks := map[string]*ranking{}
	for _, e := range p.pending {
		r := ranks[e.Customer]
		if r == nil {
			r = new(ranking)
			ranks[e.Customer] = r
		}
		r.top[e.Kind] = insert(r.top[e.Kind], *e)
		if e.Kind == index.Metric {
			r.rate += float64(e.Points) / elapsed
		}
	}
	for _, r := range ranks {
		for _, entries := range r.top {
			for i := range entries {
				entries[i].Rate, entries[i].At = float64(entries[i].Points)/elapsed, now.Unix()
			}
		}
	}
	p.ranks.Store(&ranks)
}

// rankOf returns the last ranking of a customer, or an empty one.
func (p *processor) rankOf(customer string) *ranking {
	if r := (*p.ranks.Load())[customer]; r != nil {
		return r
	}
	return new(ranking)
}

// insert inserts an entry by its points, if it is among the first.
func insert(top []index.Entry, e index.Entry) []index.Entry {
	if len(top) == ranked && !isLarger(e, top[ranked-1]) {
		return top
	}
	i, _ := slices.BinarySearchFunc(top, e, func(a, b index.Entry) int {
		if isLarger(a, b) {
			return -1
		}
		return 1
	})
	top = slices.Insert(top, i, e)
	return top[:min(len(top), ranked)]
}

func isLarger(a, b index.Entry) bool {
	return a.Points > b.Points || a.Points == b.Points && a.Name < b.Name
}

// forget drops old names from the history and the index. It is called once an epoch. When the clock
// says that much more or less time has passed, it was set. Then nothing is dropped until it has
// agreed with itself for an epoch, since a wrong clock would drop names for good.
func (p *processor) forget(ctx context.Context, now time.Time) {
	passed := now.Round(0).Sub(p.forgot.Round(0)) // by the wall clock: the other one has no jumps
	p.forgot = now
	if passed < epochLength/2 || passed > 2*epochLength {
		p.log.Warn("the clock was set; nothing is forgotten for an hour", "by",
			(passed - epochLength).Round(time.Second))
		return
	}
	p.counts.expired.Add(uint64(p.history.Expire(epoch(now.Add(-p.options.Remember)), epoch(now))))
	gone, err := p.index.Forget(ctx, now.Add(-p.options.Retention).Unix())
	if err != nil {
		p.log.Error("old entries of the index were not removed; trying again in an hour", "error", err)
	}
	p.counts.forgotten.Add(uint64(gone))
}
