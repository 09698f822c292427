//go:build !embedded

package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A topicLog is the topic's log, from when it was made until it is deleted.
type topicLog struct {
	first      int32 // key of partition 0, taken from the topic's ID
	partitions int32
}

// key returns the number under which a partition's place is stored. The keys of one topic follow
// each other; a topic that was made anew under the same name has others.
func (l topicLog) key(partition int32) int32 {
	return int32((uint32(l.first) + uint32(partition)) & math.MaxInt32)
}

func (l topicLog) partition(key int32) (int32, bool) {
	p := int32((uint32(key) - uint32(l.first)) & math.MaxInt32)
	return p, key >= 0 && p < l.partitions
}

// adopt reports whether places of this log are known, and whether any have marks. Places without
// marks come from a metricsd that took the partition's number itself for the key.
func (l topicLog) adopt(places map[int32]int64) (known, marked bool) {
	for key := range places {
		_, own := l.partition(key)
		known, marked = known || own, marked || key < 0
	}
	if known || marked {
		return known, marked
	}
	for p := range l.partitions {
		if at, ok := places[p]; ok {
			places[l.key(p)] = at
		}
	}
	return known, marked
}

// findLog asks until there is an answer: not all brokers know a new topic at once, and they may be
// down just now.
func findLog(ctx context.Context, brokers *kadm.Client, name string, within time.Duration) (l topicLog, _ error) {
	err := patiently(ctx, within, func() error {
		details, err := brokers.ListTopics(ctx, name)
		if err != nil {
			return err
		}
		topic := details[name]
		if topic.Err != nil {
			return topic.Err
		}
		if len(topic.Partitions) == 0 {
			return errors.New("it has no partitions")
		}
		l = topicLog{int32(crc32.ChecksumIEEE(topic.ID[:]) >> 1), int32(len(topic.Partitions))}
		return nil
	})
	if err != nil {
		return l, fmt.Errorf("kafka: the topic %q cannot be read: %w", name, err)
	}
	return l, nil
}

// forever is the wait for brokers that were there before.
const forever = time.Duration(math.MaxInt64)

// patiently asks brokers until they answer, or until the given time is over. With an error that
// will not go away it gives up early, as at the start.
func patiently(ctx context.Context, within time.Duration, ask func() error) error {
	for began := time.Now(); ; {
		err := ask()
		if waited := time.Since(began); err == nil || waited > within || waited > startWithin && answered(err) ||
			errors.As(err, new(unfit)) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answered reports whether an error is a broker's lasting answer. An unknown topic is not: it may
// just have been deleted to be made again.
func answered(err error) bool {
	is := (*kerr.Error)(nil)
	return errors.As(err, &is) && (!is.Retriable || is == kerr.UnknownTopicOrPartition)
}

// listed looks up a partition in a broker's list.
func (b *kafkaBus) listed(all kadm.ListedOffsets, err error) func(partition int32) (int64, error) {
	return func(partition int32) (int64, error) {
		if err != nil {
			return 0, err
		}
		is, ok := all.Lookup(b.options.Topic, partition)
		if !ok {
			return 0, errors.New("the partition is not listed")
		}
		return is.Offset, is.Err
	}
}

// epochEnd returns the offset at which a leader's epoch ended, and a very large one if the broker
// does not know it.
func (b *kafkaBus) epochEnd(ctx context.Context, partition, epoch int32) (int64, error) {
	if epoch < 0 {
		return math.MaxInt64, nil
	}
	var ask kadm.OffsetForLeaderEpochRequest
	ask.Add(b.options.Topic, partition, epoch)
	all, err := b.admin.OffsetForLeaderEpoch(ctx, ask)
	if err != nil {
		return 0, err
	}
	is, ok := all[b.options.Topic][partition]
	if !ok {
		return 0, errors.New("the brokers report no epochs of the partition")
	}
	if is.Err != nil || is.EndOffset >= 0 {
		return is.EndOffset, is.Err
	}
	return math.MaxInt64, nil
}

// markTime is how many bits of a mark hold a time in milliseconds: enough for 500 years. A mark is
// the leader's epoch under which a record was written, and that time. It is never 0.
const markTime = 44

func markOf(r *kgo.Record) int64 {
	at := min(max(r.Timestamp.UnixMilli(), 0), 1<<markTime-1)
	return (int64(r.LeaderEpoch)+2)<<markTime&math.MaxInt64 | at
}

func unmark(mark int64) (epoch int32, written time.Time) {
	return int32(mark>>markTime) - 2, time.UnixMilli(mark & (1<<markTime - 1))
}
