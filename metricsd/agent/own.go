package agent

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/listen"
)

// writeOwnMetrics writes the agent's metrics about itself.
func (a *Agent) writeOwnMetrics(p *expose.Page, states []aggregate.State) {
	c := &a.Counters
	count := func(name, help string, n *atomic.Uint64) {
		p.OwnCounter("metricsd_"+name+"_total", help, n.Load())
	}
	// Counters by the path of a line: received, refused, parsed. Each help text names the remedy.
	count("datagrams", "Datagrams and frames received.", &c.Datagrams)
	count("received_bytes", "Bytes received.", &c.Bytes)
	count("truncated", "Datagrams cut off because they are longer than listen.packet_size.", &c.Truncated)
	count("malformed", "Lines dropped; /malformed shows the last ones.", &c.Malformed)
	count("warnings", "Parts of lines ignored; /malformed shows the last ones.", &c.Warnings)
	count("interner_misses",
		"Names, tags and other strings made because no parser had kept them. Where it grows as fast as "+
			"metricsd_lines_total there are "+
			"more strings than parsers keep, or a client sends random ones.", &c.InternerMisses)
	count("known", "Metrics that were not parsed, since a line with the same bytes around its value was before; "+
		"listen.cache bounds how many such lines are remembered.", &c.Known)
	count("frames_refused", "Stream connections closed for a frame that was too long or not whole.", &c.FramesRefused)
	count("connections_refused", "Stream connections turned away because too many are open.", &c.ConnectionsFull)
	p.OwnMetric("metricsd_lines_total", "counter", "Lines taken.",
		expose.Labelled("kind", "metric", c.Metrics.Load()), expose.Labelled("kind", "event", c.Events.Load()),
		expose.Labelled("kind", "check", c.Checks.Load()))
	// An agent without an output for events keeps none, so it has none to drop.
	if a.waiting != nil {
		count("events_dropped", "Events and service checks dropped because too many wait for a flush.",
			&a.waiting.dropped)
	}
	// Optional parts write their own metrics: an agent without Kubernetes has none of its metrics.
	a.ownSockets(p)
	a.ownTags(p)
	a.ownContexts(p, states)
	for _, sink := range a.sinks {
		sink.OwnMetrics(p)
	}
}

// ownSockets shows the kernel's figures, where the kernel reports them.
func (a *Agent) ownSockets(p *expose.Page) {
	status := make(map[string]listen.Status) // the sum of a network's sockets
	for _, s := range a.sockets {
		if one, err := s.Status(); err == nil {
			all := status[s.Network()]
			all.Drops, all.Queued, all.Buffer = all.Drops+one.Drops, all.Queued+one.Queued, all.Buffer+one.Buffer
			status[s.Network()] = all
		}
	}
	var drops, queued, buffer []expose.Value
	for _, network := range slices.Sorted(maps.Keys(status)) {
		drops = append(drops, expose.Labelled("socket", network, status[network].Drops))
		queued = append(queued, expose.Labelled("socket", network, status[network].Queued))
		buffer = append(buffer, expose.Labelled("socket", network, status[network].Buffer))
	}
	p.OwnMetric("metricsd_kernel_drops_total", "counter",
		"Datagrams that the kernel dropped because the receive buffer was full.", drops...)
	p.OwnMetric("metricsd_socket_queued_bytes", "gauge",
		"What waits in the receive buffer, with the kernel's overhead.", queued...)
	p.OwnMetric("metricsd_socket_buffer_bytes", "gauge", "Size of the receive buffer, with the kernel's overhead.",
		buffer...)
	if a.stream != nil {
		p.OwnGauge("metricsd_stream_connections", "Open stream connections.", float64(a.stream.Connections()))
	}
}

// maxNamed bounds the senders and the metrics that the page names.
const maxNamed = 10

// ownContexts writes how much the aggregator holds and drops, and names the largest holders: the
// remedy for a full bound is at the sender.
func (a *Agent) ownContexts(p *expose.Page, states []aggregate.State) {
	s := a.Aggregator.Stats()
	gauge := func(name, help string, v int) {
		p.OwnGauge("metricsd_"+name, help, float64(v))
	}
	// Four bounds drop lines, and each has another remedy, so they are counted apart.
	p.OwnCounter("metricsd_samples_total", "Metric lines aggregated.", s.Samples)
	p.OwnMetric("metricsd_dropped_total", "counter", "Metric lines dropped, by the bound that they met.",
		expose.Labelled("bound", "contexts", s.DroppedContexts),
		expose.Labelled("bound", "per_origin", s.DroppedOrigin),
		expose.Labelled("bound", "bytes", s.DroppedBytes),
		expose.Labelled("bound", "timestamped", s.DroppedTimestamped))
	p.OwnCounter("metricsd_untrackable_values_total", "Values that no sketch can hold.", s.Untrackable)
	p.OwnCounter("metricsd_expired_total", "Contexts that have gone because they were silent.", s.Expired)
	gauge("contexts", "Contexts held.", s.Contexts)
	gauge("context_bytes", "Estimated bytes of the contexts held.", s.Bytes)
	// A user who needs exact numbers sees here that limits.set_exact is too low.
	approximate := 0
	for i := range states {
		if states[i].Approximate {
			approximate++
		}
	}
	gauge("sets_approximate", "Sets whose last bucket was estimated, not counted.", approximate)
	// Name only the largest: a page with every origin would have no bound itself.
	var origins []expose.Value
	for _, o := range a.Aggregator.TopOrigins(maxNamed) {
		origins = append(origins, expose.Labelled("origin", o.Name, o.Contexts))
	}
	p.OwnMetric("metricsd_origin_contexts", "gauge", "Contexts of the senders that hold most.", origins...)
	var metrics []expose.Value
	for _, o := range topMetrics(states, maxNamed) {
		metrics = append(metrics, expose.Labelled("metric", o.Name, o.Contexts))
	}
	p.OwnMetric("metricsd_metric_contexts", "gauge", "Contexts of the metrics that have most.", metrics...)
}

// topMetrics returns the n names with most contexts, the greatest first.
func topMetrics(states []aggregate.State, n int) []aggregate.Origin {
	contexts := make(map[string]int)
	for i := range states {
		contexts[states[i].Name]++
	}
	return aggregate.Top(contexts, n)
}
