package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/web"
)

// Intake is one running intake.
type Intake struct {
	log       *slog.Logger
	listener  net.Listener
	bus       bus.Bus
	index     index.Index
	batcher   *batcher
	door      *door
	processor *processor
	ready     atomic.Bool
}

// New opens the address. The intake owns the queue and the index from now on: Run closes them.
func New(address string, o Options, b bus.Bus, x index.Index, log *slog.Logger) (*Intake, error) {
	o = o.withDefaults()
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("intake %s: %w; choose another address", address, err)
	}
	in := &Intake{
		log:       log,
		listener:  l,
		bus:       b,
		index:     x,
		batcher:   newBatcher(b),
		processor: newProcessor(o, b, x, log),
	}
	in.door = newDoor(o, in.batcher, log)
	if err := in.setKeys(o.Customers); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return in, nil
}

// SetBounds changes the bounds of a running intake. Requests that are being read keep the old
// ones.
func (in *Intake) SetBounds(b Bounds) {
	b = b.withDefaults()
	in.door.bounds.Store(&b)
	in.processor.bounds.Store(&b)
}

// Address returns the address of the listener, with the port chosen for port 0.
func (in *Intake) Address() string { return in.listener.Addr().String() }

// Run works until ctx is done or the queue fails. Then it finishes the requests
// under way, counts what it has read, and closes queue and index.
func (in *Intake) Run(ctx context.Context) error {
	server := web.Serve(in.listener, in.Handler())
	in.log.Info("intake", "address", in.Address())
	err := in.processor.prepare(ctx)
	if err == nil {
		in.ready.Store(true)
		err = in.processor.run(ctx)
	}
	in.ready.Store(false)
	stopped := server.Stop(5 * time.Second)
	in.batcher.close()
	in.log.Info("intake stopped", "series", in.processor.counts.series.Load())
	return errors.Join(err, stopped, in.bus.Close(), in.index.Close())
}

// Handler answers senders, people and Prometheus.
func (in *Intake) Handler() http.Handler {
	mux := http.NewServeMux()
	in.door.handle(mux)
	in.handleAPI(mux)
	mux.Handle("GET /{$}", in.door.admitKnown(in.servePage))
	mux.Handle("GET /metrics", in.door.counts(in.serveMetrics))
	mux.HandleFunc("GET /healthz", in.serveHealth)
	web.Debug(mux, in.door.token, in.door.operators)
	return mux
}

func (in *Intake) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if !in.ready.Load() {
		http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
		return
	}
	w.Write([]byte("ok\n"))
}

// stageQueue names the stage whose fill only the queue itself knows.
const stageQueue = "queue, not counted yet"

// stages returns the fill of each queue on the way. The stage that cannot keep up is the one before
// the first empty queue.
func (in *Intake) stages(ctx context.Context) []stage {
	bounds := in.door.bounds.Load()
	parcels, bound := in.batcher.fill()
	fill, err := in.bus.Fill(ctx)
	stages := []stage{
		{Name: "requests being read", Waiting: min(in.door.reading.Load(), int64(bounds.Requests)),
			Bound: int64(bounds.Requests), Unit: "requests"},
		{Name: "batcher", Waiting: int64(parcels), Bound: int64(bound), Unit: "requests"},
		{Name: "queue, being written", Waiting: in.batcher.writing.Load(), Bound: writers, Unit: "messages",
			Away: err != nil},
		{Name: stageQueue, Waiting: fill.Messages, Unit: "messages", Away: err != nil},
	}
	if fill.Bound > 0 {
		stages = append(stages, stage{Name: "queue on disk", Waiting: fill.Bytes, Bound: fill.Bound, Unit: "bytes"})
	}
	p := in.processor
	return append(stages,
		stage{Name: "decoder", Waiting: int64(len(p.messages)), Bound: int64(cap(p.messages)), Unit: "messages"},
		stage{Name: "processor", Waiting: int64(len(p.batches)), Bound: int64(cap(p.batches)), Unit: "messages"},
		stage{Name: "index", Waiting: p.counts.pending.Load(), Bound: int64(bounds.Pending), Unit: "names"},
	)
}

func (in *Intake) serveMetrics(w http.ResponseWriter, r *http.Request) {
	var page expose.Page
	in.writeOwnMetrics(r.Context(), &page)
	w.Header().Set("Content-Type", expose.ContentType)
	page.WriteTo(w)
}
