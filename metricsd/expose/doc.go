// Package expose writes metrics in Prometheus' text format, version 0.0.4.
//
//	count                            NAME_total, a counter since the context was first seen
//	gauge                            NAME, a gauge
//	set                              NAME, a gauge: different values in the last closed bucket
//	timing, histogram, distribution  NAME, a summary: quantiles of the last closed
//	                                 bucket (0 and 1 are the exact least and greatest),
//	                                 _sum and _count since the context was first seen
//
// Names and labels take the letters that Prometheus allows; the rest becomes an
// underscore. A tag `key:value` is a label, a tag without a colon is a label with
// the value "true", the values of a key that comes more than once are joined with
// commas, and the host is the label host.
//
// # Limits
//
// Two DogStatsD names, or two types of one name, may want one name here. The first
// in order keeps it, a later one gets its type as suffix; what still collides is
// left out and counted. So a name may change when another one appears.
package expose
