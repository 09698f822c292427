// Package datadog sends points to whatever takes Datadog's series API: Datadog
// itself, VictoriaMetrics (under /datadog), or another intake.
//
// Version 1 of the API is JSON, version 2 protobuf. Bodies are compressed with
// zlib, which HTTP and Datadog call deflate, or with zstd.
//
// Every payload goes to a queue on disk first and is removed when it has been
// accepted. So an outage, a restart or a crash loses nothing within the queue's
// bound, and payloads go in their order. What is refused for good (400, 413) is
// dropped and counted: sending it again would block the others for ever. Anything
// else, a wrong key included, is tried again after a pause that doubles from 1 s to
// a minute.
//
// # What becomes of a point
//
//	count                            a count over 10 s
//	gauge, set                       a gauge
//	timing, histogram, distribution  .count and .sum as counts; .avg, .min, .max,
//	                                 .median, .95percentile and .99percentile as gauges
//
// # Limits
//
// Sketches are not sent as sketches: percentiles of several senders cannot be
// joined at the other end. Delivery is at least once. Events and service checks are
// not sent.
package datadog
