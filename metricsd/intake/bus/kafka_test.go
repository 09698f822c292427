//go:build !embedded

package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/beagle-go/beagle/metricsd/intake/bus/kafkatest"
)

// brokers are a broker of Kafka's protocol in this process, reached over TCP, and Apache's.
var brokers = map[string]func(*testing.T) string{
	"kafka": func(t *testing.T) string {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		return cluster.ListenAddrs()[0]
	},
	"kafka, Apache's broker": func(t *testing.T) string { return kafkatest.Start(t).Address },
}

func init() {
	for name, start := range brokers {
		openers[name] = func(t *testing.T) func() Bus {
			o := KafkaOptions{Brokers: []string{start(t)}, Topic: "series", Partitions: 3, Replicas: 1}
			return func() Bus { return opened(t)(OpenKafka(t.Context(), o)) }
		}
	}
}

func openTopic(t *testing.T, address string) *kafkaBus {
	t.Helper()
	b := opened(t)(OpenKafka(t.Context(),
		KafkaOptions{Brokers: []string{address}, Topic: "series", Partitions: 1, Replicas: 1})).(*kafkaBus)
	t.Cleanup(func() { b.Close() })
	return b
}

// minuteByMinute publishes texts as if one had come each minute, the last an hour ago.
func minuteByMinute(t *testing.T, b *kafkaBus, from, to, last int) {
	t.Helper()
	for i, s := range texts(from, to) {
		ago := time.Hour + time.Duration(last-from-i)*time.Minute
		if err := b.client.ProduceSync(t.Context(), &kgo.Record{Value: []byte(s), Timestamp: time.Now().Add(-ago)}).
			FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// publishInTime publishes texts, and repeats each until it is taken.
func publishInTime(t *testing.T, b *kafkaBus, from, to int) {
	t.Helper()
	for _, s := range texts(from, to) {
		for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			err := b.Publish(t.Context(), []byte(s))
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
}

// readUpTo reads after places until a text comes.
func readUpTo(t *testing.T, b Bus, after map[int32]int64, last string) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := b.Read(ctx, after, func(m Message) error {
		all = append(all, string(m.Data))
		if string(m.Data) == last {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%q does not come: %v; read %q", last, err, all)
	}
	return all
}

// fortyMinutes publishes 41 messages, and keeps a copy of the broker's disk that lacks the last
// eleven.
func fortyMinutes(t *testing.T, broker *kafkatest.Server) *kafkaBus {
	t.Helper()
	b := openTopic(t, broker.Address)
	minuteByMinute(t, b, 0, 30, 40)
	broker.Copy()
	minuteByMinute(t, b, 30, 41, 40)
	return b
}

// TestKafkaLosesTheLogsEnd restores the broker's disk from a copy that lacks the last eleven
// messages, and publishes fewer than were lost, or more. Each of these must be read, though another
// was read at its place. Of the old messages, those of the last ten minutes before the last one are
// read again. Each number starts a broker; with -short it tries one number, drawn anew each time.
func TestKafkaLosesTheLogsEnd(t *testing.T) {
	broker := kafkatest.Start(t)
	b := fortyMinutes(t, broker)
	_, places := readAll(t, b, nil, 41)
	all := []int{1, 11, 25} // fewer than were lost, as many, and more
	if testing.Short() {
		all = []int{all[rand.IntN(len(all))]}
	}
	for _, came := range all {
		t.Run(fmt.Sprintf("%d since", came), func(t *testing.T) {
			broker.Restore("")
			b := openTopic(t, broker.Address)
			publishInTime(t, b, 100, 100+came)
			want := texts(100, 100+came)
			if got := readUpTo(t, b, places, want[came-1]); !slices.Equal(got, want) {
				t.Errorf("read %q", got)
			}
			if m := b.Moves(); m != (Moves{EndLost: 1}) {
				t.Errorf("the operator is told of %+v", m)
			}
		})
	}
}

// TestKafkaLosesTheLogsEndAndTheTime restores the topic's directory alone, so that the broker
// continues its epochs, and publishes with a clock that was set back by hours. The epochs show
// where the log parts. In the test above, where they begin anew with the copy, the time does.
func TestKafkaLosesTheLogsEndAndTheTime(t *testing.T) {
	broker := kafkatest.Start(t)
	b := fortyMinutes(t, broker)
	_, places := readAll(t, b, nil, 41)
	broker.Restore("series-0")
	again := openTopic(t, broker.Address)
	minuteByMinute(t, again, 100, 107, 400)
	if got := readUpTo(t, again, places, "message 106"); !slices.Equal(got, texts(100, 107)) {
		t.Errorf("read %q", got)
	}
	if m := again.Moves(); m != (Moves{EndLost: 1}) {
		t.Errorf("the operator is told of %+v", m)
	}
}

// TestKafkaLosesTheLogsEndWhileItIsRead does the same under a reader, which has read other messages
// at the places of the new ones.
func TestKafkaLosesTheLogsEndWhileItIsRead(t *testing.T) {
	broker := kafkatest.Start(t)
	b := fortyMinutes(t, broker)
	got := make(chan string, 1000)
	go b.Read(t.Context(), nil, func(m Message) error { got <- string(m.Data); return nil })
	awaits(t, got, texts(0, 41))
	broker.Restore("")
	publishInTime(t, b, 100, 105)
	awaits(t, got, texts(100, 105))
	if m := b.Moves(); m.EndLost == 0 {
		t.Errorf("the operator is told of %+v", m)
	}
}

// TestKafkaTopicMadeAnew deletes the topic and makes it again, under a reader and between two
// readers: all of the new topic is read.
func TestKafkaTopicMadeAnew(t *testing.T) {
	for name, start := range brokers {
		t.Run(name, func(t *testing.T) {
			address := start(t)
			b := openTopic(t, address)
			publish(t, b, 0, 10)
			_, places := readAll(t, b, nil, 10)
			got := make(chan string, 1000)
			go b.Read(t.Context(), places, func(m Message) error { got <- string(m.Data); return nil })
			publish(t, b, 10, 12)
			awaits(t, got, texts(10, 12))
			makeAnew(t, b)
			publishInTime(t, b, 20, 40)
			awaits(t, got, texts(20, 40))
			if m := b.Moves(); m != (Moves{Anew: 1}) {
				t.Errorf("the operator is told of %+v", m)
			}
			another := openTopic(t, address)
			if all := readUpTo(t, another, places, "message 039"); !slices.Equal(all, texts(20, 40)) {
				t.Errorf("another reader reads %q", all)
			}
			if m := another.Moves(); m != (Moves{Anew: 1}) {
				t.Errorf("the operator is told of %+v", m)
			}
		})
	}
}

func makeAnew(t *testing.T, b *kafkaBus) {
	t.Helper()
	if _, err := b.admin.DeleteTopics(t.Context(), b.options.Topic); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		all, err := b.admin.ListTopics(t.Context())
		if err == nil && !all.Has(b.options.Topic) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the topic is not deleted: %v", err)
		}
	}
	openTopic(t, b.options.Brokers[0])
}

// TestKafkaRemovesUnread moves the log's start over messages that were not read. Reading continues
// there, and the log says so.
func TestKafkaRemovesUnread(t *testing.T) {
	for name, start := range brokers {
		t.Run(name, func(t *testing.T) {
			b := openTopic(t, start(t))
			publish(t, b, 0, 10)
			_, places := readAll(t, b, nil, 10)
			publish(t, b, 10, 30)
			before := kadm.Offsets{}
			before.AddOffset("series", 0, 25, -1)
			if _, err := b.admin.DeleteRecords(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if all := readUpTo(t, b, places, "message 029"); !slices.Equal(all, texts(25, 30)) {
				t.Errorf("read %q", all)
			}
			if m := b.Moves(); m != (Moves{Removed: 1}) {
				t.Errorf("the operator is told of %+v", m)
			}
		})
	}
}

// TestPlacesWithoutMarks reads the places of a metricsd that kept only offsets by the partitions'
// numbers.
func TestPlacesWithoutMarks(t *testing.T) {
	b := openTopic(t, brokers["kafka"](t))
	publish(t, b, 0, 10)
	for place, want := range map[int64][]string{3: texts(4, 10), 17: texts(0, 10)} {
		if all := readUpTo(t, b, map[int32]int64{0: place}, "message 009"); !slices.Equal(all, want) {
			t.Errorf("behind %d of 9: read %q", place, all)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, epoch := range []int32{-1, 0, 1, 500_000} {
		for _, at := range []int64{0, 1, 1_800_000_000_000} {
			mark := markOf(&kgo.Record{LeaderEpoch: epoch, Timestamp: time.UnixMilli(at)})
			if e, written := unmark(mark); mark <= 0 || e != epoch || written.UnixMilli() != at {
				t.Errorf("epoch %d at %d: a mark of %d, that is %d at %v", epoch, at, mark, e, written)
			}
		}
	}
	if mark := markOf(&kgo.Record{LeaderEpoch: math.MaxInt32, Timestamp: time.UnixMilli(math.MaxInt64)}); mark <= 0 {
		t.Errorf("a mark of %d", mark)
	}
}

func TestKeysOfPartitions(t *testing.T) {
	l := topicLog{math.MaxInt32 - 1, 5}
	seen := map[int32]bool{}
	for p := range l.partitions {
		key := l.key(p)
		if back, ok := l.partition(key); key < 0 || !ok || back != p || seen[key] {
			t.Errorf("partition %d has the key %d, and that is of %d", p, key, back)
		}
		seen[key] = true
	}
	for _, key := range []int32{l.first - 1, 3, -1, math.MinInt32} {
		if p, ok := l.partition(key); ok {
			t.Errorf("%d is said to be of partition %d", key, p)
		}
	}
}

// TestPatience asks brokers that are down, that answer late and whose answer is no use.
func TestPatience(t *testing.T) {
	away := errors.New("connection refused")
	for what, c := range map[string]struct {
		within time.Duration
		says   []error // the last stays
		want   error
		asked  int
	}{
		"away at the start": {0, []error{away}, away, 1},
		"away later":        {forever, []error{away, away, kerr.LeaderNotAvailable, nil}, nil, 4},
		"unfit":             {forever, []error{away, unfit{away}}, unfit{away}, 2},
	} {
		asked := 0
		err := patiently(t.Context(), c.within, func() error {
			asked++
			return c.says[min(asked, len(c.says))-1]
		})
		if err != c.want || asked != c.asked {
			t.Errorf("%s: asked %d times, %v", what, asked, err)
		}
	}
	for err, stays := range map[error]bool{
		away:                          false,
		kerr.LeaderNotAvailable:       false,
		kerr.UnknownTopicOrPartition:  true,
		kerr.TopicAuthorizationFailed: true,
	} {
		if answered(fmt.Errorf("kafka: %w", err)) != stays {
			t.Errorf("%v: stays %v is wanted", err, stays)
		}
	}
}

// TestKafkaTopicMadeAnewTooSmall makes the topic again so that it refuses long messages. Reading
// ends with the remedy, as at the start.
func TestKafkaTopicMadeAnewTooSmall(t *testing.T) {
	b := openTopic(t, brokers["kafka"](t))
	publish(t, b, 0, 3)
	_, places := readAll(t, b, nil, 3)
	if _, err := b.admin.DeleteTopics(t.Context(), "series"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.CreateTopic(t.Context(), 1, 1, map[string]*string{
		maxMessageBytes: kadm.StringPtr("1000"),
	}, "series"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.Read(ctx, places, func(Message) error { return nil }); !errors.As(err, new(unfit)) {
		t.Errorf("read: %v", err)
	}
}
