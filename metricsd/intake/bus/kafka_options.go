package bus

import "log/slog"

// KafkaOptions say where the brokers are.
type KafkaOptions struct {
	Brokers    []string
	Topic      string
	Partitions int32 // of the topic, when it has to be made
	Replicas   int16
	Log        *slog.Logger // gets a line when the topic is not as it was read; nil for no log
}
