package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
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

// OpenKafka connects to brokers and makes the topic if there is none.
func OpenKafka(ctx context.Context, o KafkaOptions) (Bus, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.Brokers...), kgo.DefaultProduceTopic(o.Topic), kgo.ProducerBatchMaxBytes(MaxMessage+1<<10),
		kgo.ProducerBatchCompression(kgo.NoCompression())) // messages are compressed already
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

func (b *kafkaBus) topic(ctx context.Context) error {
	details, err := b.admin.ListTopics(ctx, b.options.Topic)
	if err != nil || details.Has(b.options.Topic) {
		return err
	}
	_, err = b.admin.CreateTopic(ctx, b.options.Partitions, b.options.Replicas, nil, b.options.Topic)
	return err
}

// Publish implements [Bus].
func (b *kafkaBus) Publish(ctx context.Context, data []byte) error {
	if err := checkSize(data); err != nil {
		return err
	}
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
		if err := fetched.Err(); err != nil {
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

// starts are the offsets to read from, of every partition.
func (b *kafkaBus) starts(ctx context.Context, after map[int32]int64) (map[int32]kgo.Offset, error) {
	details, err := b.admin.ListTopics(ctx, b.options.Topic)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	from := map[int32]kgo.Offset{}
	for _, p := range details[b.options.Topic].Partitions.Numbers() {
		from[p] = kgo.NewOffset().AtStart()
		if at, ok := after[p]; ok {
			from[p] = kgo.NewOffset().At(at + 1)
		}
	}
	if len(from) == 0 {
		return nil, fmt.Errorf("kafka: the topic %q has no partitions", b.options.Topic)
	}
	b.note(after)
	return from, nil
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
	_, err := b.admin.CommitOffsets(ctx, group, offsets)
	return err
}

// Fill implements [Bus].
func (b *kafkaBus) Fill(ctx context.Context) (f Fill, _ error) {
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
