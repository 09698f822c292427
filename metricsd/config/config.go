// Package config is the configuration of the agent and the intake: one struct, whose fields are the
// manual, filled from a YAML file, the environment and flags, the later over the
// earlier.
//
// The field `listen.udp` is the key udp under listen in the file, METRICSD_LISTEN_UDP in the
// environment, and -listen.udp on the command line. All three places refuse unknown keys: a
// misspelt limit must not mean no limit.
package config

import (
	"errors"
	"fmt"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// Config holds all settings.
type Config struct {
	Host        string      `yaml:"host" help:"host of metrics that do not name one; empty for none"`
	HTTP        string      `yaml:"http" help:"address of /metrics, /healthz, /malformed, /events and /debug/pprof; empty for none"`
	HTTPToken   string      `yaml:"http_token" help:"required of readers of http, except of /healthz, as bearer token, DD-API-KEY or password; metricsd all uses intake.token unless it is set; empty to ask for none, and /debug/pprof then answers this machine only; set it in the environment to keep it out of lists of processes"`
	Listen      Listen      `yaml:"listen"`
	Limits      Limits      `yaml:"limits"`
	Tagger      Tagger      `yaml:"tagger"`
	Datadog     Datadog     `yaml:"datadog"`
	RemoteWrite RemoteWrite `yaml:"remote_write"`
	Intake      Intake      `yaml:"intake"`
	Log         Log         `yaml:"log"`
}

// Listen says where metrics come from.
type Listen struct {
	UDP               string `yaml:"udp" help:"UDP address; empty for none"`
	Unixgram          string `yaml:"unixgram" help:"path of a Unix datagram socket; empty for none"`
	Unix              string `yaml:"unix" help:"path of a Unix stream socket; empty for none"`
	ReceiveBuffer     int    `yaml:"receive_buffer" help:"bytes to ask of the kernel for each datagram socket; 0 leaves its default"`
	PacketSize        int    `yaml:"packet_size" help:"longest datagram or frame in bytes; longer ones are cut, longer frames refused"`
	Batch             int    `yaml:"batch" help:"most datagrams that one system call receives"`
	Cache             int    `yaml:"cache" help:"least number of lines that each receiver recognises by the bytes around their value, and does not parse again; 21 bytes each, up to twice as many; 0 for none"`
	Workers           int    `yaml:"workers" help:"goroutines that receive from each datagram socket; over UDP on Linux each has a socket of its own, and all datagrams of a sender go to one of them; elsewhere, with more than 1, the earlier of two values of a gauge may win if they are sent at nearly the same time"`
	StreamConnections int    `yaml:"stream_connections" help:"most open connections of the Unix stream socket; each holds listen.packet_size bytes and 5 KB more"`
}

// Tagger adds tags to metrics of containers. Cardinality and entities can be changed without a
// restart, like limits.
type Tagger struct {
	Credentials           bool   `yaml:"credentials" help:"find the container of a sender on a Unix socket by its process (SO_PASSCRED, /proc/PID/cgroup), on Linux and in the namespace of the senders' processes"`
	Cardinality           string `yaml:"cardinality" help:"which tags a message gets that has no card: none, low, orchestrator or high; tagger.entities, in the file only, has the tags"`
	Docker                string `yaml:"docker" help:"path of the Docker Engine's socket, as /var/run/docker.sock, which is asked for the tags of containers; empty for none"`
	DockerLabels          string `yaml:"docker_labels" help:"labels of containers that become tags, separated by commas, each as label or label=tag"`
	Kubernetes            string `yaml:"kubernetes" help:"API server that is asked for the pods of this node: in-cluster, or its address; empty for none"`
	KubernetesNode        string `yaml:"kubernetes_node" help:"the node's name, which a pod has from spec.nodeName"`
	KubernetesSecrets     string `yaml:"kubernetes_secrets" help:"directory with token and ca.crt of the account that asks"`
	KubernetesLabels      string `yaml:"kubernetes_labels" help:"labels of pods that become tags, as in docker_labels"`
	KubernetesAnnotations string `yaml:"kubernetes_annotations" help:"annotations of pods that become tags, as in docker_labels"`
	// Entities are keyed by container id, pod UID or in-<cgroup inode>. In the file only.
	Entities map[string]Entity `yaml:"entities"`
}

// Entity are the tags of a container or a pod, by the least cardinality that receives them.
type Entity struct {
	Low          []string `yaml:"low"`
	Orchestrator []string `yaml:"orchestrator"`
	High         []string `yaml:"high"`
}

// Limits bounds memory. They can be changed without a restart: edit the file and
// send SIGHUP.
type Limits struct {
	Contexts    int `yaml:"contexts" help:"most contexts; 0 for no bound"`
	PerOrigin   int `yaml:"per_origin" help:"most contexts of one sender; 0 for no bound"`
	Bytes       int `yaml:"bytes" help:"most bytes of all contexts and their sketches, as estimated; 0 for no bound"`
	Timestamped int `yaml:"timestamped" help:"most points with timestamps that wait for a flush, per processor; 0 for no bound"`
	SetExact    int `yaml:"set_exact" help:"values of a set that are counted exactly, more are estimated; 0 for no bound"`
	Expiry      int `yaml:"expiry" help:"flushes, one each 10 s, without a sample after which a context goes; 0 for never"`
}

// Datadog says where to send points, in the form of Datadog's series API.
type Datadog struct {
	URL         string `yaml:"url" help:"what stands before /api/v2/series, such as https://api.datadoghq.eu or http://127.0.0.1:8428/datadog; empty for not sending"`
	APIKey      string `yaml:"api_key" help:"key for the DD-API-KEY header; the environment keeps it out of lists of processes"`
	API         string `yaml:"api" help:"v1 for JSON, v2 for protobuf"`
	Compression string `yaml:"compression" help:"zlib, deflate (the same), zstd or none"`
	Sketches    string `yaml:"sketches" help:"what is sent as DDSketches to /api/beta/sketches: none, distributions, all for timings and histograms too, or auto: distributions where metricsd all sends to its own intake, none elsewhere; the rest becomes counts and gauges, which sketches take the place of; the receiver must know that path"`
	Events      bool   `yaml:"events" help:"send events to /intake/ and service checks to /api/v1/check_run too; a receiver that does not know these paths loses them, and nothing else"`
	Queue       string `yaml:"queue" help:"directory for payloads that wait to be sent; needed with datadog.url"`
	QueueBytes  int    `yaml:"queue_bytes" help:"most bytes of the queue; the oldest payloads go first"`
}

// RemoteWrite says where to send the metrics that a scrape would see, by Prometheus' protocol.
type RemoteWrite struct {
	URL        string `yaml:"url" help:"whole address, such as http://127.0.0.1:9090/api/v1/write; empty for not sending"`
	Token      string `yaml:"token" help:"bearer token; the environment keeps it out of lists of processes"`
	Queue      string `yaml:"queue" help:"directory for payloads that wait to be sent; needed with remote_write.url, and not that of datadog"`
	QueueBytes int    `yaml:"queue_bytes" help:"most bytes of the queue; the oldest payloads go first"`
}

// Intake says where series are taken and where their names are kept. Only `metricsd intake` and
// `metricsd all` use it. SIGHUP reads body, opened, requests, pending and the file of customers
// again.
type Intake struct {
	HTTP          string `yaml:"http" help:"address of the intake's door, page and API"`
	Token         string `yaml:"token" help:"required of senders and readers, as DD-API-KEY, bearer token or password; empty to ask for none; set it in the environment to keep it out of lists of processes"`
	Customers     string `yaml:"customers" help:"file with a customer and an API key, or sha256: and its digest, on each line; senders and readers with a key see that customer's names only, other keys are refused, intake.token sees all; empty for one customer in all"`
	Body          int    `yaml:"body" help:"longest body in bytes, as received"`
	Opened        int    `yaml:"opened" help:"longest body in bytes, after decompression"`
	Requests      int    `yaml:"requests" help:"most requests read at the same time; others must retry later"`
	Names         int    `yaml:"names" help:"most names of each kind that can be completed, and that the history remembers"`
	CustomerNames int    `yaml:"customer_names" help:"most names of each kind that one customer of intake.customers can have, of the intake.names for all"`
	Verbatim      string `yaml:"verbatim" help:"keys of tags, separated by commas, whose values keep capitals, spaces and signs, such as url,branch,error; other tags are lower-cased, and signs become underscores"`
	Pending       int    `yaml:"pending" help:"names with counts not written yet, at which they are written early"`
	Flush         int    `yaml:"flush" help:"seconds between two writings of the counts of known names; new names are written at once"`
	Remember      int    `yaml:"remember" help:"hours that a name is known after it was last seen"`
	Retention     int    `yaml:"retention" help:"days that the index keeps a name after it was last seen"`
	Reserve       int    `yaml:"reserve" help:"free bytes to keep on the disks of the embedded queue and index. With less, senders must retry. If the index fills the disk all the same, metricsd deletes a file of a quarter of this size. 0: no reserve"`
	Queue         Queue  `yaml:"queue"`
	Index         Index  `yaml:"index"`
}

// Queue configures the queue between the intake's door and its processor.
type Queue struct {
	Dir        string `yaml:"dir" help:"directory of the embedded NATS JetStream; it is used unless kafka is set"`
	Bytes      int    `yaml:"bytes" help:"most bytes that wait in the embedded queue; when it is full, senders must retry later"`
	Sync       bool   `yaml:"sync" help:"write through to the disk before a request is answered: survives a power cut, not only a crash"`
	Kafka      string `yaml:"kafka" help:"brokers of a Kafka cluster, host:port, separated by commas, instead of the embedded queue"`
	Topic      string `yaml:"topic" help:"Kafka's topic; it is made if there is none"`
	Partitions int    `yaml:"partitions" help:"partitions of a topic that has to be made"`
	Replicas   int    `yaml:"replicas" help:"replicas of a topic that has to be made"`
}

// Index says where names are kept.
type Index struct {
	Dir      string `yaml:"dir" help:"directory of the embedded Pebble store; it is used unless postgres is set"`
	Postgres string `yaml:"postgres" help:"address of a PostgreSQL database, as postgres://user:password@host/db, instead of the embedded store; the environment keeps it out of lists of processes"`
}

// Log says what is logged and how.
type Log struct {
	Level string `yaml:"level" help:"debug, info, warn or error"`
	JSON  bool   `yaml:"json" help:"write JSON instead of text"`
}

// Default listens on loopback only. Sketches go only to metricsd's own intake: dashboards of other
// receivers use the series made of distributions, and these end when sketches are sent instead.
func Default() Config {
	limits := aggregate.DefaultLimits()
	return Config{
		HTTP: "127.0.0.1:9125",
		Listen: Listen{
			UDP: "127.0.0.1:8125", ReceiveBuffer: 8 << 20, PacketSize: 64 << 10,
			Batch: 16, Cache: 100_000, Workers: 1, StreamConnections: 256,
		},
		Limits: Limits(limits),
		Tagger: Tagger{
			Cardinality: "low", KubernetesSecrets: "/var/run/secrets/kubernetes.io/serviceaccount",
			DockerLabels: "com.datadoghq.tags.env=env,com.datadoghq.tags.service=service," +
				"com.datadoghq.tags.version=version",
			KubernetesLabels: "tags.datadoghq.com/env=env,tags.datadoghq.com/service=service," +
				"tags.datadoghq.com/version=version",
		},
		Datadog:     Datadog{API: "v2", Compression: "zlib", Sketches: "auto", Events: true, QueueBytes: 1 << 30},
		RemoteWrite: RemoteWrite{QueueBytes: 1 << 30},
		Intake: Intake{
			HTTP: "127.0.0.1:9126", Body: 8 << 20, Opened: 64 << 20, Requests: 64,
			Names: 10_000_000, CustomerNames: 1_000_000, Pending: 500_000, Flush: 300, Remember: 24, Retention: 30,
			Reserve: 64 << 20,
			Queue:   Queue{Dir: "metricsd-data/queue", Bytes: 1 << 30, Topic: "metricsd", Partitions: 4, Replicas: 1},
			Index:   Index{Dir: "metricsd-data/index"},
		},
		Log: Log{Level: "info"},
	}
}

// Check returns an error that names the settings which cannot work for a verb: agent, intake or
// all.
func (c *Config) Check(verb string) error {
	var errs []error
	if verb != "intake" {
		errs = append(errs, c.checkAgent())
	}
	if verb != "agent" {
		errs = append(errs, c.Intake.check())
	}
	if _, err := c.Log.level(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// A bound is a number and where it must lie.
type bound struct {
	name            string
	value, from, to int
}

func checkBounds(bounds []bound) error {
	var errs []error
	for _, n := range bounds {
		if n.value < n.from || n.value > n.to {
			errs = append(errs, fmt.Errorf("%s is %d; give a number from %d to %d", n.name, n.value, n.from, n.to))
		}
	}
	return errors.Join(errs...)
}

// checkAgent collects all faults of the agent's settings, so that one start shows every mistake.
func (c *Config) checkAgent() error {
	l := &c.Listen
	var errs []error
	if l.UDP == "" && l.Unixgram == "" && l.Unix == "" {
		errs = append(errs, errors.New("nothing to listen on; set listen.udp, listen.unixgram or listen.unix"))
	}
	// A receiver that is down must not cost data or memory, so the queue is on disk.
	if c.Datadog.URL != "" && c.Datadog.Queue == "" {
		errs = append(errs,
			errors.New("datadog.url is set and datadog.queue is not; name a directory for payloads that wait"))
	}
	// Two outputs in one directory would deliver each other's payloads.
	if c.RemoteWrite.URL != "" && (c.RemoteWrite.Queue == "" || c.RemoteWrite.Queue == c.Datadog.Queue) {
		errs = append(errs,
			errors.New("remote_write.url is set and remote_write.queue is not a directory of its own; name one"))
	}
	return errors.Join(append(errs, checkBounds([]bound{
		{"listen.receive_buffer", l.ReceiveBuffer, 0, 1 << 30},
		{"listen.packet_size", l.PacketSize, 512, 1 << 20},
		{"listen.batch", l.Batch, 1, 1024},
		{"listen.cache", l.Cache, 0, 1 << 24},
		{"listen.workers", l.Workers, 1, 256},
		{"listen.stream_connections", l.StreamConnections, 1, 1 << 16},
		{"datadog.queue_bytes", c.Datadog.QueueBytes, 1 << 20, 1 << 50},
		{"remote_write.queue_bytes", c.RemoteWrite.QueueBytes, 1 << 20, 1 << 50},
		{"limits.contexts", c.Limits.Contexts, 0, 1 << 40},
		{"limits.per_origin", c.Limits.PerOrigin, 0, 1 << 40},
		{"limits.bytes", c.Limits.Bytes, 0, 1 << 50},
		{"limits.timestamped", c.Limits.Timestamped, 0, 1 << 40},
		{"limits.set_exact", c.Limits.SetExact, 0, 1 << 20},
		{"limits.expiry", c.Limits.Expiry, 0, 1 << 20},
	}))...)
}

// check checks the intake's settings. Each store is either embedded or a server.
func (i *Intake) check() error {
	var errs []error
	if i.HTTP == "" {
		errs = append(errs, errors.New("intake.http is empty; give an address such as 127.0.0.1:9126"))
	}
	if i.Queue.Kafka == "" && i.Queue.Dir == "" {
		errs = append(errs, errors.New("intake.queue has neither dir nor kafka; name a directory"))
	}
	if i.Index.Postgres == "" && i.Index.Dir == "" {
		errs = append(errs, errors.New("intake.index has neither dir nor postgres; name a directory"))
	}
	// With customers there are two kinds of callers. Without the operator's token nobody could see
	// all data.
	if i.Customers != "" && i.Token == "" {
		errs = append(errs, errors.New("intake.customers is set and intake.token is not; give the operator a token"))
	}
	return errors.Join(append(errs, checkBounds([]bound{
		{"intake.body", i.Body, 1 << 10, 64 << 20},
		{"intake.opened", i.Opened, 1 << 10, 1 << 30},
		{"intake.requests", i.Requests, 1, 1 << 14},
		{"intake.names", i.Names, 100, 100_000_000},
		{"intake.customer_names", i.CustomerNames, 100, 100_000_000},
		{"intake.pending", i.Pending, 100, 100_000_000},
		{"intake.flush", i.Flush, 1, 24 * 3600},
		{"intake.remember", i.Remember, 1, 24 * 365},
		{"intake.retention", i.Retention, 1, 36500},
		{"intake.reserve", i.Reserve, 0, 1 << 40},
		{"intake.queue.bytes", i.Queue.Bytes, 1 << 20, 1 << 50},
		{"intake.queue.partitions", i.Queue.Partitions, 1, 10_000},
		{"intake.queue.replicas", i.Queue.Replicas, 1, 9},
	}))...)
}
