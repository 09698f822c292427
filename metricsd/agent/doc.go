// Package agent is the running agent: sockets, workers, aggregation and the page
// that Prometheus scrapes.
//
// A worker is a goroutine that receives a batch, reads its lines and adds its
// samples to the aggregator. Workers share nothing but the aggregator's shards and
// a few counters. A datagram socket has one worker unless configured otherwise: two
// would take the values of a gauge out of order. Over UDP on Linux several workers have a socket
// each, and the kernel gives a sender's datagrams to one of them.
//
// # Two shapes
//
// A worker knows metric lines again by the bytes before and after their value (listen.cache). Such
// a line is not parsed: its value is read, and goes to the context that the line had before. All
// others take the long way, which is the whole of the agent's plain shape (listen.cache 0), and
// teach the cache. Both ways lead to the same aggregator and to the same results, whatever is sent:
// bench/agree compares them. Entries of the cache become stale in two ways, and each datagram
// checks for them: other tags for containers clear the cache, and contexts that expire leave it. A
// context that expires a moment later is seen under the aggregator's lock, where its line goes the
// long way after all.
//
// Where hardly any line comes again, as with random tags, most are not looked up.
//
// A line that cannot be read is counted and the last ones are kept with the reason, for /malformed;
// the other lines of its datagram are taken. If a datagram was cut off, the part after its last
// line end is not read: half a line may look whole and mean something else.
//
// # Limits
//
// Events and service checks wait in memory for the next flush, at most 10,000 and 16 MB;
// a crash loses them as it loses the open bucket.
package agent
