// Package constants stands for a module of the Agent that the Go proxy does not have: names
// that others of its modules need. Their values are ours; nothing that is sent depends on them.
package constants

import "time"

const (
	DefaultSite                      = "datadoghq.com"
	DefaultProcessCmdPort            = 6162
	DefaultSecurityAgentCmdPort      = 5010
	DefaultForwarderRecoveryInterval = 2
	DefaultAPIKeyValidationInterval  = 60
	DefaultInputChanSize             = 100
	DefaultBatchMaxSize              = 1000
	DefaultBatchMaxContentSize       = 5 << 20
	DefaultMaxMessageSizeBytes       = 900_000
	DefaultAuditorTTL                = 23
	DefaultLogsSenderBackoffFactor   = 2.0
	DefaultLogsSenderBackoffBase     = 1.0
	DefaultLogsSenderBackoffMax      = 120.0
)

var _ = time.Second

// ConfigurationProviders is a part of the configuration that nothing reads here.
type ConfigurationProviders struct {
	Name string `mapstructure:"name"`
}
