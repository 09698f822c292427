// Package load makes DogStatsD traffic of known shapes, for tests, benchmarks and
// `metricsd load`.
//
// Contexts are like those of services in Kubernetes: ten tags, a line of about
// 210 bytes, and the bytes of a context the same every time, as real clients send
// them. A shape is deterministic: the same seed gives the same lines.
//
// # Limits
//
// Values are small whole numbers and carry no meaning. Every count has the value
// 1, so that the number of counts sent is the sum that must arrive.
package load
