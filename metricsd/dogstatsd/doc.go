// Package dogstatsd reads DogStatsD messages, protocol v1.0 to v1.6.
//
// A datagram is a list of lines. A line is a metric, an event (`_e{`) or a
// service check (`_sc`); what is neither is read as a metric. Fields are
// separated by `|`, come in any order after the type, and the last of a
// repeated field wins. Fields that this package does not know are skipped, so
// that clients of later versions are still understood.
//
//	name:value|type|@rate|#tag,tag        v1.0
//	name:value:value|type                 v1.1, all types but s
//	|c:container                          v1.2, v1.4
//	|Tseconds                             v1.3
//	|e:it-false,cn-name,pu-uid            v1.5
//	|card:low                             v1.6
//
// # Decisions
//
// Where the protocol is silent or peers differ, this package does this:
//
//   - A gauge with a sign is absolute, as in Datadog's Agent; Etsy's statsd reads
//     it as a change.
//   - NaN and infinities are refused: one of them spoils a sum for good.
//   - A rate outside [1e-9, 1] is refused: one line must not stand for more than
//     a thousand million.
//   - Empty items of a value list and empty tags are skipped; a value list without
//     an item is an error. A set's value keeps its colons.
//   - Bytes that are not UTF-8 become U+FFFD, so that every later stage may trust
//     its strings.
//   - A broken c: or e: field, or a broken optional field of an event or a service
//     check, is a warning: the message is kept. A broken value, type, rate, or
//     timestamp of a metric is an error: guessing would give wrong figures.
//
// # Limits
//
// A [Parser] is for one goroutine. Its interner has 8192 places for strings of up to 256 bytes, in
// sets of eight by the string's hash. A new string replaces the oldest string of its set that was
// not used since, so a set can be full while places are free. If 2,000 strings take turns, none is
// made twice. With 4,000 strings, 7 % are, or 1.4 % in random order. With many more strings than
// places, nearly all are. The parser also keeps 256 strings for bytes that are not UTF-8. The
// memory is bounded by 2.7 MB, of which 270 KB are there from the start.
package dogstatsd
