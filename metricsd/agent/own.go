package agent

import (
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/expose"
)

// own writes the agent's metrics about itself.
func (a *Agent) own(p *expose.Page, states []aggregate.State) {
	c := &a.Counters
	count := func(name, help string, n *atomic.Uint64) {
		p.Own("metricsd_"+name+"_total", "counter", help, expose.Value{Value: float64(n.Load())})
	}
	count("datagrams", "Datagrams and frames received.", &c.Datagrams)
	count("received_bytes", "Bytes received.", &c.Bytes)
	count("truncated", "Datagrams cut off because they are longer than listen.packet_size.", &c.Truncated)
	count("malformed", "Lines dropped; /malformed shows the last ones.", &c.Malformed)
	count("warnings", "Parts of lines ignored; /malformed shows the last ones.", &c.Warnings)
	count("frames_refused", "Stream connections closed for a frame that was too long or not whole.", &c.FramesRefused)
	count("connections_refused", "Stream connections turned away because too many are open.", &c.ConnectionsFull)
	p.Own("metricsd_lines_total", "counter", "Lines taken.",
		labelled("kind", "metric", c.Metrics.Load()), labelled("kind", "event", c.Events.Load()), labelled("kind", "check", c.Checks.Load()))
	if a.waiting != nil {
		count("events_dropped", "Events and service checks dropped because too many wait for a flush.", &a.waiting.dropped)
	}
	a.ownSockets(p)
	a.ownContexts(p, states)
	for _, sink := range a.sinks {
		sink.Own(p)
	}
}

func labelled(label, is string, n uint64) expose.Value {
	return expose.Value{Label: label, Is: is, Value: float64(n)}
}

// ownSockets shows what the kernel says; where it says nothing there is nothing
// to show.
func (a *Agent) ownSockets(p *expose.Page) {
	var drops, queued, buffer []expose.Value
	for _, s := range a.sockets {
		status, err := s.Status()
		if err != nil {
			continue
		}
		drops = append(drops, labelled("socket", s.Network(), status.Drops))
		queued = append(queued, labelled("socket", s.Network(), status.Queued))
		buffer = append(buffer, labelled("socket", s.Network(), status.Buffer))
	}
	p.Own("metricsd_kernel_drops_total", "counter", "Datagrams that the kernel dropped because the receive buffer was full.", drops...)
	p.Own("metricsd_socket_queued_bytes", "gauge", "What waits in the receive buffer, with the kernel's overhead.", queued...)
	p.Own("metricsd_socket_buffer_bytes", "gauge", "Size of the receive buffer, with the kernel's overhead.", buffer...)
	if a.stream != nil {
		p.Own("metricsd_stream_connections", "gauge", "Open stream connections.", expose.Value{Value: float64(a.stream.Connections())})
	}
}

// maxOrigins bounds the senders that the page names.
const maxOrigins = 10

func (a *Agent) ownContexts(p *expose.Page, states []aggregate.State) {
	s := a.Aggregator.Stats()
	gauge := func(name, help string, v int) {
		p.Own("metricsd_"+name, "gauge", help, expose.Value{Value: float64(v)})
	}
	p.Own("metricsd_samples_total", "counter", "Metric lines aggregated.", expose.Value{Value: float64(s.Samples)})
	p.Own("metricsd_dropped_total", "counter", "Metric lines dropped, by the bound that they met.",
		labelled("bound", "contexts", s.DroppedContexts), labelled("bound", "per_origin", s.DroppedOrigin),
		labelled("bound", "bytes", s.DroppedBytes), labelled("bound", "timestamped", s.DroppedTimestamped))
	p.Own("metricsd_untrackable_values_total", "counter", "Values that no sketch can hold.", expose.Value{Value: float64(s.Untrackable)})
	p.Own("metricsd_expired_total", "counter", "Contexts that have gone because they were silent.", expose.Value{Value: float64(s.Expired)})
	gauge("contexts", "Contexts held.", s.Contexts)
	gauge("context_bytes", "Estimated bytes of the contexts held.", s.Bytes)
	approximate := 0
	for i := range states {
		if states[i].Approximate {
			approximate++
		}
	}
	gauge("sets_approximate", "Sets of which the last bucket was estimated, not counted.", approximate)
	var origins []expose.Value
	for _, o := range a.Aggregator.TopOrigins(maxOrigins) {
		origins = append(origins, labelled("origin", o.Name, uint64(o.Contexts)))
	}
	p.Own("metricsd_origin_contexts", "gauge", "Contexts of the senders that hold most.", origins...)
}
