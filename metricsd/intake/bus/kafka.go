package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaOptions say where the brokers are.
type KafkaOptions struct {
	Brokers    []string
	Topic      string
	Partitions int32 // of the topic, when it has to be made
	Replicas   int16
}

// group is the consumer group under which places are committed. Only people and
// their tools read them, for the lag; the index has the places that count.
const group = "metricsd"

type kafkaBus struct {
	options KafkaOptions
	client  *kgo.Client
	admin   *kadm.Client

	mu   sync.Mutex
	done map[int32]int64
}

// Brokers may be away for long, and nobody waits for them that long: a sender is told to
// come again, the processor goes on and the page says that they are away.
const (
	publishWithin = 5 * time.Second // as JetStream's client does
	tellWithin    = 2 * time.Second // what only people read
	startWithin   = time.Minute     // brokers that are away just when reading starts
)

// batchBytes is the longest batch that is sent: one message of the longest, and what Kafka
// puts around it.
const batchBytes = MaxMessage + 1<<10

// OpenKafka connects to brokers and makes the topic if there is none.
func OpenKafka(ctx context.Context, o KafkaOptions) (Bus, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.Brokers...), kgo.DefaultProduceTopic(o.Topic), kgo.ProducerBatchMaxBytes(batchBytes),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // messages are compressed already
		// A message that nobody waits for any more goes. It may be there nevertheless, and
		// come twice: its parcels have IDs, and each is counted once.
		kgo.AllowIdempotentProduceCancellation())
	if err != nil {
		return nil, fmt.Errorf("kafka %q: %w", o.Brokers, err)
	}
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

// topic sees to it that there is a topic that takes all messages.
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
	if errors.Is(err, kerr.TopicAlreadyExists) { // somebody else made it just now
		return b.checkTopic(ctx)
	}
	return err
}

// checkTopic refuses a topic that would refuse messages: their senders would send them for
// ever. Where the topic's settings may not be read it is taken as it is.
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
			return fmt.Errorf("the topic %q takes batches of %d bytes and messages need %d; set it with kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s=%d",
				b.options.Topic, most, batchBytes, b.options.Topic, maxMessageBytes, batchBytes)
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
	return b.client.ProduceSync(ctx, &kgo.Record{Value: data}).FirstErr()
}

// Read implements [Bus].
func (b *kafkaBus) Read(ctx context.Context, after map[int32]int64, take func(Message) error) error {
	from, err := b.starts(ctx, after)
	if err != nil {
		return err
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.options.Brokers...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{b.options.Topic: from}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())) // what retention has removed cannot be read; go on behind it
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer reader.Close()
	for {
		fetched := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fatal(fetched); err != nil {
			return fmt.Errorf("kafka: %w", err)
		}
		var failed error
		fetched.EachRecord(func(r *kgo.Record) {
			if failed == nil {
				failed = take(Message{r.Partition, r.Offset, r.Value})
			}
		})
		if failed != nil {
			return failed
		}
	}
}

// fatal is the first error that does not pass: brokers that are away come back. What they have
// lost is gone, and the client goes on behind it.
func fatal(fetched kgo.Fetches) error {
	for _, e := range fetched.Errors() {
		if lost := (*kgo.ErrDataLoss)(nil); !errors.As(e.Err, &lost) && !kerr.IsRetriable(e.Err) {
			return fmt.Errorf("partition %d of %q: %w", e.Partition, e.Topic, e.Err)
		}
	}
	return nil
}

// starts are the offsets to read from, of every partition.
func (b *kafkaBus) starts(ctx context.Context, after map[int32]int64) (map[int32]kgo.Offset, error) {
	partitions, err := b.partitions(ctx)
	if err != nil {
		return nil, err
	}
	from := map[int32]kgo.Offset{}
	for _, p := range partitions {
		from[p] = kgo.NewOffset().AtStart()
		if at, ok := after[p]; ok {
			from[p] = kgo.NewOffset().At(at + 1)
		}
	}
	b.note(after)
	return from, nil
}

// partitions asks until there is an answer: a topic that was just made is not known to all
// brokers at once, and they may be away just now.
func (b *kafkaBus) partitions(ctx context.Context) ([]int32, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		details, err := b.admin.ListTopics(ctx, b.options.Topic)
		if err == nil {
			topic := details[b.options.Topic]
			if err = topic.Err; err == nil && len(topic.Partitions) > 0 {
				return topic.Partitions.Numbers(), nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("kafka: the topic %q has no partitions: %w", b.options.Topic, cmp.Or(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (b *kafkaBus) note(read map[int32]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.done, read)
}

// Done implements [Bus]. Kafka itself forgets messages by its retention.
func (b *kafkaBus) Done(ctx context.Context, read map[int32]int64) error {
	b.note(read)
	offsets := kadm.Offsets{}
	for p, at := range read {
		offsets.AddOffset(b.options.Topic, p, at+1, -1)
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
		if at, ok := b.done[end.Partition]; ok {
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
