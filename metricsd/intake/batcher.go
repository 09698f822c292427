package intake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

const (
	batchSeries = 128                   // series in a message, if enough come in time
	patience    = 10 * time.Millisecond // time that a message waits for more
	fullBytes   = 4 << 20               // of series, before compression, at which a message is closed
	writers     = 4                     // messages in flight to the queue
)

// A batcher joins the series of several requests into one message: a message costs about the same
// for one series as for a hundred.
type batcher struct {
	bus     bus.Bus
	waiting chan parcel
	quit    chan struct{}
	writing atomic.Int64 // messages that are being written to the queue
	running sync.WaitGroup
}

// A parcel is a request, or a part of one, with the channel that reports that it is safe.
type parcel struct {
	wire.Parcel
	bytes int
	done  chan<- error
}

func newBatcher(b bus.Bus) *batcher {
	w := &batcher{bus: b, waiting: make(chan parcel, 256), quit: make(chan struct{})}
	for range writers {
		w.running.Go(w.write)
	}
	return w
}

var errStopping = errors.New("shutting down; retry later")

// put returns when the series are safe. A repeated request must have the same id and the same
// series, so that its parcels are known.
func (w *batcher) put(ctx context.Context, id wire.ID, customer string, series []wire.Series) error {
	parcels := cutSeries(id, customer, series)
	done := make(chan error, len(parcels)) // the writer never waits for senders that have gone
	for _, p := range parcels {
		p.done = done
		select {
		case w.waiting <- p:
		case <-w.quit:
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for range parcels {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-w.quit: // it may be safe, or not: the sender will repeat it
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// cutSeries cuts series so that each part fits into a message.
func cutSeries(id wire.ID, customer string, series []wire.Series) (parcels []parcel) {
	var p parcel
	end := func() {
		p.ID, p.Customer = id.Part(len(parcels)), customer
		parcels, p = append(parcels, p), parcel{}
	}
	for i := range series {
		size := series[i].Size()
		if p.bytes+size > fullBytes && len(p.Series) > 0 {
			end()
		}
		p.Series, p.bytes = append(p.Series, series[i]), p.bytes+size
	}
	if len(p.Series) > 0 {
		end()
	}
	return parcels
}

func (w *batcher) write() {
	for {
		select {
		case p := <-w.waiting:
			for carried := &p; carried != nil; {
				carried = w.publish(*carried)
			}
		case <-w.quit:
			return
		}
	}
}

// publish writes a message that begins with a parcel. It returns the parcel that did not fit any
// more.
func (w *batcher) publish(first parcel) (carried *parcel) {
	batch, carried := w.gather([]parcel{first})
	message := make([]wire.Parcel, len(batch))
	for i, p := range batch {
		message[i] = p.Parcel
	}
	w.writing.Add(1)
	// a cancelled request does not cancel the others
	err := w.bus.Publish(context.Background(), wire.Encode(message))
	w.writing.Add(-1)
	for _, p := range batch {
		p.done <- err
	}
	return carried
}

// gather waits for more parcels, until there are enough or the time is over.
func (w *batcher) gather(batch []parcel) (_ []parcel, carried *parcel) {
	n, bytes := len(batch[0].Series), batch[0].bytes
	late := time.After(patience)
	for n < batchSeries {
		select {
		case p := <-w.waiting:
			if bytes+p.bytes > fullBytes {
				return batch, &p
			}
			batch, n, bytes = append(batch, p), n+len(p.Series), bytes+p.bytes
		case <-late:
			return batch, nil
		case <-w.quit:
			return batch, nil
		}
	}
	return batch, nil
}

// close finishes the messages under way. It asks the senders of waiting requests to retry.
func (w *batcher) close() {
	close(w.quit)
	w.running.Wait()
}

// fill returns how many parcels wait, and their bound.
func (w *batcher) fill() (waiting, bound int) { return len(w.waiting), cap(w.waiting) }
