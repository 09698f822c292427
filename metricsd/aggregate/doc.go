// Package aggregate turns samples into one point per context and bucket of ten
// seconds, and keeps what a scrape wants to see.
//
//   - Counts are added up, each value divided by its sample rate.
//   - Gauges keep the last value.
//   - Sets count exactly up to a bound (of values, and of 64 bytes for each), then
//     by HyperLogLog with a standard error of 1.6 %; [Point.Approximate] says which.
//   - Timings, histograms and distributions become DDSketches with a relative
//     error of 0.8 % for quantiles; count, sum, least and greatest are exact. A sketch
//     has at most 4096 bins a sign, an array from the least magnitude to the greatest;
//     beyond that the bins of the smallest magnitudes are joined.
//   - Counts and gauges with a timestamp are not aggregated: they go out as they
//     came, and a count is not divided by its rate.
//
// A sample belongs to the bucket in which it arrives. Buckets are of the wall
// clock; when that jumps, the open bucket is closed and one opens at the new time.
// Expiry counts flushes, not time, so a jump drops nothing.
//
// # Bounds
//
// [Limits] bounds contexts, contexts per origin, their bytes, and the points with timestamps that
// wait for a flush. At a bound the newest items are dropped and counted; known ones keep their
// place. A context that has not been seen for a number of flushes goes. The bytes have the bins of
// sketches in them, those of the last bucket and those that the open one's values need, though the
// last few wait beside them. Where there is no room, a context first gives up what it shows of its
// own last bucket; a value that would even then have its sketch cover more than there is room for
// is dropped, one that falls between its others is not.
package aggregate
