// Package intake takes what agents send and keeps track of what there is: which
// metrics, hosts, tags and apps, since when, until when, and how much comes in.
//
//	senders ──► door ──► batcher ──► queue ──► decoder ──► processor ──► index ──► page, API
//	            limits    128 series  on disk                history      Pebble or PostgreSQL
//	            and token or 10 ms                           pending
//
// A request is answered when its series are safe in the queue. The processor asks
// its history of every name. A name that is new goes to the index at once, so that it
// appears within a second; for a name that is known the processor only counts, and
// writes all that it has counted once in a while: that is what keeps a steady
// stream from writing the same entries again and again. This is the design
// that Datadog described in "Performance in Go: real-world lessons" (2014).
//
// Counts are written in one transaction with the place in the queue up to which they
// count, and after a crash reading begins behind that place. So each message is counted
// once although it may be read twice.
//
// An app is what stands before the first dot of a metric's name.
//
// # Limits
//
// Delivery is at least once. A large request becomes several messages; when one of them
// cannot be written the request is answered 503, its sender sends all of it again, and what had
// been written counts twice. So does a request whose answer got lost.
//
// Values are not kept: the intake knows names, not time series. Events, checks and
// metadata are accepted, counted and dropped. Tags and names are normalised before
// they are compared.
package intake
