package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/beagle-go/beagle/metricsd/disk"
)

const (
	streamName = "METRICSD"
	subject    = "metricsd.series"
)

// NATSOptions say where the embedded server keeps messages.
type NATSOptions struct {
	Dir   string
	Bytes int64 // most bytes that wait; more are refused with ErrFull
	Sync  bool  // write through to the disk before Publish returns: survives a power cut, not only a crash
	// Reserve is how many bytes of the disk have to stay free: messages that come when
	// there are fewer are refused. After a write that met the disk's end the server
	// would refuse all others until it is started again.
	Reserve int64
}

type natsBus struct {
	server    *server.Server
	conn      *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream
	partition int32
	options   NATSOptions
	broken    chan struct{} // closed when only a restart helps
}

// OpenNATS starts a server in this process, without a port.
func OpenNATS(ctx context.Context, o NATSOptions) (Bus, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "metricsd", DontListen: true, NoSigs: true,
		JetStream: true, StoreDir: o.Dir, SyncAlways: o.Sync, JetStreamMaxStore: o.Bytes + o.Bytes/4 + 64<<20, JetStreamMaxMemory: 64 << 20, MaxPayload: MaxMessage + 1<<10,
	})
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", o.Dir, err)
	}
	b := &natsBus{server: s, options: o, broken: make(chan struct{})}
	s.SetLogger(&natsLog{broken: b.broken}, false, false)
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		b.Close()
		return nil, fmt.Errorf("queue %s: the embedded NATS server does not come up; is the directory writable, and no other metricsd using it?", o.Dir)
	}
	if err := b.open(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("queue %s: %w", o.Dir, err)
	}
	return b, nil
}

func (b *natsBus) open(ctx context.Context) (err error) {
	if b.conn, err = nats.Connect("", nats.InProcessServer(b.server), nats.MaxReconnects(-1)); err != nil {
		return err
	}
	if b.js, err = jetstream.New(b.conn); err != nil {
		return err
	}
	b.stream, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxBytes: b.options.Bytes,
	})
	if err != nil {
		return err
	}
	// Sequence numbers begin anew with a new stream. Its birth is its partition, so
	// that places in an old stream, whose files somebody removed, say nothing about
	// this one.
	born := b.stream.CachedInfo().Created.UTC().Format(time.RFC3339Nano)
	b.partition = int32(crc32.ChecksumIEEE([]byte(born)) >> 1)
	return nil
}

// Publish implements [Bus].
func (b *natsBus) Publish(ctx context.Context, data []byte) error {
	if err := checkSize(data); err != nil {
		return err
	}
	if err := disk.Room(b.options.Dir, b.options.Reserve); err != nil {
		return err
	}
	_, err := b.js.Publish(ctx, subject, data)
	select {
	case <-b.broken:
		return errBroken
	default:
		return judge(err)
	}
}

// judge says what an answer of JetStream means.
func judge(err error) error {
	var refused *jetstream.APIError
	if errors.As(err, &refused) && (refused.ErrorCode == full || refused.ErrorCode == noRoom) {
		return ErrFull
	}
	return err
}

// natsLog listens to what the server says. After a write that failed it never answers
// a message of that stream again, and tells nobody but its log.
type natsLog struct {
	broken chan struct{}
	once   sync.Once
}

func (l *natsLog) Errorf(format string, args ...any) {
	if strings.Contains(format, "critical write error") {
		l.once.Do(func() { close(l.broken) })
	}
}

func (l *natsLog) Noticef(string, ...any) {}
func (l *natsLog) Warnf(string, ...any)   {}
func (l *natsLog) Fatalf(string, ...any)  {}
func (l *natsLog) Debugf(string, ...any)  {}
func (l *natsLog) Tracef(string, ...any)  {}

var errBroken = errors.New("queue: a write to the disk failed, and the embedded server takes no more; start metricsd again, what was acknowledged is kept")

// JetStream's codes for a stream at its bound and for an account at its own.
const (
	full   = 10077
	noRoom = 10047
)

// Read implements [Bus].
func (b *natsBus) Read(ctx context.Context, after map[int32]int64, take func(Message) error) error {
	consumer, err := b.js.OrderedConsumer(ctx, streamName, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(after[b.partition]) + 1,
	})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	defer messages.Stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-b.broken:
			messages.Stop()
		case <-ended:
		}
	}()
	for {
		m, err := messages.Next()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.broken:
			return errBroken
		default:
		}
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		if err := take(Message{b.partition, int64(meta.Sequence.Stream), m.Data()}); err != nil {
			return err
		}
	}
}

// Done implements [Bus].
func (b *natsBus) Done(ctx context.Context, read map[int32]int64) error {
	at := read[b.partition]
	if at <= 0 {
		return nil
	}
	// A purge makes room, but writes a little first. It may go deeper than messages.
	if err := disk.Room(b.options.Dir, b.options.Reserve/4); err != nil {
		return err
	}
	return judge(b.stream.Purge(ctx, jetstream.WithPurgeSequence(uint64(at)+1)))
}

// Fill implements [Bus].
func (b *natsBus) Fill(ctx context.Context) (Fill, error) {
	info, err := b.stream.Info(ctx)
	if err != nil {
		return Fill{}, fmt.Errorf("queue: %w", err)
	}
	return Fill{int64(info.State.Msgs), int64(info.State.Bytes), b.options.Bytes}, nil
}

// Close implements [Bus].
func (b *natsBus) Close() error {
	if b.conn != nil {
		b.conn.Close()
	}
	b.server.Shutdown()
	b.server.WaitForShutdown()
	return nil
}
