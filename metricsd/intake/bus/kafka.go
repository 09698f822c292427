//go:build !embedded

package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// group is the consumer group under which places are committed. Only people and
// their tools read them, for the lag; the index has the places that count.
const group = "metricsd"

type kafkaBus struct {
	options KafkaOptions
	client  *kgo.Client
	admin   *kadm.Client

	mu    sync.Mutex
	log   topicLog // that is read
	done  map[int32]int64
	moves Moves
}

// Brokers may be down for long. Nothing waits that long: the intake asks senders to retry later,
// the processor goes on, and the page says that the brokers are down.
const (
	publishWithin = 5 * time.Second // as JetStream's client does
	tellWithin    = 2 * time.Second // for figures that only people read
	startWithin   = time.Minute     // for brokers that are down when reading starts
)

// batchBytes is the length of the longest batch: one message of the longest, and the bytes that
// Kafka adds.
const batchBytes = MaxMessage + 1<<10

// OpenKafka connects to brokers and makes the topic if there is none.
func OpenKafka(ctx context.Context, o KafkaOptions) (Bus, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.Brokers...), kgo.DefaultProduceTopic(o.Topic),
		kgo.ProducerBatchMaxBytes(batchBytes),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // messages are compressed already
		// A message whose sender has given up is dropped. It may be in the topic nevertheless, and
		// come twice: its parcels have IDs, and each is counted once.
		kgo.AllowIdempotentProduceCancellation())
	if err != nil {
		return nil, fmt.Errorf("kafka %q: %w", o.Brokers, err)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	b := &kafkaBus{options: o, client: client, admin: kadm.NewClient(client), done: map[int32]int64{}}
	if err := b.topic(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("kafka %q: %w", o.Brokers, err)
	}
	return b, nil
}

// maxMessageBytes is Kafka's name for the longest batch that a topic takes. Its default, 1 MB,
// is less than a message may have.
const maxMessageBytes = "max.message.bytes"

// topic makes the topic unless it exists, and checks that it takes all messages.
func (b *kafkaBus) topic(ctx context.Context) error {
	name := b.options.Topic
	details, err := b.admin.ListTopics(ctx, name)
	if err != nil {
		return err
	}
	if details.Has(name) {
		return b.checkTopic(ctx)
	}
	_, err = b.admin.CreateTopic(ctx, b.options.Partitions, b.options.Replicas,
		map[string]*string{maxMessageBytes: kadm.StringPtr(strconv.Itoa(batchBytes))}, name)
	if errors.Is(err, kerr.TopicAlreadyExists) { // another process has just made it
		return b.checkTopic(ctx)
	}
	return err
}

// unfit is a fault of a topic that would refuse messages.
type unfit struct{ error }

// checkTopic refuses a topic that would refuse messages: their senders would repeat them for ever.
// Where the topic's settings may not be read it accepts the topic.
func (b *kafkaBus) checkTopic(ctx context.Context) error {
	all, err := b.admin.DescribeTopicConfigs(ctx, b.options.Topic)
	if err != nil {
		return err
	}
	topic, err := all.On(b.options.Topic, nil)
	if err != nil || topic.Err != nil {
		return nil
	}
	for _, c := range topic.Configs {
		if most, err := strconv.Atoi(c.MaybeValue()); c.Key == maxMessageBytes && err == nil && most < batchBytes {
			return unfit{fmt.Errorf("the topic %q takes batches of %d bytes and messages need %d; set it with "+
				"kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s=%d",
				b.options.Topic, most, batchBytes, b.options.Topic, maxMessageBytes, batchBytes)}
		}
	}
	return nil
}

// Publish implements [Bus].
func (b *kafkaBus) Publish(ctx context.Context, data []byte) error {
	if err := checkSize(data); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	err := b.client.ProduceSync(ctx, &kgo.Record{Value: data}).FirstErr()
	// the topic may be new: this client uses the old one until it forgets it
	if errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.UnknownTopicOrPartition) {
		b.client.PurgeTopicsFromProducing(b.options.Topic)
	}
	return err
}

func (b *kafkaBus) note(read map[int32]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.done, read)
}

// Done implements [Bus]. Kafka itself forgets messages by its retention.
func (b *kafkaBus) Done(ctx context.Context, read map[int32]int64) error {
	b.note(read)
	b.mu.Lock()
	log := b.log
	b.mu.Unlock()
	offsets := kadm.Offsets{}
	for key, at := range read {
		if p, ok := log.partition(key); ok {
			offsets.AddOffset(b.options.Topic, p, at+1, -1)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	_, err := b.admin.CommitOffsets(ctx, group, offsets)
	return err
}

// Fill implements [Bus].
func (b *kafkaBus) Fill(ctx context.Context) (f Fill, _ error) {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	starts, err := b.admin.ListStartOffsets(ctx, b.options.Topic)
	ends, err2 := b.admin.ListEndOffsets(ctx, b.options.Topic)
	if err := errors.Join(err, err2); err != nil {
		return f, fmt.Errorf("kafka: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ends.Each(func(end kadm.ListedOffset) {
		from := int64(0)
		if start, ok := starts.Lookup(end.Topic, end.Partition); ok {
			from = start.Offset
		}
		if at, ok := b.done[b.log.key(end.Partition)]; ok {
			from = max(from, at+1)
		}
		f.Messages += max(0, end.Offset-from)
	})
	return f, nil
}

// Close implements [Bus].
func (b *kafkaBus) Close() error {
	b.client.Close()
	return nil
}
