//go:build !embedded

package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka's log may have changed since it was read, in three ways. Each has its own place to continue
// from. A reading must skip nothing, and repeat little: only the last million parcels are known by
// their IDs.
//
//   - Retention removed unread messages. The others were not read either: go on at the start.
//   - A broker lost the log's end, in a crash or because its disk was restored from an older
//     copy, and what came since then stands where other messages were. Go on where the log
//     parts from the one that was read ([kafkaBus.parting]).
//   - The topic was deleted and made again. None of it was read: go on at its start. Its
//     partitions have other keys ([topicLog]), under which no place is kept.
//
// The client tells of some of this while it reads, but nothing of what happened before. So
// reading begins with the last message that was read, whose mark must be the one that was kept.

// Moves implements [Bus].
func (b *kafkaBus) Moves() Moves {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moves
}

// countMove counts a change of the log, and logs it for the operator.
func (b *kafkaBus) countMove(what func(*Moves) *uint64, says string, args ...any) {
	b.mu.Lock()
	*what(&b.moves)++
	b.mu.Unlock()
	b.options.Log.Warn(says, append([]any{"topic", b.options.Topic}, args...)...)
}

// errAgain ends a reading, so that another begins from the noted places.
var errAgain = errors.New("the topic is read anew")

// A kafkaReading is one client's reading of the topic.
type kafkaReading struct {
	*kafkaBus
	log    topicLog
	places map[int32]int64
	take   func(Message) error
}

// Read implements [Bus].
func (b *kafkaBus) Read(ctx context.Context, after map[int32]int64, take func(Message) error) error {
	places := ownPlaces(after)
	for within := startWithin; ; within = forever {
		r := &kafkaReading{kafkaBus: b, places: places, take: take}
		if err := r.read(ctx, within); !errors.Is(err, errAgain) {
			return err
		}
	}
}

// read reads until reading has to begin anew. within bounds the time that brokers may be down at
// its start.
func (r *kafkaReading) read(ctx context.Context, within time.Duration) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(r.options.Brokers...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())) // never further on; the messages from there are checked
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	// by the client that reads: others remember an older topic for some seconds
	if err := r.findPlaces(ctx, kadm.NewClient(client), within); err != nil {
		return err
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.options.Topic: r.starts()})
	for {
		fetched := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.judge(ctx, fetched); err != nil {
			return err
		}
		for records := fetched.RecordIter(); !records.Done(); {
			if err := r.record(ctx, records.Next()); err != nil {
				return err
			}
		}
	}
}

// findPlaces finds the log and the places up to which it was read.
func (r *kafkaReading) findPlaces(ctx context.Context, brokers *kadm.Client, within time.Duration) (err error) {
	if r.log, err = findLog(ctx, brokers, r.options.Topic, within); err != nil {
		return err
	}
	known, marked := r.log.adopt(r.places)
	if marked && !known {
		r.countMove(func(m *Moves) *uint64 {
			return &m.Anew
		}, "this topic was not read before, it may have been deleted and made again; it is read from its start")
		if err := patiently(ctx, within, func() error { return r.checkTopic(ctx) }); err != nil {
			return fmt.Errorf("kafka: %w", err)
		}
	}
	r.mu.Lock()
	r.kafkaBus.log = r.log
	r.mu.Unlock()
	r.note(r.places)
	return nil
}

// starts returns the offsets to read from: those of the last messages that were read.
func (r *kafkaReading) starts() map[int32]kgo.Offset {
	from := map[int32]kgo.Offset{}
	for p := range r.log.partitions {
		from[p] = kgo.NewOffset().AtStart()
		if at, ok := r.places[r.log.key(p)]; ok && at >= 0 {
			from[p] = kgo.NewOffset().At(at)
		}
	}
	return from
}

// judge returns the first lasting error: brokers that are down come back.
func (r *kafkaReading) judge(ctx context.Context, fetched kgo.Fetches) error {
	for _, e := range fetched.Errors() {
		switch lost := (*kgo.ErrDataLoss)(nil); {
		case errors.As(e.Err, &lost):
			return r.part(ctx, e.Partition)
		case errors.Is(e.Err, kerr.UnknownTopicID): // this client will not see the new one
			return errAgain
		case !kerr.IsRetriable(e.Err):
			return fmt.Errorf("kafka: partition %d of %q: %w", e.Partition, e.Topic, e.Err)
		}
	}
	return nil
}

// record hands on a record, if it comes after the last one that was read.
func (r *kafkaReading) record(ctx context.Context, is *kgo.Record) error {
	m := Message{r.log.key(is.Partition), is.Offset, markOf(is), is.Value}
	if last, ok := r.places[m.Partition]; ok {
		mark := r.places[^m.Partition]
		switch {
		case m.Place < last, m.Place == last && mark != 0 && mark != m.Mark:
			return r.part(ctx, is.Partition)
		case m.Place == last:
			return nil
		case m.Place > last+1:
			r.countMove(func(m *Moves) *uint64 {
				return &m.Removed
			}, "messages were removed before they were read; give the topic a longer retention, or find out what "+
				"cannot keep up",
				"partition", is.Partition, "from", last+1, "messages", m.Place-last-1)
		}
	}
	if err := r.take(m); err != nil {
		return err
	}
	m.Note(r.places)
	return nil
}

// part goes back to the point where a partition's log parts from the one that was read.
func (r *kafkaReading) part(ctx context.Context, partition int32) error {
	key := r.log.key(partition)
	last, ok := r.places[key]
	if !ok {
		return errAgain // nothing of it was read
	}
	var from int64
	err := patiently(ctx, forever, func() (err error) {
		from, err = r.parting(ctx, partition, last, r.places[^key])
		return err
	})
	if err != nil {
		return fmt.Errorf("kafka: partition %d of %q has lost its end, and the place is unknown: %w", partition,
			r.options.Topic, err)
	}
	r.countMove(func(m *Moves) *uint64 {
		return &m.EndLost
	}, "a partition has lost its end, or other messages stand there; it is read again from where that may be, and "+
		"parcels that were counted are not counted again",
		"partition", partition, "read up to", last, "goes on at", from)
	r.places[key] = from - 1
	delete(r.places, ^key)
	return errAgain
}

// parting returns the last offset that surely belongs to the log that was read; the true one may be
// later.
//
// The broker knows where the leader's epoch ended in which the last message was written. Lost
// messages come after that. A broker restored from a copy may count epochs anew, so parting also
// looks for messages with later times, less some minutes because clocks are set. One of the two
// must hold.
func (b *kafkaBus) parting(ctx context.Context, partition int32, last, mark int64) (int64, error) {
	start, err := b.listed(b.admin.ListStartOffsets(ctx, b.options.Topic))(partition)
	if err != nil || mark == 0 {
		return start, err
	}
	// before the others: what comes meanwhile is after it
	from, err := b.listed(b.admin.ListEndOffsets(ctx, b.options.Topic))(partition)
	if err != nil {
		return 0, err
	}
	epoch, written := unmark(mark)
	later, err := b.listed(b.admin.ListOffsetsAfterMilli(ctx, max(1, written.Add(-clocksDiffer).UnixMilli()),
		b.options.Topic))(partition)
	if err != nil {
		return 0, err
	}
	ended, err := b.epochEnd(ctx, partition, epoch)
	if err != nil {
		return 0, err
	}
	return max(start, min(from, last, later, ended)), nil
}

// clocksDiffer bounds how far clocks may have been set back without a message being missed.
const clocksDiffer = 10 * time.Minute
