package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/beagle-go/beagle/metricsd/disk"
)

// NATSOptions say where the embedded server keeps messages.
type NATSOptions struct {
	Dir   string
	Bytes int64 // most bytes that wait; more are refused with ErrFull
	Sync  bool  // write through to the disk before Publish returns: survives a power cut, not only a crash
	// Reserve is how many bytes of the disk have to stay free: with fewer, messages are refused.
	// If a write meets the disk's end nevertheless, the server takes nothing more, and is opened
	// again when so much is free.
	Reserve int64
	Log     *slog.Logger // logs that; nil for no log
}

type natsBus struct {
	options NATSOptions
	ctx     context.Context // until Close
	close   context.CancelFunc
	keeper  sync.WaitGroup

	mu       sync.Mutex
	open     *natsServer // nil while the server is closed after a failed write
	reopened uint64
	begun    *natsServer // that is read; Done may remove its messages
	lost     [2]int64    // lost messages: the place and mark up to which they were read
	moves    Moves
}

// OpenNATS starts a server in this process, without a port.
func OpenNATS(ctx context.Context, o NATSOptions) (Bus, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s, err := startNATS(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", o.Dir, err)
	}
	b := &natsBus{options: o, open: s}
	b.ctx, b.close = context.WithCancel(context.Background())
	b.keeper.Go(b.keep)
	return b, nil
}

// keep reopens the server after each failed write.
func (b *natsBus) keep() {
	for {
		b.mu.Lock()
		s := b.open
		b.mu.Unlock()
		select {
		case <-b.ctx.Done():
			s.stop()
			return
		case <-s.broken:
		}
		b.mu.Lock()
		b.open = nil
		b.mu.Unlock()
		b.options.Log.Error("a write of the embedded queue failed; it takes nothing until it is opened again, as "+
			"soon as its disk has room", "dir", b.options.Dir)
		if !s.stop() {
			b.options.Log.Warn("the embedded queue's server locked itself out when a removal met the disk's end, and "+
				"is given up; its memory is held until this process ends", "dir", b.options.Dir)
		}
		if s = b.reopen(); s == nil {
			return
		}
		b.mu.Lock()
		b.open, b.reopened = s, b.reopened+1
		b.mu.Unlock()
		b.options.Log.Info("the embedded queue is open again", "dir", b.options.Dir)
	}
}

// roomToOpen is the room that a server without a reserve needs to open.
const roomToOpen = 4 << 20

func (b *natsBus) room() error { return disk.Room(b.options.Dir, max(b.options.Reserve, roomToOpen)) }

// reopen waits for room, as the index's ballast does, and starts a server; nil at the end. The
// write may have failed for another reason, and the next one may too: so it waits a second.
func (b *natsBus) reopen() *natsServer {
	for wait := time.Second; ; wait = 50 * time.Millisecond {
		select {
		case <-b.ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if b.room() != nil {
			continue
		}
		s, err := startNATS(b.ctx, b.options)
		if err == nil {
			return s
		}
		b.options.Log.Error("the embedded queue cannot be opened again yet", "dir", b.options.Dir, "error", err)
	}
}

// Reopened returns how often the server was reopened after a failed write.
func (b *natsBus) Reopened() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reopened
}

// Moves implements [Bus].
func (b *natsBus) Moves() Moves {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moves
}

var errClosed = errors.New("queue: a write to the disk failed; the embedded server is being opened again, what was " +
	"acknowledged is kept")

// server returns the open server.
func (b *natsBus) server() (*natsServer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open != nil {
		return b.open, nil
	}
	if err := b.room(); err != nil {
		return nil, err
	}
	return nil, errClosed
}

// Publish implements [Bus].
func (b *natsBus) Publish(ctx context.Context, data []byte) error {
	if err := checkSize(data); err != nil {
		return err
	}
	if err := disk.Room(b.options.Dir, b.options.Reserve); err != nil {
		return err
	}
	s, err := b.server()
	if err != nil {
		return err
	}
	_, err = s.js.Publish(ctx, subject, data)
	if b.broke(ctx, s, err) {
		return errClosed
	}
	return verdict(err)
}

// verdict translates an answer of JetStream.
func verdict(err error) error {
	var refused *jetstream.APIError
	if errors.As(err, &refused) && (refused.ErrorCode == full || refused.ErrorCode == noRoom) {
		return ErrFull
	}
	return err
}

// JetStream's codes for a stream at its bound and for an account at its own.
const (
	full   = 10077
	noRoom = 10047
)

// Read implements [Bus]. It outlives servers.
func (b *natsBus) Read(ctx context.Context, after map[int32]int64, take func(Message) error) error {
	places := ownPlaces(after)
	for {
		s, err := b.await(ctx)
		if err != nil {
			return err
		}
		var refused error
		err = b.readOne(ctx, s, places, func(m Message) error {
			if refused = take(m); refused == nil {
				m.Note(places)
			}
			return refused
		})
		if refused != nil || ctx.Err() != nil || !b.broke(ctx, s, err) {
			return err
		}
	}
}

// await waits for a server that can write.
func (b *natsBus) await(ctx context.Context) (*natsServer, error) {
	for {
		if s, err := b.server(); err == nil && !s.failed() {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.ctx.Done():
			return nil, errClosed
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// readOne reads one server.
func (b *natsBus) readOne(ctx context.Context, s *natsServer, places map[int32]int64, take func(Message) error) error {
	place, mark := places[s.partition], places[^s.partition]
	from, err := s.nextNumber(ctx, place, mark)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	if from <= place {
		b.options.Log.Warn("the embedded queue has lost its end, as in a power cut without intake.queue.sync; all "+
			"that it holds is read, and parcels that were counted are not counted again", "read up to", place)
	}
	b.mu.Lock()
	if b.begun = s; from <= place {
		b.lost = [2]int64{place, mark}
		b.moves.EndLost++
	}
	b.mu.Unlock()
	return s.read(ctx, uint64(from), take)
}

// Done implements [Bus]. It ignores places of another stream, or of a lost end: they say nothing
// about the messages that have these numbers now.
func (b *natsBus) Done(ctx context.Context, read map[int32]int64) error {
	s, err := b.server()
	if err != nil {
		return err
	}
	at := read[s.partition]
	b.mu.Lock()
	skip := at <= 0 || b.begun != s || b.lost == [2]int64{at, read[^s.partition]}
	b.mu.Unlock()
	if skip {
		return nil
	}
	// A purge makes room, but writes a little first. It may go deeper than messages.
	if err := disk.Room(b.options.Dir, b.options.Reserve/4); err != nil {
		return err
	}
	err = s.stream.Purge(ctx, jetstream.WithPurgeSequence(uint64(at)+1))
	if b.broke(ctx, s, err) {
		return errClosed
	}
	return verdict(err)
}

// Fill implements [Bus].
func (b *natsBus) Fill(ctx context.Context) (Fill, error) {
	s, err := b.server()
	if err != nil {
		return Fill{}, err
	}
	info, err := s.stream.Info(ctx)
	if err != nil {
		return Fill{}, fmt.Errorf("queue: %w", err)
	}
	return Fill{int64(info.State.Msgs), int64(info.State.Bytes), b.options.Bytes}, nil
}

// Close implements [Bus].
func (b *natsBus) Close() error {
	b.close()
	b.keeper.Wait()
	return nil
}
