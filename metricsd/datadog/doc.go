// Package datadog sends points to whatever takes Datadog's series API: Datadog
// itself, VictoriaMetrics (under /datadog), or another intake.
//
// Version 1 of the API is JSON, version 2 protobuf. Bodies are compressed with
// zlib, which HTTP and Datadog call deflate, or with zstd.
//
// Package deliver sees to it that nothing is lost.
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
