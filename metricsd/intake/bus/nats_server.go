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
)

const (
	streamName = "METRICSD"
	subject    = "metricsd.series"
)

// A natsServer is the server in this process, until a write to the disk fails. Then it answers no
// more messages, and another one has to start.
type natsServer struct {
	server    *server.Server
	conn      *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream
	partition int32
	broken    chan struct{} // closed when a write has failed
	fail      func()        // closes it
}

// startNATS starts a server within this process that listens on no socket. The store gets a quarter
// more room than the stream may use, for the server's own files, so that a full stream refuses
// messages first.
func startNATS(ctx context.Context, o NATSOptions) (*natsServer, error) {
	in, err := server.NewServer(&server.Options{
		ServerName: "metricsd", DontListen: true, NoSigs: true,
		JetStream: true, StoreDir: o.Dir, SyncAlways: o.Sync, JetStreamMaxStore: o.Bytes + o.Bytes/4 + 64<<20,
		JetStreamMaxMemory: 64 << 20, MaxPayload: MaxMessage + 1<<10,
	})
	if err != nil {
		return nil, err
	}
	s := &natsServer{server: in, broken: make(chan struct{})}
	// The server reports a full disk only in its log, so read the log.
	s.fail = sync.OnceFunc(func() { close(s.broken) })
	in.SetLogger(natsLog{s.fail}, false, false)
	in.Start()
	if !in.ReadyForConnections(30 * time.Second) {
		s.stop()
		return nil,
			errors.New("the embedded NATS server does not come up; is the directory writable, and no other metricsd " +
				"using it?")
	}
	if err := s.open(ctx, o); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// open connects, and makes the stream or takes the one on disk. A full stream refuses new messages,
// since somebody counts on the old ones.
func (s *natsServer) open(ctx context.Context, o NATSOptions) (err error) {
	if s.conn, err = nats.Connect("", nats.InProcessServer(s.server), nats.MaxReconnects(-1)); err != nil {
		return err
	}
	if s.js, err = jetstream.New(s.conn); err != nil {
		return err
	}
	s.stream, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxBytes: o.Bytes,
	})
	if err != nil {
		return err
	}
	// Sequence numbers begin anew with a new stream. Its creation time is its partition, so that
	// places in an old stream, whose files were removed, say nothing about this one.
	born := s.stream.CachedInfo().Created.UTC().Format(time.RFC3339Nano)
	s.partition = int32(crc32.ChecksumIEEE([]byte(born)) >> 1)
	return nil
}

// stop ends the server; it returns false for a server that cannot end and was abandoned.
func (s *natsServer) stop() (ended bool) {
	if s.conn != nil {
		s.conn.Close()
	}
	down := make(chan struct{})
	go func() {
		defer close(down)
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}()
	for {
		select {
		case <-down:
			return true
		case <-time.After(time.Second):
			if giveUp() {
				return false
			}
		}
	}
}

// failed reports that a write has failed.
func (s *natsServer) failed() bool {
	select {
	case <-s.broken:
		return true
	default:
		return false
	}
}

// natsLog reads the server's log. After a failed write the server never answers a message of that
// stream again. Only its log says so, and sometimes not even that: see [stuck].
type natsLog struct{ fail func() }

func (l natsLog) Errorf(format string, args ...any) {
	if strings.Contains(strings.ToLower(format), "critical write error") {
		l.fail()
	}
}

func (l natsLog) Noticef(string, ...any) {}
func (l natsLog) Warnf(string, ...any)   {}
func (l natsLog) Fatalf(string, ...any)  {}
func (l natsLog) Debugf(string, ...any)  {}
func (l natsLog) Tracef(string, ...any)  {}

// nextNumber returns the number from which to continue reading after a place. A stream may have
// lost its end, and newer messages have numbers that were read before. Counted messages are
// removed, so the stream holds few others, and all are read.
func (s *natsServer) nextNumber(ctx context.Context, place, mark int64) (int64, error) {
	if place <= 0 {
		return 1, nil
	}
	info, err := s.stream.Info(ctx)
	if err != nil || uint64(place) < info.State.FirstSeq {
		return place + 1, err
	}
	is, err := s.stream.GetMsg(ctx, uint64(place))
	if errors.Is(err, jetstream.ErrMsgNotFound) && uint64(place) > info.State.LastSeq ||
		err == nil && mark != 0 && mark != is.Time.UnixNano() {
		return 1, nil
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) { // removed in the meantime
		err = nil
	}
	return place + 1, err
}

// read calls take with every message from a number on.
func (s *natsServer) read(ctx context.Context, from uint64, take func(Message) error) error {
	consumer, err := s.js.OrderedConsumer(ctx, streamName, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	// Next has no context that ends it while nothing comes. Stopping the messages ends it, when the
	// caller ends or a server broke.
	defer context.AfterFunc(ctx, messages.Stop)()
	defer messages.Stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-s.broken:
			messages.Stop()
		case <-ended:
		}
	}()
	for {
		m, err := messages.Next()
		// Ask which of the two it was before looking at the error, which is the same for both.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.broken:
			return errClosed
		default:
		}
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		if err := take(Message{s.partition, int64(meta.Sequence.Stream), meta.Timestamp.UnixNano(),
			m.Data()}); err != nil {
			return err
		}
	}
}
