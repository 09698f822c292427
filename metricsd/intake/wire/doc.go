// Package wire reads the posts of Datadog's agents and clients, of any version of the API, and
// returns them in one form, the [Series].
//
//	POST /api/v1/series      JSON
//	POST /api/v2/series      protobuf, MetricPayload; JSON with the same fields
//	POST /api/beta/sketches  protobuf, SketchPayload
//
// Bodies may be compressed with zlib (which HTTP calls deflate), gzip or zstd. A body
// is bounded before and after decompression: a small body can swell a thousandfold,
// and is refused while it swells, not after.
//
// [Encode] and [Decode] are the form of a batch on the queue.
//
// # Limits
//
// Metadata (origin, unit, source type) is read over. Field numbers are those of
// Datadog's public agent-payload definitions.
package wire
