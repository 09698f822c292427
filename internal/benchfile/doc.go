// Package benchfile turns recorded calls into a Go benchmark that a person keeps: a test file of
// the standard library alone, which runs without Beagle.
//
// [Select] draws a sample of the calls that stands for all of them. [Plan.File] writes it.
// [Fitter.Fit] changes weights, the number of inputs and the state of the caches until the
// benchmark's profile is like production's, and lists the parts that cannot be made alike.
package benchfile
