// Package intake takes what agents send and keeps track of what there is: which
// metrics, hosts, tags and apps, since when, until when, and how much comes in.
//
//	senders ──► door ──► batcher ──► queue ──► decoder ──► processor ──► index ──► page, API
//	            limits    128 series  on disk                history      Pebble or PostgreSQL
//	            and token or 10 ms                           pending
//
// A request is answered when its series are safe in the queue. The processor asks its history of
// every name. The processor writes a new name to the index at once, so that the name appears within
// a second. It only counts known names, and writes the counts now and then. So a steady stream does
// not write the same entries again and again. This is the design that Datadog described in
// "Performance in Go: real-world lessons" (2014).
//
// Counts are written in one transaction with the place in the queue up to which they
// count, and after a crash reading begins after that place. So each message is counted
// once although it may be read twice.
//
// Senders repeat what was not acknowledged, of which all or a part may be in the queue. So each
// request has an ID, its parts have theirs, and the processor skips those that it has counted; the
// last million are written with the counts. The ID is the request's Idempotency-Key, which
// `metricsd agent` sends, and its body, or the body alone of what Datadog's agent sends. Other
// senders may mean to post a body twice, so an equal body counts as a repetition only if the first
// was not acknowledged.
//
// With a key file there are customers: the door finds out whose key a request has, the customer's
// name goes with its series through the queue, and each customer has names, counts and rates of its
// own in the history, the index and the directories. Requests with the operator's token belong to
// the default customer, who is the only one without a key file.
//
// An app is what stands before the first dot of a metric's name.
//
// # Limits
//
// A request without a key, and not of Datadog's agent, counts twice when its sender repeats it and
// the intake has ended in between, or its answer was lost on the network. So does one that is
// repeated after a million others.
//
// Customers share the bounds on requests, the queue and the names that wait to be written: one that
// sends too much holds up the others.
//
// Values are not kept: the intake knows names, not time series. Events, checks and
// metadata are accepted, counted and dropped. Tags and names are normalised before
// they are compared.
package intake
