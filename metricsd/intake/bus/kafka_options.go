package bus

import "log/slog"

// KafkaOptions say where the brokers are.
type KafkaOptions struct {
	Brokers    []string
	Topic      string
	Partitions int32 // of the topic, if it must be made
	Replicas   int16
	Log        *slog.Logger // logs a topic that differs from the one that was read; nil for no log
}
