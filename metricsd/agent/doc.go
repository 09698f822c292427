// Package agent is the running agent: sockets, workers, aggregation and the page
// that Prometheus scrapes.
//
// A worker is a goroutine that receives a batch, reads its lines and adds its
// samples to the aggregator. Workers share nothing but the aggregator's shards and
// a few counters. A datagram socket has one worker unless configured otherwise: two
// would take the values of a gauge out of order.
//
// A line that cannot be read is counted and the last ones are kept with the reason,
// for /malformed; the other lines of its datagram are taken. Of a datagram that was
// cut off, the part after the last line end is not read: half a line may look whole
// and mean something else.
//
// # Limits
//
// Events and service checks wait in memory for the next flush, at most 10,000 and 16 MB;
// a crash loses them as it loses the open bucket.
package agent
