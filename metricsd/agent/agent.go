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
	// containers is nil when the kernel is not to be asked.
	containers *tagger.Containers
	tags       *tags
}

// Sink takes every flush. Send must not block for long: the next flush waits.
type Sink interface {
	Send(aggregate.Flush)
	// WantsEvents says whether it looks at a flush's events and checks; they are kept
	// only if a sink does.
	WantsEvents() bool
	// Own writes the sink's metrics about itself.
	Own(*expose.Page)
}

// New opens the sockets that the configuration names.
func New(c config.Config, log *slog.Logger, sinks ...Sink) (*Agent, error) {
	aggregator := aggregate.New(runtime.GOMAXPROCS(0), aggregate.Limits(c.Limits))
	a := &Agent{Intake: NewIntake(aggregator, c.Host, rand.Uint64()), config: c, log: log, sinks: sinks, now: time.Now}
	a.Cache = c.Listen.Cache
	if slices.ContainsFunc(sinks, Sink.WantsEvents) {
		a.waiting = new(waiting)
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

// open opens what the configuration listens on. The agent is to stop at once where one of them
// fails, rather than serve half of its senders.
func (a *Agent) open() error {
	l := a.config.Listen
	o := listen.Options{ReceiveBuffer: l.ReceiveBuffer, Credentials: a.containers != nil}
	var err error
	if l.UDP != "" {
		// Workers share the port by a socket each, between which the kernel spreads the senders.
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

// checkBuffer tells the operator when the kernel gave less than was asked for:
// the usual cause of drops, and silent otherwise. The kernel reports twice what
// it was asked for, half of it for its own overhead.
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

// patience bounds requests under way at the end.
const patience = 2 * time.Second

// Run works until ctx is done. Then it takes what the sockets hold, flushes the
// open buckets to the sinks, and returns.
func (a *Agent) Run(ctx context.Context) error {
	// All receivers are counted: at the end they must have read the last datagram before the drain.
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
	// Sources of tags come after the sockets: datagrams that arrive before the first list are taken
	// without those tags, not lost.
	unfollow := a.follow()
	defer unfollow()
	a.flushUntil(ctx)

	// The end goes from the outside in: no new bytes, then those that the kernel holds, then the
	// buckets, which are sent although they are not full. The page stays up until then, for who
	// asks how it ends.
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

// receiversOf returns how many goroutines receive from a socket: its share of the network's.
func (a *Agent) receiversOf(s *listen.Socket) int {
	sockets := 0
	for _, other := range a.sockets {
		if other.Network() == s.Network() {
			sockets++
		}
	}
	return a.config.Listen.Workers / sockets
}

// receive works until the socket is stopped, and then takes what is left.
func (a *Agent) receive(s *listen.Socket) {
	w := a.Worker()
	batch := listen.NewBatch(a.config.Listen.Batch, a.config.Listen.PacketSize)
	for {
		n, err := s.Receive(batch)
		a.batch(w, batch, n, s.Network())
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // the kernel may report trouble that passes, such as want of memory
			a.log.Error("receive failed; going on", "socket", s.Address(), "error", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
	// The socket is open still: a sender that is as fast as this would keep it filled for ever.
	for end := time.Now().Add(patience); time.Now().Before(end); {
		n, err := s.Queued(batch)
		if n == 0 || err != nil {
			return
		}
		a.batch(w, batch, n, s.Network())
	}
}

// batch takes n datagrams. One look at the clock is enough for all.
func (a *Agent) batch(w *Worker, b *listen.Batch, n int, origin string) {
	now := a.now().Unix()
	for i := range n {
		datagram, truncated := b.Datagram(i)
		w.From(origin, a.container(b.PID(i), now), now)
		w.Read(datagram, truncated, now)
	}
	w.Settle(now)
}

// container returns that of a process, if the kernel is to be asked.
func (a *Agent) container(pid int32, now int64) string {
	if a.containers == nil {
		return ""
	}
	return a.containers.Of(pid, now)
}

// serveStream takes frames from the connections until the stream closes. A frame that is refused
// ends its connection, since where the next one begins is unknown; the others go on.
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
