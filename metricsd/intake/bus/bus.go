// Package bus is the queue between the intake's door and its processor.
//
// Publish returns when a message is safe, so a sender's request is answered only
// then. The reader says itself where it wants to begin, and keeps that place with
// what it made of the messages; the queue remembers nothing of readers. So a message
// is read again after a crash, and the reader can tell that it was.
//
// NATS JetStream runs in the process: nothing to install. Kafka's protocol is for
// those who outgrow one machine.
//
// # Limits
//
// A queue has one reader. Kafka's partitions are looked up at the start; added ones are
// read after a restart.
//
// A queue that has lost its end is read from where that may be, so some messages come twice: the
// reader has to know what it counted. Kafka's brokers keep what is not counted yet on as many disks
// as the topic has replicas. A leader that was elected uncleanly may have messages that Kafka had
// given up before; they are not looked for.
package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// A Message is a published message with its place. Places of one partition grow. When its log loses
// its end they continue from there.
type Message struct {
	Partition int32
	Place     int64
	Mark      int64 // distinguishes messages with the same place; 0 for nothing
	Data      []byte
}

// Note writes to places that a message was read. Its mark is beside its place, under the complement
// of the partition: so the two are stored together, and a reader that begins there can see whether
// this is the log that was read.
func (m Message) Note(places map[int32]int64) {
	places[m.Partition] = m.Place
	if m.Mark != 0 {
		places[^m.Partition] = m.Mark
	}
}

// A Fill says how much waits in a queue.
type Fill struct {
	Messages int64
	Bytes    int64 // 0 where the queue does not say
	Bound    int64 // bytes; 0 if the queue has no bound of ours
}

// Moves counts how often a queue differed from the one that was read.
type Moves struct {
	EndLost uint64 // of a partition, by its disk
	Removed uint64 // messages, before they were read
	Anew    uint64 // Kafka's topic was deleted and made again
}

// ErrFull says that a queue takes no more messages, and has not kept this one.
var ErrFull = errors.New("the queue is full")

// A Bus is a queue.
type Bus interface {
	// Publish adds a message and returns when it is safe.
	Publish(ctx context.Context, data []byte) error
	// Read calls take with every message after the places, in each partition's order, until ctx is
	// done or take fails. The places are those that were noted.
	Read(ctx context.Context, after map[int32]int64, take func(Message) error) error
	// Done says that messages up to the places are no longer needed.
	Done(ctx context.Context, read map[int32]int64) error
	// Fill reports how much waits for Done.
	Fill(ctx context.Context) (Fill, error)
	// Moves counts the readings that could not continue after the last message.
	Moves() Moves
	Close() error
}

// MaxMessage bounds a message. A door that packs more must split it.
const MaxMessage = 8 << 20

// ownPlaces returns places that a reading may change.
func ownPlaces(after map[int32]int64) map[int32]int64 {
	places := map[int32]int64{}
	maps.Copy(places, after)
	return places
}

func checkSize(data []byte) error {
	if len(data) > MaxMessage {
		return fmt.Errorf("a message of %d bytes is longer than %d", len(data), MaxMessage)
	}
	return nil
}
