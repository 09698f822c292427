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
//	                                 .median, .95percentile and .99percentile as gauges;
//	                                 or a sketch, to /api/beta/sketches
//	event                            /intake/, in the form of Datadog's agent
//	service check                    /api/v1/check_run
//
// datadog.sketches says what goes out as a sketch: nothing (the default, except for metricsd's own
// intake in the same process), distributions, or timings and histograms too. A sketch is the
// aggregator's own, bin by bin: its bins are those of Datadog's agent, so percentiles of several
// senders can be joined at the other end.
//
// # Limits
//
// Delivery is at least once. A sketch holds 268 million values; more are counted as unsendable. If
// a receiver answers 404, 405 or 501 to sketches, events or service checks, these are lost, counted
// as refused, and logged once; series go on. Turn off datadog.sketches or datadog.events then:
// distributions become counts and gauges.
package datadog
