//go:build embedded

package bus

import (
	"context"
	"errors"
)

// OpenKafka fails: this program was built without a client for Kafka.
func OpenKafka(context.Context, KafkaOptions) (Bus, error) {
	return nil, errors.New("this metricsd was built with the tag embedded, without Kafka; " +
		"build it without the tag, or leave intake.queue.kafka out")
}
