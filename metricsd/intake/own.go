package intake

import (
	"context"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/intake/index"
)

// writeOwnMetrics writes the intake's metrics about itself.
func (in *Intake) writeOwnMetrics(ctx context.Context, page *expose.Page) {
	const prefix = "metricsd_intake_"
	count := func(name, help string, n *atomic.Uint64) {
		page.OwnCounter(prefix+name+"_total", help, n.Load())
	}
	d, c := in.door, &in.processor.counts
	answer := func(is string, n *atomic.Uint64) expose.Value { return expose.Labelled("answer", is, n.Load()) }
	page.OwnMetric(prefix+"requests_total", "counter", "Requests of senders, by answer.",
		answer("accepted", &d.accepted), answer("ignored", &d.ignored), answer("malformed", &d.refused),
		answer("too_large", &d.tooLarge),
		answer("denied", &d.denied), answer("busy", &d.busy), answer("queue_failed", &d.full))
	count("received_bytes", "Bytes of accepted bodies, after decompression.", &d.bytes)
	count("messages", "Messages of the queue processed.", &c.messages)
	count("damaged_messages", "Messages of the queue that could not be decoded.", &c.damaged)
	count("repeated_parcels", "Requests, or parts of large ones, that came again and were not counted again.",
		&c.repeated)
	count("series", "Series processed.", &c.series)
	count("points", "Points processed.", &c.points)
	count("names_seen", "Names seen: the number of writes without a history.", &c.touches)
	count("index_writes", "Entries written.", &c.writes)
	count("index_flushes", "Times that counts were written.", &c.flushes)
	count("index_failures", "Changes that could not be written and are tried again.", &c.failures)
	count("history_expired", "Names that the history has forgotten.", &c.expired)
	count("index_forgotten", "Entries removed because they were not seen for long.", &c.forgotten)
	in.ownCustomers(page, prefix)
	in.ownSizes(ctx, page, prefix)
}

// ownCustomers shows each customer of a key file by its name.
func (in *Intake) ownCustomers(page *expose.Page, prefix string) {
	list := in.customers()
	if list == nil {
		return
	}
	var points, names []expose.Value
	for _, c := range list {
		points = append(points, expose.Labelled("customer", c.Customer, c.Points))
		names = append(names, expose.Labelled("customer", c.Customer, c.Names))
	}
	page.OwnMetric(prefix+"customer_points_total", "counter", "Points processed, by customer.", points...)
	page.OwnMetric(prefix+"customer_names", "gauge", "Names of all kinds that can be completed, by customer.", names...)
}

// ownSizes writes the intake's sizes, and what waits at each stage, so that one sees the slow
// stage.
func (in *Intake) ownSizes(ctx context.Context, page *expose.Page, prefix string) {
	var names, refused, waiting, bound []expose.Value
	for _, k := range index.Kinds {
		known, none := in.processor.shelves.len(k)
		names = append(names, expose.Labelled("kind", k.String(), known))
		refused = append(refused, expose.Labelled("kind", k.String(), none))
	}
	// Only the embedded index and queue report their own troubles with disks; servers keep theirs.
	if x, ok := in.index.(interface{ DiskFull() (uint64, bool) }); ok {
		met, readOnly := x.DiskFull()
		page.OwnCounter(prefix+"index_disk_full_total", "Writes of the index's log that met the disk's end.", met)
		page.OwnGauge(prefix+"index_read_only",
			"Whether changes of the index are refused until its disk has room: 1 or 0.", map[bool]float64{
				true: 1,
			}[readOnly])
	}
	m := in.bus.Moves()
	page.OwnMetric(prefix+"queue_moved_total", "counter",
		"Times that the queue changed unexpectedly, by cause: it lost its end, messages were removed before they "+
			"were read, or Kafka's topic was made anew.",
		expose.Labelled("what", "end_lost", m.EndLost), expose.Labelled("what", "removed_unread", m.Removed),
		expose.Labelled("what", "made_anew", m.Anew))
	if q, ok := in.bus.(interface{ Reopened() uint64 }); ok {
		page.OwnCounter(prefix+"queue_reopened_total",
			"Times that the embedded queue was opened again after a write that failed, as one does that meets the "+
				"disk's end.", q.Reopened())
	}
	known, crowded := in.processor.history.Len()
	page.OwnMetric(prefix+"names", "gauge", "Names that can be completed.", names...)
	page.OwnMetric(prefix+"names_refused_total", "counter",
		"Names that cannot be completed because intake.names is reached.", refused...)
	page.OwnGauge(prefix+"history_names", "Names in the history.", float64(known))
	page.OwnCounter(prefix+"history_crowded_total", "Times that a name found no room in the history.", crowded)
	up := 1.0
	for _, s := range in.stages(ctx) {
		is := s.Name + ", " + s.Unit
		// How much waits in a queue that does not answer is unknown, which is not zero, so there is
		// no value.
		if s.Away {
			up = 0
			if s.Name == stageQueue {
				continue // unknown
			}
		}
		waiting = append(waiting, expose.Labelled("stage", is, s.Waiting))
		if s.Bound > 0 {
			bound = append(bound, expose.Labelled("stage", is, s.Bound))
		}
	}
	page.OwnGauge(prefix+"queue_up",
		"Whether the queue answers: 1, or 0 while Kafka's brokers are away or the embedded queue waits for room on "+
			"its disk.", up)
	page.OwnMetric(prefix+"waiting", "gauge", "What waits before each stage.", waiting...)
	page.OwnMetric(prefix+"waiting_bound", "gauge", "What may wait before each stage.", bound...)
}
