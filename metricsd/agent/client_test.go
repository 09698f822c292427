package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/DataDog/datadog-go/v5/statsd"

	"github.com/beagle-go/beagle/metricsd/config"
)

const rounds = 500

// TestRealClient sends with Datadog's Go client in its modes over every kind of socket, and reads
// the sums from the page: each must be exact.
func TestRealClient(t *testing.T) {
	modes := map[string][]statsd.Option{
		"default":        nil,
		"no aggregation": {statsd.WithoutClientSideAggregation()},
		"extended":       {statsd.WithExtendedClientSideAggregation()},
		"mutex":          {statsd.WithMutexMode(), statsd.WithWorkersCount(4)},
		"sharded":        {statsd.WithExtendedClientSideAggregation(), statsd.WithAggregatorShardCount(4), statsd.WithMaxSamplesPerContext(1000)},
		"512 bytes":      {statsd.WithMaxBytesPerPayload(512), statsd.WithoutOriginDetection()},
		"channels":       {statsd.WithChannelMode(), statsd.WithChannelModeBufferSize(1 << 16)},
		"small packets":  {statsd.WithoutClientSideAggregation(), statsd.WithMaxMessagesPerPayload(1)},
		"origin":         {statsd.WithContainerID("c0ffee"), statsd.WithCardinality(statsd.CardinalityLow)},
	}
	for mode, options := range modes {
		for network, scheme := range map[string]string{"udp": "", "unixgram": "unixgram://", "unix": "unixstream://"} {
			t.Run(mode+" "+network, func(t *testing.T) {
				t.Parallel()
				inShapes(t, func(t *testing.T, c config.Config) {
					a := startAgentWith(t, c)
					testClient(t, a, scheme+a.Addresses()[network], options)
				})
			})
		}
	}
}

func testClient(t *testing.T, a *Agent, address string, options []statsd.Option) {
	// The client itself drops when its queue is full or a write takes long.
	options = append([]statsd.Option{statsd.WithTags([]string{"env:test"}), statsd.WithoutTelemetry(),
		statsd.WithAggregationInterval(50 * time.Millisecond), statsd.WithSenderQueueSize(1 << 13),
		statsd.WithWriteTimeout(5 * time.Second)}, options...)
	client, err := statsd.NewDirect(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		sendRound(client, i)
	}
	client.Event(statsd.NewEvent("deployed", "two\nlines"))
	client.ServiceCheck(&statsd.ServiceCheck{Name: "db", Status: statsd.Critical, Message: "gone"})
	want := wantSeries()
	waitFor(t, func() string { return missing("\n"+get(t, a, "/metrics"), want) })
	waitFor(t, func() string { // repeat it, since the end of a bucket may fall between
		for i := range 40 {
			client.Set("users", fmt.Sprint("u", i), nil, 1)
		}
		client.Flush()
		return missing(scrape(t, a), []string{`users{env="test"} 40`})
	})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if n := a.Counters.Malformed.Load() + a.Counters.Warnings.Load(); n > 0 {
		t.Errorf("%d lines malformed: %+v", n, a.Malformed.List())
	}
	events, checks := a.Events.List(), a.Checks.List()
	if len(events) != 1 || events[0].Item.Text != "two\nlines" || len(checks) != 1 || checks[0].Item.Status != 2 {
		t.Errorf("events %+v, checks %+v", events, checks)
	}
}

// TestTelemetryOfTheClient waits for the metrics that the client sends about itself every ten
// seconds.
func TestTelemetryOfTheClient(t *testing.T) {
	if testing.Short() {
		t.Skip("the client takes ten seconds")
	}
	t.Parallel()
	a := startAgent(t)
	client, err := statsd.New(a.Addresses()["udp"], statsd.WithNamespace("app."))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.Incr("hits", []string{"a:b"}, 1)
	for deadline := time.Now().Add(5 * time.Minute); a.Counters.Metrics.Load() < 20; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lines, no telemetry", a.Counters.Metrics.Load())
		}
	}
	page := scrape(t, a)
	for _, want := range []string{"\ndatadog_dogstatsd_client_metrics_total{",
		"\ndatadog_dogstatsd_client_bytes_sent_total{", "\napp_hits_total{a=\"b\"} 1\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := a.Counters.Malformed.Load() + a.Counters.Warnings.Load(); n > 0 {
		t.Errorf("%d lines malformed: %+v", n, a.Malformed.List())
	}
}

func sendRound(c *statsd.ClientDirect, i int) {
	tag := []string{fmt.Sprint("shard:", i%3)}
	c.Count("requests", int64(i), tag, 1)
	c.Incr("hits", nil, 1)
	c.Gauge("depth", float64(i), nil, 1)
	c.Timing("took", time.Duration(i)*time.Millisecond, nil, 1)
	c.Histogram("size", float64(i), tag, 1)
	c.Distribution("latency", float64(i), nil, 1)
	c.CountWithTimestamp("late", 2, nil, 1, time.Unix(1700000000, 0))
	c.GaugeWithTimestamp("lately", float64(i), nil, 1, time.Unix(1700000000, 0))
	c.DistributionSamples("samples", []float64{1, 2.5, float64(i)}, tag[:0], 1)
}

func wantSeries() []string {
	var want []string
	for shard := range 3 {
		sum, count := 0, 0
		for i := shard; i < rounds; i += 3 {
			sum, count = sum+i, count+1
		}
		label := fmt.Sprintf(`{env="test",shard="%d"}`, shard)
		want = append(want, fmt.Sprintf("requests_total%s %d", label, sum),
			fmt.Sprintf("size_sum%s %d", label, sum), fmt.Sprintf("size_count%s %d", label, count))
	}
	const sum = rounds * (rounds - 1) / 2
	return append(want, fmt.Sprintf(`hits_total{env="test"} %d`, rounds), fmt.Sprintf(`depth{env="test"} %d`, rounds-1),
		fmt.Sprintf(`took_sum{env="test"} %d`, sum), fmt.Sprintf(`latency_count{env="test"} %d`, rounds),
		fmt.Sprintf(`lately{env="test"} %d`, rounds-1), fmt.Sprintf(`samples_count{env="test"} %d`, 3*rounds),
		fmt.Sprintf(`samples_sum{env="test"} %d`, sum+rounds*7/2),
		fmt.Sprintf(`late_total{env="test"} %d`, 2*rounds),
		`metricsd_lines_total{kind="event"} 1`, `metricsd_lines_total{kind="check"} 1`)
}

// missing returns the expected lines that the page lacks.
func missing(page string, want []string) string {
	var out []string
	for _, line := range want {
		if !strings.Contains(page, "\n"+line+"\n") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// waitFor polls until problem returns nothing.
func waitFor(t *testing.T, problem func() string) {
	t.Helper()
	last := ""
	for range 3000 { // a minute: machines may be busy
		if last = problem(); last == "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("waited in vain for:\n%s", last)
}

func socketPath(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }
