package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/listen"
	"github.com/beagle-go/beagle/metricsd/tagger"
	"github.com/beagle-go/beagle/metricsd/web"
)

// Agent is one running agent.
type Agent struct {
	*Intake
	config  config.Config
	log     *slog.Logger
	sockets []*listen.Socket
	stream  *listen.Stream
	web     net.Listener
	sinks   []Sink
	ending  atomic.Bool
	now     func() time.Time
	// containers is nil when the kernel need not name senders.
	containers *tagger.Containers
	tags       *tags
}

// Sink takes every flush. Send must not block for long: the next flush waits.
type Sink interface {
	Send(aggregate.Flush)
	// WantsEvents reports whether the sink reads a flush's events and checks. The agent keeps them
	// only if a sink does.
	WantsEvents() bool
	// OwnMetrics writes the sink's metrics about itself.
	OwnMetrics(*expose.Page)
}

// New opens the sockets that the configuration names.
func New(c config.Config, log *slog.Logger, sinks ...Sink) (*Agent, error) {
	aggregator := aggregate.New(runtime.GOMAXPROCS(0), aggregate.Limits(c.Limits))
	a := &Agent{Intake: NewIntake(aggregator, c.Host, rand.Uint64()), config: c, log: log, sinks: sinks, now: time.Now}
	a.Cache = c.Listen.Cache
	if slices.ContainsFunc(sinks, Sink.WantsEvents) {
		a.waiting = new(pendingItems)
	}
	if c.Tagger.Credentials {
		a.containers = tagger.NewContainers("/proc")
	}
	if err := a.openTags(c.Tagger); err != nil {
		return nil, err
	}
	if err := a.Reload(c); err != nil {
		return nil, err
	}
	if err := a.open(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// Reload takes over the limits and the tags of containers of another configuration while the agent
// runs. If it returns an error, nothing has changed. All other settings, such as the sources of
// tags, are fixed at the start.
func (a *Agent) Reload(c config.Config) error {
	if err := a.configure(c.Tagger); err != nil {
		return err
	}
	a.Aggregator.SetLimits(aggregate.Limits(c.Limits))
	return nil
}

// open opens what the configuration listens on. If one socket fails, the agent stops at once rather
// than serve half of its senders.
func (a *Agent) open() error {
	l := a.config.Listen
	o := listen.Options{ReceiveBuffer: l.ReceiveBuffer, Credentials: a.containers != nil}
	var err error
	if l.UDP != "" {
		// Each worker has a socket on the shared port, and the kernel spreads the senders over the
		// sockets.
		if a.sockets, err = listen.OpenSpread(l.UDP, l.Workers, o); err != nil {
			return err
		}
		a.checkBuffer(a.sockets[0])
	}
	if l.Unixgram != "" {
		// A Unix socket has one queue, so that workers share the socket itself.
		s, err := listen.Open("unixgram", l.Unixgram, o)
		if err != nil {
			return err
		}
		a.sockets = append(a.sockets, s)
	}
	if l.Unix != "" {
		if a.stream, err = listen.OpenStream(l.Unix, l.PacketSize, l.StreamConnections); err != nil {
			return err
		}
	}
	if a.config.HTTP != "" {
		if a.web, err = net.Listen("tcp", a.config.HTTP); err != nil {
			return fmt.Errorf("http %s: %w; choose another address", a.config.HTTP, err)
		}
	}
	return nil
}

// checkBuffer warns when the kernel granted a smaller buffer than asked: the usual, silent cause of
// drops. The kernel reports twice the size that it was asked for: half is for its own overhead.
func (a *Agent) checkBuffer(s *listen.Socket) {
	status, err := s.Status()
	if want := uint64(a.config.Listen.ReceiveBuffer); err == nil && s.Network() == "udp" && status.Buffer/2 < want {
		a.log.Warn("the kernel gave a smaller receive buffer; raise net.core.rmem_max or lower listen.receive_buffer",
			"socket", s.Address(), "asked", want, "given", status.Buffer/2)
	}
}

func (a *Agent) close() error {
	errs := []error{listen.CloseAll(a.sockets)}
	if a.stream != nil {
		errs = append(errs, a.stream.Close())
	}
	if a.web != nil {
		errs = append(errs, a.web.Close())
	}
	return errors.Join(errs...)
}

// Addresses returns the agent's listening addresses by network, with the ports chosen for port 0;
// "http" is the page's.
func (a *Agent) Addresses() map[string]string {
	m := make(map[string]string)
	for _, s := range a.sockets {
		m[s.Network()] = s.Address()
	}
	if a.stream != nil {
		m["unix"] = a.stream.Address()
	}
	if a.web != nil {
		m["http"] = a.web.Addr().String()
	}
	return m
}

// patience bounds requests under way when the agent stops.
const patience = 2 * time.Second

// Run works until ctx is done. Then it reads what the sockets hold, flushes the open buckets to the
// sinks, and returns.
func (a *Agent) Run(ctx context.Context) error {
	// Count all receivers: at the end they must have read the last datagram before the drain.
	var receivers sync.WaitGroup
	for _, s := range a.sockets {
		for range a.receiversOf(s) {
			receivers.Go(func() { a.receive(s) })
		}
	}
	if a.stream != nil {
		receivers.Go(func() { a.serveStream() })
	}
	server := new(web.Server)
	if a.web != nil {
		server = web.Serve(a.web, a.Handler())
	}
	a.log.Info("listening", "addresses", a.Addresses())
	// Start sources of tags after the sockets: datagrams that arrive before the first list lack
	// those tags, but are not lost.
	unfollow := a.follow()
	defer unfollow()
	a.flushUntil(ctx)

	// Stop from the outside in: first new bytes, then those that the kernel holds, then the
	// buckets, which are sent although they are not full. The page stays up until then, so that one
	// can see how it ends.
	a.ending.Store(true)
	for _, s := range a.sockets {
		s.Stop()
	}
	if a.stream != nil {
		a.stream.Close()
	}
	receivers.Wait()
	a.send(a.Aggregator.Drain())
	a.log.Info("stopped", "metrics", a.Counters.Metrics.Load(), "malformed", a.Counters.Malformed.Load())
	err := server.Stop(patience)
	return errors.Join(err, listen.CloseAll(a.sockets))
}

// receiversOf returns how many goroutines receive from a socket: an equal share of the network's.
func (a *Agent) receiversOf(s *listen.Socket) int {
	sockets := 0
	for _, other := range a.sockets {
		if other.Network() == s.Network() {
			sockets++
		}
	}
	return a.config.Listen.Workers / sockets
}

// receive works until the socket is stopped, and then takes the datagrams that are left.
func (a *Agent) receive(s *listen.Socket) {
	w := a.Worker()
	batch := listen.NewBatch(a.config.Listen.Batch, a.config.Listen.PacketSize)
	for {
		n, err := s.Receive(batch)
		a.batch(w, batch, n, s.Network())
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // the kernel may report temporary trouble, such as a lack of memory
			a.log.Error("receive failed; going on", "socket", s.Address(), "error", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
	a.drain(s, w, batch, time.Now().Add(patience))
}

// mostHeld is more datagrams than the kernel holds of a socket.
const mostHeld = 1 << 17

// drain takes the datagrams that the kernel holds of a stopped socket, however late it comes to
// that. The socket stays open, and a fast sender could keep it full for ever: after its time drain
// takes no more than the kernel can have held.
func (a *Agent) drain(s *listen.Socket, w *Worker, batch *listen.Batch, end time.Time) {
	for left := mostHeld; left > 0 || time.Now().Before(end); {
		n, err := s.Queued(batch)
		if n == 0 || err != nil {
			return
		}
		left -= n
		a.batch(w, batch, n, s.Network())
	}
}

// batch takes n datagrams, all with the same time.
func (a *Agent) batch(w *Worker, b *listen.Batch, n int, origin string) {
	now := a.now().Unix()
	for i := range n {
		datagram, truncated := b.Datagram(i)
		w.From(origin, a.container(b.PID(i), now), now)
		w.Read(datagram, truncated, now)
	}
	w.Settle(now)
}

// container returns the container of a process, or "" if the kernel need not be asked.
func (a *Agent) container(pid int32, now int64) string {
	if a.containers == nil {
		return ""
	}
	return a.containers.ContainerOf(pid, now)
}

// serveStream takes frames from the connections until the stream closes. A refused frame ends its
// connection, since nobody knows where the next frame begins. The others go on.
func (a *Agent) serveStream() {
	open := func(pid int32) func([]byte) {
		container := a.container(pid, a.now().Unix()) // a connection has one process at its other end
		return func(frame []byte) { a.Frame(frame, container, "unix", a.now().Unix()) }
	}
	failed := func(err error) {
		if errors.Is(err, listen.ErrTooManyConnections) {
			a.Counters.ConnectionsFull.Add(1)
		} else {
			a.Counters.FramesRefused.Add(1)
		}
		a.log.Debug("stream", "error", err)
	}
	if err := a.stream.Serve(open, failed); !errors.Is(err, net.ErrClosed) {
		a.log.Error("the stream socket failed; restart the agent", "error", err)
	}
}

// flushUntil flushes at the start of every bucket until ctx is done. It looks at
// the clock anew each time, so a jump costs at most one odd flush.
func (a *Agent) flushUntil(ctx context.Context) {
	for {
		timer := time.NewTimer(untilNextBucket(a.now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			a.send(a.Aggregator.Flush(a.now().Unix()))
		}
	}
}

// untilNextBucket returns the time to the next bucket: more than nothing and at most a bucket,
// wherever the clock stands.
func untilNextBucket(now time.Time) time.Duration {
	const bucket = aggregate.BucketSeconds * time.Second
	return now.Truncate(bucket).Add(bucket).Sub(now)
}

func (a *Agent) send(points []aggregate.Point) {
	flush := aggregate.Flush{Time: a.now().Unix(), Points: points, States: a.Aggregator.States}
	if a.waiting != nil {
		flush.Events, flush.Checks = a.waiting.take()
	}
	for _, sink := range a.sinks {
		sink.Send(flush)
	}
}
